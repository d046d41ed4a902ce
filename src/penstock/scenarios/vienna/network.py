"""A city's public transport: stops, lines with their connections, ways on foot, vehicles, passengers.

The vocabulary is that of the paper's Example 2. Stops lie on a disc around the centre, `:c`. Two of three
subway lines cross the centre; the others share no stop with them, so from there one needs a tram, as in the
paper's Figure 1. People change where lines share a stop, or walk to the nearest one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

NAMESPACE = "http://example.org/vienna#"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
DURATION = "<http://www.w3.org/2001/XMLSchema#duration>"
CENTRE = "c"

PEOPLE = (
    "Gulda Haydn Mozart Beethoven Schubert Brahms Mahler Bruckner Strauss Lanner Webern Berg Czerny Gluck"
    " Salieri Hummel Wolf Zemlinsky Korngold Krenek Lehar Suppe Ziehrer Diabelli Nestroy Raimund Grillparzer"
    " Stifter Schnitzler Zweig Musil Roth Bachmann Klimt Schiele Kokoschka Makart Waldmüller Loos Wagner"
).split()
PLACES = (
    "Lane Park Street Square Bridge Hill Gate Market Yard Garden Mill Church School Station Steps Alley Road"
    " Meadow Tower Well Court Bank Corner Field Grove Row"
).split()
SHARES = {"subway": 0.08, "tram": 0.32}  # of all lines; the others are buses
AT_LEAST = {"subway": 3, "tram": 1}
LETTERS = {"subway": "U", "tram": "T", "bus": "B"}
LOOKS_AT = {"subway": 24, "tram": 12, "bus": 8}  # how many of the nearest stops may be the next one
METRES_PER_SECOND = {"subway": 11, "tram": 6, "bus": 5, "foot": 1.3}
VEHICLES = {"subway": 8, "tram": 5, "bus": 3}  # of a line
RADIUS = 7_000  # metres


def iri(local: str) -> str:
    return f"<{NAMESPACE}{local}>"


@dataclass(frozen=True)
class Line:
    name: str
    means: str
    stops: tuple[int, ...]


@dataclass(frozen=True)
class Connection:
    """Two stops, one after the other; those of a line by its vehicles, others on foot."""

    name: str
    beg: int
    end: int
    means: str
    seconds: int
    line: str | None


@dataclass(frozen=True)
class City:
    """What is known before anything happens. Stops are known by their numbers, 0 is the centre."""

    labels: tuple[str, ...]
    lines: tuple[Line, ...]
    connections: tuple[Connection, ...]
    passengers: tuple[tuple[int, int], ...]  # where each waits, and goes to

    def stop(self, number: int) -> str:
        return CENTRE if number == 0 else f"s{number}"

    @cached_property
    def vehicles(self) -> list[tuple[str, Line]]:
        return [
            (f"{line.name}-{number}", line)
            for line in self.lines
            for number in range(1, VEHICLES[line.means] + 1)
        ]

    @cached_property
    def seconds(self) -> dict[tuple[str | None, int, int], int]:
        """How long a connection takes, by line and stops."""
        return {(each.line, each.beg, each.end): each.seconds for each in self.connections}

    @cached_property
    def names(self) -> dict[str, str]:
        """What people call a stop, by its IRI."""
        return {f"{NAMESPACE}{self.stop(number)}": label for number, label in enumerate(self.labels)}

    def map(self) -> Iterator[str]:
        """ex:transportationMap, as N-Triples."""
        for number, label in enumerate(self.labels):
            yield f'{iri(self.stop(number))} {LABEL} "{label}" .\n'
        for each in self.connections:
            subject = iri(each.name)
            yield f"{subject} {iri('beg')} {iri(self.stop(each.beg))} .\n"
            yield f"{subject} {iri('end')} {iri(self.stop(each.end))} .\n"
            yield f"{subject} {iri('means')} {iri(each.means)} .\n"
            yield f'{subject} {iri("dur")} "PT{each.seconds}S"^^{DURATION} .\n'
            if each.line is not None:
                yield f"{subject} {iri('line')} {iri(each.line)} .\n"
        for vehicle, line in self.vehicles:
            yield f"{iri(vehicle)} {RDF_TYPE} {iri(line.means)} .\n"
            yield f"{iri(vehicle)} {iri('line')} {iri(line.name)} .\n"

    def registered(self) -> Iterator[str]:
        """ex:registered, as N-Triples: where the passengers who use the service go to."""
        for number, (_, to) in enumerate(self.passengers, start=1):
            yield f"{iri(f'p{number}')} {iri('goesTo')} {iri(self.stop(to))} .\n"


def make_city(stops: int, lines: int, passengers: int, seed: int) -> City:
    """The same city for the same numbers."""
    builder = _Builder(stops, random.Random(f"vienna {seed} {stops} {lines}"))
    count = {means: max(AT_LEAST[means], round(lines * share)) for means, share in SHARES.items()}
    count["bus"] = max(0, lines - sum(count.values()))
    length = max(4, round(1.6 * stops / lines))
    for number in range(1, count["subway"] + 1):
        builder.subway(number, outer=number % 3 == 0)
    for means in ("tram", "bus"):
        for number in range(1, count[means] + 1):
            builder.line(number, means, length)
    builder.serve_all()
    found = builder.found()
    return City(
        tuple(builder.labels()),
        tuple(found),
        tuple(_connections(found, builder)),
        tuple(builder.travellers(passengers)),
    )


class _Builder:
    """Draws lines over stops, one after the other."""

    def __init__(self, stops: int, chance: random.Random) -> None:
        self.chance = chance
        spots = [(0.0, 0.0)]
        while len(spots) < stops:
            distance, angle = math.sqrt(chance.random()) * RADIUS, chance.uniform(0, 2 * math.pi)
            spots.append((distance * math.cos(angle), distance * math.sin(angle)))
        self.spots = np.array(spots)
        self.routes: list[tuple[str, str, list[int]]] = []
        self.served: set[int] = set()
        self.by_subway: set[int] = set()

    def labels(self) -> Iterator[str]:
        yield "Center Square"
        names = [f"{person} {place}" for person in PEOPLE for place in PLACES]
        self.chance.shuffle(names)
        for number in range(len(self.spots) - 1):
            again, which = divmod(number, len(names))
            yield names[which] if not again else f"{names[which]} {again + 1}"

    def metres(self, one: int, other: int) -> float:
        return math.dist(self.spots[one], self.spots[other])

    def nearest(self, place: int | tuple[float, float]) -> list[int]:
        """All stops, the nearest first."""
        x, y = self.spots[place] if isinstance(place, int) else place
        distances = (self.spots[:, 0] - x) ** 2 + (self.spots[:, 1] - y) ** 2
        return np.argsort(distances, kind="stable").tolist()

    def on_the_rim(self, angle: float) -> int:
        return self.nearest((RADIUS * math.cos(angle), RADIUS * math.sin(angle)))[0]

    def subway(self, number: int, outer: bool) -> None:
        """Through the centre from rim to rim; or beside it, and past all stops of other subways."""
        angle = 0.9 * number + self.chance.uniform(-0.2, 0.2)
        if not outer:
            first = self.way(self.on_the_rim(angle), 0, "subway", len(self.spots))
            last = self.on_the_rim(angle + math.pi + self.chance.uniform(-0.4, 0.4))
            route = [*first, *self.way(0, last, "subway", len(self.spots), avoiding=first)[1:]]
        else:
            free = [
                stop for stop in self.nearest(self.on_the_rim(angle)) if stop not in self.by_subway and stop
            ]
            start, target = free[0], free[min(len(free) - 1, len(free) // 4)]
            route = self.way(start, target, "subway", 12, avoiding=self.by_subway | {0})
        self.by_subway.update(route)
        self.add(f"U{number}", "subway", route)

    def line(self, number: int, means: str, length: int) -> None:
        """From somewhere to somewhere, mostly over stops that have no line yet."""
        open_stops = [stop for stop in range(len(self.spots)) if stop not in self.served]
        start = self.chance.choice(open_stops or range(len(self.spots)))
        target = self.on_the_rim(self.chance.uniform(0, 2 * math.pi)) if self.chance.random() < 0.6 else 0
        if target == start:
            target = 0 if start else len(self.spots) - 1
        self.add(f"{LETTERS[means]}{number}", means, self.way(start, target, means, length))

    def way(self, start: int, target: int, means: str, length: int, avoiding=()) -> list[int]:
        """From stop to stop towards a target, until it is reached or the line is long enough."""
        route, away = [start], set(avoiding) - {target}
        while route[-1] != target and len(route) < length:
            here = route[-1]
            near = [stop for stop in self.nearest(here)[1:] if stop not in away and stop not in route]
            if not near:
                break
            left = self.metres(here, target)
            scores = {
                stop: self.metres(stop, target)
                + 0.4 * self.metres(here, stop)
                + (0.25 * left if means == "bus" and stop in self.served else 0)
                for stop in near[: LOOKS_AT[means]]
            }
            if target in near[: LOOKS_AT[means]]:
                scores[target] = -1
            route.append(min(scores, key=scores.__getitem__))
        return route

    def add(self, name: str, means: str, route: list[int]) -> None:
        if len(route) > 1:
            self.routes.append((name, means, route))
            self.served.update(route)

    def serve_all(self) -> None:
        """Stops without a line become part of one that passes nearby; subways stay as they are."""
        for stop in range(len(self.spots)):
            if stop in self.served:
                continue
            near = next(other for other in self.nearest(stop) if other in self.served and self._takes(other))
            route = self._takes(near)
            route.insert(route.index(near) + 1, stop)
            self.served.add(stop)

    def _takes(self, stop: int) -> list[int] | None:
        ways = (route for _, means, route in reversed(self.routes) if means != "subway" and stop in route)
        return next(ways, None)

    def found(self) -> list[Line]:
        return [Line(name, means, tuple(route)) for name, means, route in self.routes]

    def travellers(self, count: int) -> Iterator[tuple[int, int]]:
        """Mostly people wait where subways go, and go where subways or trams go."""
        everywhere = range(len(self.spots))
        stations = sorted(self.by_subway)
        on_rails = sorted({stop for _, means, route in self.routes if means != "bus" for stop in route})
        for _ in range(count):
            wait = self.chance.choice(stations if self.chance.random() < 0.7 else everywhere)
            to = self.chance.choice(stations if self.chance.random() < 0.6 else on_rails)
            yield wait, to


def _connections(lines: list[Line], builder: _Builder) -> Iterator[Connection]:
    number = 0

    def there_and_back(one: int, other: int, means: str, line: str | None) -> Iterator[Connection]:
        nonlocal number
        seconds = 30 * math.ceil(builder.metres(one, other) / METRES_PER_SECOND[means] / 30)
        for beg, end in ((one, other), (other, one)):
            number += 1
            yield Connection(f"conn{number}", beg, end, means, max(60, seconds), line)

    for line in lines:
        for one, other in zip(line.stops, line.stops[1:], strict=False):
            yield from there_and_back(one, other, line.means, line.name)
    walks = {tuple(sorted((stop, builder.nearest(stop)[1]))) for stop in range(len(builder.spots))}
    for one, other in sorted(walks):
        yield from there_and_back(one, other, "foot", None)
