"""Whole regimes, on the premises of all cases of their rules: the engine and the naive fixpoint agree."""

from __future__ import annotations

import pytest

from oracle.rules import closed, contradictions, default_graph
from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.reason.evaluation import Options
from penstock.rules.library import ruleset
from rules.cases import CASES, canonical

TOGETHER = [
    ("rdf",),
    ("rdfs",),
    ("rhodf",),
    ("p",),
    ("swclos2",),
    ("dstar", "p"),
    pytest.param(("dstar", "p", "swclos2"), marks=pytest.mark.slow),
    pytest.param(("owl2-rl",), marks=pytest.mark.slow),
    pytest.param(("rdfs", "owl2-rl"), marks=pytest.mark.slow),
    pytest.param(("owl2-rl", "owl2-direct"), marks=pytest.mark.slow),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("names", TOGETHER, ids="+".join)
def test_a_regime_on_the_premises_of_its_rules(names):
    rules = ruleset(names)
    texts, named = [rule.text for rule in rules], {rule.name for rule in rules}
    cases = [case for case in CASES if case.kept and named.issuperset(case.rules)]
    assert {case.rules[0] for case in cases if case.fires}  # some rules of it are tried
    for case in cases:
        store = closed(texts, case.given)
        derived = default_graph(store)
        closure = Closure(rules, key=7, options=Options(surrogates=True))
        added = graph_of(case.given, None, key=7)
        closure.add(added.triples, added.terms)
        found = {tuple(map(closure.terms.term, ids)) for ids in closure.triples.T.tolist()}
        assert canonical(found) == canonical(derived), str(case)
        conflicts = {(rules[i].name, solution) for i, solution in contradictions(texts, store)}
        assert {(each.rule, frozenset(each.bindings)) for each in closure.conflicts()} == conflicts, str(case)
        if case.fires and case.arrow != "!!" and "_:" not in case.result[0]:
            assert case.told <= derived, str(case)
        assert {(case.rules[0], solution) for solution in case.solutions} <= conflicts, str(case)
