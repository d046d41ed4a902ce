"""When remembered rows come and leave: what happens in a step is found without a look at all the others."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.store import Part, Rows, Store
from penstock.timeline import FOREVER


@dataclass
class RowChanges:
    """Rows that come or leave, in the order of time; `change` says how much more often each is there."""

    rows: Frame
    time: np.ndarray
    change: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    def take(self, which: np.ndarray) -> RowChanges:
        return RowChanges(self.rows.take(which), self.time[which], self.change[which])


class ExpiryQueue:
    """The instants at which the rows of a store come and, if `leaving`, leave.

    What is still to happen lies in segments, each in the order of time; a segment is looked at when its first
    instant is due. It is made again from the rows when these have moved.
    """

    def __init__(self, store: Store, *, leaving: bool = True) -> None:
        self.store = store
        self.leaving = leaving
        self._parts: dict[Part, _PartExpiryQueue] = {}

    def due(self, begin: int, end: int) -> RowChanges:
        """What happens at instants from `begin` to before `end`; nothing that is noted is earlier."""
        found: list[tuple[Frame, np.ndarray, np.ndarray]] = []
        for part, rows in self.store.parts.items():
            expiry_queue = self._parts.get(part)
            if expiry_queue is None or expiry_queue.generation != rows.generation:
                expiry_queue = self._parts[part] = _PartExpiryQueue(
                    rows, self.leaving, self.store.tuning.segments
                )
            number, time, sign = expiry_queue.due(begin, end)
            if len(number):
                frame = rows.frame(self.store.vars, number)
                found.append((frame, time, frame.weight * sign))
        if not found:
            return RowChanges(Frame.empty(self.store.vars).changing(), _NOTHING, _NOTHING)
        rows = Frame.concat([frame for frame, _, _ in found], self.store.vars)
        time = np.concatenate([time for _, time, _ in found])
        change = np.concatenate([change for _, _, change in found])
        if (time[1:] >= time[:-1]).all():
            return RowChanges(rows, time, change)
        order = np.argsort(time, kind="stable")
        return RowChanges(rows.take(order), time[order], change[order])


_NOTHING = np.empty(0, np.int64)


class _PartExpiryQueue:
    def __init__(self, rows: Rows, leaving: bool, most: int) -> None:
        self.rows = rows
        self.leaving = leaving
        self.most = most  # segments, before they become one
        self.generation = rows.generation
        self.seen = 0
        # of each its first instant, a number; times, rows
        self.segments: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        self.made = 0

    def due(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows by number, when, and 1 if they come or -1 if they leave."""
        rows, found = self.rows, []
        first, last = self.seen, rows.count
        self.seen = last
        if last > first:
            new = np.arange(first, last)
            _, since, until = rows.presence[:, first:last]
            found.append(self._noted(since, new, begin, end))
            if self.leaving:
                leaves = until < FOREVER
                found.append(self._noted(until[leaves], ~new[leaves], begin, end))
        while self.segments and self.segments[0][0] < end:
            _, _, times, numbers = heapq.heappop(self.segments)
            cut = int(np.searchsorted(times, end))
            found.append((times[:cut], numbers[:cut]))
            self._put(times[cut:], numbers[cut:])
        if not found:
            return _NOTHING, _NOTHING, _NOTHING
        times = np.concatenate([times for times, _ in found])
        numbers = np.concatenate([numbers for _, numbers in found])
        return np.where(numbers < 0, ~numbers, numbers), times, np.where(numbers < 0, -1, 1)

    def _noted(
        self, times: np.ndarray, numbers: np.ndarray, begin: int, end: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Those that are due at once; the later ones are noted, the earlier ones have happened."""
        later = times >= end
        now = ~later & (times >= begin)
        times_later, numbers_later = times[later], numbers[later]
        if (times_later[1:] < times_later[:-1]).any():
            order = np.argsort(times_later, kind="stable")
            times_later, numbers_later = times_later[order], numbers_later[order]
        self._put(times_later, numbers_later)
        return times[now], numbers[now]

    def _put(self, times: np.ndarray, numbers: np.ndarray) -> None:
        if not len(times):
            return
        if len(self.segments) >= self.most:
            times = np.concatenate([times, *(segment[2] for segment in self.segments)])
            numbers = np.concatenate([numbers, *(segment[3] for segment in self.segments)])
            order = np.argsort(times, kind="stable")
            times, numbers = times[order], numbers[order]
            self.segments = []
        self.made += 1
        heapq.heappush(self.segments, (int(times[0]), self.made, times, numbers))
