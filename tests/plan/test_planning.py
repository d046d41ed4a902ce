"""Errors of planning say which file they are about, and where."""

from __future__ import annotations

import pytest

from penstock import pipeline
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from plan.texts import PREFIXES


def planned(*texts: str) -> None:
    queries = [parse_query(PREFIXES + text, origin=f"queries/q{i}.rq") for i, text in enumerate(texts)]
    pipeline.plan(queries, [StreamName("http://example.org/prices")])


def test_an_unknown_name_after_from_is_shown_in_its_file():
    with pytest.raises(QueryError) as caught:
        planned("SELECT * { ?s ?p ?o }", "SELECT * FROM :price { ?s ?p ?o }")
    shown = str(caught.value).splitlines()
    assert shown[0].startswith("queries/q1.rq:3:15: FROM <http://example.org/price> names no registered")
    assert shown[2].index("^") == shown[1].index(":price")


def test_a_rule_that_feeds_itself_is_shown_with_its_file():
    with pytest.raises(QueryError) as caught:
        planned("CONSTRUCT { ?s :p ?z } { ?s :p ?o BIND (?o + 1 AS ?z) }")
    assert str(caught.value).startswith("queries/q0.rq: ")
