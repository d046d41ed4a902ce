"""The compiled loops: hash chains over rows, temporal joins, distinct.

An index is a table of chains. All rows whose key falls into one slot are linked from the
newest to the oldest by `prev`; `top[row]` is the largest time among the row and all older
ones of its chain. A probe walks from the newest row back and stops where `top` shows that
no older row can be in reach, which is what makes a bounded sequence join linear.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra import relations
from penstock.columns.ids import FLOAT, number, secret_of
from penstock.columns.memory import folded_product
from penstock.jit import njit

ANY, SEQ = relations.ANY.mask, relations.SEQ.mask
"""The relations that most joins have; a mask says of any relation when a left and a right row meet."""

UNLIMITED = 2**62
"""No bound on the duration of a combination. No two instants are that far apart."""


@njit(cache=True)
def hash_rows(ids, first, last, start, end, out):
    """Mixes the columns and the interval of rows first…last-1 into `out`."""
    for row in range(first, last):
        state = np.uint64(0x9E3779B97F4A7C15)
        for k in range(ids.shape[0]):
            state ^= np.uint64(ids[k, row])
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        state ^= np.uint64(start[row])
        state *= np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
        state ^= np.uint64(end[row])
        state *= np.uint64(0xC4CEB9FE1A85EC53)
        state ^= state >> np.uint64(32)
        out[row] = np.int64(state >> np.uint64(1))


@njit(cache=True)
def tag_rows(ids, key, out):
    """A number of 60 bits for the ids of each row, which nobody can foresee without the run's key."""
    secret = secret_of(key)
    for row in range(out.size):
        state = secret[0]
        for k in range(ids.shape[0]):
            state = folded_product(np.uint64(ids[k, row]) ^ secret[1], state ^ secret[2])
        state = folded_product(state ^ secret[2], secret[3])
        out[row] = np.int64(state >> np.uint64(4)) | 1


# A node is what the chains need of a row, side by side so that one step along a chain is one
# access to memory: hash, start, end, the older node of the chain, the largest time up to here,
# the (float64) number that prefilters compare, the row, and then the key's terms.
HASH, START, END, OLDER, TOP, NUMBER, ROW, KEYS = 0, 1, 2, 3, 4, 5, 6, 7

# Nodes that come together lie ordered by the first bits of their hash, and joins go through
# them in that order: what is looked at together then lies together, and fits the cache.
PARTITION_BITS = 8
PARTITION_SHIFT = 63 - PARTITION_BITS

LESS, GREATER = 0, 1


@njit(cache=True)
def fill_nodes(ids, columns, compared, start, end, first, last, timed, with_time, nodes):
    """Makes nodes first…last-1 of the rows with these numbers; without `timed` all times are 0.

    `compared` is the column whose number prefilters compare (NaN if it is none that we know), or -1.
    """
    numbers = nodes.view(np.float64)
    hashes = np.empty(last - first, np.int64)
    places = np.zeros((1 << PARTITION_BITS) + 1, np.int64)
    for row in range(first, last):
        state = np.uint64(0x9E3779B97F4A7C15)
        for k in range(columns.size):
            state ^= np.uint64(ids[columns[k], row])
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        if with_time:
            state ^= np.uint64(start[row] if timed else 0)
            state *= np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
            state ^= np.uint64(end[row] if timed else 0)
            state *= np.uint64(0xC4CEB9FE1A85EC53)
            state ^= state >> np.uint64(32)
        state *= np.uint64(0xC4CEB9FE1A85EC53)
        hash_ = np.int64(state >> np.uint64(1))
        hashes[row - first] = hash_
        places[(hash_ >> PARTITION_SHIFT) + 1] += 1
    for partition in range(1 << PARTITION_BITS):
        places[partition + 1] += places[partition]
    for row in range(first, last):
        hash_ = hashes[row - first]
        node = first + places[hash_ >> PARTITION_SHIFT]
        places[hash_ >> PARTITION_SHIFT] += 1
        nodes[node, HASH] = hash_
        nodes[node, START] = start[row] if timed else 0
        nodes[node, END] = end[row] if timed else 0
        nodes[node, ROW] = row
        if compared >= 0:
            value, tag = number(ids[compared, row])
            numbers[node, NUMBER] = np.nan if tag == FLOAT else value
        for k in range(columns.size):
            nodes[node, KEYS + k] = ids[columns[k], row]


@njit(cache=True)
def _slot(hash_, slots):
    """The slot of a hash: its first bits, as many as number the slots."""
    return (hash_ >> 31) * slots.size >> 32


@njit(cache=True)
def _append(nodes, node, time, slots):
    slot = _slot(nodes[node, HASH], slots)
    older = slots[slot]
    nodes[node, OLDER] = older
    if older >= 0 and nodes[older, TOP] > time:
        time = nodes[older, TOP]
    nodes[node, TOP] = time
    slots[slot] = node


@njit(cache=True)
def link(nodes, metric, first, last, slots):
    """Appends nodes first…last-1 to their chains; `metric` (START or END) is what TOP is of."""
    for node in range(first, last):
        _append(nodes, node, nodes[node, metric], slots)


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
def _meets(mask, within, ls, le, rs, re):
    if mask == SEQ:
        return le < rs and re - ls <= within
    if mask != ANY and not (
        _allowed(mask, ls, rs)
        and _allowed(mask >> 3, ls, re)
        and _allowed(mask >> 6, le, rs)
        and _allowed(mask >> 9, le, re)
    ):
        return False
    return max(le, re) - min(ls, rs) <= within


@njit(cache=True)
def _allowed(mask, one, other):
    """Whether the three bits of a mask allow this order of two instants (see `relations.PAIRS`)."""
    return mask >> (0 if one < other else 2 if one > other else 1) & 1 == 1


@njit(cache=True)
def _reach(reach, start, end):
    """The latest time that a row in reach of [start, end] can not have; see `join_batch`."""
    return max(start + reach[0], end + reach[1]) - 1


@njit(cache=True)
def _may_hold(prefilters, x, y):
    """Whether one of the comparisons a·x + b ≶ c·y + d may hold, rounding allowed for."""
    if prefilters.shape[0] == 0 or np.isnan(x) or np.isnan(y):
        return True
    for i in range(prefilters.shape[0]):
        one = prefilters[i, 1] * x
        other = prefilters[i, 3] * y
        difference = one + prefilters[i, 2] - other - prefilters[i, 4]
        slack = 1e-12 * (abs(one) + abs(prefilters[i, 2]) + abs(other) + abs(prefilters[i, 4]))
        if (difference <= slack) if prefilters[i, 0] == LESS else (difference >= -slack):
            return True
    return False


@njit(cache=True)
def join_batch(
    mask, within, reach, prefilters, order, cursor, newest, left, lslots, right, rslots, out_left, out_right
):
    """Joins a batch into both sides at once: each new row meets what came before it.

    `order` lists the new nodes by partition and time (of the end; for SEQ, a right one's start)
    as node * 2 + side. For SEQ a right row so meets all new left rows that precede it, and need not be linked
    itself: only left rows that come late in a later batch could look for it. `newest` is the
    latest start among the linked right rows then. If the output is full, the place is kept in
    `cursor` (position, chain row) and the call is repeated. Pairs for which no prefilter can
    hold are left out. `reach` says for a left and for a right row how long after its start and
    after its end the times are, at least, of the rows that it can meet: those that the chains' `top`
    is of. Returns the pair count.
    """
    from_left, from_right = (reach[0, 0], reach[0, 1]), (reach[1, 0], reach[1, 1])
    lnumbers, rnumbers = left.view(np.float64), right.view(np.float64)
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
                if mask != SEQ or newest > end:
                    at = rslots[_slot(hash_, rslots)]
            least = _reach(from_left, start, end)
            while at >= 0 and right[at, TOP] > least:
                if (
                    right[at, HASH] == hash_
                    and _meets(mask, within, start, end, right[at, START], right[at, END])
                    and _same_key(left, row, right, at)
                    and _may_hold(prefilters, lnumbers[row, NUMBER], rnumbers[at, NUMBER])
                ):
                    if count == capacity:
                        cursor[0], cursor[1] = position, at
                        return count
                    out_left[count] = left[row, ROW]
                    out_right[count] = right[at, ROW]
                    count += 1
                at = right[at, OLDER]
            _append(left, row, end, lslots)
        else:
            hash_, start, end = right[row, HASH], right[row, START], right[row, END]
            if not resumed:
                at = lslots[_slot(hash_, lslots)]
            least = _reach(from_right, start, end)
            while at >= 0 and left[at, TOP] > least:
                if (
                    left[at, HASH] == hash_
                    and _meets(mask, within, left[at, START], left[at, END], start, end)
                    and _same_key(right, row, left, at)
                    and _may_hold(prefilters, lnumbers[at, NUMBER], rnumbers[row, NUMBER])
                ):
                    if count == capacity:
                        cursor[0], cursor[1] = position, at
                        return count
                    out_left[count] = left[at, ROW]
                    out_right[count] = right[row, ROW]
                    count += 1
                at = left[at, OLDER]
            if mask != SEQ:
                _append(right, row, end, rslots)
        resumed = False
        at = -2
        position += 1
    cursor[0], cursor[1] = position, -2
    return count


def batch_order(left, left_first, right, right_first, right_time, by_time=True):
    """The new nodes of both sides by partition and (`by_time`) time, as node * 2 + side."""
    order = np.empty(len(left) + len(right), np.int64)
    if _merge(left, left_first, right, right_first, right_time, by_time, order):
        return order
    times = np.concatenate([left[:, END], right[:, right_time]])
    partitions = np.concatenate([left[:, HASH], right[:, HASH]]) >> PARTITION_SHIFT
    order[: len(left)] = np.arange(left_first, left_first + len(left)) << 1
    order[len(left) :] = np.arange(right_first, right_first + len(right)) << 1 | 1
    return order[np.lexsort((times, partitions))]


@njit(cache=True)
def _merge(left, left_first, right, right_first, right_time, by_time, order):
    """Merges nodes that are in order on both sides, as they are if rows come in order; else False.

    By partition they always are.
    """
    i = j = 0
    partition, time = -1, 0
    for place in range(order.size):
        from_left = j == right.shape[0]
        if i < left.shape[0] and j < right.shape[0]:
            one, other = left[i, HASH] >> PARTITION_SHIFT, right[j, HASH] >> PARTITION_SHIFT
            from_left = one < other
            if one == other:
                from_left = not by_time or left[i, END] <= right[j, right_time]
        if from_left:
            at, now = left[i, HASH] >> PARTITION_SHIFT, left[i, END]
            order[place] = (left_first + i) << 1
            i += 1
        else:
            at, now = right[j, HASH] >> PARTITION_SHIFT, right[j, right_time]
            order[place] = (right_first + j) << 1 | 1
            j += 1
        if at < partition or (by_time and at == partition and now < time):
            return False
        partition, time = at, now
    return True


@njit(cache=True)
def probe(mask, within, reach, cursor, left, right, rslots, out_left, out_right):
    """Pairs of left nodes with the indexed right ones they meet; resumes like `join_batch`."""
    from_left = (reach[0, 0], reach[0, 1])
    count = 0
    capacity = out_left.size
    row = cursor[0]
    at = cursor[1]
    resumed = at != -2
    while row < left.shape[0]:
        hash_, start, end = left[row, HASH], left[row, START], left[row, END]
        if not resumed:
            at = rslots[_slot(hash_, rslots)]
        resumed = False
        least = _reach(from_left, start, end)
        while at >= 0 and right[at, TOP] > least:
            if (
                right[at, HASH] == hash_
                and _meets(mask, within, start, end, right[at, START], right[at, END])
                and _same_key(left, row, right, at)
            ):
                if count == capacity:
                    cursor[0], cursor[1] = row, at
                    return count
                out_left[count] = left[row, ROW]
                out_right[count] = right[at, ROW]
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


@njit(cache=True)
def spread_rows(groups, since, until, first, instant):
    """(row, world) for each world of its group in which a row is there."""
    rows, count = groups.size, 0
    begin, end = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        at, last = first[groups[row]], first[groups[row] + 1]
        while at < last and instant[at] < since[row]:
            at += 1
        begin[row] = at
        while at < last and instant[at] < until[row]:
            at += 1
        end[row] = at
        count += at - begin[row]
    out_row, out_world = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for row in range(rows):
        for world in range(begin[row], end[row]):
            out_row[count] = row
            out_world[count] = world
            count += 1
    return out_row, out_world


@njit(cache=True)
def stretches(rows, instants, before, now, since, until, known):
    """(row, ±1, since, until): when rows are there of which nothing hides, as far as that was not known.

    Events say at instants, in order, how many more hide a row: as it was known `before`, and `now`. The
    first `known` rows were there but for that; of the others nothing was known.
    """
    count = since.size
    hidden_before, hidden_now = np.zeros(count, np.int64), np.zeros(count, np.int64)
    change, begun = np.zeros(count, np.int8), since.copy()
    change[known:] = 1
    most = count + rows.size
    out_row, out_change = np.empty(most, np.int64), np.empty(most, np.int64)
    out_since, out_until = np.empty(most, np.int64), np.empty(most, np.int64)
    found = 0
    for event in range(rows.size + count):
        if event < rows.size:
            row, at = rows[event], instants[event]
            hidden_before[row] += before[event]
            hidden_now[row] += now[event]
            was = row < known and hidden_before[row] <= 0
            new = np.int8(hidden_now[row] <= 0) - np.int8(was)
        else:
            row = event - rows.size
            at, new = until[row], np.int8(0)
        if new != change[row]:
            if change[row] != 0 and begun[row] < at:
                out_row[found] = row
                out_change[found] = change[row]
                out_since[found] = begun[row]
                out_until[found] = at
                found += 1
            change[row], begun[row] = new, at
    return out_row[:found], out_change[:found], out_since[:found], out_until[:found]


@njit(cache=True)
def connected(pairs, count):
    """For each pair the number of the part of the graph in which it lies, its direction left aside."""
    parts = np.arange(count)
    for k in range(pairs.shape[1]):
        one, other = pairs[0, k], pairs[1, k]
        while parts[one] != one:
            parts[one] = parts[parts[one]]
            one = parts[one]
        while parts[other] != other:
            parts[other] = parts[parts[other]]
            other = parts[other]
        parts[max(one, other)] = min(one, other)
    found = np.empty(pairs.shape[1], np.int64)
    for k in range(pairs.shape[1]):
        at = pairs[0, k]
        while parts[at] != at:
            at = parts[at]
        found[k] = at
    return found
