"""Static graphs as columns: what is known besides the streams, read once before a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyoxigraph import DefaultGraph

from penstock.columns.ids import HASHED
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.graphs import read_graph
from penstock.terms import NamedNode, Term


@dataclass(frozen=True, eq=False)
class StaticGraph:
    """The distinct triples of one graph; `triples` has a row each for subject, predicate, object."""

    iri: str | None
    triples: np.ndarray
    terms: TermChunk
    key: int = 0  # of the run for which the ids were made

    def __len__(self) -> int:
        return self.triples.shape[1]

    @cached_property
    def digest(self) -> str:
        """The same for the same triples, with the ids of the same key."""
        return hashlib.blake2b(np.ascontiguousarray(self.triples), digest_size=16).hexdigest()

    def predicates(self) -> frozenset[str]:
        """The IRIs that stand as predicates."""
        table = TermTable(self.terms)
        return frozenset(table.term(id_).value for id_ in np.unique(self.triples[1]).tolist())

    def keyed(self, key: int) -> StaticGraph:
        """The same graph with the ids of a run with another key."""
        if key == self.key:
            return self
        table = TermTable(key=key)
        ids = np.array([table.add_text(self.terms.text(i)) for i in range(len(self.terms))], np.int64)
        triples, hashed = self.triples.copy(), self.triples >= HASHED
        triples[hashed] = ids[np.searchsorted(self.terms.ids, self.triples[hashed])]
        return StaticGraph(self.iri, triples[:, np.lexsort(triples[::-1])], table.chunk(), key)


def graph_of(triples: Iterable[tuple[Term, Term, Term]], iri: str | None, *, key: int = 0) -> StaticGraph:
    """A static graph of some triples."""
    table = TermTable(key=key)
    rows = {tuple(map(table.add, triple)) for triple in triples}
    columns = np.array(sorted(rows), np.int64).reshape(-1, 3).T.copy()
    return StaticGraph(iri, columns, table.chunk(), key)


def read_graphs(
    path: str, iri: str | None = None, base: str | None = None, *, key: int = 0
) -> list[StaticGraph]:
    """The graphs of a file: its default graph under the given name, its named ones under theirs."""
    by_name: dict[str | None, list[tuple[Term, Term, Term]]] = {iri: []}
    for quad in read_graph(path, base=base):
        name = quad.graph_name
        called = iri if isinstance(name, DefaultGraph) else _name(name)
        by_name.setdefault(called, []).append((quad.subject, quad.predicate, quad.object))
    return [graph_of(triples, name, key=key) for name, triples in by_name.items()]


def _name(name) -> str:
    return name.value if isinstance(name, NamedNode) else f"_:{name.value}"
