"""A table of quads with hash indexes, for the kernel: rows are appended, found, and never moved.

A row is (subject, predicate, object, graph, element) as ids. Graph 0 is the default graph, -1 that of
auxiliary relations. Rows of different elements lie in one table and never meet: the element is part
of every key. Static knowledge has the element 0, in a table of its own below the elements'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.jit import njit

SUBJECT, PREDICATE, OBJECT, GRAPH, ELEMENT = range(5)
WIDTH = 5

# What is known of a row, in a byte: the kinds of its subject, object and graph (two bits each), and whether …
IRI, BLANK, LITERAL = 0, 1, 2
KINDS = (1 << 6) - 1
EXPLICIT = 1 << 6  # … it was said, not only derived
DEAD = 1 << 7  # … it has been taken away

BASE = 16  # the bit of a mask whose index has only rows that are not PATH
PATH = 1 << 30  # in the number of the rule that derived a row: only as a path of other rows (`shapes`)

LEAST = 64  # rows that an empty table has room for


@njit(cache=True, allocates=False)
def mixed(value):
    """A hash of 64 bits whose low bits depend on all of them."""
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xD6E8FEB86659FD93)
    value ^= value >> np.uint64(32)
    return value


@njit(cache=True, allocates=False)
def key_of(s, p, o, g, e, mask):
    """The hash of those positions of a row that a mask (bits 1, 2, 4, 8) names, and of its element."""
    value = np.uint64(e) * np.uint64(0x9E3779B97F4A7C15)
    if mask & 1:
        value += np.uint64(s) * np.uint64(0xBF58476D1CE4E5B9)
    if mask & 2:
        value += np.uint64(p) * np.uint64(0x94D049BB133111EB)
    if mask & 4:
        value += np.uint64(o) * np.uint64(0xA0761D6478BD642F)
    if mask & 8:
        value += np.uint64(g) * np.uint64(0xE7037ED1A0B428DB)
    return mixed(value)


@njit(cache=True, allocates=False)
def find(rows, slots, s, p, o, g, e):
    """The row with these values, or -1."""
    last = np.uint64(slots.size - 1)
    at = key_of(s, p, o, g, e, 15) & last
    while slots[at] >= 0:
        row = slots[at]
        if (
            rows[row, 0] == s
            and rows[row, 2] == o
            and rows[row, 1] == p
            and rows[row, 3] == g
            and rows[row, 4] == e
        ):
            return np.int64(row)
        at = (at + np.uint64(1)) & last
    return np.int64(-1)


@njit(cache=True, allocates=False)
def enter(rows, slots, row):
    """Notes where a row is; it must not be there yet."""
    last = np.uint64(slots.size - 1)
    at = key_of(rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4], 15) & last
    while slots[at] >= 0:
        at = (at + np.uint64(1)) & last
    slots[at] = row


@njit(cache=True, allocates=False)
def enter_all(rows, count, slots):
    for row in range(count):
        enter(rows, slots, row)


def entered(rows: np.ndarray, count: int, size: int) -> np.ndarray:
    """New slots, with so many rows entered."""
    slots = np.full(size, -1, np.int32)
    enter_all(rows, count, slots)
    return slots


@njit(cache=True, allocates=False, inline="always")
def link(rows, by, heads, following, index, mask, row):
    """Puts a row at the beginning of its chain in an index; in `heads`, 0 is none and 1 the first row."""
    if mask & BASE and by[row] >= PATH:
        return
    key = key_of(rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4], mask)
    slot = key & np.uint64(heads.shape[1] - 1)
    following[index, row] = heads[index, slot] - 1
    heads[index, slot] = row + 1


# Rows enter an index when it is looked into for their predicate: for most of them it never is. The register
# has a line for each predicate (in a hash table): its last row, whether literals are among its objects, and
# the last of its rows that each index has; the row before with the same predicate is in `previous`. One
# more line, the last, is of all rows, for indexes that are not over predicates; in place of a name it has
# the number of the others.
NAME, LAST, LITERALS, UP_TO = range(4)


@njit(cache=True, allocates=False, inline="always")
def line_of(register, predicate):
    """The line of a predicate, or the free one where it belongs."""
    last = register.shape[0] - 2
    at = np.int64(np.uint64(predicate) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & last
    while register[at, NAME] != predicate and register[at, LAST] >= 0:
        at = (at + 1) & last
    return at


@njit(cache=True, allocates=False)
def register_row(rows, flags, previous, register, row):
    """Notes a row that may be looked up from now on; there must be a free line."""
    line = line_of(register, rows[row, 1])
    if register[line, LAST] < 0:
        register[line, NAME] = rows[row, 1]
        register[-1, NAME] += 1
    previous[row] = register[line, LAST]
    register[line, LAST] = register[-1, LAST] = row
    if flags[row] >> 2 & 3 == LITERAL:
        register[line, LITERALS] = 1


@njit(cache=True, allocates=False, inline="always")
def full(register):
    """Whether there may be no line for another predicate."""
    return 2 * register[-1, NAME] >= register.shape[0] - 1


@njit(cache=True, allocates=False)
def register_all(rows, flags, done, previous, register):
    """Registers so many rows; whether there was room."""
    for row in range(done):
        if full(register):
            return False
        register_row(rows, flags, previous, register, row)
    return not full(register)


@njit(cache=True, allocates=False)
def catch_up(table, index, mask, line):
    """Enters the rows of a line that an index has not got."""
    rows, _, by, _, heads, following, previous, register = table
    row, before = register[line, LAST], register[line, UP_TO + index]
    register[line, UP_TO + index] = row
    while row > before:
        link(rows, by, heads, following, index, mask, row)
        row = row - 1 if line == register.shape[0] - 1 else np.int64(previous[row])


def indexes(rows: np.ndarray, flags: np.ndarray, done: int, masks: int, size: int) -> tuple[np.ndarray, ...]:
    """(heads, following, previous, register): indexes with room for so many rows.

    Those that are done are registered; they enter the indexes when these are looked into.
    """
    previous, lines = np.empty(size, np.int32), LEAST
    while True:
        register = np.full((lines + 1, UP_TO + masks), -1, np.int64)
        register[:, [NAME, LITERALS]] = 0
        if register_all(rows, flags, done, previous, register):
            break
        lines *= 4
    return np.zeros((masks, 2 * size), np.int32), np.empty((masks, size), np.int32), previous, register


@njit(cache=True)
def add_all(rows, flags, by, slots, count, new, kinds, mark, rule):
    """Appends those of the rows that are not there yet; of the others the mark is set. The new count."""
    for i in range(new.shape[0]):
        s, p, o, g, e = new[i, 0], new[i, 1], new[i, 2], new[i, 3], new[i, 4]
        found = find(rows, slots, s, p, o, g, e)
        if found >= 0:
            flags[found] |= mark
            continue
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3], rows[count, 4] = s, p, o, g, e
        flags[count] = kinds[i] | mark
        by[count] = rule
        enter(rows, slots, count)
        count += 1
    return count


def power_of_two(least: int) -> int:
    return 1 << max(6, (least - 1).bit_length())


class Quads:
    """The arrays of a table; the kernel takes them, and gives larger ones back."""

    def __init__(self, masks: Sequence[int], capacity: int = LEAST) -> None:
        size = power_of_two(capacity)
        self.masks = np.array(masks, np.int64)
        self.rows = np.empty((size, WIDTH), np.int64)
        self.flags = np.zeros(size, np.uint8)
        self.by = np.empty(size, np.int32)  # the rule that derived a row first; -1: it was given
        self.slots = np.full(2 * size, -1, np.int32)
        self.count = 0  # rows that are there
        self.done = 0  # of these, rows that can be looked up, with all that follows from them
        self.index(LEAST)

    def index(self, size: int) -> None:
        """Makes the indexes anew, with room for so many rows."""
        made = indexes(self.rows, self.flags, self.done, len(self.masks), size)
        self.heads, self.following, self.previous, self.register = made

    @property
    def table(self) -> tuple[np.ndarray, ...]:
        """What the kernel takes."""
        stored = self.rows, self.flags, self.by, self.slots
        return *stored, self.heads, self.following, self.previous, self.register

    @table.setter
    def table(self, arrays: tuple[np.ndarray, ...]) -> None:
        self.rows, self.flags, self.by, self.slots = arrays[:4]
        self.heads, self.following, self.previous, self.register = arrays[4:]

    def arrays(self) -> dict[str, np.ndarray]:
        """The rows of a closed table, from which `from_arrays` makes one at once."""
        by, slots = self.by[: self.count].view(np.uint8), self.slots.view(np.uint8)
        return {"rows": self.rows[: self.count], "flags": self.flags[: self.count], "by": by, "slots": slots}

    @classmethod
    def from_arrays(cls, masks: Sequence[int], arrays: Mapping[str, np.ndarray]) -> Quads:
        """A table over arrays; without its indexes, which are for whoever stands above it (`Run.linked`)."""
        made = cls(masks)
        made.rows, made.flags = arrays["rows"], arrays["flags"]
        made.by, made.slots = arrays["by"].view(np.int32), arrays["slots"].view(np.int32)
        made.count = made.done = len(made.rows)
        return made

    def reserve(self, more: int) -> None:
        """Room for more rows."""
        needed = self.count + more
        if needed > len(self.rows):
            size = power_of_two(needed)
            self.rows = larger(self.rows, size, self.count)
            self.flags = larger(self.flags, size, self.count)
            self.by = larger(self.by, size, self.count)
        if 2 * needed > len(self.slots):
            self.slots = entered(self.rows, self.count, 2 * power_of_two(needed))

    def add(self, rows: np.ndarray, kinds: np.ndarray, *, explicit: bool, rule: int = -1) -> None:
        """Appends the rows that are not there yet, to be taken by the kernel."""
        self.reserve(len(rows))
        mark = np.uint8(EXPLICIT if explicit else 0)
        self.count = int(
            add_all(
                self.rows,
                self.flags,
                self.by,
                self.slots,
                self.count,
                np.ascontiguousarray(rows, np.int64),
                np.ascontiguousarray(kinds, np.uint8),
                mark,
                rule,
            )
        )

    def present(self) -> np.ndarray:
        """The numbers of the rows that are there and have not been taken away."""
        return np.flatnonzero(self.flags[: self.count] < DEAD)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.table)


def larger(array: np.ndarray, size: int, count: int) -> np.ndarray:
    """Room for as many as `size`, with so many in it.

    Whatever may become large is made here and not in a kernel: NumPy asks for huge pages, Numba does not,
    and most of the time that a kernel waits for memory is for small ones.
    """
    made = np.empty((size, *array.shape[1:]), array.dtype)
    made[:count] = array[:count]
    return made
