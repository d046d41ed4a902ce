"""Rules that write named graphs: FROM, FROM NAMED and GRAPH read them, and nobody else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agreement.engine_runs import engine_answers
from oracle.cases import Case, GraphData, StreamData
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.generator import answers
from oracle.into_graphs import make_case
from oracle.notation import elements, triples
from oracle.vocabulary import PROLOGUE, iri
from penstock.algebra import Construct
from penstock.errors import QueryError
from penstock.languages import parse_query

RULE = "CONSTRUCT { ?x :high ?n } WHERE { ?x :p ?n FILTER (?n > 1) }"


def case_of(*queries: str, into: str | None = ":alerts") -> Case:
    texts = tuple(PROLOGUE + text for text in queries)
    algebra = [parse_query(text).query for text in texts]
    target = None if into is None else iri(into)
    arriving = elements({"1": ":a :p 1 . :b :p 2", "2": ":a :p 3", "3": ":b :q 3 . :b :p 0"})
    return Case(
        seed=1,
        streams=(StreamData(iri(":s"), tuple(arriving)),),
        graphs=(GraphData(iri(":g1"), triples(":a :kind :K . :b :high 9")),),
        queries=texts,
        lateness=0,
        batches=tuple(((0, number),) for number in range(len(arriving))),
        algebra=tuple(replace(q, target=target) if isinstance(q, Construct) else q for q in algebra),
    )


@pytest.mark.parametrize(
    ("reader", "found"),
    [
        ("SELECT * { ?x :high ?n }", 0),
        ("SELECT * { GRAPH :alerts { ?x :high ?n } }", 2),
        ("SELECT * { GRAPH ?g { ?x :high ?n } }", 3),
        ("SELECT * FROM :alerts { ?x :high ?n }", 2),
        ("SELECT * FROM NAMED :alerts { GRAPH ?g { ?x :high ?n } }", 2),
        ("SELECT * FROM :alerts { GRAPH :alerts { ?x :high ?n } }", 0),
        ("SELECT * { GRAPH :s { ?x :high ?n } }", 0),
        ("SELECT * { { ?x :p ?n } EQUALS { GRAPH :alerts { ?x :high ?n } } }", 2),
        ("SELECT * { ?x :p ?n MINUS { GRAPH :alerts { ?x :high ?m } } }", 1),
        ("SELECT (COUNT(*) AS ?n) { GRAPH :alerts { ?x :high ?n } }", 3),
    ],
)
@pytest.mark.parametrize("shards", [1, 2])
def test_a_named_rule_graph_is_read_by_its_name(reader: str, found: int, shards: int):
    case = case_of(RULE, reader)
    expected = answers(case)
    assert expected[1].total() == found
    assert engine_answers(case, shards) == expected


def test_a_rule_may_write_the_graph_of_a_registered_name():
    for into, found in ((":g1", 3), (":s", 2)):
        case = case_of(RULE, f"SELECT * {{ GRAPH {into} {{ ?x :high ?n }} }}", into=into)
        expected = answers(case)
        assert expected[1].total() == found
        assert engine_answers(case) == expected


def test_rules_feed_each_other_through_their_graphs_alone():
    """A chain through graphs goes on; one that reads the default graph gets nothing."""
    there = "CONSTRUCT { ?x :higher ?n } WHERE { GRAPH :alerts { ?x :high ?n } }"
    here = "CONSTRUCT { ?x :highest ?n } WHERE { ?x :high ?n }"
    case = case_of(RULE, there, here, "SELECT * { GRAPH :alerts { ?x ?p ?n } }")
    expected = answers(case)
    assert [each.total() for each in expected] == [2, 2, 0, 4]
    assert engine_answers(case, 2) == expected


def test_absence_of_what_a_rule_writes_elsewhere_is_no_recursion():
    rule = "CONSTRUCT { ?x :high ?n } WHERE { ?x :p ?n FILTER NOT EXISTS { ?x :high ?m } }"
    with pytest.raises(QueryError, match="through an absence"):
        engine_answers(case_of(rule, into=None))
    case = case_of(rule, "SELECT * { GRAPH :alerts { ?x :high ?n } }")
    expected = answers(case)
    assert expected[1].total() == 4
    assert engine_answers(case) == expected
    with pytest.raises(QueryError, match="through an absence"):
        engine_answers(case_of(rule.replace("EXISTS {", "EXISTS { GRAPH ?g {").replace("?m }", "?m } }")))


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 150, 50))
def test_random_rules_that_write_named_graphs(first: int):
    answered = read = 0
    for seed in range(first, first + 50):
        case = make_case(seed)
        try:
            expected = answers(case)
            found = engine_answers(case, (1, 2, 8)[seed % 3], restore=seed % 5 > 2)
        except (NoClosure, TooManySolutions):
            continue
        except QueryError as refusal:
            assert "recursion" in refusal.message, case
            continue
        assert found == expected, case
        answered += any(expected)
        read += expected != _answers_without_targets(case)
    assert answered >= 20 and read >= 8, "too few of these cases prove anything"


def _answers_without_targets(case: Case) -> list | None:
    algebra = [replace(q, target=None) if isinstance(q, Construct) else q for q in case.algebra]
    try:
        return answers(replace(case, algebra=tuple(algebra)))
    except (NoClosure, TooManySolutions):
        return None
