"""What windows show, report and give: the table of hand-written cases, and what the oracle refuses."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from oracle.cases import Element
from oracle.model import TimedDataset
from oracle.notation import elements, graph, short
from oracle.vocabulary import PROLOGUE, TICK, iri
from oracle.window_model import (
    ON_CLOSE,
    ContinuousQuery,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Timestamp,
    View,
    Window,
    WindowSpec,
    sliding,
    triples,
)
from oracle.windows import Clock, Knowledge, as_elements, closes_at, content, given
from penstock.algebra import Var
from penstock.languages import parse_query
from windows.cases import CASES, STREAM, WINDOWS, Rows, WindowTable, continuous, in_rspql, instant


def knowledge_of(case: WindowTable) -> Knowledge:
    named = {iri(name): (graph(text),) for name, text in case.named.items()}
    return Knowledge(((None, TimedDataset((graph(case.static),) if case.static else (), named)),))


def by_instant(rows: Rows) -> dict[int, list[str]]:
    return {instant(at): sorted(text.split()) for at, text in rows.items() if text}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_windows_show_when_the_query_is_evaluated(case):
    streams = {STREAM: elements(case.stream)}
    query = continuous(case, StreamOperator.RSTREAM)
    clock = Clock(query, streams)
    for window, rows in zip(query.windows, case.shown, strict=True):
        assert clock.evaluations() == [instant(at) for at in rows]
        for at, subjects in rows.items():
            held = clock.content(window, instant(at))
            shown = [short(subject)[1:] for each in held for subject in {s for s, _, _ in each.triples}]
            assert sorted(shown) == sorted(subjects.split()), at


@pytest.mark.parametrize("operator", StreamOperator, ids=lambda each: each.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_a_query_over_windows_gives(case, operator):
    found: dict[int, list[str]] = {}
    streams = {STREAM: elements(case.stream)}
    for at, row, count in given(continuous(case, operator), streams, knowledge_of(case)):
        found.setdefault(at, []).extend(count * [short(term).removeprefix(":") for _, term in row.mu])
    expected = {"RSTREAM": case.rstream, "ISTREAM": case.istream, "DSTREAM": case.dstream}[operator.value]
    assert {at: sorted(rows) for at, rows in found.items()} == by_instant(expected)


def test_rspql_says_what_its_windows_are_and_when_they_report():
    said = {case.title: in_rspql(case, StreamOperator.DSTREAM) for case in CASES}
    texts = [each.text for each in said.values() if each is not None]
    assert len(texts) > 20
    assert all("REGISTER DSTREAM :out AS" in text and "WINDOW :w {" in text for text in texts)
    overlapping = said["overlapping windows: (-5, 5], (0, 10], (5, 15], (10, 20]"]
    assert overlapping.plain
    assert "FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE" in overlapping.text
    assert any("REPORT ON CHANGE" in text for text in texts)


def asked(text: str, spec: WindowSpec, report: Report = ON_CLOSE, name=WINDOWS[0]) -> ContinuousQuery:
    query = parse_query(PROLOGUE + text).query
    return ContinuousQuery(query, (Window(name, STREAM, spec),), report, StreamOperator.RSTREAM, View.GRAPH)


def test_a_variable_for_a_graph_ranges_over_static_graphs_and_no_windows():
    query = asked("SELECT ?g { GRAPH ?g { ?x :p ?v } }", sliding(5 * TICK, 5 * TICK))
    knowledge = Knowledge(((None, TimedDataset((), {iri(":g"): (graph(":a :p 1"),)})),))
    streams = {STREAM: elements({"1": ":b :p 1"})}
    assert [row.value("g") for _, row, _ in given(query, streams, knowledge)] == [iri(":g")]


def follows(triples):
    """x :q y follows from x :p y."""
    return frozenset((s, iri(":q"), o) for s, p, o in triples if p == iri(":p"))


def test_what_follows_from_an_element_is_in_the_window_as_long_as_it():
    streams = {STREAM: elements({"1": ":a :p 1", "6": ":b :p 1"})}
    query = asked("SELECT ?x { GRAPH :w { ?x :q ?v } }", sliding(5 * TICK, 5 * TICK))
    found = [(at, row.value("x")) for at, row, _ in given(query, streams, follows=follows)]
    assert found == [(instant("5"), iri(":a")), (instant("10"), iri(":b"))]


def test_what_follows_does_not_count_among_the_last_triples():
    streams = {STREAM: elements({"1": ":a :p 1", "2": ":b :p 1", "3": ":c :p 1"})}
    query = asked("SELECT ?x { GRAPH :w { ?x :q ?v } }", triples(2))
    found = [(at, short(row.value("x"))) for at, row, _ in given(query, streams, follows=follows)]
    expected = [("1", ":a"), ("2", ":a"), ("2", ":b"), ("3", ":b"), ("3", ":c")]
    assert sorted(found) == [(instant(at), x) for at, x in expected]


def test_the_timestamp_of_a_triple_is_when_it_was_last_stated():
    streams = {STREAM: elements({"1": ":a :p 1", "2-3": ":a :p 1", "4": ":b :p 1"})}
    query = asked("SELECT ?x ?at { ?x :p ?v }", sliding(5 * TICK, 5 * TICK), name=None)
    select = query.query
    pattern = select.pattern.pattern
    stamped = Timestamp(pattern, Var("at"), pattern.triples[0])
    query = replace(query, query=replace(select, pattern=replace(select.pattern, pattern=stamped)))
    found = {short(row.value("x")): row.value("at").value[17:19] for _, row, _ in given(query, streams)}
    assert found == {":a": "03", ":b": "04"}


def test_what_a_construct_gives_is_a_stream_with_an_element_for_each_instant():
    streams = {STREAM: elements({"1": ":a :p 1", "2": ":b :p 1", "8": ":c :p 1"})}
    query = asked("CONSTRUCT { ?x :seen true } { GRAPH :w { ?x :p ?v } }", sliding(5 * TICK, 5 * TICK))
    made = as_elements(given(query, streams))
    subjects = [(each.start, each.end, sorted(short(s) for s, _, _ in each.triples)) for each in made]
    five, ten = instant("5"), instant("10")
    assert subjects == [(five, five, [":a", ":b"]), (ten, ten, [":c"])]
    others = asked("SELECT (COUNT(*) AS ?n) { GRAPH :w { ?x :seen true } }", sliding(10 * TICK, 10 * TICK))
    assert [(at, row.value("n").value) for at, row, _ in given(others, {STREAM: made})] == [(ten, "3")]


def random_spec(random: Random) -> WindowSpec:
    width, slide = random.randint(1, 9), random.randint(1, 9)
    start = random.choice((None, None, random.randint(-3, 12)))
    return WindowSpec(
        Kind.TIME, width, slide, start, random.random() < 0.3, random.choice((Shows.PRESENT, Shows.CLOSED))
    )


def presence(spec: WindowSpec, end: int) -> tuple[int, int]:
    """[since, until): when a time window has an element that ends at `end`, in closed form (decision 0013).

    With a first window, openings before it do not count: then an element that it lacks is never there.
    """
    base = spec.start or 0
    just = end if spec.opening else end - 1  # the last instant at which a window with the element may open
    latest = base + (just - base) // spec.slide * spec.slide
    earliest = base + -((base - (end - spec.width)) // spec.slide) * spec.slide
    if spec.start is not None:
        earliest = max(earliest, spec.start)
        if latest < spec.start:
            return end, end
    if latest + spec.width < end:
        return end, end
    if spec.shows is Shows.PRESENT:
        return end, latest + spec.width + 1
    return earliest + spec.width, latest + spec.width + spec.slide


def test_an_element_is_in_a_time_window_for_one_stretch_of_time_that_is_known_when_it_comes():
    random = Random(1)
    kept = 0
    for _ in range(3000):
        spec = random_spec(random)
        end = random.randint(0, 30)
        element = Element((("s", "p", "o"),), end - random.randint(0, 5), end)
        since, until = presence(spec, end)
        there = [t for t in range(-5, 80) if content(spec, [element], t)]
        assert there == list(range(since, until)), (spec, end)
        kept += len(there)
    assert kept > 10_000


def test_windows_close_where_they_have_been_open():
    spec = WindowSpec(Kind.TIME, width=10, slide=4, start=0)
    assert [t for t in range(-5, 30) if closes_at(spec, t)] == [10, 14, 18, 22, 26]


def test_a_window_that_would_report_at_every_instant_is_refused():
    streams = {STREAM: elements({"1": ":a :p 1"})}
    query = parse_query(PROLOGUE + "SELECT ?x { GRAPH :w { ?x :p ?v } }").query
    for spec, report in (
        (WindowSpec(Kind.TIME, 5, 1), Report(close=True)),
        (WindowSpec(Kind.TIME, 5, 5), Report(non_empty=True)),
    ):
        windows = (Window(iri(":w"), STREAM, spec),)
        with pytest.raises(ValueError, match="at every instant"):
            given(ContinuousQuery(query, windows, report, StreamOperator.RSTREAM, View.GRAPH), streams)
