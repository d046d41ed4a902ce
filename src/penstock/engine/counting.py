"""How many rows each step of a run has given so far: what says where a query dried up.

One addition per operator and batch. The counts are part of a shard's stored state, so that they
stay those of the whole run after a restart, and a batch that is repeated counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RowCounts:
    """Rows by the place of a step in the network; of scans also what never came so far."""

    given: dict[int, int] = field(default_factory=dict)
    matched: dict[int, int] = field(default_factory=dict)  # before lateness, and filters by constants
    late: dict[int, int] = field(default_factory=dict)
    occurred: set[int] = field(default_factory=set)  # scans whose predicate is there, with any terms

    def give(self, place: int, rows: int) -> None:
        self.given[place] = self.given.get(place, 0) + rows

    def match(self, scan: int, rows: int) -> None:
        self.matched[scan] = self.matched.get(scan, 0) + rows
        self.occurred.add(scan)

    def be_late(self, scan: int, rows: int) -> None:
        self.late[scan] = self.late.get(scan, 0) + rows

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            _sum(self.given, other.given),
            _sum(self.matched, other.matched),
            _sum(self.late, other.late),
            self.occurred | other.occurred,
        )

    def moved(self, places: Mapping[int, int]) -> RowCounts:
        """The counts of the steps that are still there, at the places that they have now."""
        given, matched, late = (
            {places[k]: n for k, n in part.items() if k in places}
            for part in (self.given, self.matched, self.late)
        )
        return RowCounts(given, matched, late, {places[k] for k in self.occurred if k in places})

    def behind(self, count: int) -> RowCounts:
        """The same, of steps that stand behind so many others."""
        places = {place for part in (self.given, self.matched, self.late) for place in part} | self.occurred
        return self.moved({place: place + count for place in places})

    def before(self, count: int) -> tuple[RowCounts, RowCounts]:
        """The counts of the first so many steps, and those of the steps behind them."""
        places = {place for part in (self.given, self.matched, self.late) for place in part} | self.occurred
        behind = {place: place - count for place in places if place >= count}
        return self.only(range(count)), self.moved(behind)

    def only(self, places: Iterable[int]) -> RowCounts:
        """The counts of some steps."""
        kept = set(places)
        given, matched, late = (
            {k: n for k, n in part.items() if k in kept} for part in (self.given, self.matched, self.late)
        )
        return RowCounts(given, matched, late, self.occurred & kept)

    def to_json(self) -> list[Any]:
        parts = ([[*part], [*part.values()]] for part in (self.given, self.matched, self.late))
        return [*parts, sorted(self.occurred)]

    @classmethod
    def from_json(cls, value: list[Any]) -> RowCounts:
        *parts, occurred = value
        given, matched, late = (dict(zip(*part, strict=True)) for part in parts)
        return cls(given, matched, late, set(occurred))


def _sum(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {place: one.get(place, 0) + other.get(place, 0) for place in one | other}
