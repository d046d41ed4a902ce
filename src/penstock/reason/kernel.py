"""The kernel: everything that follows from new rows, semi-naively, one row at a time.

Rows wait in the table itself, in the order in which they came. A row that is taken can be looked up from
then on, and begins every variant whose first atom it matches; the other atoms are looked up among the
rows before it, and below, in static knowledge. So each combination of rows is found exactly once: when
its last row is taken. What it derives, if it is new, waits at the end of the table.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import njit
from penstock.reason.classes import breaks, renamed, representative, stale
from penstock.reason.code import COPIED, NEW_PATH, WORKINGS_ID
from penstock.reason.leading import HEADS, NEXT, WAY, begin_anew, note_leading, pays, recalled, remember
from penstock.reason.quads import (
    DEAD,
    LITERAL,
    NAME,
    PATH,
    catch_up,
    enter,
    entered,
    find,
    full,
    indexes,
    larger,
    link,
    register_row,
)
from penstock.reason.step_matching import advance, entry_of, fits, open_to, pair_of, term_at

# What is counted: rows that are there, taken, and taken again; solutions and pairs that are given out; the
# row that is being taken, whether it is for another time, and how much was given out before it; solutions
# at all.
COUNT, DONE, TURN, GIVEN, PAIRED, ROW, REPEATED, GIVEN_BEFORE, PAIRED_BEFORE, DROPPED_KEPT, SOLVED = range(11)
SOLUTIONS_PER_ROW = 64  # of as many rows as may be taken at a time; more are for the next time
FINISHED, ROOM, STALE, BROKEN = range(4)  # why `take` has stopped


@njit(cache=True, allocates=False)
def link_all(rows, by, first, last, masks, keys, entries, places, heads, following):
    """Enters rows into indexes that have room for them."""
    for row in range(first, last):
        entry = entry_of(keys, entries, rows[row, 1])
        for index in range(masks.size):
            if places[entry, 2] >> index & 1:
                link(rows, by, heads, following, index, masks[index], row)


def linked(rows, by, count, masks, keys, entries, places, size):
    """Indexes for tables in which nothing is derived, with so many rows in them."""
    heads, following = np.zeros((masks.size, 2 * size), np.int32), np.empty((masks.size, size), np.int32)
    link_all(rows, by, 0, count, masks, keys, entries, places, heads, following)
    return heads, following


@njit(cache=True, allocates=False)
def catch_up_all(code, table):
    """Enters all rows into the indexes in which they may be looked up."""
    register = table[7]
    every = register.shape[0] - 1
    for line in range(register.shape[0]):
        entry = entry_of(code.keys, code.entries, register[line, NAME]) if line < every else np.int64(0)
        for index in range(code.masks.size):
            over_all = code.masks[index] & 2 == 0
            if code.places[entry, 2] >> index & 1 and over_all == (line == every):
                catch_up(table, index, code.masks[index], line)


@njit(cache=True, allocates=False, inline="always")
def derive(code, below, table, element, variant, idle, classes, equal, scratch, made, counters):
    """What follows from a solution, but for idle heads; False if there is no room for it."""
    rows, flags, by, slots = table[:4]
    low_rows, low_slots = below[0], below[2]
    env, kinds = scratch[0], scratch[1]
    derived, dropped, kept, found, pairs = made
    heads, merged = code.heads, classes.shape[0] > 0
    clause = code.variants[variant, 0]
    rule, paths = code.clauses[clause, 0], code.clauses[clause, 5]
    first, last, gives = code.clauses[clause, 1], code.clauses[clause, 2], code.clauses[clause, 3] != 0
    if merged and code.clauses[clause, 6]:
        some = False
        for step in range(code.variants[variant, 1], code.variants[variant, 2]):
            some |= open_to(code.steps, step, env, classes)
        if some and not gives:
            for head in range(first, last):
                s, _ = term_at(heads, head, 0, env, kinds)
                p, _ = term_at(heads, head, 3, env, kinds)
                o, _ = term_at(heads, head, 6, env, kinds)
                g, _ = term_at(heads, head, 9, env, kinds)
                s, p, o = representative(classes, s), representative(classes, p), representative(classes, o)
                gives |= find(rows, slots, s, p, o, g, element) < 0
            last = first
    if gives:
        given = counters[GIVEN]
        if given == found.shape[0]:
            return False
        found[given, 0], found[given, 1] = clause, element
        for i in range(code.clauses[clause, 4]):
            found[given, 2 + i] = env[i]
        counters[GIVEN] += 1
    for head in range(first, last):
        if idle >> (head - first) & 1:
            continue
        s, kind_s = term_at(heads, head, 0, env, kinds)
        p, kind_p = term_at(heads, head, 3, env, kinds)
        o, kind_o = term_at(heads, head, 6, env, kinds)
        g, kind_g = term_at(heads, head, 9, env, kinds)
        if merged:  # what is bound is a representative already, what is constant may not be
            s, p, o = representative(classes, s), representative(classes, p), representative(classes, o)
        # a path may begin at a literal; what it needs itself are no triples
        if (kind_s == LITERAL and g != WORKINGS_ID) or kind_p != 0 or kind_g == LITERAL:
            if not counters[DROPPED_KEPT]:
                for each in range(dropped.size):
                    kept[each] = dropped[each]
                counters[DROPPED_KEPT] = 1
            dropped[rule] += 1
            continue
        if p == equal and s != o and g == 0 and kind_o != LITERAL:
            paired = counters[PAIRED]
            if paired == pairs.shape[0]:
                return False
            pairs[paired, 0], pairs[paired, 1], pairs[paired, 2] = s, o, kind_s
            pairs[paired, 3], pairs[paired, 4] = kind_o, rule
            counters[PAIRED] += 1
            continue
        if low_rows.shape[0] > 0 and find(low_rows, low_slots, s, p, o, g, 0) >= 0:
            continue
        if find(rows, slots, s, p, o, g, element) >= 0:
            continue
        count = counters[COUNT]
        if count == rows.shape[0] or 2 * count >= slots.size:
            return False
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3], rows[count, 4] = s, p, o, g, element
        flags[count] = kind_s | kind_o << 2 | kind_g << 4
        by[count] = rule
        if paths == NEW_PATH:
            by[count] |= PATH
        elif paths == COPIED:
            edge_head = code.clauses[clause, 2]
            s, _ = term_at(heads, edge_head, 0, env, kinds)
            p, _ = term_at(heads, edge_head, 3, env, kinds)
            o, _ = term_at(heads, edge_head, 6, env, kinds)
            edge = find(rows, slots, s, p, o, 0, element)
            if edge >= 0 and by[edge] >= PATH:
                by[count] |= PATH
        enter(rows, slots, count)
        counters[COUNT] += 1
        derived[rule] += 1
    return True


@njit(cache=True, allocates=False)
def take(code, below, table, limit, most, memory, again, classes, equal, fragile, scratch, made, counters):
    """Takes rows up to a `limit`, or until there were too many solutions; why it has stopped.

    If there is no room for what a row derives, it is taken once more: what it has derived is there then.
    """
    rows, flags, by, _, _, following, previous, register = table
    steps, env, kinds = code.steps, scratch[0], scratch[1]
    limits, cells, ways, tried, _, _, state = memory
    merged = classes.shape[0] > 0
    while counters[REPEATED] or (
        (counters[TURN] < again.size or counters[DONE] < counters[COUNT])
        and counters[DONE] < limit
        and counters[SOLVED] < most
        and counters[PAIRED] == 0
    ):
        repeated = counters[REPEATED] != 0
        if repeated:
            row = counters[ROW]
            counters[REPEATED] = 0
        elif counters[TURN] < again.size:
            row = again[counters[TURN]]
            counters[TURN] += 1
        else:
            row = counters[DONE]
            if merged and flags[row] < DEAD:
                if stale(classes, rows, row):
                    return STALE
                if breaks(classes, fragile, rows, row):
                    return BROKEN
            if row >= following.shape[1] or full(register):
                return ROOM
            register_row(rows, flags, previous, register, row)
            counters[DONE] += 1
        if flags[row] >= DEAD:
            continue
        counters[ROW], counters[DROPPED_KEPT] = row, 0
        counters[GIVEN_BEFORE], counters[PAIRED_BEFORE] = counters[GIVEN], counters[PAIRED]
        done, predicate, element = counters[DONE], rows[row, 1], rows[row, 4]
        entry = entry_of(code.keys, code.entries, predicate)
        slot = np.int64(-1)
        if code.places[entry, 3]:
            slot = pair_of(code.pairs, code.pair_places, predicate, rows[row, 2])
        cell, by_object = np.int64(-1), False
        if limits[0] and not repeated:  # cells
            if done >= state[NEXT]:
                begin_anew(memory, done)
            if code.places[entry, 4]:
                note_leading(memory, entry, element)
            if slot >= 0 and code.pair_places[slot, 2]:
                note_leading(memory, -1 - slot, element)
            by_object = code.places[entry, 5] != 0 and pays(limits, tried, entry, 1)
            depends = rows[row, 2] if by_object else np.int64(0)
            cell = recalled(cells, tried, state, entry, predicate, depends, rows[row, 3])
            if cell < 0:
                remember(code, below, table, row, done, classes, scratch, memory, entry, slot, depends)
        way, last_way, place, last_place = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        if cell >= 0:
            way, last_way = cells[cell, 3], cells[cell, 4]
        else:
            place, last_place = code.places[entry, 0], code.places[entry, 1]
        has_pairs = slot >= 0 and not (cell >= 0 and by_object)
        while True:
            idle = np.int64(0)
            if way < last_way:
                variant, start, idle = ways[way], ways[way + 1], ways[way + 3]
                first = code.variants[variant, 1]
                behind = way + WAY + 2 * ways[way + 2]
                for each in range(way + WAY, behind, 2):
                    env[ways[each] >> 2] = ways[each + 1]
                    kinds[ways[each] >> 2] = ways[each] & 3
                way = behind
            elif place < last_place:
                variant = code.lists[place]
                first = code.variants[variant, 1]
                start = first + 1
                place += 1
            elif has_pairs:
                place, last_place = code.pair_places[slot, 0], code.pair_places[slot, 1]
                has_pairs = False
                continue
            else:
                break
            if not fits(steps, first, rows, flags, row, env, kinds):
                continue
            if steps[first, 2] and by[row] >= PATH:
                continue
            last, begin = code.variants[variant, 2], True
            while start == last or advance(
                code, below, table, row, done, classes, scratch, first, start, last, begin
            ):
                begin = False
                counters[SOLVED] += 1
                if not derive(
                    code, below, table, element, variant, idle, classes, equal, scratch, made, counters
                ):
                    counters[REPEATED] = 1
                    if counters[DROPPED_KEPT]:
                        for rule in range(made[1].size):
                            made[1][rule] = made[2][rule]
                    return ROOM
                if start == last:
                    break
    return FINISHED


@njit(cache=True)
def taken(code, below, table, limit, most, memory, again, classes, equal, fragile, scratch, made, counters):
    """As `take`, but rows that are not by representatives are renamed; also gives back the table."""
    while True:
        why = take(
            code, below, table, limit, most, memory, again, classes, equal, fragile, scratch, made, counters
        )
        if why != STALE:
            return table, why
        table, counters[COUNT] = renamed(classes, table, counters[COUNT], counters[DONE])


def close(code, below, table, count, done, limit, derived, dropped, memory, again, classes, equal, fragile):
    """Takes rows `again`, then rows until none waits, or `limit` have been taken.

    `below` is static knowledge, with the same indexes; `table` is that of `Quads`. Gives back the table,
    count and done, and the solutions of clauses that are looked at in Python: (clause, element, bindings …).

    By `classes`, what is the same has a representative (`classes.py`), and rows are normalised when
    they are taken. If rows were derived with the predicate `equal`, it stops after the row: also given
    back are these pairs, how many rows were taken again, and whether a row is one that classes may not touch.
    """
    scratch = (
        np.zeros(code.most, np.int64),
        np.zeros(code.most, np.uint8),
        np.zeros(code.most + 1, np.int64),
        np.zeros(code.most + 1, np.bool_),
        np.zeros((memory[0][HEADS] + 1, 8), np.int64),
    )
    found, pairs = np.empty((16, code.most + 2), np.int64), np.empty((4, 5), np.int64)
    kept = np.empty_like(dropped)
    counters = np.zeros(11, np.int64)
    counters[COUNT], counters[DONE] = count, done
    about = again, classes, equal, fragile, scratch
    most = SOLUTIONS_PER_ROW * (limit - done)
    while True:
        made = derived, dropped, kept, found, pairs
        table, why = taken(code, below, table, limit, most, memory, *about, made, counters)
        count, done, given, paired = (int(counters[each]) for each in (COUNT, DONE, GIVEN, PAIRED))
        if why != ROOM:
            break
        table = with_room(code, table, count, done)
        if given == len(found):
            found = larger(found, 2 * given, given)
        if paired == len(pairs):
            pairs = larger(pairs, 2 * paired, paired)
        if counters[REPEATED]:
            counters[GIVEN], counters[PAIRED] = counters[GIVEN_BEFORE], counters[PAIRED_BEFORE]
    return table, count, done, found[:given], pairs[:paired], int(counters[TURN]), why == BROKEN


def with_room(code, table, count, done):
    """The table, with twice the room where it is full."""
    rows, flags, by, slots, heads, following, previous, register = table
    if count == len(rows):
        rows, flags, by = (larger(each, 2 * count, count) for each in (rows, flags, by))
    if 2 * count >= len(slots):
        slots = entered(rows, count, 2 * len(slots))
    size = following.shape[1]
    if done >= size or full(register):
        while size <= done or size < count:
            size *= 2
        made = indexes(rows, flags, done, len(code.masks), size)
        heads, following, previous, register = made
    return rows, flags, by, slots, heads, following, previous, register


@njit(cache=True)
def contained(rows, slots, wanted):
    """Which of the wanted quads are among closed rows of the element 0."""
    known = np.zeros(wanted.shape[0], np.bool_)
    for i in range(wanted.shape[0]):
        known[i] = find(rows, slots, wanted[i, 0], wanted[i, 1], wanted[i, 2], wanted[i, 3], 0) >= 0
    return known
