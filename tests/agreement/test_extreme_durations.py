"""Durations of any size: bounds, stores, joins and filters agree with exact integers."""

from __future__ import annotations

import operator
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from agreement.engine_runs import engine_answers
from oracle.cases import Case, Element, StreamData
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import DAY, LONGEST, SECOND, parse_instant

READING = NamedNode("http://example.org/reading")
NODE = NamedNode("http://example.org/node")
FIRST, LAST = parse_instant("0001-01-01T00:00:00Z"), parse_instant("9999-12-31T23:59:59.999999Z")
INSTANTS = (FIRST, FIRST + 1, -1, 0, 1, SECOND, 2**53, 2**53 + 1, LAST - 1, LAST)

COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def seconds(text: str) -> Fraction:
    return Fraction(text) * SECOND


# Each with its exact length in microseconds.
DURATIONS: dict[str, Fraction | int] = {
    "P106751991D": 106_751_991 * DAY,  # the last one below 2**63 µs
    "P106751992D": 106_751_992 * DAY,
    "P213503983D": 213_503_983 * DAY,  # wraps to a small positive number
    "P1000000000D": 10**9 * DAY,
    f"P{10**30}D": 10**30 * DAY,
    f"PT{10**40}.000000001S": (10**40 + Fraction(1, 10**9)) * SECOND,
    "-P1000000000D": -(10**9) * DAY,
    "-PT1S": -SECOND,
    "PT0S": 0,
    "-PT0S": 0,
    "PT0.000001S": 1,
    "PT0.0000009999999999999999999999999999999999S": seconds("0.0000009999999999999999999999999999999999"),
    "PT0.0000010000000000000000000000000000000001S": seconds("0.0000010000000000000000000000000000000001"),
    "-PT0.0000000000000000000000000000000000000001S": seconds("-0.0000000000000000000000000000000000000001"),
    f"PT{(LAST - FIRST) // SECOND}.999999S": LAST - FIRST,
    f"PT{(LAST - FIRST) // SECOND}.999998S": LAST - FIRST - 1,
    f"PT{LONGEST // SECOND}S": LONGEST,
    f"PT{LONGEST // SECOND}.000001S": LONGEST + 1,
    f"PT{2**53 // SECOND}.{2**53 % SECOND:06d}S": 2**53,
    f"PT{2**53 // SECOND}.{2**53 % SECOND:06d}5S": 2**53 + Fraction(1, 2),
}

JOINS = {
    "SEQ": lambda one, other: one < other,
    "AND": lambda one, other: True,
}


def case(join: str, condition: str) -> Case:
    elements = tuple(
        Element(((NODE, READING, Literal(str(i), datatype=XSD.integer)),), time, time)
        for i, time in enumerate(INSTANTS)
    )
    pattern = "{ ?s :reading ?a } SEQ { ?s :reading ?b }" if join == "SEQ" else "?s :reading ?a, ?b"
    query = (
        "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
        f"SELECT ?a ?b {{ {pattern} FILTER ({condition}) }}"
    )
    batches = tuple(((0, i),) for i in range(len(elements)))
    return Case(0, (StreamData(None, elements),), (), (query,), 0, batches)


def found(join: str, condition: str) -> set[tuple[int, int]]:
    [answers] = engine_answers(case(join, condition), restore=True)
    assert max(answers.values(), default=1) == 1
    return {tuple(int(term.split('"')[1]) for name, term in sorted(row[0])) for row in Counter(answers)}


def expected(join: str, holds) -> set[tuple[int, int]]:
    pairs = product(enumerate(INSTANTS), repeat=2)
    return {(i, j) for (i, one), (j, other) in pairs if JOINS[join](one, other) and holds(one, other)}


@pytest.mark.sample(5)
@pytest.mark.parametrize("duration", DURATIONS)
@pytest.mark.parametrize("join", JOINS)
def test_a_filter_on_the_duration_is_exact(join: str, duration: str):
    limit = DURATIONS[duration]
    for kind, (name, compare) in zip(("duration", "dayTimeDuration") * 3, COMPARISONS.items(), strict=True):
        right = expected(join, lambda one, other, compare=compare: compare(abs(other - one), limit))
        assert found(join, f'getDURATION() {name} "{duration}"^^xsd:{kind}') == right, (name, kind)


@pytest.mark.parametrize("duration", DURATIONS)
def test_a_filter_on_the_ends_is_exact(duration: str):
    limit = DURATIONS[duration]
    right = expected("SEQ", lambda one, other: other - limit < one)
    assert found("SEQ", f'getENDTIME() - "{duration}"^^xsd:dayTimeDuration < getSTARTTIME()') == right
    right = expected("SEQ", lambda one, other: other - one <= limit + limit)
    doubled = f'"{duration}"^^xsd:dayTimeDuration + "{duration}"^^xsd:dayTimeDuration'
    assert found("SEQ", f"getDURATION() <= {doubled}") == right


def test_months_are_ordered_as_xsd_orders_them():
    """P12M is longer than 364 days and shorter than 367; between them there is no order: an error."""
    year = expected("SEQ", lambda one, other: other - one < 365 * DAY)
    for condition in ('getDURATION() < "P1Y"^^xsd:duration', 'getDURATION() < "P12M"^^xsd:yearMonthDuration'):
        assert found("SEQ", condition) == year, condition
    assert found("SEQ", 'getDURATION() < "P400000000Y"^^xsd:duration') == expected("SEQ", lambda a, b: True)
    assert found("SEQ", 'getDURATION() > "-P1M"^^xsd:duration') == expected("SEQ", lambda a, b: True)
