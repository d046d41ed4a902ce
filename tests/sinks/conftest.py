"""Answers to write: a SELECT, a CONSTRUCT and an ASK over some batches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.sinks import Shape
from penstock.timeline import parse_instant

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = (("ex", EX), ("xsd", XSD))

NOON = parse_instant("2026-01-31T12:00:00Z")
LATER = parse_instant("2026-01-31T12:00:00.250Z")


def table(columns: dict[str, list], start: list, end: list) -> pa.Table:
    """An answers table; the columns may have the names of the interval's, as in a real one."""
    arrays = [pa.array(values, pa.string()) for values in columns.values()]
    arrays += [pa.array(start, pa.int64()), pa.array(end, pa.int64())]
    return pa.Table.from_arrays(arrays, names=[*columns, "start", "end"])


@pytest.fixture
def select() -> Shape:
    return Shape("falls", ("company", "price"), False, PREFIXES)


@pytest.fixture
def construct() -> Shape:
    return Shape("rule 1", ("subject", "predicate", "object"), True, PREFIXES)


@pytest.fixture
def falls() -> pa.Table:
    return table(
        {
            "company": [f"<{EX}acme>", "_:b7", None],
            "price": [
                f'"12.50"^^<{XSD}decimal>',
                '"a, \\"quoted\\"\\nline"@en',
                '"\\u00E9t\\u00E9"',
            ],
        },
        [NOON, NOON, None],
        [LATER, NOON, None],
    )


@pytest.fixture
def triples() -> pa.Table:
    return table(
        {
            "subject": [f"<{EX}acme>", f"<{EX}acme>", "_:b1", f"<{EX}acme>"],
            "predicate": [f"<{EX}downratedBy>"] * 3 + [f"<{EX}is>"],
            "object": [f"<{EX}moodys>", '"x\\n@prefix y"', f"<{EX}fitch>", f"<{EX}static>"],
        },
        [NOON, NOON, LATER, None],
        [LATER, LATER, LATER, None],
    )
