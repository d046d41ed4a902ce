"""Which things are the same: classes with a representative each, in an open hash table; and rows by them.

A class has at least two members. Representatives are, if there are any, constants of the rules, then
IRIs: so what is an IRI by one of its names can be a predicate.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import njit
from penstock.reason.quads import (
    DEAD,
    EXPLICIT,
    IRI,
    PATH,
    catch_up,
    enter,
    enter_all,
    find,
    key_of,
    mixed,
    power_of_two,
)

MEMBER, REPRESENTATIVE, NEXT, SIZE, KIND = range(5)  # SIZE is of a representative, NEXT another member


@njit(cache=True, allocates=False)
def class_slot(classes, id_):
    """Where an id is, or -1 if it is the same as nothing else."""
    if classes.shape[0] == 0:
        return np.int64(-1)
    last = np.uint64(classes.shape[0] - 1)
    at = mixed(np.uint64(id_)) & last
    while classes[at, MEMBER] != 0:
        if classes[at, MEMBER] == id_:
            return np.int64(at)
        at = (at + np.uint64(1)) & last
    return np.int64(-1)


@njit(cache=True, allocates=False)
def representative(classes, id_):
    at = class_slot(classes, id_)
    return classes[at, REPRESENTATIVE] if at >= 0 else id_


@njit(cache=True)
def representatives(classes, ids):
    """Of each id its representative."""
    made = np.empty_like(ids)
    for i in range(ids.size):
        made[i] = representative(classes, ids[i])
    return made


@njit(cache=True)
def _put(classes, entry):
    last = np.uint64(classes.shape[0] - 1)
    at = mixed(np.uint64(entry[MEMBER])) & last
    while classes[at, MEMBER] != 0:
        at = (at + np.uint64(1)) & last
    classes[at] = entry
    return np.int64(at)


@njit(cache=True)
def grown(classes, size):
    """The same classes, with more room."""
    made = np.zeros((size, 5), np.int64)
    for at in range(classes.shape[0]):
        if classes[at, MEMBER] != 0:
            _put(made, classes[at])
    return made


@njit(cache=True)
def _unite(classes, winner, loser):
    """The members of one class become members of another."""
    first, second = class_slot(classes, winner), class_slot(classes, loser)
    classes[first, SIZE] += classes[second, SIZE]
    at = second
    while True:
        classes[at, REPRESENTATIVE] = winner
        if classes[at, NEXT] == loser:
            break
        at = class_slot(classes, classes[at, NEXT])
    classes[at, NEXT] = classes[first, NEXT]
    classes[first, NEXT] = loser


@njit(cache=True)
def appended(table, count, s, p, o, g, e, flag, rule):
    """Appends a row if it is not there yet. A path that is now an edge comes again, as an edge."""
    rows, flags, by, slots = table[:4]
    there = find(rows, slots, s, p, o, g, e)
    if there >= 0:
        if not (by[there] >= PATH and rule < PATH and flags[there] < DEAD):
            return table, count
        flag = flags[there]
        flags[there] |= DEAD
    if count == rows.shape[0]:
        size = 2 * count
        more_rows, more_flags = np.empty((size, rows.shape[1]), np.int64), np.zeros(size, np.uint8)
        more_by = np.empty(size, np.int32)
        more_rows[:count], more_flags[:count], more_by[:count] = rows, flags, by
        rows, flags, by = more_rows, more_flags, more_by
    if 2 * count >= slots.size:
        slots = np.full(2 * slots.size, -1, np.int32)
        enter_all(rows, count, slots)
    rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3], rows[count, 4] = s, p, o, g, e
    flags[count] = flag
    by[count] = rule
    if there >= 0:
        last = np.uint64(slots.size - 1)
        at = key_of(s, p, o, g, e, 15) & last
        while slots[at] != there:
            at = (at + np.uint64(1)) & last
        slots[at] = count
    else:
        enter(rows, slots, count)
    return (rows, flags, by, slots, table[4], table[5], table[6], table[7]), count + 1


@njit(cache=True)
def kind_by(classes, id_, kind):
    """The kind of a representative, where a thing's own kind is known."""
    at = class_slot(classes, id_)
    if at < 0:
        return np.int64(kind)
    return classes[class_slot(classes, classes[at, REPRESENTATIVE]), KIND]


@njit(cache=True)
def renamed(classes, table, count, row):
    """Marks a row dead, and appends what it is by representatives."""
    rows, flags, by = table[0], table[1], table[2]
    s, p, o, g, e = rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4]
    flag = np.int64(flags[row])
    flag = (
        kind_by(classes, s, flag & 3)
        | kind_by(classes, o, flag >> 2 & 3) << 2
        | kind_by(classes, g, flag >> 4 & 3) << 4
    )
    flags[row] |= DEAD
    return appended(
        table,
        count,
        representative(classes, s),
        representative(classes, p),
        representative(classes, o),
        representative(classes, g),
        e,
        np.uint8(flag),
        by[row],
    )


@njit(cache=True, allocates=False)
def stale(classes, rows, row):
    """Whether a row is not by representatives."""
    for position in range(4):
        if representative(classes, rows[row, position]) != rows[row, position]:
            return True
    return False


@njit(cache=True, allocates=False)
def breaks(classes, fragile, rows, row):
    """Whether a row is about something that has equals, where that cannot be."""
    if rows[row, 3] == 0:
        return False
    about = False
    for predicate in fragile:
        about |= predicate == rows[row, 1]
    if not about:
        return False
    for position in range(4):
        if class_slot(classes, rows[row, position]) >= 0:
            return True
    return False


@njit(cache=True)
def _among(sorted_ids, id_):
    at = np.searchsorted(sorted_ids, id_)
    return at < sorted_ids.size and sorted_ids[at] == id_


@njit(cache=True)
def _rows_of(table, masks, done, id_, used):
    """The rows, of those that can be looked up, that are about an id."""
    rows, flags, _, _, heads, following, _, register = table
    found = np.empty(16, np.int64)
    size = 0
    for position in range(3):
        if position == 1:
            continue
        mask = 1 << position
        index = 0
        while masks[index] != mask:
            index += 1
        catch_up(table, index, mask, register.shape[0] - 1)
        key = key_of(id_, 0, id_, 0, 0, mask)
        row = np.int64(heads[index, key & np.uint64(heads.shape[1] - 1)]) - 1
        while row >= 0:
            if rows[row, position] == id_ and flags[row] < DEAD:
                if size == found.size:
                    more = np.empty(2 * size, np.int64)
                    more[:size] = found
                    found = more
                found[size] = row
                size += 1
            row = np.int64(following[index, row])
    if _among(used, id_):
        more = np.flatnonzero(((rows[:done, 1] == id_) | (rows[:done, 3] == id_)) & (flags[:done] < DEAD))
        return np.concatenate((found[:size], more))
    return found[:size]


@njit(cache=True)
def merge(classes, size, pairs, equal, constants, rigid, fragile, used, masks, table, count, done):
    """Makes pairs (thing, thing, their kinds, rule) the same, and appends the rows of those that lose by it.

    `used` are predicates and names of graphs. Gives back the number of members, the table and count,
    representatives that stand for more than before, whether two constants are the same now, and whether
    all that can be borne.
    """
    more = np.empty(pairs.shape[0], np.int64)
    found = 0
    anew = False
    entry = np.zeros(5, np.int64)
    for i in range(pairs.shape[0]):
        for side in range(2):
            id_ = pairs[i, side]
            if class_slot(classes, id_) < 0:
                if _among(rigid, id_):
                    return size, table, count, more[:found], anew, False
                entry[MEMBER], entry[REPRESENTATIVE], entry[NEXT] = id_, id_, id_
                entry[SIZE], entry[KIND] = 1, pairs[i, 2 + side]
                _put(classes, entry)
                size += 1
        first = representative(classes, pairs[i, 0])
        second = representative(classes, pairs[i, 1])
        if first == second:
            continue
        one, other = class_slot(classes, first), class_slot(classes, second)
        rank = 2 if _among(constants, first) else (1 if classes[one, KIND] == IRI else 0)
        other_rank = 2 if _among(constants, second) else (1 if classes[other, KIND] == IRI else 0)
        anew |= rank == 2 and other_rank == 2
        wins = rank > other_rank
        if rank == other_rank:
            wins = classes[one, SIZE] > classes[other, SIZE]
            if classes[one, SIZE] == classes[other, SIZE]:
                wins = (
                    _rows_of(table, masks, done, first, used).size
                    >= _rows_of(table, masks, done, second, used).size
                )
        winner, loser = (first, second) if wins else (second, first)
        losing = _rows_of(table, masks, done, loser, used)
        if fragile.size and classes[class_slot(classes, winner), SIZE] == 1:
            for row in _rows_of(table, masks, done, winner, used):
                if breaks(classes, fragile, table[0], row):
                    return size, table, count, more[:found], anew, False
        _unite(classes, winner, loser)
        for row in losing:
            if table[1][row] < DEAD:  # it may be about the loser twice
                table, count = renamed(classes, table, count, row)
        table, count = appended(
            table,
            count,
            winner,
            equal,
            winner,
            0,
            0,
            np.uint8(classes[class_slot(classes, winner), KIND] * 5),
            np.int32(pairs[i, 4]),
        )
        more[found] = winner
        found += 1
    return size, table, count, more[:found], anew, True


@njit(cache=True)
def said(rows, flags, slots, triples):
    """Which of the triples are explicit rows of the default graph."""
    found = np.zeros(triples.shape[1], np.bool_)
    for i in range(triples.shape[1]):
        row = find(rows, slots, triples[0, i], triples[1, i], triples[2, i], 0, 0)
        found[i] = row >= 0 and flags[row] & EXPLICIT != 0
    return found


class Classes:
    """The table, as it grows, and what stands for what."""

    def __init__(self) -> None:
        self.table = np.zeros((0, 5), np.int64)
        self.size = 0
        self._views: dict[tuple, tuple[np.ndarray, ...]] = {}

    def __bool__(self) -> bool:
        return self.size > 0

    def reserve(self, more: int) -> None:
        needed = 2 * (self.size + more)
        if needed > len(self.table):
            self.table = grown(self.table, power_of_two(needed))

    def changed(self, size: int) -> None:
        self.size = size
        self._views.clear()

    def of(self, ids: np.ndarray) -> np.ndarray:
        """The representative of each id."""
        return representatives(self.table, np.ascontiguousarray(ids.reshape(-1))).reshape(ids.shape)

    def _view(self, iris: bool, most: int, named: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Representatives in order, where the members of each begin and end, and members."""
        key = iris, most, named
        if key not in self._views:
            entries = self.table[self.table[:, MEMBER] != 0]
            if iris:
                entries = entries[entries[:, KIND] == IRI]
            entries = entries[np.lexsort((entries[:, MEMBER], entries[:, KIND], entries[:, REPRESENTATIVE]))]
            if most:  # so many of each kind are as good as all
                group = entries[:, [REPRESENTATIVE, KIND]]
                first = np.ones(len(group), bool)
                first[1:] = (group[1:] != group[:-1]).any(axis=1)
                place = np.arange(len(group))
                place -= np.maximum.accumulate(np.where(first, place, 0))
                entries = entries[(place < most + len(named)) | np.isin(entries[:, MEMBER], named)]
            whose, begins = np.unique(entries[:, REPRESENTATIVE], return_index=True)
            self._views[key] = whose, np.append(begins, len(entries)), entries[:, MEMBER]
        return self._views[key]

    def stands_for(
        self, ids: np.ndarray, *, iris: bool = False, most: int = 0, named: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Everything that the ids stand for: the place of the id, and what.

        With `iris` only IRIs are asked for; with `most`, those that are `named` and so many of each kind.
        """
        whose, begins, members = self._view(iris, most, named)
        if not len(whose):
            return np.arange(len(ids)), ids
        at = np.minimum(np.searchsorted(whose, ids), len(whose) - 1)
        known = whose[at] == ids
        counts = np.where(known, begins[at + 1] - begins[at], 1)
        places = np.repeat(np.arange(len(ids)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, np.where(
            known[places], members[np.where(known[places], begins[at[places]] + within, 0)], ids[places]
        )

    def expanded(self, triples: np.ndarray) -> np.ndarray:
        """All triples that some stand for."""
        for position in (1, 0, 2):
            places, ids = self.stands_for(triples[position], iris=position == 1)
            triples = triples[:, places]
            triples[position] = ids
        return triples
