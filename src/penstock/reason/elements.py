"""Stream elements closed against static knowledge that is closed already: the reason stage.

All elements of a piece lie in one table, and never meet in it. What follows from an element has its
interval and its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.columns.ids import hash_text
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.occurrences import Occurrences, merge_terms
from penstock.knowledge.graphs import Knowledge
from penstock.reason.clauses import clauses_of
from penstock.reason.closing import OPTIONS, Conflict, Options, Run, conflicts_in, name_text
from penstock.reason.code import compiled
from penstock.reason.quads import Quads
from penstock.reason.surrogates import makes_surrogates, with_surrogates
from penstock.rules.rule import Rule


class ElementReasoner:
    """Closes each element, with static knowledge (named graphs too) below."""

    def __init__(self, rules: Sequence[Rule], knowledge: Knowledge, options: Options = OPTIONS) -> None:
        self.options = options
        self.conflicts: list[tuple[int, Conflict]] = []
        self.dropped: dict[str, int] = {}
        self._terms = knowledge.terms
        self._program = compiled(clauses_of(rules), knowledge.terms.key, transitive=options.transitive)
        self._meanings = {rule.name: rule.meaning for rule in rules}
        self._below = self._table(knowledge)
        self._hides = not options.surrogates and makes_surrogates(self._program.clauses)

    def _table(self, knowledge: Knowledge) -> tuple[np.ndarray, ...] | None:
        rows = []
        for name, triples in zip(knowledge.names, knowledge.triples, strict=True):
            part = np.zeros((triples.shape[1], 5), np.int64)
            part[:, :3] = triples.T
            part[:, 3] = 0 if name is None else hash_text(name_text(name), self._terms.key)
            rows.append(part)
        rows = np.concatenate(rows) if rows else np.empty((0, 5), np.int64)
        if not len(rows):
            return None
        terms = TermTable(key=self._terms.key, below=self._terms)
        for constant in self._program.constants:
            terms.add(constant)
        run = Run(self._program, terms, self.options, capacity=len(rows))
        run.add(rows, explicit=False)  # closed already, but for the workings of rules
        return run.linked()

    def wanted(self, predicates: np.ndarray | None) -> np.ndarray | None:
        return None

    def close(self, occurrences: Occurrences) -> Occurrences:
        triples = np.stack([occurrences.subject, occurrences.predicate, occurrences.object])
        there = np.flatnonzero(triples[0] != 0)  # an element without triples is a row of zeros
        rows = np.zeros((len(there), 5), np.int64)
        rows[:, :3] = triples[:, there].T
        rows[:, 4] = occurrences.element[there]
        terms = TermTable(occurrences.terms, key=self._terms.key, below=self._terms)
        run = Run(self._program, terms, self.options, self._below, 2 * len(rows) + 64)
        run.add(rows, explicit=True)
        self.conflicts = conflicts_in(run, self._meanings)
        self.dropped = run.counts(run.dropped)
        return self._with(occurrences, run, terms)

    def _with(self, occurrences: Occurrences, run: Run, terms: TermTable) -> Occurrences:
        """The occurrences, and behind them what was derived for the default graph."""
        quads: Quads = run.quads
        new = np.flatnonzero((quads.by[: quads.count] >= 0) & (quads.rows[: quads.count, 3] == 0))
        if self._hides:
            new = new[~with_surrogates(quads.rows[new, :3].T, terms)]
        if not len(new):
            return occurrences
        subject, predicate, object_, _, element = quads.rows[new].T
        elements, first = np.unique(occurrences.element, return_index=True)
        of = first[np.searchsorted(elements, element)]
        columns = zip(
            occurrences.columns,
            (subject, predicate, object_, occurrences.start[of], occurrences.end[of]),
            strict=True,
        )
        graph = occurrences.graph
        return replace(
            occurrences,
            **dict(
                zip(
                    ("subject", "predicate", "object", "start", "end"),
                    (np.concatenate(pair) for pair in columns),
                    strict=True,
                )
            ),
            element=np.concatenate([occurrences.element, element]),
            graph=np.concatenate([graph, graph[of]]) if len(graph) else graph,
            terms=merge_terms([occurrences.terms, self._texts(occurrences, quads.rows[new, :3], terms)]),
        )

    def _texts(self, occurrences: Occurrences, triples: np.ndarray, terms: TermTable) -> TermChunk:
        """The texts of derived triples that the occurrences do not have."""
        ids = np.unique(triples)
        ids = ids[~np.isin(ids, occurrences.terms.ids)]
        for constant in self._program.constants:
            terms.add(constant)
        return terms.subset(ids)
