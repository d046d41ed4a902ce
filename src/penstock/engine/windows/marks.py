"""Instants at which something is asked or reported, without listing those at which nothing happens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np

from penstock.algebra.windows import Kind, Report, WindowSpec
from penstock.columns.instants import sorted_unique
from penstock.errors import InputError
from penstock.timeline import FOREVER, LATEST, NEVER, format_instant


@dataclass(frozen=True)
class Progression:
    """The instants `anchor` + k · `stride`; from `first` on, if it is given."""

    anchor: int
    stride: int
    first: int | None = None

    def next(self, times: np.ndarray) -> np.ndarray:
        """The first of them that is not before each of some times."""
        if self.first is not None:
            times = np.maximum(times, self.first)
        return self.anchor - (self.anchor - times) // self.stride * self.stride

    def before(self, times: np.ndarray) -> np.ndarray:
        """The last of them before each of some times; NEVER: there is none."""
        last = self.next(times) - self.stride
        return last if self.first is None else np.where(last >= self.first, last, NEVER)

    def has(self, times: np.ndarray) -> np.ndarray:
        return self.next(times) == times

    def within(self, low: int, high: int) -> np.ndarray:
        """Those of [low, high]."""
        [begin] = self.next(np.array([low], np.int64)).tolist()
        return np.arange(begin, high + 1, self.stride, dtype=np.int64)

    def also(self, period: int) -> Progression | None:
        """Those of them that are multiples of a period; None: there are none."""
        common = gcd(self.stride, period)
        if self.anchor % common:
            return None
        stride, rest = self.stride // common, period // common
        steps = -(self.anchor // common) * pow(stride, -1, rest) % rest if rest > 1 else 0
        return Progression(self.anchor + steps * self.stride, self.stride * rest, self.first)


class RestrictedProgression:
    """Those instants of a progression that lie in any of the stretches [since, until)."""

    def __init__(self, whole: Progression, since: np.ndarray, until: np.ndarray) -> None:
        stretches = np.array([*joined(since, until)], np.int64).reshape(-1, 2)
        first, last = whole.next(stretches[:, 0]), whole.before(stretches[:, 1])
        some = first <= last
        self.whole, self.stride = whole, whole.stride
        self.first, self.last = first[some], last[some]  # of each stretch that has one

    def next(self, times: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.last, times)
        return np.maximum(self.whole.next(times), np.append(self.first, FOREVER)[place])

    def before(self, times: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.first, times)
        return np.minimum(self.whole.before(times), np.append(NEVER, self.last)[place])

    def within(self, low: int, high: int) -> np.ndarray:
        reached = slice(np.searchsorted(self.last, low), np.searchsorted(self.first, high, "right"))
        stretches = zip(self.first[reached].tolist(), self.last[reached].tolist(), strict=True)
        found = [self.whole.within(max(first, low), min(last, high)) for first, last in stretches]
        return np.concatenate([np.empty(0, np.int64), *found])


EVERY_INSTANT = Progression(0, 1)
MOST = 200_000_000
"""Instants at which a query is evaluated, and answers that it gives, in one step of the clock."""
LISTED = 20_000_000
"""Instants that are listed at once."""


def too_many(count: int, low: int, high: int, most: int = MOST) -> InputError:
    """What is said of more evaluations, or answers, than that."""
    times = f"{format_instant(low)} and {format_instant(min(high, LATEST))}"
    return InputError(
        f"a query over windows would answer {count:,} times at once, between {times}; the limit is {most:,}",
        hint="give it a longer STEP or period, REPORT ON CHANGE, or ISTREAM; if a stray timestamp has made a"
        " gap in the stream, --ahead and --behind keep such ones out",
    )


def closes(spec: WindowSpec) -> Progression:
    """When windows over time close."""
    base = spec.start or 0
    if spec.kind is Kind.LANDMARK:
        return Progression(base, spec.slide, None if spec.start is None else base + spec.slide)
    first = None if spec.start is None else base + spec.width
    return Progression(base + spec.width, spec.slide, first)


def asked_regularly(report: Report, spec: WindowSpec) -> Progression | None:
    """When a window is asked if it should report, as far as time alone says so; None: never."""
    regular = EVERY_INSTANT
    if report.close and spec.kind is not Kind.TRIPLES:
        regular = closes(spec)
    return regular if report.period is None else regular.also(report.period)


@dataclass
class Marks:
    """Instants of [low, high]: some that are listed, in order, and some progressions."""

    low: int
    high: int
    listed: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    progressions: Sequence[Progression | RestrictedProgression] = ()

    def next(self, times: np.ndarray) -> np.ndarray:
        """The first mark that is not before each of some times; FOREVER if there is none."""
        found = np.full(len(times), FOREVER, np.int64)
        sought = np.flatnonzero(times <= self.high)
        times = np.maximum(times[sought], self.low)
        nearest = np.append(self.listed, FOREVER)[np.searchsorted(self.listed, times)]
        for progression in self.progressions:
            nearest = np.minimum(nearest, progression.next(times))
        found[sought] = np.where(nearest <= self.high, nearest, FOREVER)
        return found

    def before(self, times: np.ndarray, otherwise: int) -> np.ndarray:
        """The last mark before each of some times; `otherwise` if there is none."""
        times = np.minimum(times, self.high + 1)
        found = np.append(self.listed, otherwise)[np.searchsorted(self.listed, times) - 1]
        found = np.where(np.searchsorted(self.listed, times) > 0, found, otherwise)
        for progression in self.progressions:
            last = progression.before(times)
            found = np.where(last >= self.low, np.maximum(found, last), found)
        return found

    def during(self, since: np.ndarray, until: np.ndarray) -> np.ndarray:
        """The marks in any of the stretches [since, until), in order."""
        return np.concatenate([np.empty(0, np.int64), *self.portions(since, until, LISTED, LISTED)])

    def portions(
        self, since: np.ndarray, until: np.ndarray, most: int, limit: int = MOST
    ) -> Iterator[np.ndarray]:
        """The marks in any of the stretches [since, until), in order, about so many at a time."""
        stretches = list(joined(np.maximum(since, self.low), np.minimum(until, self.high + 1)))
        self._check(stretches, limit)
        reach = most * min((each.stride for each in self.progressions), default=FOREVER)
        found, count = [], 0
        for begin, end in stretches:
            for low in range(begin, end, reach):
                here = self._between(low, min(low + reach, end))
                found.append(here)
                count += len(here)
                if count >= most:
                    yield np.concatenate(found)
                    found, count = [], 0
        if count:
            yield np.concatenate(found)

    def _between(self, low: int, high: int) -> np.ndarray:
        """The marks of [low, high), in order."""
        listed = self.listed[slice(*np.searchsorted(self.listed, [low, high]))]
        found = [progression.within(low, high - 1) for progression in self.progressions]
        return sorted_unique(np.concatenate([listed, *found])) if found else listed

    def _check(self, stretches: Sequence[tuple[int, int]], limit: int) -> None:
        """Refuses to list more marks than anybody has use for."""
        lasting = sum(high - low for low, high in stretches)
        count = max((lasting // each.stride for each in self.progressions), default=0)
        if count > limit:
            raise too_many(count, stretches[0][0], stretches[-1][1], limit)


def joined(since: np.ndarray, until: np.ndarray) -> Iterable[tuple[int, int]]:
    """Stretches of time as those that do not touch, in order."""
    there = since < until
    since, until = since[there], until[there]
    if not len(since):
        return
    order = np.argsort(since, kind="stable")
    since, until = since[order], np.maximum.accumulate(until[order])
    apart = np.ones(len(since), bool)
    apart[1:] = since[1:] > until[:-1]
    begins = np.flatnonzero(apart)
    ends = np.append(begins[1:], len(since)) - 1
    yield from zip(since[begins].tolist(), until[ends].tolist(), strict=True)


def covered(times: np.ndarray, since: np.ndarray, until: np.ndarray) -> np.ndarray:
    """At which of some times one of the stretches [since, until) is."""
    came = np.searchsorted(np.sort(since), times, "right")
    left = np.searchsorted(np.sort(until), times, "right")
    return came > left
