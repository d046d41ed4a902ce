"""The closure of triples under rules, in process and on columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from penstock.columns.terms import TermChunk, TermTable
from penstock.reason.classes import said
from penstock.reason.clauses import clauses_of
from penstock.reason.code import compiled
from penstock.reason.conflicts import Conflict, conflicts_in
from penstock.reason.equality import Apart, Equality, equality_in
from penstock.reason.evaluation import OPTIONS, Options, RuleEvaluation
from penstock.reason.maintenance import Maintenance
from penstock.reason.quads import EXPLICIT
from penstock.reason.surrogates import has_surrogates, makes_surrogates, with_surrogates
from penstock.reason.witnesses import witnesses_in
from penstock.rules.rule import Rule

_NO_ROWS = np.empty((0, 5), np.int64)


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
        self._clauses = clauses_of(rules)
        self._begin(equality_in(self._clauses) if options.representatives else None, options.witnesses)

    def _begin(self, equality: Equality | None, witnesses: bool = False) -> None:
        clauses = self._clauses if equality is None else equality.clauses
        self._program = compiled(clauses, self.key, transitive=self.options.transitive)
        for constant in self._program.constants:
            self.terms.add(constant)
        self._hides = not self.options.surrogates and makes_surrogates(self._program.clauses)
        self._run = RuleEvaluation(self._program, self.terms, self.options, equality=equality)
        if witnesses and self._hides and equality is None:
            self._run.witnesses = witnesses_in(self._clauses, self.key)
        self.__dict__.pop("_maintenance", None)
        self._stale = False  # rows have gone since contradictions were noted
        try:
            self._run.state_facts()
        except Apart:
            self._begin(None)

    def _add(self, rows: np.ndarray) -> None:
        """Adds explicit rows; by the texts as they are, if equality cannot be kept by representatives."""
        try:
            self._run.add(rows, explicit=True)
        except Apart:
            self._close_anew()
        else:
            witnesses = self._run.witnesses
            if witnesses is not None and not witnesses.suffice(self._run.quads):
                self._close_anew()

    def _close_anew(self) -> None:
        """Closes what is explicit by the texts as they are."""
        rows = self._explicit()
        self._begin(None)
        self._run.add(rows, explicit=True)

    def _explicit(self) -> np.ndarray:
        quads = self._run.quads
        return quads.rows[: quads.count][quads.flags[: quads.count] & EXPLICIT != 0]

    def _closed_again(self, without: np.ndarray = _NO_ROWS) -> None:
        """Of what was the same, something may not be any more: what remains is closed anew."""
        rows = np.unique(self._explicit(), axis=0)
        gone = np.unique(without, axis=0)
        both, counts = np.unique(np.concatenate([rows, gone, gone]), axis=0, return_counts=True)
        self._begin(equality_in(self._clauses))
        self._add(both[counts == 1])

    @property
    def has_equals(self) -> bool:
        """Whether different terms are known to be the same, and kept by representatives."""
        return self._run.classes.size > 0

    def add_named(self, name: str, triples: np.ndarray, terms: TermChunk) -> None:
        """Adds triples of a named graph: rules read them with GRAPH, and they are not among `triples`."""
        self._take(terms)
        rows = np.zeros((triples.shape[1], 5), np.int64)
        rows[:, :3] = triples.T
        rows[:, 3] = self.terms.add_text(name_text(name))
        self._add(rows)

    def _take(self, terms: TermChunk) -> None:
        """The texts of triples that are to be added: if there are surrogates among these, all are needed."""
        self.terms.add_chunk(terms)
        if self._run.witnesses is not None and has_surrogates(terms):
            self._close_anew()

    def add(self, triples: np.ndarray, terms: TermChunk) -> None:
        """Adds explicit triples, ids as (3, n), and what follows."""
        self._take(terms)
        rows = np.zeros((triples.shape[1], 5), np.int64)
        rows[:, :3] = triples.T
        # What variants look up first comes first, so that it is known what can follow from the rest.
        leading = self._program.is_leading(rows)
        self._add(np.concatenate([rows[leading], rows[~leading]]))

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
        if self._run.classes:
            self._closed_again(without=rows)
        else:
            if self._run.witnesses is not None:  # one that goes would have to be replaced
                self._close_anew()
            self._maintenance.remove(rows)
            self._stale = True

    @cached_property
    def _maintenance(self) -> Maintenance:
        return Maintenance(self._run, self.key)

    def _default(self, mark: int) -> np.ndarray:
        quads = self._run.quads
        rows = quads.present()
        rows = rows[quads.rows[rows, 3] == 0]
        if self._run.classes:
            return self._expanded(quads.rows[rows, :3].T, mark)
        explicit = (quads.flags[rows] & EXPLICIT) != 0
        if not mark:
            rows, explicit = rows[~explicit], explicit[~explicit]
        if self._hides:
            derived = rows[~explicit]
            explicit[~explicit] = ~with_surrogates(quads.rows[derived, :3].T, self.terms)
            rows = rows[explicit]
        return np.ascontiguousarray(quads.rows[rows, :3].T)

    def _expanded(self, triples: np.ndarray, mark: int) -> np.ndarray:
        """What triples by representatives stand for."""
        quads = self._run.quads
        found = self._run.classes.expanded(np.ascontiguousarray(triples))
        explicit = said(quads.rows, quads.flags, quads.slots, found)
        if not mark:
            found, explicit = found[:, ~explicit], explicit[~explicit]
        if self._hides:
            found = found[:, explicit | ~with_surrogates(found, self.terms)]
        return found

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
        if self._stale and self._run.classes:
            self._closed_again()
        if self._stale:
            self._run.reported = []
            found = self._maintenance.contradictions()
            if len(found):
                self._run.look_at(found)
            self._stale = False
        return [conflict for _, conflict in conflicts_in(self._run, self._meanings)]
