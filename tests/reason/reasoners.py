"""Reasoners that change something, for tests; a module of its own, so that workers can import them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences, merge_terms
from penstock.knowledge.graphs import Knowledge
from penstock.terms import NamedNode


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


class Rooms:
    """A pump that reads something keeps the room busy that it is in; elements with a test are dropped.

    It asks for two predicates: one that queries may not read, and one that they never do.
    """

    conflicts: list = []
    dropped: dict = {}
    found: dict = {}

    def __init__(self, knowledge: Knowledge) -> None:
        self.key = knowledge.terms.key
        self.reads, self.test, within = (id_of(ex(name), self.key) for name in ("reads", "test", "in"))
        pumps, predicates, rooms = np.concatenate(knowledge.triples, axis=1)
        self.rooms = dict(zip(pumps[predicates == within].tolist(), rooms[predicates == within], strict=True))
        self.terms = knowledge.terms

    def wanted(self, predicates: np.ndarray | None) -> np.ndarray | None:
        return None if predicates is None else np.union1d(predicates, [self.reads, self.test])

    def close(self, occurrences: Occurrences) -> Occurrences:
        tests = occurrences.element[occurrences.predicate == self.test]
        kept = ~np.isin(occurrences.element, tests)
        derives = kept & (occurrences.predicate == self.reads)
        derives &= np.isin(occurrences.subject, list(self.rooms))
        rows = np.flatnonzero(derives)
        new = TermTable(key=self.key)
        busy = np.full(len(rows), new.add(ex("busy")), np.int64)
        rooms = np.array([self.rooms[pump] for pump in occurrences.subject[rows].tolist()], np.int64)
        parts = [
            (occurrences.subject, rooms),
            (occurrences.predicate, busy),
            (occurrences.object, occurrences.subject[rows]),
            (occurrences.start, occurrences.start[rows]),
            (occurrences.end, occurrences.end[rows]),
        ]
        columns = [np.concatenate([column[kept], more]) for column, more in parts]
        return replace(
            occurrences,
            **dict(zip(("subject", "predicate", "object", "start", "end"), columns, strict=True)),
            element=np.concatenate([occurrences.element[kept], occurrences.element[rows]]),
            terms=merge_terms([occurrences.terms, new.chunk(), self.terms.subset(rooms)]),
            instants=np.empty(0, np.int64),  # not a reasoner's to say
            elements=0,
        )
