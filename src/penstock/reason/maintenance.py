"""Rows that are taken away from a closure, and everything that followed only from them.

Forward from what goes: derived rows that have lost a premise are looked at, and stay if they are supported
(`support.py`), so most removals end after a few rows. What is not supported goes as well. Support looks
only at rows before a row; so of what went, that which still follows from what stayed is derived again,
as new rows at the end of the table, and closed as if it had just come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.reason import kernel
from penstock.reason.code import compiled
from penstock.reason.quads import DEAD, EXPLICIT, KINDS, LEAST, PATH, entered, power_of_two
from penstock.reason.solutions import Solutions
from penstock.reason.support import (
    FACT,
    all_solutions,
    backward,
    chained,
    instances,
    located,
    lost,
    still_there,
    supported,
)

if TYPE_CHECKING:
    from penstock.reason.evaluation import RuleEvaluation

GIVEN = -1
MOST_DEAD = 4096
"""Rows that have been taken away, before the table is written anew; as many as are there, if that is more."""


class ComputedInstances:
    """Solutions that Python has looked at, each with a quad that it makes: what the quad follows from.

    They cannot be found from the quad: its terms may be computed, or invented.
    """

    def __init__(self, width: int) -> None:
        self.count = 0
        self.quads = np.empty((LEAST, 4), np.int64)
        self.clauses = np.empty(LEAST, np.int64)
        self.bindings = np.zeros((LEAST, width), np.int64)
        self._heads, self._following = np.full(2 * LEAST, -1, np.int64), np.empty(LEAST, np.int64)

    def add(self, clause: int, quads: np.ndarray, columns: np.ndarray) -> None:
        """What solutions of a clause make; in the place of an element, a quad has its solution's number."""
        first, last = self.count, self.count + len(quads)
        if last > len(self.clauses):
            self._keep(np.arange(first), power_of_two(2 * last))
        self.quads[first:last] = quads[:, :4]
        self.clauses[first:last] = clause
        self.bindings[first:last, : columns.shape[1]] = columns[quads[:, 4]]
        self.count = last
        chained(self.quads, first, last, self._heads, self._following)

    def keep(self, there: np.ndarray) -> None:
        """Forgets all but some, and what is there twice."""
        rows = np.flatnonzero(there)
        every = np.column_stack([self.clauses[rows], self.quads[rows], self.bindings[rows]])
        self._keep(rows[np.unique(every, axis=0, return_index=True)[1]], power_of_two(2 * len(rows)))

    def _keep(self, rows: np.ndarray, room: int) -> None:
        self.count = len(rows)
        for name in ("quads", "clauses", "bindings"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), np.int64)
            new[: len(rows)] = old[rows]
            setattr(self, name, new)
        self._heads, self._following = np.full(2 * room, -1, np.int64), np.empty(room, np.int64)
        chained(self.quads, 0, self.count, self._heads, self._following)

    @property
    def known(self) -> tuple[np.ndarray, ...]:
        return self.quads, self.clauses, self.bindings

    @property
    def chains(self) -> tuple[np.ndarray, ...]:
        return self._heads, self._following


class Maintenance:
    """Takes rows away from an evaluation, which stands on nothing below."""

    def __init__(self, evaluation: RuleEvaluation, key: int, most_dead: int = MOST_DEAD) -> None:
        self.evaluation = evaluation
        self.most_dead = most_dead
        self._backward = backward(evaluation.program.clauses, key)
        self._linked = 0
        self._heads = self._following = np.empty((0, 0), np.int32)
        self._dead = 0  # rows of the table
        # What is only a path of edges would have to become an edge when some of these go.
        evaluation.program = compiled(
            (*evaluation.program.clauses, *evaluation.program.facts),
            key,
            transitive=False,
            renaming=evaluation.equality is not None,
        )
        evaluation.forget()
        evaluation.quads.by[evaluation.quads.by >= PATH] &= ~PATH
        self._compact()
        evaluation.instances = ComputedInstances(self._backward.most)
        for number, columns in self._by_clause(self._all(checks=False)):
            made = self._made(number, columns)
            evaluation.instances.add(number, made, columns)

    def remove(self, rows: np.ndarray) -> None:
        """Takes explicit rows away, and what does not follow any more; other rows are left as they are."""
        quads, by = self.evaluation.quads, self.evaluation.quads.by
        numbers = np.unique(located(quads.rows, quads.slots, rows))
        numbers = numbers[numbers >= 0]
        numbers = numbers[quads.flags[numbers] & EXPLICIT != 0]
        if not len(numbers):
            return
        self._link()
        quads.flags[numbers] &= np.uint8(~EXPLICIT & 0xFF)
        derived = numbers[by[numbers] != FACT]
        gone = [self._unsupported(derived)]
        losing = numbers  # also who stays was explicit, on which rows before it may have relied
        while len(losing):
            heads = self._heads_of(losing)
            losing = self._unsupported(heads)
            gone.append(losing)
        self._take_away(np.concatenate(gone))

    # --- what follows from rows, and what rows follow from ----------------------------------------

    def _store(self, heads: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, ...]:
        quads = self.evaluation.quads
        return quads.rows, quads.flags, quads.slots, heads, following

    @property
    def _forward_store(self) -> tuple[np.ndarray, ...]:
        return self._store(self.evaluation.quads.heads, self.evaluation.quads.following)

    @property
    def _backward_store(self) -> tuple[np.ndarray, ...]:
        return self._store(self._heads, self._following)

    def _heads_of(self, rows: np.ndarray) -> np.ndarray:
        """The derived rows that have one of these as a premise, in order."""
        quads = self.evaluation.quads
        marks = np.zeros(quads.count, np.bool_)
        kernel.catch_up_all(self.evaluation.program.code, quads.table)
        heads, found = lost(self.evaluation.program.code, self._forward_store, quads.by, rows, marks)
        for number, columns in self._by_clause(found):
            others = located(quads.rows, quads.slots, self._made(number, columns))
            others = others[others >= 0]
            usable = (quads.flags[others] < EXPLICIT) & (quads.by[others] != FACT)
            marks[others[usable]] = True
        return np.flatnonzero(marks) if len(found) else np.sort(heads)

    def _unsupported(self, rows: np.ndarray) -> np.ndarray:
        """Those of the rows that nothing before them, and nothing explicit, supports: they are dead now."""
        clauses = self._support(rows, ranked=True)
        quads, gone = self.evaluation.quads, rows[clauses < 0]
        quads.flags[gone] |= np.uint8(DEAD)
        stays = (clauses >= 0) & (quads.by[rows] == GIVEN)  # it was only explicit so far
        self._derived_by(rows[stays], clauses[stays])
        return gone

    def _derived_by(self, rows: np.ndarray, clauses: np.ndarray) -> None:
        """Notes of rows which rules derive them."""
        rules = self.evaluation.program.code.clauses[clauses, 0]
        self.evaluation.quads.by[rows] = rules
        np.add.at(self.evaluation.derived, rules, 1)

    def _support(self, rows: np.ndarray, *, ranked: bool) -> np.ndarray:
        """For each of the rows, the number of a clause that derives it from rows that stay; or -1."""
        by = np.empty(len(rows), np.int64)
        supported(self._backward, self._backward_store, rows, ranked, by)
        solutions = self.evaluation.instances
        instances(self._backward, self._backward_store, solutions.known, solutions.chains, rows, ranked, by)
        return by

    def _by_clause(self, found: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The numbers of clauses that are no checks, each with its solutions."""
        for number in np.unique(found[:, 0]).tolist():
            clause = self.evaluation.program.clauses[number]
            if not clause.is_check:
                yield number, found[found[:, 0] == number, 2 : 2 + len(clause.variables())]

    def _made(self, number: int, columns: np.ndarray) -> np.ndarray:
        """The quads that solutions make; in the place of an element, each has its solution's number."""
        solutions = Solutions(
            self.evaluation.program.clauses[number], columns, np.arange(len(columns)), self.evaluation.terms
        )
        return solutions.completed().quads()[0]

    def _all(self, *, checks: bool) -> np.ndarray:
        """All solutions of the clauses that Python looks at: of checks, or of the others."""
        self._link()
        chosen = [clause.is_check == checks for clause in self.evaluation.program.clauses]
        variants = self._backward.all[chosen]
        return all_solutions(self._backward, self._backward_store, variants[variants >= 0])

    def contradictions(self) -> np.ndarray:
        """The solutions of all checks now, as the kernel gives them out."""
        return self._all(checks=True)

    # --- the table --------------------------------------------------------------------------------

    def _link(self) -> None:
        """Enters rows that have come into our own indexes."""
        quads, code = self.evaluation.quads, self._backward
        about = (code.masks, code.keys, code.entries, code.places)
        if quads.count > self._following.shape[1] or not self._linked:
            size = power_of_two(2 * quads.count)
            self._heads, self._following = kernel.linked(quads.rows, quads.by, quads.count, *about, size)
        else:
            kernel.link_all(
                quads.rows, quads.by, self._linked, quads.count, *about, self._heads, self._following
            )
        self._linked = quads.count

    def _take_away(self, gone: np.ndarray) -> None:
        """Empties rows that are dead; what follows from the others all the same comes again, at the end."""
        evaluation, quads = self.evaluation, self.evaluation.quads
        if not len(gone):
            return
        clauses = self._support(gone, ranked=False)
        again, kinds = quads.rows[gone], quads.flags[gone] & KINDS
        rules, counts = np.unique(quads.by[gone], return_counts=True)
        evaluation.derived[rules[rules >= 0]] -= counts[rules >= 0]
        quads.rows[gone, :4] = 0
        quads.rows[gone, 4] = -1 - gone  # an element that there is not, each another one: no key finds it
        self._dead += len(gone)
        comes = clauses >= 0
        first = quads.count
        quads.add(again[comes], kinds[comes], explicit=False)
        self._derived_by(np.arange(first, quads.count), clauses[comes])
        evaluation.forget()
        evaluation.close()
        if self._dead > max(self.most_dead, quads.count // 2):
            self._compact()
            self._link()
            solutions = evaluation.instances
            there = still_there(self._backward, self._backward_store, solutions.known, solutions.count)
            solutions.keep(there)

    def _compact(self) -> None:
        """Writes the table anew without the dead, in the same order."""
        quads, code = self.evaluation.quads, self.evaluation.program.code
        kept = quads.present()
        quads.count = quads.done = len(kept)
        room = power_of_two(2 * len(kept))
        for name in ("rows", "flags", "by"):
            old = getattr(quads, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: len(kept)] = old[kept]
            setattr(quads, name, new)
        quads.slots = entered(quads.rows, quads.count, 2 * room)
        quads.masks = code.masks
        quads.index(room)
        self._dead = self._linked = 0
