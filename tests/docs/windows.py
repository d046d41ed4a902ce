"""Answers an example over windows by the oracle: a row for each solution, with the instant it is given at."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyoxigraph as ox

from docs.by_oracle import elements_of
from docs.page import Example
from oracle.cases import Element
from oracle.model import StaticGraph, TimedDataset
from oracle.window_model import ContinuousQuery, View
from oracle.windows import Knowledge, given
from penstock.languages import parse_query
from penstock.sinks.answers import plain_text
from penstock.terms import NamedNode
from penstock.timeline import format_instant


def answer(example: Example, language: str) -> tuple[list[str], Counter]:
    """The header and the rows: when it is given, the variables, and where solutions have one the interval."""
    (text,) = example.queries
    query = parse_query(text, language=language).query
    how = query.continuous
    asked = ContinuousQuery(replace(query, continuous=None), how.windows, how.report, how.operator, how.view)
    elements = [Element(tuple(t), start, end) for t, start, end in elements_of(example.stream)]
    streams = {window.stream: elements for window in how.windows}
    timed = how.view is View.ELEMENT
    names = [var.name for var in query.vars]
    rows: Counter = Counter()
    for at, row, count in given(asked, streams, _knowledge(example)):
        interval = (format_instant(row.start), format_instant(row.end)) if timed else ()
        rows[format_instant(at), *(_shown(row.value(name)) for name in names), *interval] += count
    return ["given", *names, *(("start", "end") if timed else ())], rows


def _knowledge(example: Example) -> Knowledge:
    if not example.graph:
        return Knowledge()
    quads = ox.parse(example.graph.encode(), ox.RdfFormat.TURTLE)
    graph = StaticGraph(frozenset((quad.subject, quad.predicate, quad.object) for quad in quads))
    named = {} if example.graph_name is None else {NamedNode(example.graph_name): (graph,)}
    return Knowledge(((None, TimedDataset(() if named else (graph,), named)),))


def _shown(term) -> str:
    return "" if term is None else plain_text(str(term))
