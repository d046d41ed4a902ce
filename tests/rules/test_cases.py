"""Every rule of the library: what it derives, and near misses that must not fire."""

from __future__ import annotations

from collections import defaultdict

import pytest

from oracle.rules import closed, contradictions, default_graph
from rules.cases import CASES, LIBRARY

WORKINGS = {"swclos2-differs"}
"""Rules that only prepare what another one asks for; its cases are theirs."""


def test_every_rule_has_cases_that_fire_and_near_misses():
    fires, misses = defaultdict(int), defaultdict(int)
    for case in CASES:
        (fires if case.fires else misses)[case.rules[0]] += 1
    names = {path.stem for path in LIBRARY.glob("*.rq")}
    assert names - WORKINGS == fires.keys() == misses.keys()
    assert WORKINGS <= {name for case in CASES if case.fires for name in case.rules[1:]}


@pytest.mark.parametrize("case", [case for case in CASES if case.kept], ids=str)
def test_the_naive_fixpoint(case):
    store = closed(case.texts, case.given)
    if case.arrow == "!!":
        assert {solution for _, solution in contradictions(case.texts, store)} == case.solutions
    else:
        new = default_graph(store) - case.given
        assert case.holds(new), sorted(map(str, new))
