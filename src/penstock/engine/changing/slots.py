"""What is counted by the numbers (slots) of keys, and how it changes in the order of time."""

from __future__ import annotations

import numpy as np

from penstock.columns.hashing import LEAST
from penstock.jit import njit


def grown(array: np.ndarray, count: int, fill: int = 0) -> np.ndarray:
    """The array with room for `count` in its last dimension; what is new there has the value `fill`."""
    room = array.shape[-1]
    if count <= room:
        return array
    larger = np.full((*array.shape[:-1], max(LEAST, 2 * count)), fill, np.int64)
    larger[..., :room] = array
    return larger


# --- what happens to slots, in the order of time ---


class Records:
    """The instants at which slots change, a record for each slot and instant, in the order of time."""

    def __init__(self, slot: np.ndarray, time: np.ndarray, last: np.ndarray) -> None:
        """Of events in the order of time; `last` is -1 for every slot, and will be again."""
        self.of = np.empty(len(slot), np.int64)  # by event, its record
        slots, times, before = (np.empty(len(slot), np.int64) for _ in range(3))
        count = _records(slot, time, last, self.of, slots, times, before)
        self.slot, self.time = slots[:count], times[:count]
        self.before = before[:count]  # the slot's record before, -1 if there is none

    def __len__(self) -> int:
        return len(self.slot)

    def added_up(self, of: np.ndarray, change: np.ndarray, state: np.ndarray) -> np.ndarray:
        """By record, the sum up to it of changes that belong to some records; `state` has it by slot."""
        found = np.zeros(len(self), np.int64)
        _add_up(of, change, self.slot, self.before, state, found)
        return found

    def first(self) -> np.ndarray:
        """Which records are the first of their slots."""
        return self.before < 0

    def last(self) -> np.ndarray:
        """Which records are the last of their slots."""
        found = np.ones(len(self), bool)
        found[self.before[self.before >= 0]] = False
        return found


@njit(cache=True)
def _records(slot, time, last, of, slots, times, before):
    count = 0
    for i in range(slot.size):
        record = last[slot[i]]
        if record < 0 or times[record] != time[i]:
            before[count] = record
            slots[count] = slot[i]
            times[count] = time[i]
            record = count
            last[slot[i]] = record
            count += 1
        of[i] = record
    for record in range(count):
        last[slots[record]] = -1
    return count


@njit(cache=True)
def _add_up(of, change, slots, before, state, found):
    for i in range(of.size):
        found[of[i]] += change[i]
    for record in range(slots.size):
        slot = slots[record]
        found[record] += state[slot] if before[record] < 0 else found[before[record]]
        state[slot] = found[record]


@njit(cache=True)
def clipped(slot, change, state):
    """What changes there are where what was taken back more often than it came is not there."""
    found = np.empty(slot.size, np.int64)
    for i in range(slot.size):
        before = state[slot[i]]
        state[slot[i]] = before + change[i]
        found[i] = max(before + change[i], 0) - max(before, 0)
    return found


@njit(cache=True)
def bounded(slot, change, state):
    """What changes there are in whether something is there at all: 1 if it comes, -1 if it leaves."""
    found = np.empty(slot.size, np.int64)
    for i in range(slot.size):
        before = state[slot[i]]
        state[slot[i]] = before + change[i]
        found[i] = int(before + change[i] > 0) - int(before > 0)
    return found


@njit(cache=True)
def covered(slot, since, until, state):
    """Since when rows show something that is not shown by those before them, in the order of `since`.

    `state` has until when each slot is shown. What shows nothing new begins when it ends.
    """
    found = np.empty(slot.size, np.int64)
    for i in range(slot.size):
        shown = state[slot[i]]
        found[i] = min(max(since[i], shown), until[i])
        if until[i] > shown:
            state[slot[i]] = until[i]
    return found
