"""The two questions of the city scenario, answered in plain Python from what they mean.

Nothing here knows queries, windows or paths: lists of events, breadth-first search, and loops over pairs.
An answer is told at the instant at which all of it is known, if then it is still true.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from penstock.scenarios.vienna import Vienna
from penstock.scenarios.vienna.network import CENTRE, NAMESPACE
from penstock.scenarios.vienna.traffic import Event

MINUTE = 60 * 1_000_000
Answers = Counter[tuple]  # (when it is told, names…, start, end): how often


def name(local: str) -> str:
    return f"<{NAMESPACE}{local}>"


class ByHand:
    def __init__(self, vienna: Vienna) -> None:
        city = vienna.city
        self.ways = [
            (city.stop(each.beg), city.stop(each.end), each.means, each.line) for each in city.connections
        ]
        self.subways = {vehicle for vehicle, line in city.vehicles if line.means == "subway"}
        self.goes_to = {f"p{n}": city.stop(to) for n, (_, to) in enumerate(city.passengers, start=1)}
        self.waits = vienna.locations
        self.delays: dict[tuple[str, str], list[Event]] = defaultdict(list)
        self.arrivals: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in vienna.public_transport:
            kept = self.delays if event.predicate == "delayAt" else self.arrivals
            kept[event.subject, event.object].append(event)

    def reached(self, start: str, *means: str) -> set[str]:
        """The stops that one comes to from a stop by at least one connection, all of these means."""
        on: dict[str, set[str]] = defaultdict(set)
        for beg, end, by, _ in self.ways:
            if by in means:
                on[beg].add(end)
        found: set[str] = set()
        todo = [start]
        while todo:
            new = on[todo.pop()] - found
            found |= new
            todo += new
        return found

    def has_come(self, vehicle: str, stop: str, since: int, now: int) -> bool:
        return any(since < each.start and each.end <= now for each in self.arrivals[vehicle, stop])

    def officer(self) -> Answers:
        """Two delays of one subway at one stop, one after the other and not ten minutes apart."""
        told: Answers = Counter()
        for (vehicle, stop), delays in self.delays.items():
            if vehicle not in self.subways or CENTRE not in self.reached(stop, "subway"):
                continue
            for first in delays:
                for second in delays:
                    now = second.end
                    if first.end >= second.start or first.end < now - 10 * MINUTE:
                        continue
                    if not self.has_come(vehicle, stop, second.end, now):
                        told[now, name(stop), max(first.start, now - 10 * MINUTE), second.end] += 1
        return told

    def passenger(self) -> Answers:
        """Someone waits while a subway is late there; who is at a tram's stop can take that."""
        told: Answers = Counter()
        for wait in self.waits:
            person, stop = wait.subject, wait.object
            to = self.goes_to[person]
            if to not in self.reached(stop, "subway"):
                continue
            lines = [
                line
                for beg, end, by, line in self.ways
                if beg == stop and by == "tram" and to in {end, *self.reached(end, "tram", "foot")}
            ]
            for (vehicle, where), delays in self.delays.items():
                if where != stop or vehicle not in self.subways:
                    continue
                for delay in delays:
                    now = max(wait.end, delay.end)
                    start = max(wait.start, delay.start, now - 5 * MINUTE)  # the passenger's window
                    end = min(wait.end, delay.end)
                    if start > end or self.has_come(vehicle, stop, delay.end, now):
                        continue
                    for line in lines:
                        row = (name(person), name(stop), name(vehicle), name(line), name(to))
                        told[now, *row, start, end] += 1
        return told
