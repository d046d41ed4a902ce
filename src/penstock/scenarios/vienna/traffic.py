"""What happens in the city: vehicles arrive or are late, passengers wait.

An arrival lasts from when a vehicle stops until it goes on. A vehicle that is overdue is reported two
minutes after it was due and then every four minutes; a report is about the minute before it. A location of a
passenger is about the two minutes before it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.scenarios.vienna.network import City, Line, iri
from penstock.timeline import MINUTE, SECOND, format_instant, parse_instant

BEGIN = parse_instant("2026-05-04T07:00:00Z")
FIRST_REPORT, NEXT_REPORT, REPORTED = 2 * MINUTE, 4 * MINUTE, MINUTE
LOCATED = 2 * MINUTE
# How many seconds a vehicle is late at the next stop, and how often of a thousand times.
_LATENESS = ((0, 100), (130, 330), (370, 800), (800, 1_800)), (920, 55, 18, 7)


@dataclass(frozen=True)
class Event:
    """One triple, and when it held."""

    subject: str
    predicate: str
    object: str
    start: int
    end: int

    def nquad(self, name: str) -> str:
        graph = (
            f"<http://example.org/vienna/{name}#t={format_instant(self.start)},{format_instant(self.end)}>"
        )
        return f"{iri(self.subject)} {iri(self.predicate)} {iri(self.object)} {graph} .\n"


def public_transport(city: City, minutes: int, seed: int) -> list[Event]:
    """ex:publicTransport: arrivals and delays of all vehicles."""
    journeys = (_journey(city, vehicle, line, minutes, seed) for vehicle, line in city.vehicles)
    return _as_events(journeys, minutes)


def locations(city: City, minutes: int, seed: int) -> list[Event]:
    """ex:passengers: where those wait who use the service."""
    waits = (
        _wait(f"p{number}", city.stop(stop), minutes, seed)
        for number, (stop, _) in enumerate(city.passengers, start=1)
    )
    return _as_events(waits, minutes)


def _as_events(stories: Iterable[Iterator[Event]], minutes: int) -> list[Event]:
    """The events of this time as they become known: an event is known at its end."""
    until = BEGIN + minutes * MINUTE
    events = (event for story in stories for event in story if BEGIN <= event.end < until)
    return sorted(events, key=lambda each: (each.end, each.start, each.predicate, each.subject, each.object))


def _journey(city: City, vehicle: str, line: Line, minutes: int, seed: int) -> Iterator[Event]:
    """A vehicle goes to and fro on its line, and is late now and then."""
    chance = random.Random(f"{seed} {vehicle}")
    round_trip = (*line.stops, *line.stops[-2:0:-1])
    place = chance.randrange(len(round_trip))
    clock = BEGIN - chance.randint(0, 300) * SECOND
    while clock < BEGIN + minutes * MINUTE:
        here, place = round_trip[place], (place + 1) % len(round_trip)
        there = round_trip[place]
        due = clock + city.seconds[line.name, here, there] * SECOND
        (shortest, longest) = chance.choices(*_LATENESS)[0]
        arrives = due + chance.randint(shortest, longest) * SECOND
        for report in range(due + FIRST_REPORT, arrives, NEXT_REPORT):
            yield Event(vehicle, "delayAt", city.stop(there), report - REPORTED, report)
        clock = arrives + chance.randint(15, 45) * SECOND
        yield Event(vehicle, "arriveAt", city.stop(there), arrives, clock)


def _wait(passenger: str, stop: str, minutes: int, seed: int) -> Iterator[Event]:
    """A passenger comes at some time, and waits for some minutes."""
    chance = random.Random(f"{seed} {passenger}")
    comes = BEGIN + chance.randint(0, minutes * 60) * SECOND
    goes = comes + chance.randint(4, 15) * MINUTE
    for since in range(comes, goes, LOCATED):
        yield Event(passenger, "waitsAt", stop, since, since + LOCATED)
