"""The kernel: everything that follows from new rows, semi-naively, one row at a time.

Rows wait in the table itself, in the order in which they came. A row that is taken enters the indexes
and begins every variant whose first atom it matches; the other atoms are looked up among the rows
before it, and below, in static knowledge. So each combination of rows is found exactly once: when
its last row is taken. What it derives, if it is new, waits at the end of the table.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import njit
from penstock.reason.classes import breaks, class_slot, renamed, representative, stale
from penstock.reason.code import (
    ATOM,
    BOUND,
    CONSTANT,
    COPIED,
    DIFFERENT,
    EXISTS,
    FREE,
    IS,
    NEW_PATH,
    SAME,
    UNGUARDED,
    WORKINGS_ID,
)
from penstock.reason.quads import DEAD, LITERAL, PATH, enter, entered, find, key_of, link


@njit(cache=True, inline="always")
def entry_of(keys, entries, predicate):
    """The entry of a predicate; 0 if no atom names it."""
    last = keys.size - 1
    at = np.int64(np.uint64(predicate) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & last
    while entries[at] >= 0:
        if keys[at] == predicate:
            return entries[at]
        at = (at + 1) & last
    return np.int64(0)


@njit(cache=True)
def pair_of(pairs, places, predicate, object_):
    """The slot of a predicate with an object, or -1."""
    last = pairs.shape[0] - 1
    value = np.uint64(predicate) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(object_) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    at = np.int64(value >> np.uint64(32)) & last
    while places[at, 0] >= 0:
        if pairs[at, 0] == predicate and pairs[at, 1] == object_:
            return at
        at = (at + 1) & last
    return np.int64(-1)


@njit(cache=True)
def value_at(steps, step, place, env):
    """What a position of a step stands for, if it is a constant or bound."""
    kind = steps[step, place]
    if kind == CONSTANT:
        return steps[step, place + 1]
    if kind == BOUND:
        return env[steps[step, place + 1]]
    return np.int64(0)


@njit(cache=True, inline="always")
def term_at(heads, head, place, env, kinds):
    """The term at a position of a head, and its kind."""
    what = heads[head, place + 1]
    if heads[head, place] == BOUND:
        return env[what], np.int64(kinds[what])
    return what, heads[head, place + 2]


@njit(cache=True)
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
    return heads[index, key & np.uint64(heads.shape[1] - 1)]


@njit(cache=True)
def fits(steps, step, rows, flags, row, env, kinds):
    """Whether a row matches a step's atom; what it binds is then bound."""
    for position in range(4):
        place = 3 + 2 * position
        how, what = steps[step, place], steps[step, place + 1]
        value = rows[row, position]
        if how == FREE:
            if position == 3 and value <= 0:
                return False  # GRAPH ?g is never the default graph, nor the workings
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


@njit(cache=True)
def holds(steps, step, env, kinds):
    """Whether a condition is true."""
    op = steps[step, 0]
    if op == SAME or op == DIFFERENT:
        same = value_at(steps, step, 3, env) == value_at(steps, step, 5, env)
        return same == (op == SAME)
    if steps[step, 3] == CONSTANT:
        return False
    return (kinds[steps[step, 4]] == steps[step, 6]) == (op == IS)


@njit(cache=True)
def relinked(rows, by, done, masks, keys, entries, places, size):
    """Larger indexes, with so many rows in them."""
    heads = np.full((masks.size, 2 * size), -1, np.int32)
    following = np.empty((masks.size, size), np.int32)
    for row in range(done):
        entry = entry_of(keys, entries, rows[row, 1])
        link(rows, by, heads, following, masks, places[entry, 2], row)
    return heads, following


@njit(cache=True)
def larger(rows, flags, by):
    """Twice the room."""
    size = 2 * rows.shape[0]
    more_rows = np.empty((size, rows.shape[1]), np.int64)
    more_flags = np.zeros(size, np.uint8)
    more_by = np.empty(size, np.int32)
    more_rows[: rows.shape[0]] = rows
    more_flags[: rows.shape[0]] = flags
    more_by[: rows.shape[0]] = by
    return more_rows, more_flags, more_by


@njit(cache=True)
def guarded(code, variant, below, table, row, env, kinds):
    """Whether a variant that a row begins can come further than the first atom that it looks up."""
    rows, flags, _, slots, heads, following = table
    low_rows, low_flags, low_slots, low_heads, low_following = below
    steps, first = code.steps, code.variants[variant, 1]
    if not fits(steps, first, rows, flags, row, env, kinds):
        return True  # of this row nothing can be said
    step = first + 1
    while steps[step, 0] != ATOM and steps[step, 0] != EXISTS:
        step += 1
    element = rows[row, 4]
    if steps[step, 0] == EXISTS:
        s, p = value_at(steps, step, 3, env), value_at(steps, step, 5, env)
        o, g = value_at(steps, step, 7, env), value_at(steps, step, 9, env)
        if find(rows, slots, s, p, o, g, element) >= 0:
            return True
        return low_rows.shape[0] > 0 and find(low_rows, low_slots, s, p, o, g, 0) >= 0
    index = steps[step, 1]
    other = chain_of(steps, step, heads, code.masks, env, element)
    while other >= 0:
        if rows[other, 4] == element and fits(steps, step, rows, flags, other, env, kinds):
            return True
        other = following[index, other]
    if low_rows.shape[0] > 0:
        other = chain_of(steps, step, low_heads, code.masks, env, 0)
        while other >= 0:
            if fits(steps, step, low_rows, low_flags, other, env, kinds):
                return True
            other = low_following[index, other]
    return False


@njit(cache=True)
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


@njit(cache=True)
def close(code, below, table, count, done, limit, derived, dropped, memory, again, classes, equal, fragile):
    """Takes rows `again`, then rows until none waits, or `limit` have been taken.

    For each predicate (with its object) it is remembered which variants can come further than their
    guard, until a row comes that is a guard itself. What an element brings is no guard any more: it would
    be one for this element alone. `memory` says of how many (a power of two, or 0), after how many misses
    of a predicate remembering must have paid, and how many rows of a predicate may be guards.

    `below` is static knowledge, with the same indexes; `table` is (rows, flags, by, slots, heads,
    following). Gives back the table, count and done, and the solutions of clauses that are looked
    at in Python: (clause, element, bindings …).

    By `classes`, what is the same has a representative (`classes.py`), and rows are normalised when
    they are taken. If rows were derived with the predicate `equal`, it stops after the row: also given
    back are these pairs, how many rows were taken again, and whether a row is one that classes may not touch.
    """
    rows, flags, by, slots, heads, following = table
    low_rows, low_flags, low_slots, low_heads, low_following = below
    steps, heads_of, masks = code.steps, code.heads, code.masks
    env = np.zeros(code.most, np.int64)
    kinds = np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    under = np.zeros(code.most + 1, np.bool_)
    found = np.empty((16, code.most + 2), np.int64)
    given = 0
    has_below = low_rows.shape[0] > 0
    cells, most_misses, most_guards = memory
    memo = np.zeros((cells, 5), np.int64)  # predicate, object, version, first and last in active
    active, used = np.empty(4 * cells, np.int64), 0
    version = 1
    tried = np.zeros((code.places.shape[0], 2), np.int64)  # of each entry: misses and hits
    guards = np.zeros(code.places.shape[0], np.int64)  # rows so far, where they are guards
    pair_guards = np.zeros(code.pairs.shape[0], np.int64)
    merged = classes.shape[0] > 0
    pairs, paired, turn, broken = np.empty((4, 5), np.int64), 0, 0, False
    while (turn < again.size or done < count) and done < limit and paired == 0:
        if turn < again.size:
            row = again[turn]
            turn += 1
            predicate, element = rows[row, 1], rows[row, 4]
            entry = entry_of(code.keys, code.entries, predicate)
        else:
            row = done
            if merged and flags[row] < DEAD:
                if stale(classes, rows, row):
                    table = rows, flags, by, slots, heads, following
                    table, count = renamed(classes, table, count, row)
                    rows, flags, by, slots, heads, following = table
                elif breaks(classes, fragile, rows, row):
                    broken = True
                    break
            if row >= following.shape[1]:
                size = 2 * following.shape[1]
                while size < count:
                    size *= 2
                heads, following = relinked(rows, by, done, masks, code.keys, code.entries, code.places, size)
            predicate, element = rows[row, 1], rows[row, 4]
            entry = entry_of(code.keys, code.entries, predicate)
            link(rows, by, heads, following, masks, code.places[entry, 2], row)
            done += 1
        if flags[row] >= DEAD:
            continue
        slot = np.int64(-1)
        if code.places[entry, 3]:
            slot = pair_of(code.pairs, code.pair_places, predicate, rows[row, 2])
        if cells:
            if code.places[entry, 4] and guards[entry] <= most_guards:
                guards[entry] += 1 if element == 0 else most_guards + 1
                version += 1
            if slot >= 0 and code.pair_places[slot, 2] and pair_guards[slot] <= most_guards:
                pair_guards[slot] += 1 if element == 0 else most_guards + 1
                version += 1
        lists, parts, begin, end = code.lists, 2, np.int64(0), np.int64(0)
        if cells and (tried[entry, 0] < most_misses or tried[entry, 0] < tried[entry, 1]):
            depends = rows[row, 2] if code.places[entry, 5] else np.int64(0)
            cell = np.int64(key_of(depends, predicate, 0, 0, 0, 3) & np.uint64(cells - 1))
            if memo[cell, 0] != predicate or memo[cell, 1] != depends or memo[cell, 2] != version:
                if memo[cell, 0] != predicate or memo[cell, 1] != depends:
                    tried[entry, 0] += 1
                room = code.places[entry, 1] - code.places[entry, 0]
                if slot >= 0:
                    room += code.pair_places[slot, 1] - code.pair_places[slot, 0]
                if used + room > active.size:
                    active, used = np.empty(max(2 * active.size, room), np.int64), 0
                    memo[:, 2] = 0
                memo[cell, 0], memo[cell, 1], memo[cell, 2], memo[cell, 3] = predicate, depends, version, used
                for part in range(2):
                    begin, end = code.places[entry, 0], code.places[entry, 1]
                    if part == 1:
                        if slot < 0:
                            break
                        begin, end = code.pair_places[slot, 0], code.pair_places[slot, 1]
                    for place in range(begin, end):
                        variant = code.lists[place]
                        how, which = code.variants[variant, 3], code.variants[variant, 4]
                        many = guards[which] if how == UNGUARDED or which >= 0 else pair_guards[-1 - which]
                        if (
                            how == UNGUARDED
                            or many > most_guards
                            or guarded(
                                code,
                                variant,
                                below,
                                (rows, flags, by, slots, heads, following),
                                row,
                                env,
                                kinds,
                            )
                        ):
                            active[used] = variant
                            used += 1
                memo[cell, 4] = used
            else:
                tried[entry, 1] += 1
            lists, parts, begin, end = active, 1, memo[cell, 3], memo[cell, 4]
        for part in range(parts):
            if parts == 2 and part == 0:
                begin, end = code.places[entry, 0], code.places[entry, 1]
            elif part == 1:
                if slot < 0:
                    break
                begin, end = code.pair_places[slot, 0], code.pair_places[slot, 1]
            for place in range(begin, end):
                variant = lists[place]
                first, last = code.variants[variant, 1], code.variants[variant, 2]
                if not fits(steps, first, rows, flags, row, env, kinds):
                    continue
                if steps[first, 2] and by[row] >= PATH:
                    continue
                level, forward = first + 1, True
                while True:
                    if forward and level == last:
                        clause = code.variants[variant, 0]
                        rule = code.clauses[clause, 0]
                        paths = code.clauses[clause, 5]
                        gives = code.clauses[clause, 3] != 0
                        first_head, last_head = code.clauses[clause, 1], code.clauses[clause, 2]
                        if merged and code.clauses[clause, 6]:
                            some = False
                            for step in range(first, last):
                                some |= open_to(steps, step, env, classes)
                            if some and not gives:
                                for head in range(first_head, last_head):
                                    s, _ = term_at(heads_of, head, 0, env, kinds)
                                    p, _ = term_at(heads_of, head, 3, env, kinds)
                                    o, _ = term_at(heads_of, head, 6, env, kinds)
                                    g, _ = term_at(heads_of, head, 9, env, kinds)
                                    s, p = representative(classes, s), representative(classes, p)
                                    o = representative(classes, o)
                                    gives |= find(rows, slots, s, p, o, g, element) < 0
                                last_head = first_head
                        if gives:
                            if given == found.shape[0]:
                                more = np.empty((2 * given, found.shape[1]), np.int64)
                                more[:given] = found
                                found = more
                            found[given, 0] = clause
                            found[given, 1] = element
                            for i in range(code.clauses[clause, 4]):
                                found[given, 2 + i] = env[i]
                            given += 1
                        for head in range(first_head, last_head):
                            s, kind_s = term_at(heads_of, head, 0, env, kinds)
                            p, kind_p = term_at(heads_of, head, 3, env, kinds)
                            o, kind_o = term_at(heads_of, head, 6, env, kinds)
                            g, kind_g = term_at(heads_of, head, 9, env, kinds)
                            if (
                                merged
                            ):  # what is bound is a representative already, what is constant may not be
                                s, p = representative(classes, s), representative(classes, p)
                                o = representative(classes, o)
                            # a path may begin at a literal; its workings are no triples
                            if (kind_s == LITERAL and g != WORKINGS_ID) or kind_p != 0 or kind_g == LITERAL:
                                dropped[rule] += 1
                                continue
                            if p == equal and s != o and g == 0 and kind_o != LITERAL:
                                if paired == pairs.shape[0]:
                                    more_pairs = np.empty((2 * paired, 5), np.int64)
                                    more_pairs[:paired] = pairs
                                    pairs = more_pairs
                                pairs[paired, 0], pairs[paired, 1], pairs[paired, 2] = s, o, kind_s
                                pairs[paired, 3], pairs[paired, 4] = kind_o, rule
                                paired += 1
                                continue
                            if has_below and find(low_rows, low_slots, s, p, o, g, 0) >= 0:
                                continue
                            if find(rows, slots, s, p, o, g, element) >= 0:
                                continue
                            if count == rows.shape[0]:
                                rows, flags, by = larger(rows, flags, by)
                            if 2 * count >= slots.size:
                                slots = entered(rows, count, 2 * slots.size)
                            rows[count, 0], rows[count, 1], rows[count, 2] = s, p, o
                            rows[count, 3], rows[count, 4] = g, element
                            flags[count] = kind_s | kind_o << 2 | kind_g << 4
                            by[count] = rule
                            if paths == NEW_PATH:
                                by[count] |= PATH
                            elif paths == COPIED:
                                head = code.clauses[clause, 2]
                                s, _ = term_at(heads_of, head, 0, env, kinds)
                                p, _ = term_at(heads_of, head, 3, env, kinds)
                                o, _ = term_at(heads_of, head, 6, env, kinds)
                                edge = find(rows, slots, s, p, o, 0, element)
                                if edge >= 0 and by[edge] >= PATH:
                                    by[count] |= PATH
                            enter(rows, slots, count)
                            count += 1
                            derived[rule] += 1
                        forward = False
                        level -= 1
                        continue
                    if level == first:
                        break
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
                            true = 0 <= other < done and flags[other] < DEAD
                            if steps[level, 2] and other == row:
                                true = False
                            if not true and has_below:
                                true = find(low_rows, low_slots, s, p, o, g, 0) >= 0
                        else:
                            true = merged and open_to(steps, level, env, classes)
                            true = true or holds(steps, level, env, kinds)
                        if true:
                            level += 1
                        else:
                            forward = False
                            level -= 1
                        continue
                    index = steps[level, 1]
                    if forward:
                        under[level - first] = False
                        at[level - first] = chain_of(steps, level, heads, masks, env, element)
                    other = at[level - first]
                    hit = False
                    while True:
                        if other < 0:
                            if under[level - first] or not has_below:
                                break
                            under[level - first] = True
                            other = chain_of(steps, level, low_heads, masks, env, 0)
                            continue
                        if under[level - first]:
                            hit = fits(steps, level, low_rows, low_flags, other, env, kinds)
                            other = low_following[index, other]
                        else:
                            if (
                                rows[other, 4] == element
                                and flags[other] < DEAD
                                and not (steps[level, 2] and other == row)
                            ):
                                hit = fits(steps, level, rows, flags, other, env, kinds)
                            other = following[index, other]
                        if hit:
                            break
                    at[level - first] = other
                    forward = hit
                    level += 1 if hit else -1
    table = rows, flags, by, slots, heads, following
    return table, count, done, found[:given], pairs[:paired], turn, broken


@njit(cache=True)
def contained(rows, slots, wanted):
    """Which of the wanted quads are among closed rows of the element 0."""
    known = np.zeros(wanted.shape[0], np.bool_)
    for i in range(wanted.shape[0]):
        known[i] = find(rows, slots, wanted[i, 0], wanted[i, 1], wanted[i, 2], wanted[i, 3], 0) >= 0
    return known
