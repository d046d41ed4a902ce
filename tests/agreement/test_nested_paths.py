"""Nested regular expressions: the engine against the printed semantics, and over time against the oracle."""

from __future__ import annotations

from random import Random

import pytest

from agreement.changing_runs import differences
from agreement.closures import triples_of
from agreement.engine_runs import engine_answers
from agreement.histories import make_history
from agreement.navigation import beside_case, navigable_graph, path_of, static_case
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.generator import NESTED, answers, make_case
from oracle.model import StaticGraph, Triple
from oracle.nested import printed, timed
from oracle.nested_text import nested_text
from oracle.scopes import event_case, scope_case
from oracle.vocabulary import BASE, EPOCH, PROLOGUE, TICK, iri
from penstock.errors import QueryError
from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.rules.library import ruleset
from penstock.terms import RDF, NamedNode


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_the_engine_finds_the_pairs_of_the_printed_semantics(first: int) -> None:
    """600 expressions, each between six kinds of ends."""
    answered = 0
    for seed in range(first, first + 100):
        case, expected = static_case(seed)
        found = engine_answers(case, (1, 2)[seed % 2])
        assert found == expected, case
        answered += any(expected)
    assert answered > 40


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", [make_case, scope_case, event_case])
@pytest.mark.parametrize("first", [0, 40])
def test_over_streams_elements_and_events_it_answers_as_the_definitions_say(first: int, kind) -> None:
    """In random queries: under OPTIONAL, in EXISTS, in rules, beside static graphs."""
    agree = answered = 0
    for seed in range(NESTED + first, NESTED + first + 40):
        case = kind(seed)
        try:
            expected = answers(case)
            found = engine_answers(case, (1, 2, 8)[seed % 3], restore=seed % 2 == 0)
        except (TooManySolutions, NoClosure):
            continue
        except QueryError as refusal:
            assert "recursion" in refusal.message or "feeds itself" in refusal.message, case
            continue
        assert found == expected, case
        agree += 1
        answered += any(expected)
    assert agree > 25 and answered > 12


@pytest.mark.sample(0)
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_static_paths_are_found_from_what_others_bind(first: int) -> None:
    """One end bound, both, none: by a stream, by other patterns, by other paths."""
    agree = answered = 0
    for seed in range(first, first + 100):
        case = beside_case(seed)
        try:
            expected = answers(case)
        except TooManySolutions:
            continue
        found = engine_answers(case, (1, 2, 8)[seed % 3], restore=seed % 2 == 0)
        assert found == expected, case
        agree += 1
        answered += any(expected)
    assert agree > 80 and answered > 30


@pytest.mark.sample(0)
def test_over_rows_that_leave_it_answers_as_the_definitions_say() -> None:
    compared = 0
    for seed in range(NESTED, NESTED + 60):
        history = make_history(seed)
        try:
            count, lines = differences(history, (1, 2, 8)[seed % 3], restore=seed % 5 > 2)
        except (TooManySolutions, NoClosure, QueryError):
            continue
        assert not lines, "\n".join([str(history), *lines])
        compared += count
    assert compared > 2000


def test_the_definition_over_time_is_the_printed_one_where_there_is_none() -> None:
    found = 0
    for seed in range(300):
        random = Random(f"timeless {seed}")
        graph = navigable_graph(random)
        path = path_of(nested_text(random, 2))
        pairs = timed(path, (StaticGraph(frozenset(graph)),), lambda one, other: None)
        assert pairs == {(x, y, None, None) for x, y in printed(path, graph)}
        found += bool(pairs)
    assert found > 100


# --- by hand -----------------------------------------------------------------------------------------


def element(second: int, *triples: str) -> Element:
    named = tuple(tuple(map(iri, triple.split())) for triple in triples)
    return Element(named, EPOCH + second * TICK, EPOCH + second * TICK)


def intervals(where: str, elements: list[Element], *static: str) -> list[tuple]:
    """The answers as (names, start, end) in seconds."""
    graph = GraphData(None, tuple(tuple(map(iri, triple.split())) for triple in static))
    batches = tuple(((0, place),) for place in range(len(elements)))
    text = f"{PROLOGUE} SELECT * WHERE {{ {where} }}"
    case = Case(3, (StreamData(None, tuple(elements)),), (graph,), (text,), 0, batches)
    [found] = engine_answers(case)
    assert [found] == answers(case)

    def second(instant: int | None) -> int | None:
        return None if instant is None else (instant - EPOCH) // TICK

    return sorted(
        ((*(text.rpartition("/")[2][:-1] for _, text in bindings), second(start), second(end)))
        for (bindings, start, end), count in found.items()
        for _ in range(count)
    )


MAP = (
    ":conn1 :beg :m", ":conn1 :end :b", ":conn1 :means :subway", ":conn1 :dur :3m",
    ":conn2 :beg :b", ":conn2 :end :c", ":conn2 :means :subway", ":conn2 :dur :2m",
    ":conn3 :beg :h", ":conn3 :end :g", ":conn3 :means :subway", ":conn3 :dur :3m",
    ":conn4 :beg :g", ":conn4 :end :c", ":conn4 :means :tram", ":conn4 :dur :5m",
)  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "(next-1::beg[next::means/self::subway]/next::end)+",  # paper 001, example 5
        "(^:beg/[:means :subway]/:end)+",  # example 6
        "(^:beg/self::[:means/self::subway]/:end)+",
    ],
)
def test_the_stops_of_the_paper_from_which_subways_go_to_the_centre(path: str) -> None:
    assert intervals(f"?s {path} :c", [], *MAP) == [("b", None, None), ("m", None, None)]


def test_a_test_is_part_of_the_interval_and_what_is_timeless_is_not() -> None:
    delays = [element(1, ":conn1 :beg :m"), element(4, ":conn1 :open :yes"), element(6, ":conn1 :end :b")]
    assert intervals("?s ^:beg/[:open :yes]/:end ?o", delays) == [("b", "m", 1, 6)]
    assert intervals("?s ^:beg/[:open :yes]/:end ?o", delays, ":conn1 :open :yes") == [("b", "m", 1, 6)]
    assert intervals("?s :beg[^:end] ?o", [*delays, element(7, ":x :end :m")]) == [("m", "conn1", 1, 7)]


def test_staying_takes_no_time_after_a_step() -> None:
    """⟨y, y⟩ of `:q*` is not joined with every occurrence of y, as it is in a pattern of its own."""
    elements = [element(1, ":a :p :b"), element(5, ":b :r :d")]
    assert intervals("?x next::p/(next::q)* ?y", elements) == [("a", "b", 1, 1)]
    assert intervals("?x :p/:q* ?y", elements) == [("a", "b", 1, 1), ("a", "b", 1, 5)]


def test_staying_is_everywhere_that_a_term_occurs() -> None:
    assert intervals("?x self ?y", [element(1, ":a :p :b"), element(2, ":p :q :r")], ":a :q :q") == sorted(
        [("a", "a", None, None), ("b", "b", 1, 1), ("p", "p", 1, 1), ("p", "p", 2, 2)]
        + [("q", "q", None, None), ("r", "r", 2, 2)],
        key=str,
    )


# --- RDFS by navigation -------------------------------------------------------------------------------

SC, SP = "(next::rdfs:subClassOf)", "(next::rdfs:subPropertyOf)"
NAVIGATED = {
    "rdfs:subClassOf": f"{SC}+",
    "rdfs:subPropertyOf": f"{SP}+",
    "a": f"(next::a/{SC}*|edge/{SP}*/next::rdfs:domain/{SC}*|node-1/{SP}*/next::rdfs:range/{SC}*)",
} | {f":p{i}": f"next::[{SP}*/self:::p{i}]" for i in range(3)}
PREFIXES = f"PREFIX : <{BASE}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
RHO_DF = ("scm-spo", "prp-spo1", "scm-sco", "cax-sco", "prp-dom", "prp-rng")


def ontology(random: Random) -> list[Triple]:
    """Facts, and an ontology about their classes and properties; cycles among them too."""
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    classes, properties, things = (
        [iri(f":{kind}{i}") for i in range(int(n))] for kind, n in ("c5", "p3", "i5")
    )
    found = [(random.choice(things), random.choice(properties), random.choice(things)) for _ in range(6)]
    found += [(random.choice(things), RDF.type, random.choice(classes)) for _ in range(2)]
    for name, ones, others in (
        ("subClassOf", classes, classes),
        ("subPropertyOf", properties, properties),
        ("domain", properties, classes),
        ("range", properties, classes),
    ):
        some = random.randrange(5)
        found += [(random.choice(ones), NamedNode(rdfs + name), random.choice(others)) for _ in range(some)]
    return list(dict.fromkeys(found))


@pytest.mark.sample(0)
def test_navigation_finds_what_the_rules_derive() -> None:
    total = 0
    for seed in range(60):
        triples = ontology(Random(f"navigation {seed}"))
        derived = Closure(ruleset(RHO_DF), 7)
        added = graph_of(triples, None, key=7)
        derived.add(added.triples, added.terms)
        closed = GraphData(None, tuple(triples_of(derived.triples, derived.terms)))
        plain = tuple(f"{PREFIXES} SELECT ?x ?y WHERE {{ ?x {each} ?y }}" for each in NAVIGATED)
        walked = tuple(f"{PREFIXES} SELECT ?x ?y WHERE {{ ?x {each} ?y }}" for each in NAVIGATED.values())
        expected = engine_answers(Case(seed, (), (closed,), plain, 0, ()))
        found = engine_answers(Case(seed, (), (GraphData(None, tuple(triples)),), walked, 0, ()))
        assert found == expected, triples
        total += len(closed.triples) - len(triples)
    assert total > 300
