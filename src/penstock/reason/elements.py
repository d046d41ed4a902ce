"""Stream elements closed against static knowledge that is closed already: the reason stage.

All elements of a piece lie in one table, and never meet in it. What follows from an element has its
interval and its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from penstock.columns import hashing
from penstock.columns.ids import HASHED
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge
from penstock.reason.above import Above
from penstock.reason.clauses import clauses_of
from penstock.reason.closing import name_text
from penstock.reason.code import Compiled, compiled
from penstock.reason.conflicts import Conflict, conflicts_in
from penstock.reason.evaluation import OPTIONS, Options, RuleEvaluation
from penstock.reason.quads import Quads
from penstock.reason.selecting import GUARD, Selection, Wanted, selected, selection_found
from penstock.reason.surrogates import makes_surrogates, with_surrogates
from penstock.reason.vocabulary import VocabularyClauses
from penstock.rules.rule import Rule

LEAST_TRIED = 100
"""Elements, after half of which have brought ontologies all are closed with all rules at once."""


class ElementReasoner:
    """Closes each element, with static knowledge (named graphs too) below."""

    def __init__(
        self,
        rules: Sequence[Rule],
        knowledge: Knowledge,
        options: Options = OPTIONS,
        wanted: Wanted | None = None,
    ) -> None:
        self.options = options
        self.conflicts: list[tuple[int, Conflict]] = []
        self.dropped: dict[str, int] = {}
        self._terms = knowledge.terms  # gets the texts that rules make or name
        self._names = [
            0 if name is None else self._terms.add_text(name_text(name)) for name in knowledge.names
        ]
        self._meanings = {rule.name: rule.meaning for rule in rules}
        clauses, key = clauses_of(rules), knowledge.terms.key
        program = compiled(clauses, key, transitive=options.transitive)
        self._hides = not options.surrogates and makes_surrogates(program.clauses)
        self.selection: Selection | None = None
        if knowledge.found:
            static = _as_found(RuleEvaluation(program, self._terms, options), knowledge.found)
            if wanted is not None:
                self.selection = selection_found(clauses, key, knowledge.found)
        else:
            static = self._closed(program, self._rows(knowledge))
            if wanted is not None:
                self.selection = selected(clauses, static, wanted)
                relations = self.selection.relations
                static.quads.add(relations, np.zeros(len(relations), np.uint8), explicit=False)
        self._all = Above(program, static)
        self._selected: Above | None = None
        self._vocabulary: VocabularyClauses | None = None
        if self.selection is not None:
            chosen = compiled(self.selection.clauses, key, transitive=options.transitive)
            self._selected = Above(chosen, static)
            if self.selection.vocabulary:
                self._vocabulary = VocabularyClauses(self.selection.vocabulary, static)
        self._tried = self._redone = 0  # elements, and of these such that brought ontologies

    @property
    def found(self) -> dict[str, np.ndarray]:
        """What was found out about static knowledge: another process can do without (`Knowledge.found`)."""
        static = self._all.static
        found = static.quads.arrays()
        for number, (clause, _, columns) in enumerate(static.reported):
            found[f"reported/{number}/{static.program.clauses.index(clause)}"] = columns
        return found | ({} if self.selection is None else self.selection.arrays())

    def _rows(self, knowledge: Knowledge) -> np.ndarray:
        """Static knowledge as rows."""
        rows = [np.empty((0, 5), np.int64)]
        for name, triples in zip(self._names, knowledge.triples, strict=True):
            part = np.zeros((triples.shape[1], 5), np.int64)
            part[:, :3] = triples.T
            part[:, 3] = name
            rows.append(part)
        return np.concatenate(rows)

    def _closed(self, program: Compiled, rows: np.ndarray) -> RuleEvaluation:
        """Static knowledge under a program: closed already, but for the internal graphs of rules."""
        for constant in program.constants:
            self._terms.add(constant)
        evaluation = RuleEvaluation(program, self._terms, self.options, capacity=len(rows))
        evaluation.state_facts()
        evaluation.add(rows, explicit=False)
        return evaluation

    @cached_property
    def _known(self) -> frozenset[Conflict]:
        """The contradictions in static knowledge alone: an element that says it again adds none."""
        found = conflicts_in(self._all.static, self._meanings)
        return frozenset(conflict for _, conflict in found)

    def wanted(self, predicates: np.ndarray | None) -> np.ndarray | None:
        return None

    def close(self, occurrences: Occurrences) -> Occurrences:
        there = occurrences.subject != 0  # an element without triples is a row of zeros
        rows = np.zeros((len(occurrences), 5), np.int64)
        for place, column in enumerate(occurrences.columns[:3]):
            rows[:, place] = column
        first, number = hashing.numbered(occurrences.element)
        rows[:, 4] = first[number] + 1  # 0 is static knowledge
        terms = TermTable(occurrences.terms, key=self._terms.key, below=self._terms)
        self.conflicts, self.dropped = [], {}
        new = self._derived(rows if there.all() else rows[there], terms)
        number = occurrences.element
        self.conflicts = [(int(number[own - 1]), conflict) for own, conflict in self.conflicts]
        return self._with(occurrences, new, terms) if len(new) else occurrences

    def _derived(self, rows: np.ndarray, terms: TermTable) -> np.ndarray:
        """What follows from rows of elements, for the default graph."""
        if self._selected is None or 2 * self._redone > max(self._tried, LEAST_TRIED):
            return self._new(self._all.evaluate(rows, terms, self.options))
        chosen = rows
        if self.selection.predicates is not None:
            chosen = rows[hashing.among(rows[:, 1], self.selection.predicates)]
        evaluation = self._selected.evaluate(chosen, terms, self.options)
        again = evaluation.elements_with(GUARD)
        if self._vocabulary is not None:
            more = evaluation.quads.rows[: evaluation.quads.count][
                evaluation.quads.by[: evaluation.quads.count] >= 0
            ]
            used = np.concatenate([rows, more[more[:, 3] == 0]])
            again = np.union1d(again, self._vocabulary.new(used, terms))
        self._tried += int(np.count_nonzero(np.bincount(rows[:, 4])))
        self._redone += len(again)
        new = self._new(evaluation, again)
        if len(again):
            others = self._all.evaluate(rows[np.isin(rows[:, 4], again)], terms, self.options)
            new = np.concatenate([new, self._new(others)])
        return new

    def _new(self, evaluation: RuleEvaluation, without: Sequence[int] = ()) -> np.ndarray:
        """What an evaluation has derived; what it found out is noted. Some elements are left out."""
        left = set(without)
        found = conflicts_in(evaluation, self._meanings)
        self.conflicts += [
            (element, conflict)
            for element, conflict in found
            if element not in left and conflict not in self._known
        ]
        for rule, count in evaluation.counts(evaluation.dropped).items():
            self.dropped[rule] = self.dropped.get(rule, 0) + count
        quads: Quads = evaluation.quads
        new = np.flatnonzero((quads.by[: quads.count] >= 0) & (quads.rows[: quads.count, 3] == 0))
        rows = quads.rows[new]
        if self._hides:
            rows = rows[~with_surrogates(rows[:, :3].T, evaluation.terms)]
        return rows[~np.isin(rows[:, 4], without)] if len(without) else rows

    def _with(self, occurrences: Occurrences, new: np.ndarray, terms: TermTable) -> Occurrences:
        """The occurrences, and behind them what was derived."""
        subject, predicate, object_, _, element = new.T
        of = element - 1  # a row of the same element
        derived = Occurrences(
            subject,
            predicate,
            object_,
            occurrences.start[of],
            occurrences.end[of],
            graph=occurrences.graph[of] if len(occurrences.graph) else occurrences.graph,
            element=occurrences.element[of],
        )
        columns = ("subject", "predicate", "object", "start", "end", "graph", "element")
        both = {
            name: np.concatenate([getattr(occurrences, name), getattr(derived, name)]) for name in columns
        }
        return replace(
            occurrences,
            **both,
            terms=self._texts(occurrences.terms, new[:, :3], terms),
            derived=np.arange(len(both["subject"])) >= len(occurrences),
        )

    def _texts(self, known: TermChunk, triples: np.ndarray, terms: TermTable) -> TermChunk:
        """Texts that are known, and behind them those of derived triples that are not among them."""
        ids = hashing.distinct(triples[triples >= HASHED])
        more = terms.subset(ids[~hashing.among(ids, known.ids)])
        if not len(more):
            return known
        return TermChunk(
            np.concatenate([known.ids, more.ids]),
            np.concatenate([known.offsets, known.offsets[-1] + more.offsets[1:]]),
            np.concatenate([known.data, more.data]),
        )


def _as_found(evaluation: RuleEvaluation, found: Mapping[str, np.ndarray]) -> RuleEvaluation:
    """An evaluation over static knowledge, with what another process has found."""
    evaluation.quads = Quads.from_arrays(evaluation.program.code.masks, found)
    for name in found:
        if name.startswith("reported/"):
            clause = evaluation.program.clauses[int(name.rpartition("/")[2])]
            evaluation.reported.append((clause, found[name][0], found[name]))
    return evaluation
