"""Numbers for keys of several columns, in a compiled hash table, and what is counted by such numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.jit import njit

_LEAST = 16


class Slots:
    """A number (slot) for each different key: 0, 1, 2 … in the order in which they came."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self._keys = np.empty((_LEAST, width), np.int64)
        self._table = np.full(2 * _LEAST, -1, np.int64)

    def of(self, columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
        """The slot of the key of each of so many rows; new keys get new ones."""
        width = self._keys.shape[1]
        found = np.zeros(rows, np.int64)
        if not width:
            self.count = max(self.count, min(1, len(found)))
            return found
        wanted = np.empty((len(found), width), np.int64)
        for place, column in enumerate(columns):
            wanted[:, place] = column
        done = 0
        while True:
            done, self.count = _find(wanted, done, self._keys, self._table, self.count, found)
            if done == len(found):
                return found
            self._rebuilt(self._keys[: self.count], 2 * len(self._keys))

    def keys(self, slots: np.ndarray) -> np.ndarray:
        """The keys of some slots, a row for each column."""
        return self._keys[slots].T

    def keep(self, slots: np.ndarray) -> None:
        """Forgets all others; these are 0, 1, 2 … now."""
        self._rebuilt(self._keys[slots], max(_LEAST, 2 * len(slots)))

    def _rebuilt(self, keys: np.ndarray, room: int) -> None:
        self.count = len(keys)
        self._keys = np.empty((room, keys.shape[1]), np.int64)
        self._keys[: len(keys)] = keys
        self._table = np.full(2 << (room - 1).bit_length(), -1, np.int64)
        if keys.shape[1]:
            _enter(self._keys, self.count, self._table)


def grown(array: np.ndarray, count: int, fill: int = 0) -> np.ndarray:
    """The array with room for `count` in its last dimension; what is new there has the value `fill`."""
    room = array.shape[-1]
    if count <= room:
        return array
    larger = np.full((*array.shape[:-1], max(_LEAST, 2 * count)), fill, np.int64)
    larger[..., :room] = array
    return larger


@njit(cache=True)
def _slot(keys, row, table):
    """The first place at which a row's key may be in the table."""
    state = np.uint64(0x9E3779B97F4A7C15)
    for k in range(keys.shape[1]):
        state ^= np.uint64(keys[row, k])
        state *= np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
    return np.int64(state & np.uint64(table.size - 1))


@njit(cache=True)
def _find(wanted, first, keys, table, count, found):
    """Fills in the slots of rows from `first` on, as far as there is room; how far, and how many slots."""
    mask = table.size - 1
    for row in range(first, wanted.shape[0]):
        at = _slot(wanted, row, table)
        while True:
            slot = table[at]
            if slot < 0:
                if count == keys.shape[0]:
                    return row, count
                for k in range(keys.shape[1]):
                    keys[count, k] = wanted[row, k]
                table[at] = count
                found[row] = count
                count += 1
                break
            same = True
            for k in range(keys.shape[1]):
                if keys[slot, k] != wanted[row, k]:
                    same = False
                    break
            if same:
                found[row] = slot
                break
            at = (at + 1) & mask
    return wanted.shape[0], count


@njit(cache=True)
def _enter(keys, count, table):
    mask = table.size - 1
    for row in range(count):
        at = _slot(keys, row, table)
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = row


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
