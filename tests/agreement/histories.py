"""Random histories: streams from which occurrences leave again, and how the changes arrive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from agreement.operator_queries import operator_queries
from oracle.cases import Batch, Case, Element
from oracle.changing import Change, ChangingDataset, History
from oracle.generator import make_case
from oracle.model import Occurrence, StaticGraph, Stream, stream_of
from oracle.stream_data import batched
from oracle.vocabulary import TICK
from penstock.timeline import format_instant


@dataclass(frozen=True)
class Arrival:
    """What arrives at once of a stream: an element that stays, or changes of one that changes.

    `after`: the arrival that brought what this one takes back.
    """

    stream: int
    element: Element | None = None
    changes: tuple[Change, ...] = ()
    after: int | None = None

    @property
    def at(self) -> int:
        """The instant from which on it matters: the watermark must not have passed it."""
        return self.element.end if self.element else self.changes[0].since


@dataclass(frozen=True)
class ChangingCase:
    """A case in which some streams change; `arrivals` come in `batches`, as (0, number)."""

    case: Case
    changing: frozenset[int]
    arrivals: tuple[Arrival, ...]
    batches: tuple[Batch, ...]
    lateness: int  # what the watermark stays behind the latest arrival; -1: it has passed it

    @property
    def seed(self) -> int:
        return self.case.seed

    def watermarks(self) -> Iterable[tuple[list[Arrival], int | None]]:
        """The arrivals of each batch, and the watermark that holds when they come."""
        latest = None
        for batch in self.batches:
            arrived = [self.arrivals[number] for _, number in batch]
            yield arrived, None if latest is None else latest - self.lateness
            latest = max([latest or 0, *(each.at for each in arrived)])
        yield [], latest - self.lateness

    @cached_property
    def late(self) -> frozenset[int]:
        """The arrivals that the watermark has passed when they come."""
        found, passed = set(), None
        for batch in self.batches:
            if passed is not None:
                found |= {number for _, number in batch if self.arrivals[number].at < passed}
            times = [self.arrivals[number].at - self.lateness for _, number in batch]
            passed = max([*times, *([] if passed is None else [passed])], default=None)
        return frozenset(found)

    @cached_property
    def dataset(self) -> ChangingDataset:
        """What the queries read: what is in time of all streams, and the static graphs."""
        streams: list[Stream | History] = []
        for number in range(len(self.case.streams)):
            arrived = [
                each for i, each in enumerate(self.arrivals) if each.stream == number and i not in self.late
            ]
            if number in self.changing:
                streams.append(History(tuple(change for each in arrived for change in each.changes)))
            else:
                elements = (each.element for each in arrived)
                streams.append(stream_of((e.triples, e.start, e.end) for e in elements))
        return ChangingDataset(
            tuple(streams),
            tuple(StaticGraph(frozenset(data.triples)) for data in self.case.graphs),
            tuple(data.name for data in self.case.streams),
            tuple(data.name for data in self.case.graphs),
        )

    @cached_property
    def instants(self) -> list[int]:
        """The instants at which something may change, and one before all of them."""
        found = {0}
        for each in self.arrivals:
            if each.element:
                found.add(each.element.end)
            for change in each.changes:
                found |= {change.since, *([] if change.until is None else [change.until])}
        return sorted(found)

    def __str__(self) -> str:
        lines = [f"history {self.seed}: make_history({self.seed})"]
        for number, each in enumerate(self.arrivals):
            note = " LATE" if number in self.late else ""
            if each.element:
                span = f"{_short(each.element.start)} to {_short(each.element.end)}"
                lines.append(f"  {number}{note} stream {each.stream} stays: {span}")
                lines += [f"      {' '.join(map(str, triple))} ." for triple in each.element.triples]
            for change in each.changes:
                o = change.occurrence
                span = "timeless" if o.end is None else f"{_short(o.start)} to {_short(o.end)}"
                there = f"[{_short(change.since)}, {_short(change.until)})"
                triple = " ".join(map(str, o.triple))
                lines.append(
                    f"  {number}{note} stream {each.stream}: {change.weight:+d} {there} {triple} {span}"
                )
        for graph in self.case.graphs:
            lines.append(f"graph {graph.name or '(no name)'}")
            lines += [f"      {' '.join(map(str, triple))} ." for triple in graph.triples]
        lines += [f"stream {i} {data.name}" for i, data in enumerate(self.case.streams)]
        lines.append("batches " + " | ".join(" ".join(str(n) for _, n in batch) for batch in self.batches))
        lines.append(f"lateness {self.lateness / TICK} ticks")
        for query in self.case.queries:
            lines += ["query", *("  " + line for line in query.splitlines())]
        return "\n".join(lines)


def _short(instant: int | None) -> str:
    return "…" if instant is None else format_instant(instant)[14:-5]


def make_history(seed: int, size: int = 12) -> ChangingCase:
    """The history with this number."""
    case = make_case(seed, size)
    random = Random(f"history {seed}")
    if seed % 3:
        case = replace(case, queries=operator_queries(random))
    changing = {number for number in range(len(case.streams)) if random.random() < 0.7}
    changing = frozenset(changing or {random.randrange(len(case.streams))})
    arrivals: list[Arrival] = []
    for number, data in enumerate(case.streams):
        if number not in changing:
            arrivals += [Arrival(number, element) for element in data.elements]
            continue
        knows = random.choice((0.0, 0.5, 1.0))  # how often a row says when it will leave
        timeless = random.random() < 0.2
        for element in data.elements:
            _come_and_go(random, arrivals, number, element, knows, timeless)
    order = sorted(
        range(len(arrivals)),
        key=lambda i: (arrivals[i].at + random.randint(0, case.lateness), random.random()),
    )
    batches = batched(random, [(0, number) for number in order])
    lateness = case.lateness - random.choice((0, 0, 1))
    if seed % 2:
        batches = _delayed(random, batches)
    return _sound(ChangingCase(case, changing, tuple(arrivals), tuple(batches), lateness))


def _come_and_go(
    random: Random, arrivals: list[Arrival], stream: int, element: Element, knows: float, timeless: bool
) -> None:
    """An element's occurrences come, mostly leave again, and sometimes come once more."""
    interval = (None, None) if timeless else (element.start, element.end)
    found = [Occurrence(*triple, *interval) for triple in element.triples]
    parts = [found] if random.random() < 0.7 else [[each] for each in found]
    for occurrences in filter(None, parts):
        since = element.end + random.choice((0, 0, 0, 1, 2)) * TICK
        for _ in range(random.choice((1, 1, 1, 2))):
            weight = 2 if random.random() < 0.15 else 1
            until = None if random.random() < 0.15 else since + random.randint(1, 8) * TICK
            known = until if random.random() < knows else None
            arrivals.append(
                Arrival(stream, changes=tuple(Change(o, since, known, weight) for o in occurrences))
            )
            if until is None:
                break
            came = len(arrivals) - 1
            if known is None:
                for part in [weight] if random.random() < 0.5 else [1] * weight:
                    leaving = tuple(Change(o, until, None, -part) for o in occurrences)
                    arrivals.append(Arrival(stream, changes=leaving, after=came))
                    until += random.choice((0, 1)) * TICK
            since = until + random.randint(0, 3) * TICK


def _delayed(random: Random, batches: list[Batch]) -> list[Batch]:
    """Some arrivals in later batches, so that some of them are late."""
    found: list[list[tuple[int, int]]] = [[] for _ in batches]
    for number, batch in enumerate(batches):
        for place in batch:
            later = random.randrange(number, len(batches)) if random.random() < 0.15 else number
            found[later].append(place)
    return [tuple(batch) for batch in found]


def _sound(history: ChangingCase) -> ChangingCase:
    """Without what would take back what has been left out: who leaves out one leaves out the other."""
    while True:
        useless = {
            i
            for i, each in enumerate(history.arrivals)
            if each.after in history.late and any((0, i) in batch for batch in history.batches)
        }
        if not useless:
            return history
        batches = tuple(tuple(p for p in batch if p[1] not in useless) for batch in history.batches)
        arrivals = tuple(
            Arrival(each.stream, changes=()) if i in useless else each
            for i, each in enumerate(history.arrivals)
        )
        history = replace(history, arrivals=arrivals, batches=batches)
