"""The city scenario: its generator, and its answers by hand, by the engine, and by the oracle."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pyoxigraph as ox
import pytest

from oracle.evaluate import Effort
from oracle.model import StaticGraph, TimedDataset
from oracle.window_model import ContinuousQuery
from oracle.windows import Knowledge, given
from penstock.errors import UsageError
from penstock.languages import parse_query
from penstock.scenarios import find_scenario
from penstock.scenarios.vienna import GRAPHS, Vienna
from penstock.scenarios.vienna.traffic import BEGIN
from penstock.timeline import MINUTE
from scenarios import city_runs
from scenarios.city_by_hand import ByHand

PATHS = [path for path, _ in find_scenario("vienna", stops=12, lines=5, minutes=1).queries]
NAMES = [path.stem for path in PATHS]
SMALL = Vienna(stops=90, lines=14, minutes=150, passengers=400, seed=2011)


@cache
def by_hand() -> ByHand:
    return ByHand(SMALL)


# --- the generator -----------------------------------------------------------------------------------


def test_the_city_is_the_same_every_time(tmp_path):
    texts = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        data = Vienna(stops=60, lines=8, minutes=20).write(tmp_path / name)
        texts.append([path.read_bytes() for _, path in (*data.streams, *data.graphs)])
    assert texts[0] == texts[1] and all(texts[0])
    assert Vienna(stops=60, lines=8, seed=1).city != Vienna(stops=60, lines=8, seed=2).city


def test_the_default_city_has_a_thousand_stops_and_a_hundred_lines():
    city = Vienna().city
    assert (len(city.labels), len(set(city.labels)), len(city.lines)) == (1_000, 1_000, 100)
    assert {stop for line in city.lines for stop in line.stops} == set(range(1_000))
    for line in city.lines:
        assert len(set(line.stops)) == len(line.stops) > 1
    served = Counter(stop for line in city.lines for stop in line.stops)
    assert sum(times > 1 for times in served.values()) > 150  # where people change


def test_there_is_a_connection_each_way_between_stops_that_follow_each_other():
    city = SMALL.city
    there = {(each.line, each.beg, each.end) for each in city.connections}
    for line in city.lines:
        for one, other in pairwise(line.stops):
            assert {(line.name, one, other), (line.name, other, one)} <= there
    on_foot = [each for each in city.connections if each.means == "foot"]
    assert {each.beg for each in on_foot} == set(range(len(city.labels)))


@pytest.mark.parametrize(
    "city", [Vienna(), SMALL, Vienna(stops=12, lines=5)], ids=["default", "small", "tiny"]
)
def test_from_some_subways_one_needs_a_tram_to_the_centre(city):
    hand = ByHand(city)
    stations = {city.city.stop(s) for line in city.city.lines if line.means == "subway" for s in line.stops}
    far = {stop for stop in stations if "c" not in hand.reached(stop, "subway")}
    assert "c" in stations and len(far) >= 2 and len(stations - far) > len(far)


def test_vehicles_go_to_and_fro_and_arrive_after_each_delay():
    lines = dict(SMALL.city.vehicles)
    seen: dict[str, list] = {}
    for event in SMALL.public_transport:
        seen.setdefault(event.subject, []).append(event)
    assert set(seen) == set(lines)
    for vehicle, events in seen.items():
        stops = [SMALL.city.stop(stop) for stop in lines[vehicle].stops]
        beside = {frozenset(pair) for pair in pairwise(stops)}
        arrivals = [event for event in events if event.predicate == "arriveAt"]
        assert all(frozenset((a.object, b.object)) in beside for a, b in pairwise(arrivals))
        assert all(a.end < b.start for a, b in pairwise(events))
        for one, following in pairwise(events):
            if one.predicate == "delayAt":
                assert following.object == one.object


def test_events_come_in_the_order_in_which_they_are_known():
    for events in (SMALL.public_transport, SMALL.locations):
        assert [each.end for each in events] == sorted(each.end for each in events)
        assert all(each.start < each.end for each in events)
        assert BEGIN <= events[0].end and events[-1].end < BEGIN + 150 * MINUTE


def test_files_say_the_same_as_the_city(tmp_path):
    data = SMALL.write(tmp_path)
    assert [iri for iri, _ in data.streams] == [f"{GRAPHS}publicTransport", f"{GRAPHS}passengers"]
    lengths = [sum(1 for _ in ox.parse(path=path)) for _, path in data.streams]
    assert lengths == [len(SMALL.public_transport), len(SMALL.locations)]
    for iri, path in data.streams:
        for number, quad in enumerate(ox.parse(path=path)):
            assert quad.graph_name.value.startswith(f"{iri}/{number}#t=2026-05-04T")


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"stops": 3}, "a city cannot have 3 stops: it has at least 12"),
        ({"lines": 0}, "0 lines"),
        ({"minutes": -1}, "-1 minutes"),
        ({"weeks": 7}, "the scenario vienna has no --weeks"),
    ],
)
def test_a_city_that_cannot_be(numbers, message):
    with pytest.raises(UsageError, match=message):
        find_scenario("vienna", **numbers)


def test_matches_are_told_in_words():
    city = SMALL.city
    line = next(line for line in city.lines if line.means == "tram")
    (stop, label), (to, other) = list(city.names.items())[3:5]
    iri = stop.rsplit("#", 1)[0] + "#"
    pair = [({"s": stop}, 5, 9), ({"s": stop}, 7, 9), ({"s": to}, 7, 9)]
    assert list(SMALL.tell("officer", pair)) == [
        (5, 9, f"{label}: a subway was late twice, and is not there yet (2 matches)"),
        (7, 9, f"{other}: a subway was late twice, and is not there yet"),
    ]
    about = {"p": f"{iri}p7", "s": stop, "v": f"{iri}U1-3", "d": to}
    matches = [({**about, "line": f"{iri}{each}"}, 5, 9) for each in ("T12", line.name, "T12")]
    text = f"p7 waits at {label} to go to {other}: U1-3 is late, but there is {line.name} or T12"
    assert list(SMALL.tell("passenger", matches)) == [(5, 9, text)]


def test_the_stock_market_has_no_stops():
    with pytest.raises(UsageError, match="the scenario stock-market has no --stops"):
        find_scenario("stock-market", stops=10)


# --- answers -------------------------------------------------------------------------------------------


def test_the_small_city_asks_for_everything_that_the_queries_say():
    """Each condition leaves something out."""
    hand = by_hand()
    officer, passenger = hand.officer(), hand.passenger()
    assert officer.total() > 20 and passenger.total() > 80
    without = {
        "a subway": lambda each: setattr(each, "subways", {vehicle for vehicle, _ in SMALL.city.vehicles}),
        "a way": lambda each: setattr(each, "reached", lambda *_: set(SMALL.city.names) | _every_stop()),
        "no arrival": lambda each: setattr(each, "has_come", lambda *_: False),
    }
    for what, change in without.items():
        other = ByHand(SMALL)
        change(other)
        assert other.passenger().total() > passenger.total(), what
        if what != "no arrival":  # by the time of a second delay nobody can have come after it
            assert other.officer().total() > officer.total(), what


def _every_stop() -> set[str]:
    return {SMALL.city.stop(number) for number in range(len(SMALL.city.labels))}


@pytest.mark.parametrize(("shards", "batch"), [(1, 25), (2, 60), (8, 300), (2, 100_000)])
def test_the_engine_finds_what_is_found_by_hand(shards, batch):
    found = city_runs.given(SMALL, PATHS, shards, batch)
    for name, answers in zip(NAMES, found, strict=True):
        assert answers == getattr(by_hand(), name)(), name


@pytest.mark.parametrize("seed", range(4))
def test_other_cities(seed):
    city = Vienna(stops=40 + 17 * seed, lines=6 + seed, minutes=45, passengers=200, seed=seed)
    found = city_runs.given(city, PATHS, 2, 25)
    hand = ByHand(city)
    assert found == [hand.officer(), hand.passenger()]


TINY = Vienna(stops=12, lines=5, minutes=12, passengers=12, seed=27)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem == "passenger")) for path in PATHS],
    ids=NAMES,
)
def test_the_definitions_say_what_is_found_by_hand(path):
    query = parse_query(path.read_text(), language="cqels-cep").query
    how = query.continuous
    asked = ContinuousQuery(query, how.windows, how.report, how.operator, how.view)
    streams = {
        ox.NamedNode(GRAPHS + name): [city_runs.element_of(event) for event in events]
        for name, events in zip(city_runs.STREAMS, city_runs.events_of(TINY), strict=True)
    }
    known = TimedDataset((StaticGraph(frozenset(city_runs.known(TINY))),))
    names = [var.name for var in query.vars]
    found = Counter(
        {
            (at, *(str(row.value(name)) for name in names), row.start, row.end): times
            for at, row, times in given(
                asked, streams, Knowledge(((None, known),)), effort=Effort(limit=10**12)
            )
        }
    )
    assert found == getattr(ByHand(TINY), path.stem)()
    assert found.total() >= 3
