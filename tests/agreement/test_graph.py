"""GRAPH with a name that the dataset does not have: no solution at all (SPARQL 1.1, section 18.6)."""

from __future__ import annotations

import pytest

from agreement.engine_runs import engine_answers
from oracle.cases import Case, GraphData, StreamData
from oracle.generator import answers
from oracle.notation import elements, triples
from oracle.vocabulary import PROLOGUE, iri

NOT_THERE = {
    "the empty group": "{ GRAPH :nowhere {} }",
    "inline data": "{ GRAPH :nowhere { VALUES ?x { :a :b } } }",
    "a computed value": "{ GRAPH :nowhere { BIND (1 AS ?x) } }",
    "a path without length": "{ GRAPH :nowhere { :a :p* :a } }",
    "an optional part of nothing": "{ GRAPH :nowhere { OPTIONAL { ?x :p ?n } } }",
    "an aggregate": "{ GRAPH :nowhere { SELECT (COUNT(*) AS ?n) { ?x :p ?y } } }",
    "a group beside it": "{ ?x :p ?n GRAPH :nowhere {} }",
    "a graph that is there inside it": "{ GRAPH :nowhere { GRAPH :g1 { ?x :kind ?k } } }",
    "in EXISTS": "{ ?x :p ?n FILTER EXISTS { GRAPH :nowhere {} } }",
    "in EXISTS with a substituted variable": (
        "{ ?x :p ?n FILTER EXISTS { GRAPH :nowhere { OPTIONAL { ?x :q ?m FILTER (?m > ?n) } } } }"
    ),
    "FROM NAMED leaves it out": "FROM :s FROM NAMED :s { GRAPH :g1 {} }",
}
THERE = {
    "the empty group": "{ GRAPH :g1 {} }",
    "a graph inside another": "{ GRAPH :g1 { GRAPH :s { ?x :p ?n } } }",
    "NOT EXISTS": "{ ?x :p ?n FILTER NOT EXISTS { GRAPH :nowhere {} } }",
    "MINUS removes nothing": "{ ?x :p ?n MINUS { ?x :p ?n GRAPH :nowhere {} } }",
    "UNION": "{ { GRAPH :nowhere {} } UNION { ?x :p ?n } }",
}


def case_of(query: str) -> Case:
    arriving = elements({"1": ":a :p 1 . :b :p 2", "2": ":a :q 2", "3": ":b :p 3"})
    return Case(
        seed=1,
        streams=(StreamData(iri(":s"), tuple(arriving)),),
        graphs=(GraphData(iri(":g1"), triples(":a :kind :K")),),
        queries=(f"{PROLOGUE} SELECT * {query}",),
        lateness=0,
        batches=tuple(((0, number),) for number in range(len(arriving))),
    )


@pytest.mark.parametrize("query", NOT_THERE.values(), ids=NOT_THERE)
def test_a_graph_that_is_not_there_has_no_solution(query: str):
    case = case_of(query)
    assert [found.total() for found in engine_answers(case)] == [0]
    assert [found.total() for found in answers(case)] == [0]


@pytest.mark.parametrize("query", THERE.values(), ids=THERE)
def test_what_is_there_has_its_solutions(query: str):
    case = case_of(query)
    [expected] = answers(case)
    assert expected.total() > 0
    assert engine_answers(case, shards=2) == [expected]
