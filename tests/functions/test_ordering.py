"""The order of terms for ORDER BY."""

from __future__ import annotations

import random

import pytest

from functions.notation import term
from penstock.functions.ordering import order_key, total_key

IN_ORDER = [
    None,
    "_:a",
    "_:b",
    ":a",
    ":b",
    '"NaN"^^xsd:double',
    '"-INF"^^xsd:double',
    "-1",
    "0.5",
    "1",
    "1.5e0",
    "10",
    '"INF"^^xsd:float',
    "false",
    "true",
    '""',
    '"10"',
    '"9"',
    '"a"',
    '"a"@de',
    '"a"@en',
    '"b"@de',
    '"2026-01-01T13:00:00+02:00"^^xsd:dateTime',
    '"2026-01-01T12:00:00Z"^^xsd:dateTime',
    '"2026-01-01"^^xsd:date',
    '"2026-01-02"^^xsd:date',
    '"10:00:00"^^xsd:time',
    '"-PT1S"^^xsd:dayTimeDuration',
    '"PT1M"^^xsd:duration',
    '"PT61S"^^xsd:dayTimeDuration',
    '"P1M"^^xsd:yearMonthDuration',
    '"P32D"^^xsd:duration',
    '"a"^^:t',
    '"b"^^:t',
    '"abc"^^xsd:integer',
]


@pytest.mark.parametrize("key", [order_key, total_key])
def test_terms_come_in_this_order(key):
    terms = [text and term(text) for text in IN_ORDER]
    shuffled = terms[:]
    random.Random(7).shuffle(shuffled)
    assert shuffled != terms
    assert sorted(shuffled, key=key) == terms


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "1.0"),
        ("1", "1e0"),
        ('"PT60S"^^xsd:duration', '"PT1M"^^xsd:dayTimeDuration'),
        ('"2026-01-01T12:00:00Z"^^xsd:dateTime', '"2026-01-01T13:00:00+01:00"^^xsd:dateTime'),
    ],
)
def test_equal_values_leave_the_decision_to_the_next_condition(left, right):
    assert order_key(term(left)) == order_key(term(right))
    assert total_key(term(left)) != total_key(term(right))
