"""How the steps of a variant are matched with rows, for the kernels."""

from __future__ import annotations

import numpy as np

from penstock.columns.hashing import first_place, mixed, place_of_pair
from penstock.jit import njit
from penstock.reason.classes import class_slot
from penstock.reason.code import ATOM, BOUND, CONSTANT, DIFFERENT, EXISTS, FREE, IS, LITERAL_ALONE, SAME
from penstock.reason.quads import DEAD, LAST, LITERAL, LITERALS, UP_TO, catch_up, find, key_of, line_of


@njit(cache=True, allocates=False, inline="always")
def entry_of(keys, entries, predicate):
    """The entry of a predicate; 0 if no atom names it."""
    at = first_place(mixed(np.uint64(0), predicate), entries.size)
    while entries[at] >= 0:
        if keys[entries[at]] == predicate:
            return np.int64(entries[at]) + 1
        at = (at + 1) & (entries.size - 1)
    return np.int64(0)


@njit(cache=True, allocates=False)
def pair_of(pairs, places, predicate, object_):
    """The slot of a predicate with an object, or -1."""
    last = pairs.shape[0] - 1
    at = place_of_pair(predicate, object_, pairs.shape[0])
    while places[at, 0] >= 0:
        if pairs[at, 0] == predicate and pairs[at, 1] == object_:
            return at
        at = (at + 1) & last
    return np.int64(-1)


@njit(cache=True, allocates=False)
def value_at(steps, step, place, env):
    """What a position of a step stands for, if it is a constant or bound."""
    kind = steps[step, place]
    if kind == CONSTANT:
        return steps[step, place + 1]
    if kind == BOUND:
        return env[steps[step, place + 1]]
    return np.int64(0)


@njit(cache=True, allocates=False, inline="always")
def term_at(heads, head, place, env, kinds):
    """The term at a position of a head, and its kind."""
    what = heads[head, place + 1]
    if heads[head, place] == BOUND:
        return env[what], np.int64(kinds[what])
    return what, heads[head, place + 2]


@njit(cache=True, allocates=False)
def chain_of(steps, step, heads, masks, env, element):
    """The first row of the chain that a step looks into, or -1."""
    index = steps[step, 1]
    key = key_of(
        value_at(steps, step, 3, env),
        value_at(steps, step, 5, env),
        value_at(steps, step, 7, env),
        value_at(steps, step, 9, env),
        element,
        masks[index],
    )
    return np.int64(heads[index, key & np.uint64(heads.shape[1] - 1)]) - 1


@njit(cache=True, allocates=False)
def chain_in(steps, step, table, masks, env, element):
    """As `chain_of`, of a table whose indexes get their rows when they are looked into."""
    register, index = table[7], steps[step, 1]
    line = register.shape[0] - 1
    if masks[index] & 2:
        line = line_of(register, value_at(steps, step, 5, env))
        if register[line, LAST] < 0 or steps[step, LITERAL_ALONE] > register[line, LITERALS]:
            return np.int64(-1)
    if register[line, UP_TO + index] < register[line, LAST]:
        catch_up(table, index, masks[index], line)
    return chain_of(steps, step, table[4], masks, env, element)


@njit(cache=True, allocates=False)
def fits(steps, step, rows, flags, row, env, kinds):
    """Whether a row matches a step's atom; what it binds is then bound."""
    for position in range(4):
        place = 3 + 2 * position
        how, what = steps[step, place], steps[step, place + 1]
        value = rows[row, position]
        if how == FREE:
            if position == 3 and value <= 0:
                return False  # GRAPH ?g is never the default graph, nor an internal one
            env[what] = value
            if position == 0:
                kinds[what] = flags[row] & 3
            elif position == 2:
                kinds[what] = flags[row] >> 2 & 3
            elif position == 3:
                kinds[what] = flags[row] >> 4 & 3
            else:
                kinds[what] = 0
        elif how == CONSTANT:
            if value != what:
                return False
        elif env[what] != value:
            return False
    return True


@njit(cache=True, allocates=False)
def holds(steps, step, env, kinds):
    """Whether a condition is true."""
    op = steps[step, 0]
    if op == SAME or op == DIFFERENT:
        same = value_at(steps, step, 3, env) == value_at(steps, step, 5, env)
        return same == (op == SAME)
    if steps[step, 3] == CONSTANT:
        return False
    return (kinds[steps[step, 4]] == steps[step, 6]) == (op == IS)


@njit(cache=True, allocates=False)
def open_to(steps, step, env, classes):
    """Whether a condition may be true of some, and not of others, of those that are the same."""
    if steps[step, 0] == ATOM or steps[step, 0] == EXISTS:
        return False
    if steps[step, 5] == CONSTANT and steps[step, 0] >= IS and steps[step, 6] == LITERAL:
        return False  # no literal has equals
    for place in (3, 5):
        if steps[step, place] == BOUND and class_slot(classes, env[steps[step, place + 1]]) >= 0:
            return True
    return False


@njit(cache=True, allocates=False, inline="always")
def advance(code, below, table, row, done, classes, scratch, first, start, end, begin):
    """Matches the steps of a variant from `start` to before `end`, in the next way; whether there is one.

    The first way if `begin`. Other rows come from those that were taken, and from below.
    """
    rows, flags, slots, following = table[0], table[1], table[3], table[5]
    low_rows, low_flags, low_slots, low_heads, low_following = below
    env, kinds, at, under = scratch[:4]
    steps, masks = code.steps, code.masks
    has_below, merged = low_rows.shape[0] > 0, classes.shape[0] > 0
    element = rows[row, 4]
    forward, level = begin, start if begin else end - 1
    while start <= level < end:
        op = steps[level, 0]
        if op != ATOM:
            if not forward:
                level -= 1
                continue
            if op == EXISTS:
                s, p = value_at(steps, level, 3, env), value_at(steps, level, 5, env)
                o, g = value_at(steps, level, 7, env), value_at(steps, level, 9, env)
                other = find(rows, slots, s, p, o, g, element)
                # A row that waits has its own turn; the new row itself is not before itself.
                forward = 0 <= other < done and flags[other] < DEAD
                if steps[level, 2] and other == row:
                    forward = False
                if not forward and has_below:
                    forward = find(low_rows, low_slots, s, p, o, g, 0) >= 0
            else:
                forward = merged and open_to(steps, level, env, classes)
                forward = forward or holds(steps, level, env, kinds)
            level += 1 if forward else -1
            continue
        index, place = steps[level, 1], level - first
        if forward:
            under[place] = False
            at[place] = chain_in(steps, level, table, masks, env, element)
        other = at[place]
        forward = False
        while not forward:
            if other < 0:
                if under[place] or not has_below:
                    break
                under[place] = True
                other = chain_of(steps, level, low_heads, masks, env, 0)
                continue
            if under[place]:
                forward = fits(steps, level, low_rows, low_flags, other, env, kinds)
                other = low_following[index, other]
            else:
                if (
                    rows[other, 4] == element
                    and flags[other] < DEAD
                    and not (steps[level, 2] and other == row)
                ):
                    forward = fits(steps, level, rows, flags, other, env, kinds)
                other = following[index, other]
        at[place] = other
        level += 1 if forward else -1
    return level == end
