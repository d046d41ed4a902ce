"""Answers as tables and as solutions, whatever the variables are called."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib

from penstock.api.results import concat
from penstock.languages import parse_query

SECOND = datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
FOUND = pa.table(
    {"s": ["<urn:a>", "_:b"], "v": ['"1"^^<http://www.w3.org/2001/XMLSchema#integer>', None],
     "start": [0, None], "end": [1_000_000, None]},
    schema=pa.schema([("s", pa.string()), ("v", pa.string()), ("start", pa.int64()), ("end", pa.int64())]),
)  # fmt: skip
ANSWERS = concat([FOUND, FOUND], parse_query("SELECT ?s ?v {}"))


def test_solutions_have_terms_and_an_interval():
    first, second, *others = ANSWERS
    assert dict(first) == {"s": ox.NamedNode("urn:a"), "v": ox.Literal(1)}
    assert first["?s"] == first["s"] and first.end == SECOND
    assert first.rdflib() == {"s": rdflib.URIRef("urn:a"), "v": rdflib.Literal(1)}
    assert "v" not in second and (second.start, second.end) == (None, None)
    assert len(others) == 2 and len(ANSWERS) == 4


def test_a_variable_that_is_not_bound_is_named():
    _, second, *_ = ANSWERS
    with pytest.raises(KeyError, match=r"\?v is not bound in this solution; bound are: s"):
        second["?v"]
    assert second.get("v") is None and 5 not in second


def test_tables():
    assert ANSWERS.to_arrow().column_names == ["s", "v", "start", "end"]
    assert ANSWERS.to_pandas()["end"].dt.tz is not None
    assert ANSWERS.to_polars().height == 4
    assert repr(ANSWERS) == "<penstock.Answers: 4 rows of s, v, start, end>"


def test_a_notebook_shows_the_first_rows():
    shown = ANSWERS._repr_html_()
    assert shown.count("<tr>") == 5 and "&lt;urn:a&gt;" in shown and "1970-01-01T00:00:01.000Z" in shown
    assert "… and 50 more" in concat([FOUND] * 50, parse_query("SELECT ?s ?v {}"))._repr_html_()


def test_variables_may_be_called_like_the_interval():
    found = pa.Table.from_arrays(
        [pa.array(["<urn:a>"]), pa.array([0]), pa.array([0])], names=["start", "start", "end"]
    )
    answers = concat([found], parse_query("SELECT ?start {}"))
    assert answers.to_arrow().column_names == ["start", "start_", "end"]
    (solution,) = answers
    assert solution["start"] == ox.NamedNode("urn:a") and solution.start.year == 1970


def test_without_answers_there_are_still_columns():
    assert concat([], parse_query("ASK {}")).to_pandas().columns.tolist() == ["answer", "start", "end"]
    construct = concat([], parse_query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"))
    assert list(construct) == [] and construct.table.column_names[:2] == ["subject", "predicate"]
