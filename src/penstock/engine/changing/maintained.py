"""What is there, kept by slot and changed by what comes and leaves: the cost follows these alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.hashing import Slots
from penstock.engine.changing.content import not_before, stretch
from penstock.engine.changing.expiry_queue import ExpiryQueue, RowChanges
from penstock.engine.changing.slots import Records, clipped, grown
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.engine.store import Store, while_present
from penstock.jit import njit
from penstock.plan.steps import Step, Vars
from penstock.timeline import FOREVER, NEVER


class Maintained(BlockingOperator):
    """Answers pointwise, as `ContentOperator` does, from what it keeps of the content.

    Its stores have the rows until they leave. All else is made from these: when an operator begins, or goes
    on from stored chunks, what was there before is as if it came then.
    """

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.timed = True
        self.begun = False
        self.expiry_queues: list[ExpiryQueue] = []

    def remember(self, side: str, vars: Vars, *, leaving: bool = True) -> None:
        """An input, with the columns that are kept of it; `leaving`: it matters when its rows leave."""
        self.expiry_queues.append(ExpiryQueue(self.store(side, vars, while_present), leaving=leaving))

    def taken(self, inputs: list[Frame]) -> Sequence[Frame]:
        """What is remembered of new rows of the inputs."""
        return inputs

    @abstractmethod
    def forget(self) -> None:
        """Begins anew: there is nothing."""

    @abstractmethod
    def changed(self, events: list[RowChanges]) -> Iterator[Frame]:
        """What changes as rows of each input come and leave."""

    @abstractmethod
    def tidy(self, watermark: int) -> None:
        """Gives back memory, once what nobody needs any more is a good part of it."""

    def restored(self) -> None:
        self.begun = False

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        begin, end = stretch(clock)
        if not self.begun:
            self._begin(begin)
        for store, frame in zip(self.stores, self.taken(inputs), strict=True):
            store.append(not_before(frame.changing(), begin))
        events = [expiry_queue.due(begin, end) for expiry_queue in self.expiry_queues]
        if any(map(len, events)):
            yield from self.changed(events)
            self.tidy(end)

    def _begin(self, begin: int) -> None:
        self.begun = True
        self.forget()
        self.expiry_queues = [
            ExpiryQueue(expiry_queue.store, leaving=expiry_queue.leaving)
            for expiry_queue in self.expiry_queues
        ]
        past = [_before(expiry_queue.store, begin) for expiry_queue in self.expiry_queues]
        if any(map(len, past)):
            for _ in self.changed(past):  # it was given then
                pass


def _before(store: Store, instant: int) -> RowChanges:
    """What was there just before an instant, as if it came then."""
    rows = store.rows().changing()
    rows = rows.take((rows.since < instant) & (rows.until >= instant))
    return RowChanges(rows, np.full(len(rows), max(instant - 1, NEVER), np.int64), rows.weight)


class Multiplicities:
    """How often each solution is there: where rows take others back more often than they came, it is not."""

    def __init__(self, width: int, spare: int) -> None:
        self.slots = Slots(width + 2)
        self.times = np.zeros(0, np.int64)
        self.spare = self.limit = spare  # solutions, before it is looked which of them are there

    def clipped(self, events: RowChanges) -> RowChanges:
        """The changes of what is there."""
        rows = events.rows
        slot = self.slots.of([*rows.ids, rows.start, rows.end], len(rows))
        self.times = grown(self.times, self.slots.count)
        return RowChanges(rows, events.time, clipped(slot, events.change, self.times))

    def tidy(self) -> None:
        if self.slots.count > self.limit:
            kept = np.flatnonzero(self.times)
            self.slots.keep(kept)
            self.times = self.times[kept]
            self.limit = 2 * len(kept) + self.spare


class LastAnswers:
    """The last answer of each slot; gives what is other than before."""

    def __init__(self, width: int) -> None:
        self.there = np.zeros(0, np.int64)
        self.ids = np.zeros((width, 0), np.int64)
        self.last = np.full(0, -1, np.int64)

    def room(self, count: int) -> None:
        self.there = grown(self.there, count)
        self.ids = grown(self.ids, count)
        self.last = grown(self.last, count, -1)

    def keep(self, slots: np.ndarray) -> None:
        self.there, self.ids = self.there[slots], self.ids[:, slots]
        self.last = np.full(len(slots), -1, np.int64)

    def changes(
        self, records: Records, there: np.ndarray, ids: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(slot, answer, weight, since, until) of what changes with records, whose answers are `ids`.

        What was given before is taken back where another comes or nothing is there.
        """
        had, were = self.there[records.slot] > 0, self.ids[:, records.slot]
        again = np.flatnonzero(records.before >= 0)
        had[again], were[:, again] = there[records.before[again]], ids[:, records.before[again]]
        other = (there != had) | (there & (ids != were).any(axis=0))
        chosen = np.flatnonzero(other)
        slots, times = records.slot[chosen], records.time[chosen]
        until, first = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.bool_)
        _until(slots, times, self.last, until, first)
        gone, new = np.flatnonzero(first & had[chosen]), np.flatnonzero(there[chosen])
        last = np.flatnonzero(records.last())
        self.there[records.slot[last]] = there[last]
        self.ids[:, records.slot[last]] = ids[:, last]
        return (
            np.concatenate([slots[gone], slots[new]]),
            np.concatenate([were[:, chosen[gone]], ids[:, chosen[new]]], axis=1),
            np.concatenate([np.full(len(gone), -1, np.int64), np.ones(len(new), np.int64)]),
            np.concatenate([times[gone], times[new]]),
            np.concatenate([np.full(len(gone), FOREVER, np.int64), until[new]]),
        )


@njit(cache=True)
def _until(slots, times, last, until, first):
    """By change, when the next one of its slot is, and whether it is the first; `last` is -1 by slot."""
    for i in range(slots.size):
        before = last[slots[i]]
        first[i] = before < 0
        if before >= 0:
            until[before] = times[i]
        until[i] = FOREVER
        last[slots[i]] = i
    for i in range(slots.size):
        last[slots[i]] = -1
