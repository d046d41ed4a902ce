"""Rows enter an index when it is looked into for their predicate, all that were taken by then."""

from __future__ import annotations

import pytest
from tests.reason.rule_texts import rules
from tests.reason.test_closing import OWL, OWL_TRANSITIVE, closure_of, ex, terms_of

from oracle.rules import fixpoint
from penstock.columns.ids import id_of
from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.reason.quads import LAST, LEAST, NAME, UP_TO, line_of
from penstock.rules.library import ruleset
from penstock.terms import RDF, Literal, NamedNode

SAME = NamedNode(OWL + "sameAs")


def line(closure: Closure, predicate: NamedNode) -> list[int]:
    """What is registered of a predicate."""
    register = closure._run.quads.register
    return register[line_of(register, id_of(predicate, closure.key))].tolist()


def chain(predicate: NamedNode, length: int) -> list:
    return [(ex(f"n{i}"), predicate, ex(f"n{i + 1}")) for i in range(length)]


def test_only_what_is_looked_up_is_in_an_index():
    portions = [chain(ex("p"), 40), chain(ex("q"), 40), [(ex("q"), RDF.type, OWL_TRANSITIVE)]]
    made = closure_of(["transitive"], portions)
    assert made.triples.shape[1] == 40 + 40 * 41 // 2 + 1
    p, q = line(made, ex("p")), line(made, ex("q"))
    assert p[LAST] >= 0 and set(p[UP_TO:]) == {-1}
    assert max(q[UP_TO:]) > p[LAST]


@pytest.mark.parametrize("late", [False, True])
def test_there_may_be_any_number_of_predicates(late):
    """Many more than a register has lines at first; they become transitive before or behind their rows."""
    predicates = [ex(f"p{i}") for i in range(5 * LEAST)]
    edges = [edge for predicate in predicates for edge in chain(predicate, 3)]
    axioms = [(predicate, RDF.type, OWL_TRANSITIVE) for predicate in predicates]
    made = closure_of(["transitive"], [edges, axioms] if late else [axioms, edges[::2], edges[1::2]])
    assert made.triples.shape[1] == len(predicates) * (1 + 6)
    register = made._run.quads.register
    assert register[-1, NAME] == len(predicates) + 1 and len(register) - 1 > 2 * len(predicates)


def test_rows_that_come_while_an_index_is_used():
    """Look-ups and new rows by turns: each time, an index gets what has come since."""
    triples = [(ex("p"), RDF.type, OWL_TRANSITIVE), *chain(ex("p"), 12)[::-1], *chain(ex("q"), 3)]
    expected = fixpoint([each.text for each in rules("transitive")], triples)
    made = closure_of(["transitive"], [[triple] for triple in triples])
    assert terms_of(made.triples, made.terms) == expected


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_literal_is_found_when_there_is_one(order):
    """Nobody looks for what is the same as an object, if that has to be a literal and none was said to be."""
    portions = [
        [(ex("x"), ex("p"), ex("y")), (ex("y"), SAME, ex("y"))],
        [(ex("a"), SAME, Literal("other"))],
        [(ex("y"), SAME, Literal("l"))],
    ]
    made = Closure(ruleset(["owl2-rl"]))
    for number in order:
        graph = graph_of(portions[number], None)
        made.add(graph.triples, graph.terms)
    assert (ex("x"), ex("p"), Literal("l")) in terms_of(made.triples, made.terms)
    assert (ex("x"), ex("p"), Literal("other")) not in terms_of(made.triples, made.terms)
