"""The compiled loops: hash chains over rows, temporal joins, distinct.

An index is a table of chains. All rows whose key falls into one slot are linked from the
newest to the oldest by `prev`; `top[row]` is the largest time among the row and all older
ones of its chain. A probe walks from the newest row back and stops where `top` shows that
no older row can be in reach, which is what makes a bounded sequence join linear.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ANY, SEQ, EQ, ENDED, BEFORE = 0, 1, 2, 3, 4
"""When a left and a right row meet: always, left before right, equal intervals, right ended
not later than left, right strictly before left."""

UNLIMITED = 2**62
"""No bound on the duration of a combination. No two instants are that far apart."""


@njit(cache=True)
def hash_keys(keys, first, last, start, end, with_time, out):
    """Mixes the key columns (and the interval, for EQUALS) of rows first…last-1 into `out`."""
    for row in range(first, last):
        state = np.uint64(0x9E3779B97F4A7C15)
        for k in range(keys.shape[0]):
            state ^= np.uint64(keys[k, row])
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        if with_time:
            state ^= np.uint64(start[row])
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
            state ^= np.uint64(end[row])
            state *= np.uint64(0xC4CEB9FE1A85EC53)
            state ^= state >> np.uint64(32)
        out[row] = np.int64(state >> np.uint64(1))


# A node is what the chains need of a row, side by side so that one step along a chain is one
# access to memory: hash, start, end, the older row of the chain, the largest time up to here,
# and then the key's terms.
HASH, START, END, OLDER, TOP, KEYS = 0, 1, 2, 3, 4, 5


@njit(cache=True)
def fill_nodes(ids, columns, start, end, first, last, timed, with_time, nodes):
    """Writes hash, interval and key of rows first…last-1; without `timed` all times are 0."""
    for row in range(first, last):
        state = np.uint64(0x9E3779B97F4A7C15)
        for k in range(columns.size):
            key = ids[columns[k], row]
            nodes[row, KEYS + k] = key
            state ^= np.uint64(key)
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        begin = start[row] if timed else 0
        finish = end[row] if timed else 0
        if with_time:
            state ^= np.uint64(begin)
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
            state ^= np.uint64(finish)
            state *= np.uint64(0xC4CEB9FE1A85EC53)
            state ^= state >> np.uint64(32)
        nodes[row, HASH] = np.int64(state >> np.uint64(1))
        nodes[row, START] = begin
        nodes[row, END] = finish


@njit(cache=True)
def _append(nodes, row, time, slots):
    slot = nodes[row, HASH] & (slots.size - 1)
    older = slots[slot]
    nodes[row, OLDER] = older
    if older >= 0 and nodes[older, TOP] > time:
        time = nodes[older, TOP]
    nodes[row, TOP] = time
    slots[slot] = row


@njit(cache=True)
def link(nodes, metric, first, last, slots):
    """Appends rows first…last-1 to their chains; `metric` (START or END) is what TOP is of."""
    for row in range(first, last):
        _append(nodes, row, nodes[row, metric], slots)


@njit(cache=True)
def _same_key(a, i, b, j):
    for k in range(KEYS, a.shape[1]):
        if a[i, k] != b[j, k]:
            return False
    return True


@njit(cache=True)
def _same_row(ids, i, j):
    for k in range(ids.shape[0]):
        if ids[k, i] != ids[k, j]:
            return False
    return True


@njit(cache=True)
def _meets(mode, within, ls, le, rs, re):
    if mode == 1:
        return le < rs and re - ls <= within
    if mode == 2:
        return ls == rs and le == re
    if mode == 3 and re > le:
        return False
    if mode == 4 and re >= ls:
        return False
    return max(le, re) - min(ls, rs) <= within


@njit(cache=True)
def join_batch(mode, within, order, cursor, newest, left, lslots, right, rslots, out_left, out_right):
    """Joins a batch into both sides at once: each new row meets what came before it.

    `order` lists the new rows by time (of the end; for SEQ, a right row's start) as row * 2 +
    side. For SEQ a right row so meets all new left rows that precede it, and need not be linked
    itself: only left rows that come late in a later batch could look for it. `newest` is the
    latest start among the linked right rows then. If the output is full, the place is kept in
    `cursor` (position, chain row) and the call is repeated. Returns the pair count.
    """
    count = 0
    capacity = out_left.size
    position = cursor[0]
    at = cursor[1]
    resumed = at != -2
    while position < order.size:
        row = order[position] >> 1
        if order[position] & 1 == 0:
            hash_, start, end = left[row, HASH], left[row, START], left[row, END]
            if not resumed:
                at = -1
                if mode != SEQ or newest > end:
                    at = rslots[hash_ & (rslots.size - 1)]
            reach = end if mode == SEQ else end - within - 1
            while at >= 0 and right[at, TOP] > reach:
                if (
                    right[at, HASH] == hash_
                    and _meets(mode, within, start, end, right[at, START], right[at, END])
                    and _same_key(left, row, right, at)
                ):
                    if count == capacity:
                        cursor[0], cursor[1] = position, at
                        return count
                    out_left[count] = row
                    out_right[count] = at
                    count += 1
                at = right[at, OLDER]
            _append(left, row, end, lslots)
        else:
            hash_, start, end = right[row, HASH], right[row, START], right[row, END]
            if not resumed:
                at = lslots[hash_ & (lslots.size - 1)]
            reach = end - within - 1
            while at >= 0 and left[at, TOP] > reach:
                if (
                    left[at, HASH] == hash_
                    and _meets(mode, within, left[at, START], left[at, END], start, end)
                    and _same_key(right, row, left, at)
                ):
                    if count == capacity:
                        cursor[0], cursor[1] = position, at
                        return count
                    out_left[count] = at
                    out_right[count] = row
                    count += 1
                at = left[at, OLDER]
            if mode != SEQ:
                _append(right, row, end, rslots)
        resumed = False
        at = -2
        position += 1
    cursor[0], cursor[1] = position, -2
    return count


@njit(cache=True)
def probe(mode, within, cursor, left, right, rslots, out_left, out_right):
    """Pairs of left nodes with the indexed right ones they meet; resumes like `join_batch`."""
    count = 0
    capacity = out_left.size
    row = cursor[0]
    at = cursor[1]
    resumed = at != -2
    while row < left.shape[0]:
        hash_, start, end = left[row, HASH], left[row, START], left[row, END]
        if not resumed:
            at = rslots[hash_ & (rslots.size - 1)]
        resumed = False
        reach = end - within - 1
        while at >= 0 and right[at, TOP] > reach:
            if (
                right[at, HASH] == hash_
                and _meets(mode, within, start, end, right[at, START], right[at, END])
                and _same_key(left, row, right, at)
            ):
                if count == capacity:
                    cursor[0], cursor[1] = row, at
                    return count
                out_left[count] = row
                out_right[count] = at
                count += 1
            at = right[at, OLDER]
        row += 1
    cursor[0], cursor[1] = row, -2
    return count


@njit(cache=True)
def chain_rows(hashes, last, slots, prev):
    """Chains rows 0…last-1 by their hash alone."""
    for row in range(last):
        slot = hashes[row] & (slots.size - 1)
        prev[row] = slots[slot]
        slots[slot] = row


@njit(cache=True)
def keep_first(ids, hashes, start, end, first, last, slots, prev, fresh):
    """Keeps each of the rows first…last-1 that is new, moving it down; returns the new row count."""
    mask = slots.size - 1
    free = first
    for row in range(first, last):
        hash_ = hashes[row]
        slot = hash_ & mask
        at = slots[slot]
        found = False
        while at >= 0:
            if (
                hashes[at] == hash_
                and start[at] == start[row]
                and end[at] == end[row]
                and _same_row(ids, at, row)
            ):
                found = True
                break
            at = prev[at]
        fresh[row - first] = not found
        if not found:
            if free != row:
                for k in range(ids.shape[0]):
                    ids[k, free] = ids[k, row]
                hashes[free] = hash_
                start[free] = start[row]
                end[free] = end[row]
            prev[free] = slots[slot]
            slots[slot] = free
            free += 1
    return free
