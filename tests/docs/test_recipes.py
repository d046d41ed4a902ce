"""The recipes of the language page do what they say: on random streams, against plain Python."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from agreement.engine_runs import engine_answers
from docs.page import examples_of
from oracle.cases import Case, Element, StreamData
from oracle.notation import triples
from oracle.vocabulary import BASE, EPOCH
from penstock import pipeline
from penstock.columns.ids import parse_term
from penstock.languages import parse_query
from penstock.plan.advice.findings import query_findings
from penstock.plan.advice.retention import memories
from penstock.plan.catalog import Catalog
from penstock.terms import Literal
from penstock.timeline import HOUR, MINUTE

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "ep-sparql.md"
RECIPES = {example.title.partition(" ")[2]: example for example in examples_of(PAGE)}
BETWEEN = RECIPES["Nothing in between: OPTIONAL with times"].queries[0]
NEVER = RECIPES["Never before: OPTIONALSEQ and !BOUND"].queries[0]
SLIDING = RECIPES["The average of the last hour"].queries[0]
HOURLY = RECIPES["An hourly average"].queries[0]
Event = tuple[str, str, int, int]
"""Who, what, start, end (in minutes)."""


def run(query: str, events: list[Event], at_once: int) -> Counter:
    """The engine's answers as (value of each variable by its name…, start, end), in minutes."""
    elements = tuple(
        Element(triples(f"{who} {what}"), EPOCH + start * MINUTE, EPOCH + end * MINUTE)
        for who, what, start, end in sorted(events, key=lambda event: event[3])
    )
    numbers = [(0, number) for number in range(len(elements))]
    batches = tuple(tuple(numbers[i : i + at_once]) for i in range(0, len(numbers), at_once))
    case = Case(1, (StreamData(None, elements),), (), (query,), 0, batches)
    [found] = engine_answers(case, shards=2, restore=at_once == 1)
    result: Counter = Counter()
    for (bindings, start, end), count in found.items():
        values = (parse_term(text.encode()) for _, text in bindings)
        shown = (v.value if isinstance(v, Literal) else ":" + v.value.removeprefix(BASE) for v in values)
        result[(*shown, (start - EPOCH) // MINUTE, (end - EPOCH) // MINUTE)] += count
    return result


def random_events(chance: random.Random, whats: list[str], length: int) -> list[Event]:
    """Each who and what once per interval: the same triple twice in one interval counts once."""
    found = set()
    for _ in range(60):
        start = chance.randrange(300)
        event = (chance.choice((":p1", ":p2")), chance.choice(whats), start, start + chance.randrange(length))
        found.add(event)
    return list(found)


WARNED, SERVICED, FAILED = ':warning "hot"', ":serviced true", ":state :failed"


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_nothing_in_between(seed: int):
    """A, then C within an hour, and no B that lies strictly between them."""
    events = random_events(random.Random(seed), [WARNED, WARNED, SERVICED, FAILED, FAILED], 8)
    expected = Counter(
        (who, start, end)
        for who, what, start, first in events
        if what == WARNED
        for other, then, second, end in events
        if (other, then) == (who, FAILED) and first < second and end - start < 60
        if not any(b == (who, SERVICED) and first < t and u < second for b, t, u in map(_pair, events))
    )
    assert expected.total() > 10
    assert run(BETWEEN, events, at_once=(1, 7, 100)[seed % 3]) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_never_before(seed: int):
    """A, then C, and no B that ended before C began: also not before A."""
    events = random_events(random.Random(seed), [WARNED, WARNED, FAILED], 8)
    events += [(":p1", SERVICED, 100, 101), (":p2", SERVICED, 200, 203)]
    expected = Counter(
        (who, start, end)
        for who, what, start, first in events
        if what == WARNED
        for other, then, second, end in events
        if (other, then) == (who, FAILED) and first < second
        if not any(b == (who, SERVICED) and u < second for b, t, u in map(_pair, events))
    )
    assert expected.total() > 10
    assert run(NEVER, events, at_once=7) == expected


def _pair(event: Event) -> tuple[tuple[str, str], int, int]:
    who, what, start, end = event
    return ((who, what), start, end)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_the_average_of_the_last_hour(seed: int):
    events = random_events(random.Random(seed), [f":value {n}" for n in (1, 2, 3, 5, 8, 13)], 1)
    expected: Counter = Counter()
    for who, now in {(who, end) for who, _, _, end in events}:
        members = [(int(what.split()[1]), t) for w, what, _, t in events if w == who and now - 60 < t <= now]
        mean = Fraction(sum(value for value, _ in members), len(members))
        expected[(mean, str(len(members)), who, min(t for _, t in members), now)] += 1
    assert max(int(row[1]) for row in expected) > 5
    found = run(SLIDING, events, at_once=(1, 7)[seed % 2])
    assert {_rounded(row): n for row, n in found.items()} == {_rounded(row): n for row, n in expected.items()}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_an_hourly_average(seed: int):
    events = random_events(random.Random(seed), [f":value {n}" for n in (1, 2, 3, 5, 8, 13)], 1)
    strikes = [(":clock", f":strikes {hour}", 60 * hour, 60 * hour) for hour in range(1, 6)]
    expected: Counter = Counter()
    for who in (":p1", ":p2"):
        for hour in range(1, 6):
            members = [(int(x.split()[1]), t) for w, x, _, t in events if w == who and t // 60 == hour - 1]
            if members:
                mean = Fraction(sum(value for value, _ in members), len(members))
                expected[(str(hour), mean, who, min(t for _, t in members), 60 * hour)] += 1
    assert len(expected) > 5
    found = run(HOURLY, [*events, *strikes], at_once=(1, 7)[seed % 2])
    assert {_rounded(row): n for row, n in found.items()} == {_rounded(row): n for row, n in expected.items()}


def _rounded(row: tuple) -> tuple:
    """Decimals have 18 places and more; the averages of the page are exact up to that."""
    return tuple(
        each if isinstance(each, int) or ":" in str(each) else round(Fraction(each), 9) for each in row
    )


@pytest.mark.parametrize("query", [BETWEEN, SLIDING, HOURLY])
def test_the_recipe_forgets(query: str):
    parsed = parse_query(query)
    kept = list(memories(parsed.query.pattern))
    assert kept and all(memory.bound is not None and memory.bound <= HOUR for memory in kept)
    assert "unbounded-state" not in [f.code for f in query_findings(parsed, Catalog())]
    assert pipeline.plan([parsed], *pipeline.assumed_sources([parsed]))
