"""What follows from elements is in windows as long as these are, and does not count among last triples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from tests.windows.test_cutting import at, case_of

from agreement.window_runs import given_by_engine
from oracle.cases import GraphData
from oracle.consequences import follows, rules
from oracle.evaluate import TooManySolutions
from oracle.vocabulary import BASE, EPOCH, TICK
from oracle.window_generator import WindowCase, given_by, make_window_case
from oracle.window_model import Report, triples
from penstock.errors import QueryError


def with_closed_graph(case: WindowCase) -> tuple[WindowCase, Callable]:
    """The case with its static default graph closed, and what follows from an element above it, beside it."""
    known = {triple for graph in case.data.graphs if graph.name is None for triple in graph.triples}
    every = frozenset(known) | follows(known)
    named = [graph for graph in case.data.graphs if graph.name is not None]
    default = [GraphData(None, tuple(sorted(every, key=str)))] if every else []

    def above(graph):
        return follows({*known, *graph}) - every - frozenset(graph)

    return replace(case, data=replace(case.data, graphs=(*default, *named))), above


def of_last_triples(case: WindowCase) -> WindowCase:
    """The case with windows that count."""
    random = Random(case.seed)
    windows = tuple(
        replace(each, spec=triples(random.randint(1, 12), random.choice((1, 1, 2, 5))))
        for each in case.query.windows
    )
    report = Report(change=True) if random.random() < 0.6 else Report(close=True)
    return replace(case, query=replace(case.query, windows=windows, report=report))


def agreement(seeds: range, shards: int, *, counting: bool) -> tuple[int, int, int]:
    """How many cases agree, in how many rules make a difference, and how many rows are given."""
    agreed = told = rows = 0
    for seed in seeds:
        case, above = with_closed_graph(make_window_case(seed))
        if counting:
            case = of_last_triples(case)
        try:
            given = given_by_engine(case, shards, restore=seed % 5 > 2, reasoning=rules())
            wanted, without = given_by(case, follows=above), given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        told += wanted != without
        rows += wanted.total()
    return agreed, told, rows


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("counting", [True, False])
def test_what_follows_is_shown_as_the_oracle_says(shards: int, counting: bool):
    first = 500_000 + 1000 * shards
    agreed, told, rows = agreement(range(first, first + 50), shards, counting=counting)
    assert agreed > 30 and told > 8 and rows > 100


def test_an_element_that_is_there_in_part_has_all_that_follows():
    """[TRIPLES 2]: at 2 one triple of the first element is left, and all that follows; at 3 nothing."""
    text = "SELECT RSTREAM ?x ?y FROM NAMED WINDOW :W ON :s1 [TRIPLES 2] WHERE { WINDOW :W { ?x :near ?y } }"
    elements = (at(1, 1, "a knows b", "c knows d"), at(2, 2, "e kind f"), at(3, 3, "e kind g"))
    found = given_by_engine(case_of(text, *elements), reasoning=rules())
    first = {("b", "a"), ("a", "b"), ("d", "c"), ("c", "d")}
    pairs = [(instant, *(name for _, name in row)) for instant, (row, _, _) in found.elements()]
    assert {(_seconds(instant), (_short(x), _short(y))) for instant, x, y in pairs} == {
        (second, pair) for second in (1, 2) for pair in first
    }
    assert len(pairs) == 8


def _seconds(instant: int) -> float:
    return (instant - EPOCH) / TICK


def _short(name: str) -> str:
    return name.removeprefix(f"<{BASE}").rstrip(">")
