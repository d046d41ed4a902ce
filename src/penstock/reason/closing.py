"""The closure of triples under rules, in process and on columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.columns.terms import TermChunk, TermTable
from penstock.reason import kernel
from penstock.reason.clauses import Clause, clauses_of
from penstock.reason.code import Compiled, compiled
from penstock.reason.inventing import Inventing
from penstock.reason.maintenance import Instances, Maintenance
from penstock.reason.quads import EXPLICIT, Quads, power_of_two
from penstock.reason.solutions import Solutions, kinds_of
from penstock.reason.support import FACT
from penstock.reason.surrogates import makes_surrogates, with_surrogates
from penstock.rules.rule import Rule
from penstock.terms import Term

AT_A_TIME = 1 << 16  # rows that the kernel takes before it lets Python see to signals


@dataclass(frozen=True)
class Options:
    """What may be switched off, to compare; and when inventing is taken to be without end."""

    representatives: bool = True
    specialise: bool = True
    transitive: bool = True
    most_invented: int = 100_000  # of those that come from others in a long row
    most_generations: int = 5_000  # and how long a row may be at all
    surrogates: bool = False  # whether triples with nodes that stand for literals are shown


OPTIONS = Options()


@dataclass(frozen=True)
class Conflict:
    """A contradiction: the rule that found it, what that means, and the terms that it is about."""

    rule: str
    meaning: str
    bindings: tuple[tuple[str, Term], ...]


def nothing_below() -> tuple[np.ndarray, ...]:
    """The table below a closure that stands on nothing."""
    empty = np.empty((0, 5), np.int64), np.empty(0, np.uint8), np.full(1, -1, np.int32)
    return *empty, np.full((1, 1), -1, np.int32), np.empty((1, 0), np.int32)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C while a kernel runs is noticed when it returns; then it is below a heap of SystemErrors."""
    try:
        yield
    except SystemError as problem:
        cause: BaseException | None = problem
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise cause from None
        raise


class Run:
    """Rows, and everything that follows from them under compiled rules, above rows that are closed."""

    def __init__(
        self,
        program: Compiled,
        terms: TermTable,
        options: Options,
        below: tuple[np.ndarray, ...] | None = None,
        capacity: int = 64,
    ) -> None:
        self.program = program
        self.terms = terms
        self.options = options
        self.below = nothing_below() if below is None else below
        self.quads = Quads(program.code.masks, capacity)
        self.derived = np.zeros(len(program.rules) + 1, np.int64)
        self.dropped = np.zeros(len(program.rules) + 1, np.int64)
        self.inventing = Inventing(options.most_invented, options.most_generations)
        self.instances: Instances | None = None  # are noted, if rows may go again
        self.reported: list[tuple[Clause, np.ndarray, np.ndarray]] = []  # of checks: elements, columns

    def add(self, rows: np.ndarray, *, explicit: bool) -> None:
        """Rows (subject, predicate, object, graph, element) that hold, and all that follows."""
        kinds = row_kinds(rows, self.terms)
        self.quads.add(rows, kinds, explicit=explicit)
        self.close()

    def close(self) -> None:
        quads = self.quads
        while quads.done < quads.count:
            table = (quads.rows, quads.flags, quads.by, quads.slots, quads.heads, quads.following)
            with interruptible():
                table, quads.count, quads.done, found = kernel.close(
                    self.program.code,
                    self.below,
                    table,
                    quads.count,
                    quads.done,
                    quads.done + AT_A_TIME,
                    self.derived,
                    self.dropped,
                    self.options.specialise,
                )
            quads.rows, quads.flags, quads.by, quads.slots, quads.heads, quads.following = table
            if len(found):
                self.look_at(found)

    def linked(self) -> tuple[np.ndarray, ...]:
        """The rows, which are closed already, as a table for others to stand above."""
        quads, code = self.quads, self.program.code
        size = power_of_two(quads.count)
        heads, following = kernel.relinked(
            quads.rows, quads.by, quads.count, code.masks, code.keys, code.entries, code.places, size
        )
        return quads.rows[: quads.count], quads.flags, quads.slots, heads, following

    def look_at(self, found: np.ndarray) -> None:
        """Goes on with the solutions that the kernel has given out."""
        order = np.argsort(found[:, 0], kind="stable")
        numbers, begins = np.unique(found[order, 0], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
            clause = self.program.clauses[number]
            width = len(clause.variables())
            columns, elements = found[rows, 2 : 2 + width], found[rows, 1]
            solutions = Solutions(clause, columns, np.arange(len(rows)), self.terms).completed()
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
            if len(self.below[0]) and len(quads):
                quads, flags = self._new(quads, flags)
            before = self.quads.count
            self.quads.add(quads, flags, explicit=False, rule=rule)
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
        return {rule: int(n) for rule, n in zip(self.program.rules, array, strict=False) if n}


def row_kinds(rows: np.ndarray, terms: TermTable) -> np.ndarray:
    """What is known of rows' terms, as `Quads` keeps it."""
    subject, object_, graph = (kinds_of(rows[:, i], terms) for i in (0, 2, 3))
    return subject | object_ << 2 | graph << 4


def name_text(name: str) -> bytes:
    """The N-Triples text of a graph's name."""
    return (name if name.startswith("_:") else f"<{name}>").encode()


class Closure:
    """Explicit triples, and all that follows from them under some rules."""

    def __init__(self, rules: Sequence[Rule], key: int = 0, options: Options = OPTIONS) -> None:
        self.rules = tuple(rules)
        self.key = key
        self.options = options
        self.terms = TermTable(key=key)
        self._program = compiled(clauses_of(rules), key, transitive=options.transitive)
        for constant in self._program.constants:
            self.terms.add(constant)
        self._hides = not options.surrogates and makes_surrogates(self._program.clauses)
        self._run = Run(self._program, self.terms, options)
        self._stale = False  # rows have gone since contradictions were noted
        self._state_facts()

    def _state_facts(self) -> None:
        """What holds without a condition: derived, not explicit."""
        for clause in self._program.facts:
            nothing = np.empty((1, 0), np.int64), np.zeros(1, np.int64)
            solutions = Solutions(clause, *nothing, self.terms).completed()
            if clause.is_check:
                continue
            quads, flags, _ = solutions.quads()
            self._run.quads.add(quads, flags, explicit=False, rule=FACT)
        self._run.close()

    def add_named(self, name: str, triples: np.ndarray, terms: TermChunk) -> None:
        """Adds triples of a named graph: rules read them with GRAPH, and they are not among `triples`."""
        self.terms.add_chunk(terms)
        rows = np.zeros((triples.shape[1], 5), np.int64)
        rows[:, :3] = triples.T
        rows[:, 3] = self.terms.add_text(name_text(name))
        self._run.add(rows, explicit=True)

    def add(self, triples: np.ndarray, terms: TermChunk) -> None:
        """Adds explicit triples, ids as (3, n), and what follows."""
        self.terms.add_chunk(terms)
        rows = np.zeros((triples.shape[1], 5), np.int64)
        rows[:, :3] = triples.T
        # What variants look up first comes first, so that it is known what can follow from the rest.
        guards = np.isin(rows[:, 1], self._program.guards)
        self._run.add(np.concatenate([rows[guards], rows[~guards]]), explicit=True)

    def remove(self, triples: np.ndarray, name: str | None = None) -> None:
        """Takes explicit triples away, ids as (3, n), and what followed only from them.

        With a `name` they are of that graph.
        """
        if not triples.shape[1]:
            return
        rows = np.zeros((triples.shape[1], 5), np.int64)
        rows[:, :3] = triples.T
        if name is not None:
            rows[:, 3] = self.terms.add_text(name_text(name))
        self._maintenance.remove(rows)
        self._stale = True

    @cached_property
    def _maintenance(self) -> Maintenance:
        return Maintenance(self._run, self.key)

    def _default(self, mark: int) -> np.ndarray:
        quads = self._run.quads
        rows = quads.present()
        rows = rows[quads.rows[rows, 3] == 0]
        explicit = (quads.flags[rows] & EXPLICIT) != 0
        if not mark:
            rows, explicit = rows[~explicit], explicit[~explicit]
        if self._hides:
            rows = rows[explicit | ~with_surrogates(quads.rows[rows, :3].T, self.terms)]
        return np.ascontiguousarray(quads.rows[rows, :3].T)

    @property
    def triples(self) -> np.ndarray:
        """All of them, of the default graph, as (3, n)."""
        return self._default(EXPLICIT)

    @property
    def inferred(self) -> np.ndarray:
        """Those that nobody said."""
        return self._default(0)

    @property
    def derived(self) -> dict[str, int]:
        """How many triples each rule has added."""
        return self._run.counts(self._run.derived)

    @property
    def dropped(self) -> dict[str, int]:
        """How often each rule derived what is no triple: a literal as subject, or no IRI as predicate."""
        return self._run.counts(self._run.dropped)

    @cached_property
    def _meanings(self) -> dict[str, str]:
        return {rule.name: rule.meaning for rule in self.rules}

    def conflicts(self) -> list[Conflict]:
        """The contradictions, each once."""
        if self._stale:
            self._run.reported = []
            found = self._maintenance.contradictions()
            if len(found):
                self._run.look_at(found)
            self._stale = False
        return [conflict for _, conflict in conflicts_in(self._run, self._meanings)]


def conflicts_in(run: Run, meanings: dict[str, str]) -> list[tuple[int, Conflict]]:
    """What checks have found, with the element that it is about."""
    found: dict[tuple[int, Conflict], None] = {}
    for clause, _, columns in run.reported:
        if clause.rule not in meanings:
            continue
        for element, *ids in np.unique(columns, axis=1).T.tolist():
            terms = (
                (var.name, run.terms.term(id_)) for var, id_ in zip(clause.shown, ids, strict=True) if id_
            )
            found.setdefault((element, Conflict(clause.rule, meanings[clause.rule], tuple(terms))))
    return list(found)
