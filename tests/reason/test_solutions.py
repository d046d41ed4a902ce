"""What is looked at outside the kernel is looked at in columns, not row by row."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.reason.evaluation import Options
from penstock.reason.solutions import Solutions
from penstock.rules.library import rule
from penstock.rules.reading import read_rules
from penstock.terms import XSD, BlankNode, Literal, NamedNode

P = NamedNode("http://example.org/p")


def closed(rules, triples, key=7, **options) -> Closure:
    closure = Closure(rules, key=key, options=Options(**options))
    graph = graph_of(triples, None, key=key)
    closure.add(graph.triples, graph.terms)
    return closure


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """How many combinations were asked one by one, each time."""
    counts: list[int] = []
    lookups = Solutions._lookups

    def counted(self, columns):
        found = list(lookups(self, columns))
        counts.append(len(found))
        return iter(found)

    monkeypatch.setattr(Solutions, "_lookups", counted)
    return counts


def things(literals: list[Literal]) -> list[tuple]:
    return [(NamedNode(f"http://example.org/{i}"), P, each) for i, each in enumerate(literals)]


@pytest.mark.parametrize("name", ["rdfD1", "rdf2-D", "dstar-rdfs1", "gl"])
def test_what_is_asked_of_literals_is_asked_of_their_kinds(name, asked):
    literals = [Literal(f"text {i}") for i in range(300)] + [
        Literal(f"{i}", language="en") for i in range(300)
    ]
    literals += [Literal("one\nescape"), Literal("7", datatype=XSD.integer)]
    closure = closed([rule(name)], things(literals), surrogates=True)
    assert sum(closure.derived.values()) >= 301
    assert max(asked) <= 4


INVENTING = """
# name: invents
PREFIX ex: <http://example.org/>
INSERT { ?x ex:has _:one . _:one ex:of ?y ; ex:in _:other } WHERE { ?x ex:p ?y }
"""


def test_invented_nodes_are_named_after_their_solutions_not_after_the_key_of_a_run():
    literals = [Literal("a"), Literal("12", datatype=XSD.integer), Literal("a\nb", language="en")]
    found = [closed(read_rules(INVENTING).rules, things(literals), key=key) for key in (7, 8)]
    names = [
        {str(term) for id_ in np.unique(each.inferred) if isinstance(term := each.terms.term(id_), BlankNode)}
        for each in found
    ]
    assert len(names[0]) == 6  # two for each solution
    assert names[0] == names[1]
