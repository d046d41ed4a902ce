"""Hash tables over columns of ids: a number for each different key.

A table is an array of places, a power of two of them, at most half of which are taken. At a place is the
number of a key, or FREE; the key itself is in a row of its own under that number. The places behind the
first one at which a key may be are tried in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.columns.interning import frozen
from penstock.jit import njit

FREE = -1
LEAST = 16


@njit(cache=True, allocates=False)
def mixed(state, word):
    """A hash of what was mixed before and one word more; all bits of both have to do with its low bits."""
    state ^= np.uint64(word)
    state *= np.uint64(0xFF51AFD7ED558CCD)
    return state ^ (state >> np.uint64(32))


@njit(cache=True, allocates=False)
def first_place(state, size):
    """The first place at which a key with this hash may be in a table of that size."""
    return np.int64(state & np.uint64(size - 1))


@njit(cache=True, allocates=False)
def place_of_pair(one, other, size):
    """The first place at which a key of two words may be."""
    return first_place(mixed(mixed(np.uint64(0), one), other), size)


def table_for(count: int) -> np.ndarray:
    """An empty table with places for so many keys."""
    return np.full(2 << (max(LEAST, count) - 1).bit_length(), FREE, np.int32)


class Slots:
    """A number (slot) for each different key: 0, 1, 2 … in the order in which they came."""

    def __init__(self, width: int, room: int = LEAST) -> None:
        self.count = 0
        self._keys = np.empty((room, width), np.int64)
        self.table = table_for(room)

    def of(self, columns: np.ndarray | Sequence[np.ndarray], rows: int) -> np.ndarray:
        """The slot of the key of each of so many rows; new keys get new ones."""
        slots = np.zeros(rows, np.int64)
        if not self._keys.shape[1]:
            self.count = max(self.count, min(1, rows))
            return slots
        wanted, done = _together(columns), 0
        while True:
            done, self.count = _number(wanted, done, self._keys, self.table, self.count, slots)
            if done == rows:
                return slots
            self._begin_with(self._keys[: self.count], 4 * len(self._keys))

    def known(self, columns: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
        """The slot of the key of each row; FREE if it has none."""
        wanted = _together(columns)
        slots = np.empty(wanted.shape[1], np.int32)
        _find(wanted, self._keys, self.table, slots)
        return slots

    def keys(self, slots: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The keys of some slots, a row for each column."""
        return self._keys[: self.count][slots].T

    def keep(self, slots: np.ndarray) -> None:
        """Forgets all others; these are 0, 1, 2 … now."""
        self._begin_with(self._keys[slots], max(LEAST, 2 * len(slots)))

    def _begin_with(self, keys: np.ndarray, room: int) -> None:
        self.count = 0
        self._keys = np.empty((room, keys.shape[1]), np.int64)
        self.table = table_for(room)
        self.of(keys.T, len(keys))


def numbered(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows at which each key of (width, n) columns, or of one, first comes; for each row which it has."""
    columns = np.atleast_2d(columns)
    numbers = Slots(len(columns), 512).of(columns, columns.shape[1])
    return _first_rows(numbers), numbers


def distinct(ids: np.ndarray) -> np.ndarray:
    """Each id once, in the order in which they first come."""
    slots = Slots(1, 512)
    slots.of([ids], len(ids))
    return slots.keys()[0]


def distinct_rows(columns: np.ndarray) -> np.ndarray:
    """Each row of (width, n) columns once, in the order in which they first come."""
    first = _first_rows(Slots(len(columns), columns.shape[1]).of(columns, columns.shape[1]))
    return columns if len(first) == columns.shape[1] else columns[:, first]


def among(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which of the ids are among the wanted ones."""
    found = np.empty(len(ids), bool)
    table = table_for(len(wanted))
    marks = np.zeros(4 * table.size, bool)
    _look(frozen(ids), frozen(wanted), table, marks, found)
    return found


def placed(keys: np.ndarray) -> np.ndarray:
    """A table for compiled functions to look into: the number of each of (n, width) different keys."""
    slots = Slots(keys.shape[1], max(LEAST, len(keys)))
    slots.of(keys.T, len(keys))
    return slots.table


def _together(columns: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """Columns as compiled functions want them: one array, contiguous and of one type."""
    if isinstance(columns, np.ndarray):
        return frozen(columns)
    return frozen(columns[0]).reshape(1, -1) if len(columns) == 1 else frozen(np.stack(columns))


@njit(cache=True, allocates=False, inline="always")
def _place_of(columns, row, keys, table):
    """The place of the key of a row, or the free one where it belongs."""
    state = np.uint64(0)
    for k in range(columns.shape[0]):
        state = mixed(state, columns[k, row])
    place = first_place(state, table.size)
    while table[place] != FREE:
        number = table[place]
        same = True
        for k in range(columns.shape[0]):
            if keys[number, k] != columns[k, row]:
                same = False
                break
        if same:
            break
        place = (place + 1) & (table.size - 1)
    return place


@njit(cache=True, allocates=False)
def _number(columns, first, keys, table, count, slots):
    """Fills in the slots of rows from `first` on, as far as there is room; how far, and how many slots."""
    for row in range(first, columns.shape[1]):
        place = _place_of(columns, row, keys, table)
        if table[place] == FREE:
            if count == keys.shape[0]:
                return row, count
            for k in range(columns.shape[0]):
                keys[count, k] = columns[k, row]
            table[place] = count
            count += 1
        slots[row] = table[place]
    return columns.shape[1], count


@njit(cache=True, allocates=False)
def _find(columns, keys, table, slots):
    for row in range(columns.shape[1]):
        slots[row] = table[_place_of(columns, row, keys, table)]


@njit(cache=True, allocates=False)
def _look(ids, wanted, table, marks, found):
    """Whether each id is wanted. Most are not, as a rule: for these a missing mark says it at once."""
    for number in range(wanted.size):
        state = mixed(np.uint64(0), wanted[number])
        marks[first_place(state, marks.size)] = True
        place = first_place(state, table.size)
        while table[place] != FREE and wanted[table[place]] != wanted[number]:
            place = (place + 1) & (table.size - 1)
        table[place] = number
    for row in range(ids.size):
        state = mixed(np.uint64(0), ids[row])
        found[row] = marks[first_place(state, marks.size)]
        if found[row]:
            place = first_place(state, table.size)
            while table[place] != FREE and wanted[table[place]] != ids[row]:
                place = (place + 1) & (table.size - 1)
            found[row] = table[place] != FREE


@njit(cache=True)
def _first_rows(numbers):
    """The row at which each number first comes, if they first come in the order 0, 1, 2 …"""
    rows = np.empty(numbers.size, np.int64)
    count = 0
    for row in range(numbers.size):
        if numbers[row] == count:
            rows[count] = row
            count += 1
    return rows[:count].copy()
