"""What is not built yet is refused by its name, and so is what has no meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oracle.vocabulary import PROLOGUE, TICK, iri
from oracle.window_model import (
    NOW,
    ON_CHANGE,
    ON_CLOSE,
    ContinuousQuery,
    Report,
    StreamOperator,
    View,
    Window,
    last,
    sliding,
)
from penstock import pipeline
from penstock.algebra import (
    BGP,
    ELEMENT,
    STREAM,
    EventSequence,
    InWindow,
    Member,
    OneOrMore,
    ParsedQuery,
    PathPattern,
    Select,
    TriplePattern,
    Var,
    with_scope,
)
from penstock.errors import QueryError, Span
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName

SHOWN = (Var("x"),)
TRIPLES = BGP((TriplePattern(Var("x"), iri(":p"), Var("v")),), ELEMENT)
GRAPH = parse_query(PROLOGUE + "SELECT ?x { GRAPH :w { ?x :p ?v } }").query


def planned(query, *windows: Window, report: Report = ON_CHANGE, view: View = View.ELEMENT):
    how = ContinuousQuery(query, windows, report, StreamOperator.RSTREAM, view)
    parsed = ParsedQuery(text="", place=Span(1, 1), language="CQELS-CEP", query=how.registered)
    return pipeline.plan([parsed], [StreamName(iri(":s").value)])


def window(spec, name: str = ":w", stream: str = ":s") -> Window:
    return Window(iri(name), iri(stream), spec)


def in_window(pattern, name: str = ":w"):
    return InWindow(iri(name), pattern)


def test_a_window_that_would_report_at_every_instant():
    for spec, report in (last(5 * TICK), ON_CLOSE), (NOW, Report(non_empty=True)):
        with pytest.raises(QueryError, match="at every instant"):
            planned(GRAPH, window(spec), report=report, view=View.GRAPH)


def test_a_stream_that_is_not_registered():
    for name, hint in ((":ss", "did you mean"), (":t", "register it with --stream")):
        with pytest.raises(QueryError, match="is not registered") as refused:
            planned(GRAPH, window(NOW, stream=name), view=View.GRAPH)
        assert hint in refused.value.hint


def test_a_window_that_there_is_not():
    with pytest.raises(QueryError, match="no window of that name"):
        planned(Select(in_window(TRIPLES, ":other"), SHOWN), window(NOW))


def test_a_repetition_of_windows():
    members = (
        Member(in_window(TRIPLES)),
        Member(in_window(TRIPLES), repeated=True),
        Member(in_window(TRIPLES)),
    )
    with pytest.raises(QueryError, match="a repetition of windows"):
        planned(Select(EventSequence(members), SHOWN), window(last(TICK)))


def test_a_path_beside_a_repetition():
    path = PathPattern(Var("x"), OneOrMore(iri(":p")), Var("y"), ELEMENT)
    members = (Member(path), Member(TRIPLES, repeated=True))
    with pytest.raises(QueryError, match="a path beside a repetition"):
        planned(Select(in_window(EventSequence(members)), SHOWN), window(last(TICK)))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (({}, {"negated": True}, {}), "without windows"),
        (({}, {"repeated": True}), "stands between two members"),
        (({"repeated": True}, {}), "stands between two members"),
        (({}, {"repeated": True}, {"negated": True}, {}), "stands between two members"),
    ],
)
def test_absence_and_repetitions_at_an_end_without_windows(how, why):
    plain = replace(TRIPLES, scope=STREAM)
    query = Select(EventSequence(tuple(Member(plain, **each) for each in how)), SHOWN)
    parsed = ParsedQuery(text="", place=Span(1, 1), language="ep-sparql", query=query)
    with pytest.raises(QueryError, match=why):
        pipeline.plan([parsed], [StreamName()])


def test_two_negated_members():
    members = (Member(TRIPLES), Member(TRIPLES, negated=True), Member(TRIPLES, negated=True))
    with pytest.raises(QueryError, match="at most one negated member"):
        planned(Select(in_window(EventSequence(members)), SHOWN), window(last(TICK)))


def test_a_scope_for_all_queries_leaves_continuous_ones_as_they_are():
    how = ContinuousQuery(GRAPH, (window(sliding(5, 5)),), ON_CLOSE, StreamOperator.RSTREAM, View.GRAPH)
    parsed = ParsedQuery(text="", place=Span(1, 1), language="RSP-QL", query=how.registered)
    assert with_scope(parsed, ELEMENT) == parsed
    plain = replace(parsed, query=GRAPH)
    assert with_scope(plain, ELEMENT).query.scope == ELEMENT
