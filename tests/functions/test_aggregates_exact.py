"""Sums and averages of odd numbers are exact; where pyoxigraph can hold the numbers, it agrees."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pyoxigraph as ox
import pytest

from functions.differences import beyond, read_by_them
from functions.second_opinion import (
    ALL,
    BOOLEANS,
    DECIMALS,
    DOUBLES,
    DURATIONS,
    INTEGERS,
    MOMENTS,
    STRINGS,
    same,
)
from penstock.algebra.nodes import Aggregate, Var
from penstock.functions.aggregates import aggregate
from penstock.functions.values import value_of
from penstock.terms import XSD, Literal, Term

EXACT = [*INTEGERS, *DECIMALS]
FINITE = [term for term in DOUBLES if math.isfinite(value_of(term).value)]
SIMPLE = [term for term in ALL if term is not None and not beyond(term) and read_by_them(term) == term]
"""What pyoxigraph reads as it is written."""


def ours(name: str, members: list[Term | None], distinct: bool = False) -> Term | None:
    return aggregate(Aggregate(name, Var("x"), distinct), members)


def theirs(name: str, members: list[Term | None], distinct: bool = False) -> Term | None:
    table = " ".join("UNDEF" if term is None else str(term) for term in members)
    [solution] = ox.Store().query(
        f"SELECT ({name}({'DISTINCT ' if distinct else ''}?x) AS ?value) {{ VALUES ?x {{ {table} }} }}"
    )
    return solution["value"]


def groups(pool: list[Term | None], count: int, seed: int) -> list[list[Term | None]]:
    random = Random(seed)
    return [random.choices(pool, k=random.randint(1, 6)) for _ in range(count)]


def exactly(term: Term) -> Fraction:
    return Fraction(value_of(term).value)


def test_sums_and_averages_of_integers_and_decimals_are_exact():
    for members in groups(EXACT, 400, 1):
        total = sum(map(exactly, members))
        assert exactly(ours("SUM", members)) == total
        mean = total / len(members)
        assert abs(exactly(ours("AVG", members)) - mean) <= abs(mean) * Fraction(1, 10**33)


def test_a_sum_of_doubles_is_rounded_once_and_does_not_overflow_on_the_way():
    for members in groups(FINITE, 400, 2):
        total = sum(map(exactly, members))
        assert value_of(ours("SUM", members)).value == (
            float(total) if abs(total) < 2**1024 - 2**969 else (math.inf if total > 0 else -math.inf)
        )
    most, least = Literal("1E308", datatype=XSD.double), Literal("-1E308", datatype=XSD.double)
    assert ours("SUM", [most, most, least, least]) == Literal("0.0E0", datatype=XSD.double)


@pytest.mark.parametrize(
    ("members", "answer"),
    [
        (["INF", "1E308", "1E308"], "INF"),
        (["-INF", "1E308", "1E308"], "-INF"),
        (["INF", "-INF", "1"], "NaN"),
        (["NaN", "INF"], "NaN"),
        (["1E308", "1E308"], "INF"),
        (["-0.0", "-0.0"], "0.0E0"),
    ],
)
def test_what_is_not_finite_decides_a_sum(members, answer):
    terms = [Literal(text, datatype=XSD.double) for text in members]
    for order in (terms, terms[::-1]):
        assert ours("SUM", order) == Literal(answer, datatype=XSD.double)


@pytest.mark.parametrize("distinct", [False, True])
def test_numbers_agree_with_pyoxigraph(distinct: bool):
    pool = [term for term in EXACT if term in SIMPLE and len(term.value) < 15]
    for members in groups(pool, 300, 3):
        for name in ("SUM", "MIN", "MAX", "COUNT", "AVG"):
            one, other = ours(name, members, distinct), theirs(name, members, distinct)
            close = name == "AVG" and abs(exactly(one) - exactly(other)) <= Fraction(1, 10**18)
            assert same(one, other) or close, (name, members)


@pytest.mark.parametrize(
    "pool",
    [
        STRINGS,
        BOOLEANS,
        [term for term in MOMENTS if term.datatype == XSD.dateTime and value_of(term).zone is not None],
        [term for term in DURATIONS if term.datatype == XSD.dayTimeDuration],
        [term for term in DURATIONS if term.datatype == XSD.yearMonthDuration],
    ],
    ids=["strings", "booleans", "dateTimes", "dayTimeDurations", "yearMonthDurations"],
)
def test_extremes_of_one_kind_agree_with_pyoxigraph(pool: list[Term]):
    pool = [term for term in pool if term in SIMPLE]
    for members in groups(pool, 100, 4):
        for name in ("MIN", "MAX"):
            assert ours(name, members) == theirs(name, members), (name, members)


def test_a_member_that_is_an_error_or_no_number_agrees_with_pyoxigraph():
    pool = [*[term for term in SIMPLE if not _time(term)], None]
    for members in groups(pool, 300, 5):
        for name in ("SUM", "AVG", "COUNT"):
            one, other = ours(name, members), theirs(name, members)
            assert (one is None) == (other is None), (name, members)
            if name == "COUNT":
                assert one == other


def _time(term: Term) -> bool:
    """Sums of durations are an extension of ours (decision 0007, arithmetic of times)."""
    return term in DURATIONS


@pytest.mark.parametrize("distinct", [False, True])
def test_concatenations_of_strings_agree_with_pyoxigraph(distinct: bool):
    """But for the order of the members: ours is that of the terms, whatever the order of arrival."""
    for members in groups([term for term in STRINGS if " " not in term.value], 200, 6):
        one, other = ours("GROUP_CONCAT", members, distinct), theirs("GROUP_CONCAT", members, distinct)
        assert sorted(one.value.split(" ")) == sorted(other.value.split(" "))


def test_a_sample_is_a_member():
    for members in groups(SIMPLE, 100, 7):
        assert ours("SAMPLE", members) in members
        assert ours("SAMPLE", members) == ours("SAMPLE", members[::-1])
