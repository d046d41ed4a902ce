"""Rules read backwards: what a row follows from, and what would follow from rows that go.

A row is *supported* if a clause derives it from rows each of which is explicit or stands before it in the
table. A derived row comes after the rows that it was derived from, so support is never circular: what
keeps only itself alive, or is kept by what came later, is not supported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.algebra.nodes import Var
from penstock.jit import njit
from penstock.reason.clauses import Atom, Clause
from penstock.reason.code import (
    ALONE,
    ATOM,
    EXISTS,
    STEP_WIDTH,
    ClauseCompiler,
    cost_of,
    in_python,
    is_bound,
    native,
    table_of,
    variables_of,
)
from penstock.reason.quads import DEAD, EXPLICIT, find, key_of
from penstock.reason.step_matching import chain_of, entry_of, fits, holds, pair_of, term_at, value_at

FACT = -2
"""The rule of rows that hold without a condition."""
ANY_ROW = 1 << 62


class Backward(NamedTuple):
    """The arrays; as those of `code.Code`, but variants begin with a row that is their clause's head."""

    steps: np.ndarray
    variants: np.ndarray  # (n, 3): clause, first and last step
    masks: np.ndarray
    keys: np.ndarray
    entries: np.ndarray
    lists: np.ndarray
    places: np.ndarray
    pairs: np.ndarray
    pair_places: np.ndarray
    all: np.ndarray  # of each clause that Python looks at, a variant that begins with nothing; or -1
    one: np.ndarray  # and one that begins with a whole solution
    most: int


def backward(clauses: tuple[Clause, ...], key: int) -> Backward:
    """The clauses of compiled rules, to be read backwards."""
    return _BackwardCompiler(clauses, key, False).backward()


class _BackwardCompiler(ClauseCompiler):
    def backward(self) -> Backward:
        all_, one = np.full((2, len(self.clauses)), -1, np.int64)
        most = 1
        for number, clause in enumerate(self.clauses):
            slots = {var: slot for slot, var in enumerate(clause.variables())}
            if in_python(clause):
                all_[number] = self._read(number, clause, slots)
                one[number] = self._read(number, clause, slots, known=True)
            else:
                for head in (head for head in clause.head if is_bound(head, slots)):
                    self._dispatch(head, self._read(number, clause, slots, head))
            most = max(most, len(slots))
        most = max([most, *(last - first for _, first, last, *_ in self.variants)])
        keys, entries, lists, places, pairs, pair_places = self._dispatching()
        return Backward(
            table_of(self.steps, STEP_WIDTH),
            table_of([variant[:3] for variant in self.variants], 3),
            np.array(list(self.masks), np.int64),
            keys,
            entries,
            lists,
            places,
            pairs,
            pair_places,
            all_,
            one,
            most + 1,
        )

    def _read(
        self,
        number: int,
        clause: Clause,
        slots: dict[Var, int],
        head: Atom | None = None,
        *,
        known: bool = False,
    ) -> int:
        """A variant that looks up the body, given a head, nothing, or a solution that is known: its number.

        Atoms come in an order in which as much as possible is bound. Of a known solution only the rows are
        looked up: its conditions held when it was found, and the kinds of its terms are not kept.
        """
        bound = set(slots) if known else set()
        begin = len(self.steps)
        if head is None:
            self.steps.append([0] * STEP_WIDTH)
        else:
            self._atom(head, slots, bound, before=False, new=True, edge=False)
            bound.update(head.variables())
        waiting = [] if known else [each for each in clause.conditions if native(each, clause)]
        left = list(range(len(clause.body)))
        while True:
            for condition in [each for each in waiting if variables_of(each) <= bound]:
                waiting.remove(condition)
                self.steps.append(self._condition(condition, slots))
            if not left:
                break
            place = min(left, key=lambda each: (cost_of(clause.body[each], bound), each))
            left.remove(place)
            self._atom(clause.body[place], slots, bound, before=False, new=False, edge=False)
            bound.update(clause.body[place].variables())
        self.variants.append([number, begin, len(self.steps), ALONE, begin])
        return len(self.variants) - 1


# --- kernels -------------------------------------------------------------------------------


@njit(cache=True)
def next_solution(steps, masks, first, last, store, env, kinds, at, begin, limit, dying):
    """Goes on to the next solution of a variant whose first step is taken; whether there is one.

    Its rows are explicit or stand before `limit`; if `dying`, also those that are being taken away.
    """
    rows, flags, slots, heads, following = store
    level = first + 1 if begin else last - 1
    forward = begin
    while True:
        if forward and level == last:
            return True
        if level <= first:
            return False
        op = steps[level, 0]
        if op != ATOM:
            if not forward:
                level -= 1
                continue
            if op == EXISTS:
                s, p = value_at(steps, level, 3, env), value_at(steps, level, 5, env)
                o, g = value_at(steps, level, 7, env), value_at(steps, level, 9, env)
                other = find(rows, slots, s, p, o, g, 0)
                true = other >= 0 and (
                    dying or (flags[other] < DEAD and (other < limit or flags[other] & EXPLICIT != 0))
                )
            else:
                true = holds(steps, level, env, kinds)
            forward = true
            level += 1 if true else -1
            continue
        index = steps[level, 1]
        other = chain_of(steps, level, heads, masks, env, 0) if forward else at[level - first]
        hit = False
        while other >= 0 and not hit:
            usable = dying or (flags[other] < DEAD and (other < limit or flags[other] & EXPLICIT != 0))
            if usable and rows[other, 4] == 0:
                hit = fits(steps, level, rows, flags, other, env, kinds)
            other = following[index, other]
        at[level - first] = other
        forward = hit
        level += 1 if hit else -1


@njit(cache=True)
def noted(found, given, clause, env):
    """A solution written down; the array may be a larger one then."""
    if given == found.shape[0]:
        more = np.empty((2 * given, found.shape[1]), np.int64)
        more[:given] = found
        found = more
    found[given, 0] = clause
    found[given, 1] = 0
    for i in range(found.shape[1] - 2):
        found[given, 2 + i] = env[i]
    return found


@njit(cache=True)
def supported(code, store, wanted, ranked, by):
    """For each of the wanted rows, a clause that supports it (or -1); also by rows after it, if not `ranked`.

    Clauses that Python looks at are left out (`instances`).
    """
    rows, flags = store[0], store[1]
    steps, masks = code.steps, code.masks
    env, kinds = np.zeros(code.most, np.int64), np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    for i in range(wanted.size):
        row = wanted[i]
        limit = row if ranked else ANY_ROW
        entry = entry_of(code.keys, code.entries, rows[row, 1])
        slot = np.int64(-1)
        if code.places[entry, 3]:
            slot = pair_of(code.pairs, code.pair_places, rows[row, 1], rows[row, 2])
        by[i] = -1
        for part in range(2):
            begin, end = code.places[entry, 0], code.places[entry, 1]
            if part == 1:
                if slot < 0:
                    break
                begin, end = code.pair_places[slot, 0], code.pair_places[slot, 1]
            for place in range(begin, end):
                clause, first, last = code.variants[code.lists[place]]
                if fits(steps, first, rows, flags, row, env, kinds) and next_solution(
                    steps, masks, first, last, store, env, kinds, at, True, limit, False
                ):
                    by[i] = clause
                    break
            if by[i] >= 0:
                break


@njit(cache=True)
def instances(code, store, known, chains, wanted, ranked, by):
    """Of the wanted rows without support, those that a known solution supports: their clauses.

    `known` is (quads, clauses, bindings) of solutions that Python has looked at, `chains` finds them by
    the quad that they make.
    """
    rows = store[0]
    quads, clauses, bindings = known
    heads, following = chains
    env, kinds = np.zeros(code.most, np.int64), np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    for i in range(wanted.size):
        if by[i] >= 0:
            continue
        row = wanted[i]
        key = key_of(rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], 0, 15)
        other = heads[key & np.uint64(heads.size - 1)]
        while other >= 0:
            same = True
            for position in range(4):
                same &= quads[other, position] == rows[row, position]
            if same:
                env[: bindings.shape[1]] = bindings[other]
                _, first, last = code.variants[code.one[clauses[other]]]
                limit = row if ranked else ANY_ROW
                if next_solution(
                    code.steps, code.masks, first, last, store, env, kinds, at, True, limit, False
                ):
                    by[i] = clauses[other]
                    break
            other = following[other]


@njit(cache=True)
def still_there(code, store, known, count):
    """Which of the known solutions have all their rows."""
    _, clauses, bindings = known
    env, kinds = np.zeros(code.most, np.int64), np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    there = np.zeros(count, np.bool_)
    for i in range(count):
        env[: bindings.shape[1]] = bindings[i]
        _, first, last = code.variants[code.one[clauses[i]]]
        there[i] = next_solution(
            code.steps, code.masks, first, last, store, env, kinds, at, True, ANY_ROW, False
        )
    return there


@njit(cache=True)
def chained(quads, first, last, heads, following):
    """Enters solutions into the chains by the quads that they make."""
    for row in range(first, last):
        key = key_of(quads[row, 0], quads[row, 1], quads[row, 2], quads[row, 3], 0, 15)
        slot = key & np.uint64(heads.size - 1)
        following[row] = heads[slot]
        heads[slot] = row


@njit(cache=True)
def lost(code, store, by, gone, marks):
    """The derived rows that some rows are premises of; each is marked, and given once.

    Also gives the solutions that Python has to look at: (clause, 0, bindings …).
    """
    rows, flags, slots = store[0], store[1], store[2]
    steps, masks = code.steps, code.masks
    env, kinds = np.zeros(code.most, np.int64), np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    found, given = np.empty((16, code.most + 2), np.int64), 0
    heads, count = np.empty(64, np.int64), 0
    for row in gone:
        entry = entry_of(code.keys, code.entries, rows[row, 1])
        slot = np.int64(-1)
        if code.places[entry, 3]:
            slot = pair_of(code.pairs, code.pair_places, rows[row, 1], rows[row, 2])
        for part in range(2):
            begin, end = code.places[entry, 0], code.places[entry, 1]
            if part == 1:
                if slot < 0:
                    break
                begin, end = code.pair_places[slot, 0], code.pair_places[slot, 1]
            for place in range(begin, end):
                variant = code.lists[place]
                clause, first, last = (
                    code.variants[variant, 0],
                    code.variants[variant, 1],
                    code.variants[variant, 2],
                )
                if not fits(steps, first, rows, flags, row, env, kinds):
                    continue
                gives = code.clauses[clause, 3]
                start = True
                while next_solution(steps, masks, first, last, store, env, kinds, at, start, ANY_ROW, True):
                    start = False
                    if gives:
                        found = noted(found, given, clause, env)
                        given += 1
                    for head in range(code.clauses[clause, 1], code.clauses[clause, 2]):
                        s, _ = term_at(code.heads, head, 0, env, kinds)
                        p, _ = term_at(code.heads, head, 3, env, kinds)
                        o, _ = term_at(code.heads, head, 6, env, kinds)
                        g, _ = term_at(code.heads, head, 9, env, kinds)
                        other = find(rows, slots, s, p, o, g, 0)
                        if other < 0 or marks[other] or flags[other] >= EXPLICIT or by[other] == FACT:
                            continue
                        marks[other] = True
                        if count == heads.size:
                            more = np.empty(2 * count, np.int64)
                            more[:count] = heads
                            heads = more
                        heads[count] = other
                        count += 1
    return heads[:count], found[:given]


@njit(cache=True)
def all_solutions(code, store, variants):
    """All solutions of some variants that begin with nothing: (clause, 0, bindings …)."""
    env, kinds = np.zeros(code.most, np.int64), np.zeros(code.most, np.uint8)
    at = np.zeros(code.most + 1, np.int64)
    found, given = np.empty((16, code.most + 2), np.int64), 0
    for variant in variants:
        clause, first, last = code.variants[variant]
        start = True
        while next_solution(
            code.steps, code.masks, first, last, store, env, kinds, at, start, ANY_ROW, False
        ):
            start = False
            found = noted(found, given, clause, env)
            given += 1
    return found[:given]


@njit(cache=True)
def located(rows, slots, wanted):
    """The number of each of the wanted rows, or -1."""
    found = np.empty(wanted.shape[0], np.int64)
    for i in range(wanted.shape[0]):
        found[i] = find(rows, slots, wanted[i, 0], wanted[i, 1], wanted[i, 2], wanted[i, 3], 0)
    return found
