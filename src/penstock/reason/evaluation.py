"""Rows, and all that follows from them under compiled rules: by the kernel, and in Python what it cannot."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.nodes import Var
from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.errors import InputError
from penstock.reason import kernel
from penstock.reason.classes import Classes, merge
from penstock.reason.clauses import NO_RULE, Clause
from penstock.reason.code import Code, Compiled, compiled
from penstock.reason.equality import Apart, Equality, depends
from penstock.reason.inventing import Inventing
from penstock.reason.leading import MemoLimits, Memory, memory_for
from penstock.reason.maintenance import ComputedInstances
from penstock.reason.quads import DEAD, LEAST, LITERAL, Quads, entered, power_of_two
from penstock.reason.solutions import Solutions, kinds_of
from penstock.reason.support import FACT
from penstock.reason.witnesses import Witnesses
from penstock.terms import BlankNode

MOST_ROWS = 1 << 30  # rows are numbered with 32 bits, and grow by doubling


@dataclass(frozen=True)
class Options:
    """What may be switched off, to compare; and when inventing is taken to be without end."""

    representatives: bool = True
    specialise: bool = True
    transitive: bool = True
    memory: MemoLimits = MemoLimits()  # of specialising
    at_a_time: int = 1 << 16  # rows that the kernel takes before it lets Python see to signals
    most_invented: int = 100_000  # of those that come from others in a long row
    most_generations: int = 5_000  # and how long a row may be at all
    surrogates: bool = False  # whether triples with nodes that stand for literals are shown
    witnesses: bool = True  # whether, if not, these are made of a few literals, where that is enough


OPTIONS = Options()


def nothing_below() -> tuple[np.ndarray, ...]:
    """The table below a closure that stands on nothing."""
    empty = np.empty((0, 5), np.int64), np.empty(0, np.uint8), np.full(1, -1, np.int32)
    return *empty, np.full((1, 1), -1, np.int32), np.empty((1, 0), np.int32)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """What a signal raises while a kernel runs (Ctrl-C, a time limit) is noticed when it returns; then it is
    below a heap of SystemErrors."""
    try:
        yield
    except SystemError as problem:
        cause: BaseException | None = problem
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if cause is None:
            raise
        raise cause from None


class RuleEvaluation:
    """Rows, and everything that follows from them under compiled rules, above rows that are closed."""

    def __init__(
        self,
        program: Compiled,
        terms: TermTable,
        options: Options,
        below: tuple[np.ndarray, ...] | None = None,
        capacity: int = 64,
        equality: Equality | None = None,
    ) -> None:
        self.program = program
        self.terms = terms
        self.options = options
        self.below = nothing_below() if below is None else below
        self.quads = Quads(program.code.masks, capacity)
        self.derived = np.zeros(len(program.rules) + 1, np.int64)
        self.dropped = np.zeros(len(program.rules) + 1, np.int64)
        self.inventing = Inventing(options.most_invented, options.most_generations)
        self.instances: ComputedInstances | None = None  # are noted, if rows may go again
        self.reported: list[tuple[Clause, np.ndarray, np.ndarray]] = []  # of checks: elements, columns
        self.equality = equality
        self.witnesses: Witnesses | None = None  # if what surrogates there are is not shown, nor rows go
        self.classes = Classes()
        self._used = np.empty(0, np.int64)  # predicates and names of graphs …
        self._used_of = 0  # … of so many rows
        self._grown: list[np.ndarray] = []  # who stands for more than when its rows were taken
        self._renamed = False  # constants are the same that were not when the program was compiled
        self._again = np.empty(0, np.int64)  # rows to be taken again
        self._pairs = np.empty((0, 5), np.int64)  # things to be made the same
        self._memory: Memory | None = None
        self._same()

    def add(self, rows: np.ndarray, *, explicit: bool) -> None:
        """Rows (subject, predicate, object, graph, element) that hold, and all that follows."""
        if self.equality is not None and (rows[:, 3] > 0).any():
            self.equality = self.equality.with_named_graphs()
            self._same()
        self.put(rows, row_kinds(rows, self.terms), explicit=explicit)
        self.close()

    def put(self, rows: np.ndarray, kinds: np.ndarray, *, explicit: bool, rule: int = -1) -> None:
        """Rows that wait to be taken; those that make things the same are kept apart."""
        first = self.quads.count
        self.quads.add(rows, kinds, explicit=explicit, rule=rule)
        if self.equality is None:
            return
        new, flags = self.quads.rows[first : self.quads.count], self.quads.flags[first : self.quads.count]
        said = np.flatnonzero(
            (new[:, 1] == self._equal)
            & (new[:, 3] == 0)
            & (new[:, 0] != new[:, 2])
            & (flags >> 2 & 3 != LITERAL)
        )
        pairs = np.stack(
            [new[said, 0], new[said, 2], flags[said] & 3, flags[said] >> 2 & 3, np.full(len(said), rule)],
            axis=1,
        )
        self._pairs = np.concatenate([self._pairs, pairs.astype(np.int64)])
        flags[said] |= np.uint8(DEAD)

    def state_facts(self) -> None:
        """What holds without a condition: derived, not explicit."""
        for clause in self.program.facts:
            nothing = np.empty((1, 0), np.int64), np.zeros(1, np.int64)
            solutions = Solutions(clause, *nothing, self.terms).completed()
            if not clause.is_check:
                quads, flags, _ = solutions.quads()
                self.put(quads, flags, explicit=False, rule=FACT)
        self.close()

    def forget(self) -> None:
        """Rows are not what they were, or the program is not."""
        self._memory = None

    def close(self) -> None:
        quads = self.quads
        while True:
            if len(self._pairs):
                self._merge()
            if quads.done == quads.count and not len(self._again) and not self._unsettled():
                return
            if self._memory is None:
                limits = self.options.memory if self.options.specialise else MemoLimits(cells=0)
                self._memory = memory_for(self.program.code, limits)
            with interruptible():
                quads.table, quads.count, quads.done, found, self._pairs, turn, broken = kernel.close(
                    self.program.code,
                    self.below,
                    quads.table,
                    quads.count,
                    quads.done,
                    quads.done + self.options.at_a_time,
                    self.derived,
                    self.dropped,
                    self._memory,
                    self._again,
                    self.classes.table,
                    self._equal,
                    self._fragile,
                )
            if broken:
                raise Apart
            if quads.count > MOST_ROWS:
                raise InputError(
                    f"more than {MOST_ROWS:,} triples follow, internal graphs of rules included",
                    hint="choose fewer rules, or fewer data: one closure is numbered with 32 bits",
                )
            self._again = self._again[turn:]
            if len(found):
                self.look_at(found)

    # --- what is the same --------------------------------------------------------------------

    def _same(self) -> None:
        """What the kernel has to know of an equality."""
        ids = [
            np.array(sorted(id_of(each, self.terms.key) for each in some), np.int64)
            for some in (
                (self.equality.rigid, self.equality.fragile, self.program.constants)
                if self.equality is not None
                else ((), (), ())
            )
        ]
        self._rigid, self._fragile, self._constants = ids
        self._equal = 0 if self.equality is None else id_of(self.equality.predicate, self.terms.key)

    def _merge(self) -> None:
        if not self.classes:
            self._compile_anew()  # from now on rows must be found by what they are about
        quads, pairs = self.quads, self._pairs
        self._pairs = pairs[:0]
        self.classes.reserve(2 * len(pairs))
        new = np.unique(quads.rows[self._used_of : quads.count, [1, 3]])
        self._used, self._used_of = np.union1d(self._used, new), quads.count
        size, quads.table, quads.count, grown, renamed, borne = merge(
            self.classes.table,
            self.classes.size,
            pairs,
            self._equal,
            self._constants,
            self._rigid,
            self._fragile,
            self._used,
            quads.masks,
            quads.table,
            quads.count,
            quads.done,
        )
        if not borne:
            raise Apart
        self.forget()
        self.classes.changed(size)
        self._grown.append(grown)
        self._renamed |= renamed

    def _unsettled(self) -> bool:
        """Whether rows have to be taken again, as they stand for more than when they were taken."""
        quads = self.quads
        if self._renamed:
            self._renamed = False
            self._compile_anew()
            self._again = quads.present()
        elif self._grown and any(depends(clause) for clause in self.program.clauses):
            rows = quads.present()
            about = np.isin(quads.rows[rows][:, :4], np.concatenate(self._grown)).any(axis=1)
            self._again = rows[about]
        self._grown = []
        return len(self._again) > 0

    def _compile_anew(self) -> None:
        """The program by representatives of its constants."""
        quads = self.quads

        def name(position):
            if position is None or isinstance(position, Var | BlankNode):
                return position
            id_ = id_of(position, self.terms.key)
            other = int(self.classes.of(np.array([id_]))[0])
            return position if other == id_ else self.terms.term(other)

        clauses = self.equality.normalised(name)
        made = compiled(clauses, self.terms.key, transitive=self.options.transitive, renaming=True)
        self.program = replace(made, constants=self.program.constants)
        self.forget()
        quads.masks = made.code.masks
        quads.index(power_of_two(max(quads.count, LEAST)))

    # --- tables and solutions --------------------------------------------------------------------

    def linked(self, code: Code, predicates: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """The rows, which are closed, as a table for a program to stand above, with the indexes it needs.

        With `predicates`, only rows that have one of these.
        """
        count = self.quads.count
        rows, flags, by = (each[:count] for each in (self.quads.rows, self.quads.flags, self.quads.by))
        slots = self.quads.slots
        if predicates is not None:
            kept = np.isin(rows[:, 1], predicates)
            rows, flags, by = rows[kept], flags[kept], by[kept]
            slots = entered(rows, len(rows), 2 * power_of_two(len(rows)))
        size = power_of_two(len(rows))
        heads, following = kernel.linked(
            rows, by, len(rows), code.masks, code.keys, code.entries, code.places, size
        )
        return rows, flags, slots, heads, following

    def look_at(self, found: np.ndarray) -> None:
        """Goes on with the solutions that the kernel has given out."""
        order = np.argsort(found[:, 0], kind="stable")
        numbers, begins = np.unique(found[order, 0], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
            clause = self.program.clauses[number]
            width = len(clause.variables())
            columns, elements = found[rows, 2 : 2 + width], found[rows, 1]
            numbered = np.arange(len(rows))
            solutions = Solutions(
                clause, columns, numbered, self.terms, self.classes, self.witnesses
            ).completed()
            if clause.is_check:
                shown = [
                    solutions.columns.get(var, np.zeros(len(solutions.elements), np.int64))
                    for var in clause.shown
                ]
                own = elements[solutions.elements]
                self.reported.append((clause, own, np.stack([own, *shown])))
                continue
            rule = self.program.rules.index(clause.rule)
            quads, flags, dropped = solutions.quads()
            if self.instances is not None:
                self.instances.add(number, quads, columns)
            quads[:, 4] = elements[quads[:, 4]]
            self.dropped[rule] += dropped
            self.inventing.note(clause, solutions)
            if self.witnesses is not None:
                self.witnesses.note(clause, solutions.columns)
            if len(self.below[0]) and len(quads):
                quads, flags = self._new(quads, flags)
            if self.classes and len(quads):
                quads = self.classes.of(quads)
                flags = row_kinds(quads, self.terms)
            before = self.quads.count
            self.put(quads, flags, explicit=False, rule=rule)
            self.derived[rule] += self.quads.count - before

    def _new(self, quads: np.ndarray, flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those that are not below."""
        known = kernel.contained(self.below[0], self.below[2], quads)
        return quads[~known], flags[~known]

    def elements_with(self, rule: str) -> np.ndarray:
        """The elements of which the checks of a rule have found something."""
        found = [elements for clause, elements, _ in self.reported if clause.rule == rule]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def counts(self, array: np.ndarray) -> dict[str, int]:
        named = zip(self.program.rules, array, strict=False)
        return {rule: int(n) for rule, n in named if n and rule != NO_RULE}


def row_kinds(rows: np.ndarray, terms: TermTable) -> np.ndarray:
    """What is known of rows' terms, as `Quads` keeps it."""
    subject, object_, graph = (kinds_of(rows[:, i], terms) for i in (0, 2, 3))
    return subject | object_ << 2 | graph << 4
