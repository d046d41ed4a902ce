"""Answers an example over windows by the oracle and by the engine; its windows read one stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyoxigraph as ox

from docs import by_engine
from docs.by_oracle import elements_of
from docs.page import Example
from oracle.cases import Element
from oracle.model import StaticGraph, TimedDataset
from oracle.window_model import ContinuousQuery, View
from oracle.windows import Knowledge, given
from penstock.algebra import ParsedQuery
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.sinks.answers import plain_text
from penstock.timeline import format_instant


def by_definition(example: Example, language: str) -> tuple[list[str], Counter]:
    """The header and the rows as CSV has them; what has no interval has the instant at which it is given."""
    query = _query(example, language).query
    how = query.continuous
    asked = ContinuousQuery(replace(query, continuous=None), how.windows, how.report, how.operator, how.view)
    streams = {window.stream: _elements(example) for window in how.windows}
    names = [var.name for var in query.vars]
    graph = StaticGraph(frozenset(_static(example)))
    knowledge = Knowledge(((None, TimedDataset((graph,))),))
    rows: Counter = Counter()
    for at, row, count in given(asked, streams, knowledge):
        start, end = (row.start, row.end) if how.view is View.ELEMENT else (at, at)
        values = (plain_text(str(row.value(name) or "")) for name in names)
        rows[*values, format_instant(start), format_instant(end)] += count
    return [*names, "start", "end"], rows


def by_the_engine(example: Example, language: str, shards: int = 2) -> tuple[list[str], Counter]:
    parsed = _query(example, language)
    (stream,) = {window.stream.value for window in parsed.query.continuous.windows}
    graphs = [graph_of(_static(example), None)] if example.graph else []
    return by_engine.run([parsed], graphs, _elements(example), shards, stream)[-1]


def _query(example: Example, language: str) -> ParsedQuery:
    (text,) = example.queries
    return parse_query(text, language=language)


def _elements(example: Example) -> list[Element]:
    return [Element(tuple(t), start, end) for t, start, end in elements_of(example.stream)]


def _static(example: Example) -> list[tuple]:
    quads = ox.parse((example.graph or "").encode(), ox.RdfFormat.TURTLE)
    return [(quad.subject, quad.predicate, quad.object) for quad in quads]
