"""What is remembered of leading atoms: how the variants that a row begins go on behind them.

They are about nothing but the row's predicate, or its object. So for each predicate (with its object) they
are looked up once, and a row goes on from there: an axiom such as rdfs:domain is no join any more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.jit import njit
from penstock.reason.code import ATOM, BOUND, BY_PREDICATE, CONSTANT, EXISTS, FREE, LEADING, Code
from penstock.reason.quads import LITERAL, find, key_of
from penstock.reason.step_matching import advance, fits, term_at

BROUGHT = 1 << 40  # more harm than any: rows of an element lead for this element alone
USED, VERSION, BLAMED, NEXT = range(4)  # in a memory's state
MISSES, HARM, WAYS, HEADS = 1, 2, 3, 4  # in its limits
WAY = 4  # numbers that a way has at least


class MemoLimits(NamedTuple):
    """How much is remembered, and when no more."""

    cells: int = 1 << 12  # predicates (with objects), a power of two; 0: nothing is remembered
    misses: int = 1 << 8  # of a predicate, after which remembering must have paid
    harm: int = 1 << 4  # that the rows of a predicate may do
    ways: int = 1 << 8  # in which a variant may go on behind its leading atoms
    heads: int = 1 << 6  # of one predicate (with its object) that are known to be made by others, too
    room: int = 1 << 17  # numbers, for all ways
    epoch: int = 1 << 8  # rows after which everything gets another chance; then four times as many, and so on


Memory = tuple[np.ndarray, ...]


def memory_for(code: Code, limits: MemoLimits) -> Memory:
    """An empty memory: (limits, cells, ways, tried, harm, pair_harm, state).

    A cell is (predicate, object, version, first and last in ways, side), where the side is of graphs: 0 the
    default graph, 1 named, -1 internal ones. A way is (variant, step, n, idle heads, n × (variable and kind,
    value)). A row that leading atoms may match makes another version; whatever has to be remembered anew
    for it is harm that its predicate has done; after too much of it atoms with it lead no more, until later.
    """
    state = np.zeros(4, np.int64)
    state[VERSION], state[NEXT] = 1, limits.epoch
    return (
        np.array(limits, np.int64),
        np.zeros((max(1, limits.cells), 6), np.int64),
        np.empty(limits.room, np.int64),
        np.zeros((code.places.shape[0], 4), np.int64),  # of each entry: misses and hits, and by object
        np.zeros(code.places.shape[0], np.int64),
        np.zeros(code.pairs.shape[0], np.int64),
        state,
    )


@njit(cache=True, allocates=False)
def harmed(memory, which, more):
    """Notes that remembering was in vain; whether this was too much, so that there is another version."""
    limits, _, _, _, harm, pair_harm, state = memory
    counts, place = (harm, which) if which >= 0 else (pair_harm, -1 - which)
    before = counts[place]
    counts[place] = before + more
    if before <= limits[HARM] < before + more:
        state[VERSION] += 1


@njit(cache=True, allocates=False)
def begin_anew(memory, done):
    """From time to time everything gets another chance."""
    tried, harm, pair_harm, state = memory[3], memory[4], memory[5], memory[6]
    for entry in range(tried.shape[0]):
        for place in range(4):
            tried[entry, place] = 0
        if harm[entry] < BROUGHT:
            harm[entry] = 0
    for slot in range(pair_harm.size):
        if pair_harm[slot] < BROUGHT:
            pair_harm[slot] = 0
    state[VERSION] += 1
    state[BLAMED] = 0  # an entry that does not lead
    state[NEXT] = 4 * max(done, 1)


@njit(cache=True, allocates=False)
def note_leading(memory, which, element):
    """A row that leading atoms may match has been taken."""
    limits, _, _, _, harm, pair_harm, state = memory
    so_far = harm[which] if which >= 0 else pair_harm[-1 - which]
    if so_far <= limits[HARM]:
        state[VERSION] += 1
        state[BLAMED] = which
    if element != 0 and so_far < BROUGHT:
        harmed(memory, which, BROUGHT)


@njit(cache=True, allocates=False, inline="always")
def pays(limits, tried, entry, how):
    """Whether it is worth to remember the rows of an entry: by predicate (0) or also by object (1)."""
    misses, hits = tried[entry, 2 * how], tried[entry, 2 * how + 1]
    return misses < limits[MISSES] or misses < hits


@njit(cache=True, allocates=False, inline="always")
def recalled(cells, tried, state, entry, predicate, depends, graph):
    """The number of a row's cell, if that is remembered, or -1."""
    side = min(max(graph, -1), 1)
    cell = np.int64(key_of(depends, predicate, 0, side, 0, 11) & np.uint64(cells.shape[0] - 1))
    if cells[cell, 0] != predicate or cells[cell, 1] != depends or cells[cell, 2] != state[VERSION]:
        return np.int64(-1)
    if cells[cell, 5] != side:
        return np.int64(-1)
    tried[entry, 1 if depends == 0 else 3] += 1
    return cell


@njit(cache=True, allocates=False)
def remember(code, below, table, row, done, classes, scratch, memory, entry, slot, depends):
    """Fills a row's cell, if there is room; the row itself does not go on from it."""
    limits, cells, _, tried, _, _, state = memory
    predicate, how = table[0][row, 1], 0 if depends == 0 else 1
    if not pays(limits, tried, entry, how):
        return
    side = min(max(table[0][row, 3], -1), 1)
    cell = np.int64(key_of(depends, predicate, 0, side, 0, 11) & np.uint64(cells.shape[0] - 1))
    same = cells[cell, 0] == predicate and cells[cell, 1] == depends and cells[cell, 5] == side
    if same and cells[cell, 2] > 0:
        harmed(memory, state[BLAMED], 1)
    else:
        tried[entry, 2 * how] += 1
    for _ in range(2):
        first = state[USED]
        begin, end = code.places[entry, 0], code.places[entry, 1]
        whole, known = noted_ways(
            code, below, table, row, done, classes, scratch, memory, begin, end, how == 1, 0
        )
        if whole and how == 1 and slot >= 0:
            begin, end = code.pair_places[slot, 0], code.pair_places[slot, 1]
            whole, known = noted_ways(
                code, below, table, row, done, classes, scratch, memory, begin, end, True, known
            )
        if whole:
            cells[cell, 0], cells[cell, 1], cells[cell, 2] = predicate, depends, state[VERSION]
            cells[cell, 3], cells[cell, 4], cells[cell, 5] = first, state[USED], side
            return
        state[USED] = 0  # all are forgotten
        state[VERSION] += 1
        state[BLAMED] = 0
    tried[entry, 2 * how] = max(tried[entry, 2 * how], limits[MISSES]) + tried[entry, 2 * how + 1]


@njit(cache=True, allocates=False)
def noted_ways(code, below, table, row, done, classes, scratch, memory, first, last, by_object, known):
    """Writes down how variants go on that stand in lists, from `first` to `last`; whether there was room.

    So many heads are `known` that earlier ones make; also given back is how many there are now.
    """
    limits, _, ways, _, harm, pair_harm, state = memory
    rows, flags = table[0], table[1]
    env, kinds = scratch[0], scratch[1]
    steps = code.steps
    for place in range(first, last):
        variant = code.lists[place]
        start = code.variants[variant, 1] + 1
        end = start
        while end < code.variants[variant, 4] and (by_object or code.variants[variant, 3] == BY_PREDICATE):
            if steps[end, 0] == ATOM or steps[end, 0] == EXISTS:
                which = steps[end, LEADING]
                if (harm[which] if which >= 0 else pair_harm[-1 - which]) > limits[HARM]:
                    break
            end += 1
        used, many, begin = state[USED], 0, True
        fit = fits(steps, start - 1, rows, flags, row, env, kinds)
        graph = steps[start - 1, 10] if steps[start - 1, 9] == CONSTANT else np.int64(1)
        if min(max(rows[row, 3], -1), 1) != min(max(graph, -1), 1):
            continue  # no such row is in a graph that it looks at
        if not fit:
            end = start  # of this row nothing can be said
        before = known
        while used >= 0 and advance(
            code, below, table, row, done, classes, scratch, start - 1, start, end, begin
        ):
            begin = False
            many += 1
            if many > limits[WAYS]:
                used = noted_way(ways, state[USED], variant, start, 0, steps, start, start, env, kinds)
                known = before
                break
            idle = np.int64(0)
            if fit and end == code.variants[variant, 2]:
                idle, known = idle_heads(code, below, table, row, classes, variant, scratch, by_object, known)
            if idle >= 0:
                used = noted_way(ways, used, variant, end, idle, steps, start, end, env, kinds)
        if used < 0:
            return False, known
        state[USED] = used
    return True, known


@njit(cache=True, allocates=False)
def noted_way(ways, used, variant, step, idle, steps, first, last, env, kinds):
    """Writes down how a variant goes on behind leading atoms, and what they bind; -1: there is no room."""
    place = used + WAY
    for atom in range(first, last):
        if steps[atom, 0] != ATOM:
            continue
        for position in range(3, 11, 2):
            if steps[atom, position] == FREE:
                if place + 2 > ways.size:
                    return np.int64(-1)
                var = steps[atom, position + 1]
                ways[place], ways[place + 1] = 4 * var + kinds[var], env[var]
                place += 2
    if place > ways.size:
        return np.int64(-1)
    ways[used], ways[used + 1], ways[used + 2] = variant, step, (place - used - WAY) // 2
    ways[used + 3] = idle
    return np.int64(place)


@njit(cache=True, allocates=False)
def idle_heads(code, below, table, row, classes, variant, scratch, by_object, many):
    """Which heads of a variant that has come to its end bring nothing, as bits; -1: all of them.

    It is known of a head if it is the row itself, if another way makes it as well, or if it is the same for
    all rows of the cell, and there: they go on from it after one that has made it.
    """
    rows, low_rows, low_slots = table[0], below[0], below[2]
    env, kinds, known = scratch[0], scratch[1], scratch[4]
    clause, step = code.variants[variant, 0], code.variants[variant, 1]
    first, last = code.clauses[clause, 1], code.clauses[clause, 2]
    if code.clauses[clause, 3] or last - first > 60 or (classes.shape[0] > 0 and code.clauses[clause, 6]):
        return np.int64(0), many
    element, side, idle = rows[row, 4], rows[row, 3], np.int64(0)
    # Whether all rows of the cell begin the variant; what others then make as well is known.
    sure = code.steps[step, 2] == 0 and code.steps[step, 3] == FREE and side < 1
    for position in range(1, 3):
        how = code.steps[step, 3 + 2 * position]
        sure &= how == FREE or (how == CONSTANT and (position == 1 or by_object))
    head = known[-1]  # of each position, 1 and the row's position, or 0 and a value
    for number in range(first, last):
        fixed, itself, literal = True, True, False
        for position in range(4):
            value, kind = term_at(code.heads, number, 3 * position, env, kinds)
            head[2 * position], head[2 * position + 1] = 0, value
            if code.heads[number, 3 * position] == BOUND:
                var = code.heads[number, 3 * position + 1]
                for own in (3, 2, 1, 0):
                    of_cell = own == 1 or (own == 2 and by_object)
                    if steps_var(code.steps, step, own) == var and not of_cell:
                        head[2 * position], head[2 * position + 1] = 1, own
            if head[2 * position]:
                fixed = False
                literal |= position == 0 and head[1] == 2
                itself &= head[2 * position + 1] == position
            else:
                literal |= position == 0 and kind == LITERAL
                of_cell = (position == 2 and by_object) or position == 1
                itself &= value == rows[row, position] and (of_cell or (position == 3 and side < 1))
        there = itself or (fixed and element == 0)
        if fixed and low_rows.shape[0] > 0:
            there |= find(low_rows, low_slots, head[1], head[3], head[5], head[7], 0) >= 0
        for other in range(many):
            same = True
            for place in range(8):
                same &= known[other, place] == head[place]
            there |= same
        if there and not literal:
            idle |= np.int64(1) << (number - first)
        elif sure and many < known.shape[0] - 1:
            for place in range(8):
                known[many, place] = head[place]
            many += 1
    if first < last and idle == (np.int64(1) << (last - first)) - 1:
        idle = np.int64(-1)
    return idle, many


@njit(cache=True, allocates=False)
def steps_var(steps, step, position):
    """The variable that a position of an atom binds, or -1."""
    return steps[step, 4 + 2 * position] if steps[step, 3 + 2 * position] == FREE else np.int64(-1)
