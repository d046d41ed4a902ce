"""Queries are called after their files or the names they were given, and never alike."""

from __future__ import annotations

import pytest

from penstock.algebra.naming import names_of
from penstock.languages import parse_query
from penstock.sinks import shapes_of


@pytest.mark.parametrize(
    ("origins", "names"),
    [
        (["falls.rq", "rules/crash.sparql"], ["falls", "crash"]),
        (["a/falls.rq", "b/falls.rq", "falls"], ["falls", "falls-2", "falls-3"]),
        ([None, "", "-"], ["query-1", "query-2", "query-3"]),
        (["query-2", None], ["query-2", "query-2-2"]),
        (["v1.2", "two words"], ["v1.2", "two words"]),
    ],
)
def test_names(origins, names):
    queries = [parse_query("ASK {}", origin=origin) for origin in origins]
    assert names_of(queries) == names
    assert [shape.name for shape in shapes_of(queries)] == names
