"""Event mode: queries for each element by itself, with static knowledge, against the oracle."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from agreement.comparing import case_by_hand, compared
from agreement.engine_runs import engine_answers, keep, occurrences_of, program_of
from agreement.spark_runs import spark_answers
from agreement.tunings import tiny
from oracle.cases import Case
from oracle.generator import answers
from oracle.scopes import event_case, in_event_mode
from oracle.vocabulary import PROLOGUE
from penstock.languages import parse_query
from penstock.plan import steps


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_engine_answers_as_the_definition_says(first: int):
    counts = compared(event_case, range(first, first + 60))
    assert counts["agree"] > 30 and counts["with answers"] > 15, counts


# --- by hand ---------------------------------------------------------------------------------------


def event(query: str, *elements: str, static: str = "", batches: int = 1) -> Case:
    """Elements (two at a time, of a second each), static triples, and a query for each element."""
    text = f"{PROLOGUE} {query}"
    algebra = in_event_mode(parse_query(text).query)
    return case_by_hand(text, algebra, elements, ticks=1, static=static, batches=batches)


ELEMENTS = (":a :p :b, :b :q :c", ":a :p :d", ":d :q :e, :a :p :b", ":b :q :c, :b :p :c")


@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize(
    ("query", "static", "count"),
    [
        ("SELECT * { ?x :p ?y . ?y :q ?z }", "", 1),
        ("SELECT * { ?x :p ?y . ?y :q ?z }", ":d :q :e", 2),  # one triple of the element, one static
        ("SELECT * { ?x :p ?y }", ":s :p :t", 5),  # what is static is answered once, and by no element
        ("SELECT * { ?x :p ?y }", ":a :p :b", 3),  # what an element repeats is static
        ("SELECT * { { ?x :p ?y } { ?u :q ?v } }", "", 3),
        ("SELECT * { ?x :p ?y OPTIONAL { ?y :q ?z } }", "", 4),
        ("SELECT * { ?x :r ?y OPTIONAL { ?y :q ?z } }", ":s :r :b", 4),  # of each element
        ("SELECT * { ?x :p ?y MINUS { ?y :q ?z } }", "", 3),
        ("SELECT * { ?x :p ?y FILTER EXISTS { ?y :q ?z } }", "", 1),
        ("SELECT * { ?x :p ?y FILTER NOT EXISTS { ?z :q ?w FILTER (?z = ?y) } }", "", 3),
        ("SELECT (COUNT(*) AS ?n) { ?x :q ?y }", "", 4),  # also of the element that has none
        ("SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x", "", 4),
        ("SELECT * { ?x ?p ?y } ORDER BY ?y LIMIT 1", "", 4),
        ("SELECT DISTINCT ?x { ?x ?p ?y }", "", 6),
        ("SELECT * { ?x (:p|:q)+ ?y }", "", 7),
        ("SELECT * { ?x :p+ ?y }", ":b :p :z", 7),  # by the element, and on by what is static
        ("ASK { ?x :p ?y . ?y :q ?z }", "", 4),
        ("CONSTRUCT { ?x :r ?y } WHERE { ?x :p ?y }", "", 4),
        ("DESCRIBE ?x { ?x :q ?y }", "", 4),
    ],
)
def test_an_element_is_all_there_is(query: str, static: str, count: int, shards: int):
    case = event(query, *ELEMENTS, static=static)
    [found] = engine_answers(case, shards)
    assert [found] == answers(case) and sum(found.values()) == count


@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?x :p ?y }",
        "SELECT DISTINCT ?x { ?x :p ?y }",
        "SELECT (COUNT(*) AS ?n) { ?x :p ?y }",
        "SELECT * { ?x :p ?y OPTIONAL { ?y :q ?z } }",
        "ASK { ?x :p ?y }",
        "CONSTRUCT { ?x :r ?y } WHERE { ?x :p ?y }",
    ],
)
def test_equal_queries_answer_each_as_if_alone(query: str, shards: int):
    case = event(query, *ELEMENTS, static=":s :p :t")
    [alone] = answers(case)
    three = replace(case, queries=case.queries * 3, algebra=case.algebra * 3)
    assert engine_answers(three, shards) == [alone] * 3


def test_each_answer_has_the_interval_of_its_element():
    case = event("SELECT (COUNT(*) AS ?n) { ?x :q ?y }", *ELEMENTS)
    [found] = engine_answers(case)
    spans = [(start, end) for _, start, end in found.elements()]
    assert sorted(spans) == sorted((each.start, each.end) for each in case.streams[0].elements)


def test_what_rules_derive_is_in_no_element():
    case = event("SELECT * { ?x :r ?y }", *ELEMENTS)
    rule = f"{PROLOGUE} CONSTRUCT {{ ?x :r ?y }} WHERE {{ ?x :p ?y }}"
    everywhere = f"{PROLOGUE} SELECT * {{ ?x :r ?y }}"
    algebra = (*case.algebra, *(parse_query(text).query for text in (rule, everywhere)))
    case = replace(case, queries=(*case.queries, rule, everywhere), algebra=algebra)
    found = engine_answers(case, 2)
    assert found == answers(case) and not found[0] and found[2]
    # And what is constructed in an element is only given.
    alone = replace(case, algebra=tuple(map(in_event_mode, algebra)))
    found = engine_answers(alone, 2)
    assert found == answers(alone) and not found[0] and found[1] and not found[2]


# --- nothing is remembered --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?x :p ?y . ?y :q ?z OPTIONAL { ?z :p ?w } }",
        "SELECT * { ?x (:p|:q)+ ?y FILTER NOT EXISTS { ?y :r ?z } MINUS { ?x :r ?y } }",
        "SELECT * { ?x :p ?y FILTER EXISTS { ?z :q ?w FILTER (?z = ?y) } }",
        "SELECT DISTINCT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x ORDER BY ?n LIMIT 5",
    ],
)
def test_a_shard_keeps_nothing_of_elements(query: str):
    texts = [f":a{n} :p :b{n}, :b{n} :q :c{n}" for n in range(200)]
    case = event(query, *texts, static=":b1 :q :c1, :s :p :t", batches=100)
    program, stored, most = program_of(case, 1, tiny(Random("events"))), {}, 0
    shard = program.open(0)
    answered = 0
    for batch in case.batches:
        elements = [case.streams[0].elements[place] for _, place in batch]
        payloads = [payload for _, payload in program.route(0, occurrences_of(elements, program.key))]
        # Time does not even move on.
        answered += sum(table.num_rows for _, table in shard.answers(payloads, 0, False))
        keep(stored, shard)
        assert not any(len(store) for operator in shard.shard.operators for store in operator.stores)
        assert set(stored) == {"clock", "steps"}
        most = max(most, shard.shard.terms.size)
    assert answered >= 200 and most < 40
    assert [type(step) for step in program.network.steps] == [steps.PerElement]


# --- on Spark ---------------------------------------------------------------------------------------


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_spark_answers_as_the_definition_says(shards: int):
    answered = 0
    for seed in range(shards, 40, 13):
        case = event_case(seed)
        case = replace(case, algebra=tuple(in_event_mode(parse_query(text).query) for text in case.queries))
        if case.late:
            continue
        found = spark_answers(case, shards, batch_bytes=(300, 1500)[seed % 2], query_scope="element")
        expected = answers(case)
        assert found == expected, f"with {shards} partitions:\n{case}"
        answered += any(expected)
    assert answered
