"""Aggregates by group, changed by the members that come and leave; nothing here depends on a group's size.

COUNT, SUM and AVG are sums: of members, and of values in classes within which sums of whole numbers are
exact. Of MIN, MAX and SAMPLE the members are kept in heaps. GROUP_CONCAT is as long as its group, so it is
made anew.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.algebra.nodes import Aggregate
from penstock.columns import ids as term_ids
from penstock.columns.hashing import Slots
from penstock.columns.terms import TermTable
from penstock.engine.changing.slots import Records, bounded, grown
from penstock.engine.changing.sums import Sums
from penstock.functions.aggregates import aggregate
from penstock.functions.ordering import total_key

_OFFSET = -(2**62)
"""Added to an instant it is not 0."""


class Total(ABC):
    """An aggregate of all groups."""

    @abstractmethod
    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        """The value of its group at each record (0: none), as members come and leave.

        `of` is the record of each of these events, `change` how often the member is there more, and
        `columns` what is aggregated: a term, or a solution.
        """

    @abstractmethod
    def room(self, count: int) -> None:
        """There are so many groups now."""

    @abstractmethod
    def keep(self, groups: np.ndarray) -> None:
        """These are groups 0, 1, 2 … now; the others have no members."""


def total_of(
    call: Aggregate, terms: TermTable, spare: int, width: int = 1, *, instants: bool = False
) -> Total:
    """How an aggregate is kept; `width` is the number of columns that it looks at.

    Of `instants`, which are no terms, it is the first.
    """
    found: Total
    if instants:
        return ExtremeTerm(None, terms, spare)
    if call.argument is None or call.name == "COUNT":
        found = Count(solutions=call.argument is None)
    elif call.name in ("SUM", "AVG"):
        found = NumericTotal(call, terms)
    elif call.name == "GROUP_CONCAT":
        found = Concatenation(call, terms)
    else:
        found = ExtremeTerm(call.name, terms, spare)
    return (
        DistinctTotal(found, width, spare) if call.distinct and not isinstance(found, ExtremeTerm) else found
    )


class Count(Total):
    def __init__(self, *, solutions: bool) -> None:
        self.solutions = solutions  # all count, whatever they bind
        self.count = np.zeros(0, np.int64)

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        if not self.solutions:
            change = np.where(columns[0] == 0, 0, change)
        return records.added_up(of, change, self.count) | term_ids.INTEGER << term_ids.TAG_SHIFT

    def room(self, count: int) -> None:
        self.count = grown(self.count, count)

    def keep(self, groups: np.ndarray) -> None:
        self.count = self.count[groups]


class DistinctTotal(Total):
    """An aggregate over members that count once, however often they are there."""

    def __init__(self, inner: Total, width: int, spare: int) -> None:
        self.inner = inner
        self.width = width
        self.slots = Slots(1 + width)
        self.times = np.zeros(0, np.int64)
        self.spare = self.limit = spare

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        slot = self.slots.of([records.slot[of], *columns], len(of))
        self.times = grown(self.times, self.slots.count)
        change = bounded(slot, change, self.times)
        which = np.flatnonzero(change)
        found = self.inner.values(records, of[which], change[which], [each[which] for each in columns])
        if self.slots.count > self.limit:
            kept = np.flatnonzero(self.times)
            self.slots.keep(kept)
            self.times = self.times[kept]
            self.limit = 2 * len(kept) + self.spare
        return found

    def room(self, count: int) -> None:
        self.inner.room(count)

    def keep(self, groups: np.ndarray) -> None:
        self.inner.keep(groups)
        kept = np.flatnonzero(self.times)
        group, *columns = self.slots.keys(kept)
        self.slots = Slots(1 + self.width)
        self.slots.of([np.searchsorted(groups, group), *columns], len(kept))
        self.times = self.times[kept]


class NumericTotal(Total):
    """SUM and AVG."""

    def __init__(self, call: Aggregate, terms: TermTable) -> None:
        self.sums = Sums(terms, mean=call.name == "AVG")
        self.odd = Multisets()  # members of groups that are not simply added up

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        odd = self.sums.add(records, of, change, columns[0])
        if not len(odd) and not self.odd.members:
            return self.sums.values(len(records))
        states = self.odd.states(records, of[odd], change[odd], columns[0][odd])
        return self.sums.values(len(records), states)

    def room(self, count: int) -> None:
        self.sums.room(count)

    def keep(self, groups: np.ndarray) -> None:
        self.sums.keep(groups)
        self.odd.keep(groups)


class Multisets:
    """The members of groups: how often each is there."""

    def __init__(self) -> None:
        self.members: dict[int, dict[int, int]] = {}

    def states(
        self, records: Records, of: np.ndarray, change: np.ndarray, members: np.ndarray
    ) -> Iterator[dict[int, int]]:
        """For one record after the other, the members of its group at it, as long as nobody goes on."""
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(len(records) + 1)).tolist()
        change, members = change[order].tolist(), members[order].tolist()
        nothing: dict[int, int] = {}
        for record, group in enumerate(records.slot.tolist()):
            begin, end = bounds[record], bounds[record + 1]
            if begin == end:
                yield self.members.get(group, nothing)
                continue
            mine = self.members.setdefault(group, {})
            for i in range(begin, end):
                self.move(group, mine, members[i], change[i])
            if not mine:
                del self.members[group]
            yield mine

    def move(self, group: int, mine: dict[int, int], member: int, change: int) -> None:
        """A member is there more or less often."""
        times = mine.get(member, 0) + change
        if times:
            mine[member] = times
        else:
            del mine[member]

    def keep(self, groups: np.ndarray) -> None:
        place = {group: i for i, group in enumerate(groups.tolist())}
        self.members = {place[group]: mine for group, mine in self.members.items()}


class Concatenation(Multisets, Total):
    """GROUP_CONCAT."""

    def __init__(self, call: Aggregate, terms: TermTable) -> None:
        Multisets.__init__(self)
        self.call = call
        self.terms = terms

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        found = np.zeros(len(records), np.int64)
        for record, mine in enumerate(self.states(records, of, change, columns[0])):
            members = [
                self.terms.term(member) if member else None
                for member, times in mine.items()
                for _ in range(times)
            ]
            value = aggregate(self.call, members)
            found[record] = 0 if value is None else self.terms.add(value)
        return found

    def room(self, count: int) -> None:
        pass


class Extreme(Multisets):
    """The members of groups, and of each group the one whose `rank` is least."""

    def __init__(self, rank: Callable[[int], Any], spare: int) -> None:
        super().__init__()
        self.rank = rank
        self.spare = spare
        self.heaps: dict[int, list[tuple[Any, int]]] = {}  # with members that have left meanwhile

    def move(self, group: int, mine: dict[int, int], member: int, change: int) -> None:
        new = member not in mine
        super().move(group, mine, member, change)
        if new and member:
            heapq.heappush(self.heaps.setdefault(group, []), (self.rank(member), member))

    def least(
        self, records: Records, of: np.ndarray, change: np.ndarray, members: np.ndarray
    ) -> Iterator[tuple[dict[int, int], int]]:
        """For one record after the other, the members of its group and the least of them (0: none)."""
        groups = records.slot.tolist()
        for group, mine in zip(groups, self.states(records, of, change, members), strict=True):
            heap = self.heaps.get(group)
            if heap is None:
                yield mine, 0
                continue
            while heap and heap[0][1] not in mine:
                heapq.heappop(heap)
            if len(heap) > 2 * len(mine) + self.spare:
                heap[:] = {entry[1]: entry for entry in heap if entry[1] in mine}.values()
                heapq.heapify(heap)
            yield mine, heap[0][1] if heap else 0
            if not heap:
                del self.heaps[group]

    def keep(self, groups: np.ndarray) -> None:
        super().keep(groups)
        place = {group: i for i, group in enumerate(groups.tolist())}
        self.heaps = {place[group]: heap for group, heap in self.heaps.items() if group in place}


class ExtremeTerm(Extreme, Total):
    """MIN, MAX and SAMPLE (the first in the order of terms, if there is one); without a name, of numbers."""

    def __init__(self, name: str | None, terms: TermTable, spare: int) -> None:
        def first(member: int) -> tuple:
            return total_key(terms.term(member))

        def last(member: int) -> Reversed:
            return Reversed(total_key(terms.term(member)))

        rank = {None: int, "MAX": last}.get(name, first)
        Extreme.__init__(self, rank, spare)
        self.ignores = name in ("SAMPLE", None)  # what has no value

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        found = np.zeros(len(records), np.int64)
        for record, (mine, least) in enumerate(self.least(records, of, change, columns[0])):
            found[record] = least if self.ignores or 0 not in mine else 0
        return found

    def room(self, count: int) -> None:
        pass


class Reversed:
    """In the place of a key: what is greater comes first."""

    __slots__ = ("key",)

    def __init__(self, key: tuple) -> None:
        self.key = key

    def __lt__(self, other: Reversed) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and self.key == other.key


class Hulls:
    """The hull of the intervals of each group's members; what is timeless has no part in it."""

    def __init__(self, spare: int) -> None:
        self.first = Extreme(lambda instant: instant, spare)
        self.last = Extreme(lambda instant: -instant, spare)

    def values(
        self, records: Records, of: np.ndarray, change: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start and end by record, and where there are any; the members have intervals."""
        bounds = np.zeros((2, len(records)), np.int64)
        some = np.zeros(len(records), bool)
        for extreme, column, found in ((self.first, start, bounds[0]), (self.last, end, bounds[1])):
            for record, (mine, least) in enumerate(extreme.least(records, of, change, column + _OFFSET)):
                found[record] = least - _OFFSET
                some[record] = bool(mine)
        return bounds[0], bounds[1], some

    def keep(self, groups: np.ndarray) -> None:
        self.first.keep(groups)
        self.last.keep(groups)
