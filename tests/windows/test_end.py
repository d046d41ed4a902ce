"""Until when windows report once all streams are over (decision 0013)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agreement.window_runs import given_by_engine
from oracle.cases import Case, Element, StreamData
from oracle.vocabulary import EPOCH, TICK, iri
from oracle.window_generator import WindowCase, given_by
from oracle.window_model import (
    ON_CLOSE,
    ContinuousQuery,
    Kind,
    Report,
    Shows,
    StreamOperator,
    View,
    Window,
    WindowSpec,
    sliding,
    triples,
)
from penstock.languages import parse_query
from penstock.runtime.detection.watermark import Watermark
from penstock.timeline import FOREVER
from windows.test_cutting import at

TRIPLE = "c p a"
PERIODIC = Report(period=45 * TICK)


def counted(spec: WindowSpec, *elements: Element, report: Report = ON_CLOSE) -> WindowCase:
    """A row for each evaluation."""
    body = parse_query("SELECT (COUNT(*) AS ?n) WHERE { ?x ?p ?y }").query
    window = Window(None, iri(":s1"), spec)
    query = ContinuousQuery(body, (window,), report, StreamOperator.RSTREAM, View.GRAPH)
    batches = tuple(((0, number),) for number in range(len(elements)))
    return WindowCase(Case(1, (StreamData(iri(":s1"), elements),), (), (), 0, batches), query, "")


def evaluated(case: WindowCase) -> list[int]:
    """When the query is evaluated, in seconds: by the oracle, and by the engine in batches of any size."""
    expected = given_by(case)
    places = [place for batch in case.data.batches for place in batch]
    for size in (1, 2, len(places)):
        batches = tuple(tuple(places[first : first + size]) for first in range(0, len(places), size))
        data = replace(case.data, batches=batches)
        for shards in (1, 2):
            assert given_by_engine(replace(case, data=data), shards, restore=size == 2) == expected
    return sorted({(instant - EPOCH) // TICK for instant, _ in expected})


@pytest.mark.parametrize("shows", Shows)
def test_with_a_period_time_windows_end_with_what_is_in_them(shows: Shows):
    """What closed at 60 is no longer shown at 90."""
    spec = sliding(5 * TICK, 5 * TICK, shows=shows)
    elements = [at(s, s, TRIPLE) for s in (20, 41, 60)]
    assert evaluated(counted(spec, *elements, report=PERIODIC)) == [45]


def test_what_has_closed_and_is_still_shown_is_looked_at_when_the_period_comes_round():
    elements = [at(s, s, TRIPLE) for s in (20, 41, 60)]
    spec = sliding(60 * TICK, 60 * TICK, shows=Shows.CLOSED)
    assert evaluated(counted(spec, *elements, report=PERIODIC)) == [45, 90]


@pytest.mark.parametrize("stated", [(), (TRIPLE,)])
def test_time_goes_on_to_the_last_element_also_if_no_window_has_it(stated: tuple):
    case = counted(sliding(5 * TICK, 30 * TICK), at(2, 2, TRIPLE), at(58, 58, *stated))
    assert evaluated(case) == [5, 35]


def test_a_window_with_the_end_of_an_element_without_triples_is_reported():
    """Whether it has any need not be known: it moves time on as others do."""
    assert evaluated(counted(sliding(5 * TICK, 5 * TICK), at(2, 2, TRIPLE), at(11, 11))) == [5, 10, 15]


@pytest.mark.parametrize("lateness", [0, 4, 100])
def test_the_lateness_changes_nothing_and_other_streams_take_time_on(lateness: int):
    case = counted(sliding(5 * TICK, 5 * TICK), at(2, 2, TRIPLE), at(3, 3, TRIPLE))
    other = StreamData(iri(":s2"), (at(22, 22, TRIPLE),))
    data = replace(
        case.data,
        streams=(*case.data.streams, other),
        batches=(*case.data.batches, ((1, 0),)),
        lateness=lateness * TICK,
    )
    assert evaluated(replace(case, data=data)) == [5, 10, 15, 20]


def test_the_runtime_says_when_the_last_element_ended():
    clock = Watermark(lateness=4)
    assert clock.advance({0: 7, 1: 22}, counts=(0, 1)) == clock.come == 3
    assert clock.advance({}, counts=(), ended=True) == FOREVER
    assert clock.come == 23


@pytest.mark.parametrize("spec, instants", [
    (triples(2), [45, 90]), (WindowSpec(Kind.LANDMARK, slide=50 * TICK), [45, 90, 135]),
])  # fmt: skip
def test_what_stays_is_looked_at_once_more(spec: WindowSpec, instants: list[int]):
    """Triples are there at once; the landmark shows at 100 what came by then."""
    elements = [at(s, s, TRIPLE) for s in (20, 41, 60)]
    assert evaluated(counted(spec, *elements, report=PERIODIC)) == instants
