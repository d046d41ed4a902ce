"""What conditions say about durations, and how far down the pattern that holds."""

from __future__ import annotations

import pytest

from penstock.algebra import EQUALS, SEQ, Filter, Join, OuterJoin
from penstock.plan.analysis.bounds import duration_bound, inherit
from penstock.timeline import DAY, MINUTE, SECOND
from plan.texts import SLIDING_SUM, pattern, push_bounds, query


def bound(condition: str) -> int | None:
    node = pattern(f"?s :p ?o FILTER ({condition})")
    assert isinstance(node, Filter)
    return duration_bound(node.condition)


FIVE = '"PT5M"^^xsd:dayTimeDuration'


@pytest.mark.parametrize(
    ("condition", "micros"),
    [
        (f"getDURATION() < {FIVE}", 5 * MINUTE - 1),
        (f"getDURATION() <= {FIVE}", 5 * MINUTE),
        (f"getDURATION() = {FIVE}", 5 * MINUTE),
        (f"{FIVE} > getDURATION()", 5 * MINUTE - 1),
        (f"{FIVE} >= getDURATION()", 5 * MINUTE),
        (f"getDURATION() > {FIVE}", None),
        (f"getDURATION() != {FIVE}", None),
        ('getDURATION() < "P30D"^^xsd:duration', 30 * DAY - 1),
        ('getDURATION() < "P0Y0M1DT1.5S"^^xsd:duration', DAY + SECOND * 3 // 2 - 1),
        ('getDURATION() < "P1M"^^xsd:duration', None),
        ('getDURATION() < "P1Y"^^xsd:yearMonthDuration', None),
        ('getDURATION() < "5m"^^xsd:duration', None),
        ('getDURATION() < "PT"^^xsd:duration', None),
        ('getDURATION() < "PT5M"', None),
        ("getDURATION() < 5", None),
        # Instants are whole microseconds: what lies between two of them rounds down.
        ('getDURATION() < "PT0.0000025S"^^xsd:duration', 2),
        ('getDURATION() <= "PT0.0000025S"^^xsd:duration', 2),
        ('getDURATION() < "-PT1S"^^xsd:duration', 0),
        (f"getENDTIME() - getSTARTTIME() < {FIVE}", 5 * MINUTE - 1),
        (f"getENDTIME() < getSTARTTIME() + {FIVE}", 5 * MINUTE - 1),
        (f"getSTARTTIME() + {FIVE} >= getENDTIME()", 5 * MINUTE),
        (f"getSTARTTIME() >= getENDTIME() - {FIVE}", 5 * MINUTE),
        (f"getSTARTTIME() - getENDTIME() < {FIVE}", None),
        (f"getENDTIME() < {FIVE}", None),
        (f"getDURATION() + {FIVE} < {FIVE} + {FIVE}", 5 * MINUTE - 1),
        (f"?o > 3 && getDURATION() < {FIVE}", 5 * MINUTE - 1),
        (f'getDURATION() < "PT1H"^^xsd:duration && getDURATION() <= {FIVE}', 5 * MINUTE),
        (f"?o > 3 || getDURATION() < {FIVE}", None),
        (f'getDURATION() < "PT1M"^^xsd:duration || getDURATION() <= {FIVE}', 5 * MINUTE),
        (f"!(getDURATION() > {FIVE})", 5 * MINUTE),
        (f"!(getDURATION() >= {FIVE} || ?o > 3)", 5 * MINUTE - 1),
        (f"!(getDURATION() >= {FIVE} && ?o > 3)", None),
        (f"!(!(getDURATION() < {FIVE}))", 5 * MINUTE - 1),
        (f"?o < {FIVE}", None),
    ],
)
def test_the_longest_duration_that_a_condition_allows(condition, micros):
    assert bound(condition) == micros


def test_no_condition_no_bound():
    assert duration_bound(None) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?o } SEQ { ?s :b ?o }", (9, 9)),
        ("{ ?s :a ?o } EQUALS { ?s :b ?o }", (9, 9)),
        ("{ ?s :a ?o } UNION { ?s :b ?o }", (9, 9)),
        ("{ SELECT ?s { ?s :a ?o } } { ?s :b ?o }", (9, 9)),
        ("?s :a ?o OPTIONAL { ?s :b ?o }", (9, None)),
        ("?s :a ?o MINUS { ?s :b ?o }", (9, None)),
        ("{ ?s :a ?o } OPTIONALSEQ { ?s :b ?o }", (None, 9)),
        ("{ ?s :a ?o } EQUALSOPTIONAL { ?s :b ?o }", (9, 9)),
        ("?s :a ?o BIND (1 AS ?x)", (9,)),
        ("?s :a ?o FILTER (?o > 1)", (9,)),
        ("GRAPH :g { ?s :a ?o }", (9,)),
        ("{ SELECT DISTINCT ?s { ?s :a ?o } }", (9,)),
        ("?s :a ?o . ?s :b ?o", ()),
        ("?s :a+ ?o", ()),
    ],
)
def test_a_bound_reaches_what_lies_inside_the_filtered_interval(text, expected):
    assert inherit(pattern(text), 9) == expected


@pytest.mark.parametrize("modifier", ["LIMIT 1", "ORDER BY ?o", "GROUP BY ?s"])
def test_no_bound_passes_an_operator_that_looks_at_whole_instants(modifier):
    places = push_bounds(query(f"SELECT ?s {{ ?s :a ?o . ?s :b ?o }} {modifier}").pattern, 9)
    assert places[max(places, key=len)] is None


def test_the_condition_of_an_optional_bounds_its_optional_side():
    optional = pattern(f"?s :a ?o OPTIONAL {{ ?s :b ?o FILTER (getDURATION() <= {FIVE}) }}")
    assert inherit(optional, 9) == (9, 5 * MINUTE)
    before = pattern(f"{{ ?s :a ?o FILTER (getDURATION() <= {FIVE}) }} OPTIONALSEQ {{ ?s :b ?o }}")
    assert inherit(before, None) == (5 * MINUTE, None)


def test_the_tightest_filter_wins_on_the_way_down():
    node = pattern(
        "{ { ?s :a ?o } SEQ { { ?s :b ?o } { ?s :c ?o } "
        f'FILTER (getDURATION() <= {FIVE}) }} }} FILTER (getDURATION() < "PT1H"^^xsd:duration)'
    )
    places = push_bounds(node)
    assert places[()] is None
    hour = 60 * MINUTE - 1
    found = {place: value for place, value in places.items() if value is not None}
    assert isinstance(node.pattern, Join) and node.pattern.relation == SEQ
    assert found[(0,)] == found[(0, 0)] == found[(0, 1)] == hour
    assert found[(0, 1, 0)] == 5 * MINUTE


def test_a_duration_that_was_bound_to_a_variable_counts_too():
    node = pattern(f"?s :a ?o . ?s :b ?o BIND (getDURATION() AS ?d) FILTER (?d <= {FIVE})")
    assert inherit(node, None) == (5 * MINUTE,)
    inner = pattern(f"{{ ?s :a ?o BIND (getDURATION() AS ?d) }} {{ ?s :b ?o }} FILTER (?d <= {FIVE})")
    assert inherit(inner, None) == (None,)  # the duration of one side only


def test_both_sides_of_the_papers_sliding_sum_are_bounded():
    node = query(SLIDING_SUM).pattern
    places = push_bounds(node)
    here, place = node, ()
    while not (isinstance(here, OuterJoin) and here.relation == EQUALS):
        here, place = here.pattern, (*place, 0)
    below = [value for at, value in places.items() if at[: len(place)] == place]
    assert len(below) == 9 and set(below) == {10 * DAY - 1}
