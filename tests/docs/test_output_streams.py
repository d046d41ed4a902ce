"""The examples of the page on queries that read each other are true."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from docs import by_engine
from docs.by_oracle import elements_of
from docs.page import Example, examples_of
from oracle.cases import Case, Element, StreamData
from oracle.outputs import everything
from penstock.algebra import ParsedQuery
from penstock.languages import parse
from penstock.sinks.answers import plain_text
from penstock.terms import NamedNode
from penstock.timeline import format_instant

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "output-streams.md"
STREAM = NamedNode("http://example.org/temps")

each = pytest.mark.parametrize("example", examples_of(PAGE), ids=lambda example: example.title)


def queries_of(example: Example) -> list[ParsedQuery]:
    """Each in the language that its text shows."""
    return [query for text in example.queries for query in parse(text).queries]


def stream_of(example: Example) -> list[Element]:
    return [Element(tuple(triples), start, end) for triples, start, end in elements_of(example.stream)]


@each
def test_by_the_definition(example):
    queries, elements = [parsed.query for parsed in queries_of(example)], stream_of(example)
    batches = (tuple((0, place) for place in range(len(elements))),)
    data = Case(0, (StreamData(STREAM, tuple(elements)),), (), (), 0, batches)
    rows: Counter = Counter()
    names = [var.name for var in queries[-1].vars]
    for (at, (bindings, _, _)), count in everything(queries, data)[-1].items():
        values = (plain_text(dict(bindings)[name]) for name in names)
        rows[*values, format_instant(at), format_instant(at)] += count
    assert ([*names, "start", "end"], rows) == example.expected()


@each
def test_by_the_engine(example):
    found = by_engine.run(queries_of(example), [], stream_of(example), 2, STREAM.value)[-1]
    assert found == example.expected()
