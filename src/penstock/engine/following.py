"""What follows rows in time: what comes next (NEXT), and what does not come by a deadline (UNLESS).

Both ask for the first end among the rows of the same bindings that start later. For many rows at once that
is found by order, however many follow each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.algebra.relations import Limit, Side
from penstock.columns.frame import Frame, Pairs
from penstock.engine.absence import waiting
from penstock.engine.operators import BlockingOperator, Clock, Matcher, OperatorContext
from penstock.engine.store import Part, Retention, Store
from penstock.plan import steps
from penstock.timeline import FOREVER, LATEST

_NOBODY = 2**62


class UnlessOperator(BlockingOperator):
    """UNLESS … WITHIN: a row waits until time has passed its deadline."""

    def __init__(self, step: steps.Unless, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.required = self.store("required", step.vars, Retention(Limit(after_end=step.within)))
        shared = tuple(var for var in step.vars if var in step.absent.vars)
        until = Retention(step.join_bounds.latest_end(Side.RIGHT))
        store = self.store("absent", shared, until, shared)
        self.absent = Following(store, step.vars, shared, step.join_bounds)

    def build_static_indexes(self) -> None:
        self.absent.build_static_indexes()

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, absent = inputs
        within = self.step.within
        has_deadline = ~required.timeless_mask() & (required.end <= LATEST - within)
        self.required.append(required.take(has_deadline))
        self.absent.store.append(absent.project(self.absent.store.vars))
        if clock.now == FOREVER:  # the streams are over, and time has come to the last end of all before
            return
        due = self.required.take(lambda rows: rows.end + within < clock.now)
        deadline = due.end + within
        waited = Frame(due.vars, due.ids, due.end, deadline)
        followed = self.absent.found(waited, self.tuning.remembered_per_row)
        yield Frame(due.vars, due.ids, due.start, deadline).take(~followed)


class Following(Matcher):
    """Whether something follows rows in time: all that UNLESS asks of its absent side."""

    def found(self, due: Frame, remembered_per_row: int) -> np.ndarray:
        """Which rows have a partner that starts after their start and ends by their end."""
        found = np.zeros(len(due), bool)
        if len(due) * remembered_per_row < sum(rows.count for rows in self.store.parts.values()):
            for rows, _, _ in self.pairs(due):
                found[rows] = True
            return found
        numbered = due.extended(".row", np.arange(len(due), dtype=np.int64))
        for part, left in self._divider.divide(numbered):
            for other, rows in self.store.parts.items():
                if not rows.count:
                    continue
                keys = [v for v in self.shared if v in self._divider.bound(part) & self.store.bound(other)]
                partners = rows.frame(self.store.vars)
                if other[1]:  # timeless: it holds at every instant
                    own, theirs = numbered_by(keys, left, partners)
                    followed = np.isin(own, theirs)
                else:
                    followed = first_ends(keys, left, left.start, partners) <= left.end
                found[left.ids[-1][followed]] = True
        return found


class NextOperator(BlockingOperator):
    """NEXT: left rows wait for what follows them, right rows until time has passed their end.

    A left row is done with as soon as something follows it, which no watermark foretells. So rows that are
    done are stored as well (`done`), until they are as many as those that wait: then all are stored anew.
    """

    def __init__(self, step: steps.Next, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.shared = step.shared
        until = Retention(step.join_bounds.latest_end(Side.LEFT))
        self.left = self.store("left", step.left.vars, until, self.shared)
        self.done = self.store("done", step.left.vars, until, self.shared)
        self.waiting = waiting(self, "right", step.right, True)
        self.by_bound = Store("", step.right.vars, until, self.shared)  # parts right rows, and keeps none

    def restored(self) -> None:
        for part, rows in self.done.parts.items():
            if rows.count:
                waiting = self.left.part(part)
                waiting.keep(~found_among(waiting.frame(self.left.vars), rows.frame(self.left.vars)))

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        left, right = (frame.take(~frame.timeless_mask()) for frame in inputs)
        due = self.waiting.due(right, clock)
        if not len(due):
            self.left.append(left)
            return
        rights = list(self.by_bound.divide(due))
        for part, rows in self.left.parts.items():
            possible = np.flatnonzero(self._possible(part, rows.frame(self.left.vars), rights))
            before = rows.frame(self.left.vars, possible)
            ends = self._ends(part, before, rights)
            followed = ends < FOREVER
            if followed.any():
                yield from self._with_next(part, before, ends, rights)
                self.done.append(before.take(followed))
                waiting = np.ones(rows.count, bool)
                waiting[possible[followed]] = False
                rows.keep(waiting)
        for part, new in self.left.divide(left):
            ends = self._ends(part, new, rights)
            yield from self._with_next(part, new, ends, rights)
            self.left.append(new.take(ends == FOREVER))
        if len(self.done) > max(len(self.left), self.tuning.taken_back):
            self.done.take(lambda rows: np.ones(len(rows), bool))
            self.done.rewrite()
            self.left.rewrite()

    def _possible(self, part: Part, left: Frame, rights: list[tuple[Part, Frame]]) -> np.ndarray:
        """Which left rows have the first key of a right one: few, where many wait and few come."""
        found = np.zeros(len(left), bool)
        for other, right in rights:
            keys = self._keys(part, other)[:1]
            if not keys:
                return np.ones(len(left), bool)
            values = np.unique(right.column(keys[0]))
            place = np.searchsorted(values, left.column(keys[0]))
            found |= values[np.minimum(place, len(values) - 1)] == left.column(keys[0])
        return found

    def _ends(self, part: Part, left: Frame, rights: list[tuple[Part, Frame]]) -> np.ndarray:
        """When what follows each of some left rows ends first; FOREVER where nothing follows yet."""
        ends = np.full(len(left), FOREVER, np.int64)
        for other, right in rights:
            np.minimum(ends, first_ends(self._keys(part, other), left, left.end, right), out=ends)
        return ends

    def _with_next(
        self, part: Part, left: Frame, ends: np.ndarray, rights: list[tuple[Part, Frame]]
    ) -> Iterator[Frame]:
        """Left rows with the right ones that follow them and end when this says."""
        for other, right in rights:
            own, theirs = numbered_by(self._keys(part, other), left, right)
            times = np.unique(right.end)
            code = theirs * len(times) + np.searchsorted(times, right.end)
            order = np.argsort(code, kind="stable")
            place = np.searchsorted(times, ends)
            wanted = np.flatnonzero((place < len(times)) & (times[np.minimum(place, len(times) - 1)] == ends))
            sought = own[wanted] * len(times) + place[wanted]
            first = np.searchsorted(code[order], sought)
            count = np.searchsorted(code[order], sought, side="right") - first
            rows = np.repeat(wanted, count)
            which = order[np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(rows))]
            later = right.start[which] > left.end[rows]
            yield Pairs(
                left, rows[later], right, which[later], self.step.vars, self.step.join_bounds.interval_of()
            )

    def _keys(self, part: Part, other: Part) -> list[str]:
        """The variables by which rows of two parts are compatible."""
        both = self.left.bound(part) & self.by_bound.bound(other)
        return [var for var in self.shared if var in both]


def first_ends(keys: Sequence[str], left: Frame, after: np.ndarray, right: Frame) -> np.ndarray:
    """For each left row the first end of the right ones that are the same in `keys` and start after an
    instant; FOREVER if there is none."""
    own, theirs = numbered_by(keys, left, right)
    starts, ends = np.unique(right.start), np.unique(right.end)
    place = theirs * (len(starts) + 1) + np.searchsorted(starts, right.start)
    order = np.argsort(place, kind="stable")
    # From the last number to the first these fall: so the least one begins anew with each.
    first = theirs[order] * len(ends) + np.searchsorted(ends, right.end[order])
    first = np.append(np.minimum.accumulate(first[::-1])[::-1], _NOBODY)
    later = own * (len(starts) + 1) + np.searchsorted(starts, after, side="right")
    first = first[np.searchsorted(place[order], later)]
    return np.where(first // len(ends) == own, ends[first % len(ends)], FOREVER)


def numbered_by(keys: Sequence[str], left: Frame, right: Frame) -> tuple[np.ndarray, np.ndarray]:
    """A number for each row of two frames, the same for rows that are the same in `keys`."""
    columns = [np.concatenate([left.column(key), right.column(key)]) for key in keys]
    numbers = numbers_of(columns, len(left) + len(right))
    return numbers[: len(left)], numbers[len(left) :]


def numbers_of(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """A number for each row, the same for rows with the same values."""
    numbers = np.zeros(rows, np.int64)
    for column in columns:
        values, each = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * len(values) + each, return_inverse=True)
    return numbers


def found_among(frame: Frame, others: Frame) -> np.ndarray:
    """Which rows are among others: of equal ones as many as there are there."""
    both = Frame.concat((frame, others), frame.vars)
    numbers = numbers_of((*both.ids, both.start, both.end), len(both))
    own, theirs = numbers[: len(frame)], numbers[len(frame) :]
    there = np.bincount(theirs, minlength=int(numbers.max(initial=0)) + 1)
    order = np.argsort(own, kind="stable")
    _, first, count = np.unique(own[order], return_index=True, return_counts=True)
    among = np.zeros(len(frame), bool)
    among[order] = np.arange(len(frame)) - np.repeat(first, count) < there[own[order]]
    return among
