"""Static knowledge closed as far as it is wanted has of that what the whole closure has."""

from __future__ import annotations

import random

import pytest
from tests.reason.rule_texts import RULES, rule, rules
from tests.reason.test_closing import ex, graph
from tests.reason.test_selecting import MORE

from penstock.columns.terms import TermTable
from penstock.knowledge.graphs import graph_of
from penstock.reason.answering import WantedClosure
from penstock.reason.closing import Closure
from penstock.terms import RDF, NamedNode


def found(closure, want) -> set:
    terms: TermTable = closure.terms
    triples = {tuple(terms.term(id_) for id_ in triple) for triple in closure.triples.T.tolist()}
    return {each for each in triples if any(p in (None, each[1]) and c in (None, each[2]) for p, c in want)}


@pytest.mark.parametrize("seed", range(150))
def test_what_is_wanted_of_graphs_is_there(seed):
    random_ = random.Random(seed)
    names = random_.sample(sorted(RULES.keys() - {"event"}), random_.randint(1, 9))
    more = random_.sample(sorted(MORE), random_.randint(0, 6))
    program = rules(*names) + [rule(name, MORE[name]) for name in more]
    graphs = [graph_of(graph(random_, random_.randint(0, 12)), None, key=7) for _ in range(2)]
    choices = [
        (ex("p"), None),
        (RDF.type, ex("A")),
        (RDF.type, ex("C")),
        (ex("near"), None),
        (RDF.type, None),
    ]
    choices += [(NamedNode("http://www.w3.org/2002/07/owl#sameAs"), None), (ex("kind"), None)]
    want = frozenset(random_.sample(choices, random_.randint(1, 3)))
    whole = Closure(program, 7)
    for each in graphs:
        whole.add(each.triples, each.terms)
    some = WantedClosure(program, graphs, want, 7)
    assert found(some, want) == found(whole, want)
    assert set(some.conflicts()) == set(whole.conflicts())
