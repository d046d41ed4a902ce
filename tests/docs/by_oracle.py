"""Answers an example by the oracle."""

from __future__ import annotations

import re
from collections import Counter

import pyoxigraph as ox

from docs.page import Example
from oracle.closure import closure
from oracle.model import StaticGraph, TimedDataset, stream_of
from oracle.queries import evaluate_query
from penstock.algebra import Construct
from penstock.languages import parse
from penstock.sinks.answers import plain_text
from penstock.terms import PROV
from penstock.timeline import format_instant, parse_instant

_IN_NAME = re.compile(r"#t=([^,]*)(?:,(.*))?$")


def elements_of(trig: str) -> list[tuple[list[tuple], int, int]]:
    """The elements of a stream in TriG: (triples, start, end)."""
    graphs: dict[ox.NamedNode, list[tuple]] = {}
    stated: dict[tuple, str] = {}
    for quad in ox.parse(trig.encode(), ox.RdfFormat.TRIG):
        if isinstance(quad.graph_name, ox.DefaultGraph):
            stated[quad.subject, quad.predicate] = quad.object.value
        else:
            triple = (quad.subject, quad.predicate, quad.object)
            graphs.setdefault(quad.graph_name, []).append(triple)
    elements = []
    for name, triples in graphs.items():
        if found := _IN_NAME.search(name.value):
            start, end = found[1], found[2] or found[1]
        elif (name, PROV.generatedAtTime) in stated:
            start = end = stated[name, PROV.generatedAtTime]
        else:
            start, end = stated[name, PROV.startedAtTime], stated[name, PROV.endedAtTime]
        elements.append((triples, parse_instant(start), parse_instant(end)))
    return elements


def answer(example: Example) -> tuple[list[str], Counter]:
    """The header and the rows of the last query of an example, as CSV has them."""
    default: list = [stream_of(elements_of(example.stream))]
    named = {}
    if example.graph:
        triples = ox.parse(example.graph.encode(), ox.RdfFormat.TURTLE)
        graph = StaticGraph(frozenset((t.subject, t.predicate, t.object) for t in triples))
        if example.graph_name:
            named[ox.NamedNode(example.graph_name)] = (graph,)
        else:
            default.append(graph)
    dataset = TimedDataset(default=tuple(default), named=named)
    queries = [each.query for text in example.queries for each in parse(text).queries]
    closed = closure([query for query in queries if isinstance(query, Construct)], dataset)
    answers = evaluate_query(queries[-1], closed)
    rows = Counter()
    for one in answers.rows:
        terms = [one.value(name) for name in answers.columns]
        rows[
            *("" if term is None else plain_text(str(term)) for term in terms),
            *("" if at is None else format_instant(at) for at in (one.start, one.end)),
        ] += 1
    return [*answers.columns, "start", "end"], rows
