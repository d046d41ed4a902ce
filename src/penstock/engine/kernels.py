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


@njit(cache=True)
def link(hashes, times, first, last, slots, prev, top):
    """Appends rows first…last-1 to their chains."""
    mask = slots.size - 1
    for row in range(first, last):
        slot = hashes[row] & mask
        older = slots[slot]
        prev[row] = older
        time = times[row]
        if older >= 0 and top[older] > time:
            time = top[older]
        top[row] = time
        slots[slot] = row


@njit(cache=True)
def _same_key(a, i, b, j):
    for k in range(a.shape[0]):
        if a[k, i] != b[k, j]:
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
def join_batch(
    mode,
    within,
    order,
    cursor,
    lkeys,
    lhash,
    lstart,
    lend,
    lslots,
    lprev,
    ltop,
    rkeys,
    rhash,
    rstart,
    rend,
    rslots,
    rprev,
    rtop,
    out_left,
    out_right,
):
    """Joins a batch into both sides at once: each new row meets what came before it, then is linked.

    `order` lists the new rows by time as row * 2 + side. If the output is full, the place is
    kept in `cursor` (position, chain row) and the call is repeated. Returns the pair count.
    """
    count = 0
    capacity = out_left.size
    position = cursor[0]
    at = cursor[1]
    resumed = at != -2
    while position < order.size:
        row = order[position] >> 1
        if order[position] & 1 == 0:
            start, end = lstart[row], lend[row]
            if not resumed:
                at = rslots[lhash[row] & (rslots.size - 1)]
            reach = end if mode == 1 else end - within - 1
            while at >= 0 and rtop[at] > reach:
                if rhash[at] == lhash[row] and _meets(mode, within, start, end, rstart[at], rend[at]):
                    if _same_key(lkeys, row, rkeys, at):
                        if count == capacity:
                            cursor[0], cursor[1] = position, at
                            return count
                        out_left[count] = row
                        out_right[count] = at
                        count += 1
                at = rprev[at]
            slot = lhash[row] & (lslots.size - 1)
            older = lslots[slot]
            lprev[row] = older
            ltop[row] = max(end, ltop[older]) if older >= 0 else end
            lslots[slot] = row
        else:
            start, end = rstart[row], rend[row]
            if not resumed:
                at = lslots[rhash[row] & (lslots.size - 1)]
            reach = end - within - 1
            while at >= 0 and ltop[at] > reach:
                if lhash[at] == rhash[row] and _meets(mode, within, lstart[at], lend[at], start, end):
                    if _same_key(rkeys, row, lkeys, at):
                        if count == capacity:
                            cursor[0], cursor[1] = position, at
                            return count
                        out_left[count] = at
                        out_right[count] = row
                        count += 1
                at = lprev[at]
            slot = rhash[row] & (rslots.size - 1)
            older = rslots[slot]
            rprev[row] = older
            time = start if mode == 1 else end
            rtop[row] = max(time, rtop[older]) if older >= 0 else time
            rslots[slot] = row
        resumed = False
        at = -2
        position += 1
    cursor[0], cursor[1] = position, -2
    return count


@njit(cache=True)
def probe(
    mode,
    within,
    cursor,
    lkeys,
    lhash,
    lstart,
    lend,
    rkeys,
    rhash,
    rstart,
    rend,
    rslots,
    rprev,
    rtop,
    out_left,
    out_right,
):
    """Pairs of left rows with the indexed right rows they meet; resumes like `join_batch`."""
    count = 0
    capacity = out_left.size
    row = cursor[0]
    at = cursor[1]
    resumed = at != -2
    while row < lstart.size:
        if not resumed:
            at = rslots[lhash[row] & (rslots.size - 1)]
        resumed = False
        reach = lend[row] - within - 1
        while at >= 0 and rtop[at] > reach:
            if rhash[at] == lhash[row] and _meets(mode, within, lstart[row], lend[row], rstart[at], rend[at]):
                if _same_key(lkeys, row, rkeys, at):
                    if count == capacity:
                        cursor[0], cursor[1] = row, at
                        return count
                    out_left[count] = row
                    out_right[count] = at
                    count += 1
            at = rprev[at]
        row += 1
    cursor[0], cursor[1] = row, -2
    return count


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
                and _same_key(ids, at, ids, row)
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
