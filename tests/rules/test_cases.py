"""Every rule of the library: what it derives, and near misses that must not fire."""

from __future__ import annotations

from collections import defaultdict

import pytest

from oracle.rules import closed, contradictions, default_graph
from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.reason.evaluation import Options
from penstock.rules.library import rule
from rules.cases import CASES, LIBRARY

WORKINGS = {"dt-spaces", "swclos2-differs"}
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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_engine(case):
    closure = Closure([rule(name) for name in case.rules], key=7, options=Options(surrogates=True))
    added = graph_of(case.given, None, key=7)
    closure.add(added.triples, added.terms)
    if case.arrow == "!!":
        assert {frozenset(conflict.bindings) for conflict in closure.conflicts()} == case.solutions
    else:
        new = {tuple(map(closure.terms.term, ids)) for ids in closure.inferred.T.tolist()}
        assert case.holds(new), sorted(map(str, new))
