"""Static graphs as columns: what is known besides the streams, read once before a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyoxigraph import Quad

from penstock.columns.hashing import distinct_rows
from penstock.columns.ids import HASHED, hash_texts
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.graphs import columns_of, read_frame, read_graph
from penstock.decode.mapping.document import TableMap
from penstock.decode.triples import Triples
from penstock.terms import NamedNode, Term


@dataclass(frozen=True, eq=False)
class StaticGraph:
    """The distinct triples of one graph; `triples` has a row each for subject, predicate, object.

    They stand as they were read: what belongs together stands together in most files.
    """

    iri: str | None
    triples: np.ndarray
    terms: TermChunk
    key: int = 0  # of the run for which the ids were made

    @classmethod
    def of(cls, iri: str | None, triples: np.ndarray, terms: TermTable) -> StaticGraph:
        """A graph of some triples; `terms` may know others, too."""
        return cls(iri, distinct_rows(triples), terms.subset(triples.reshape(-1)), terms.key)

    def __len__(self) -> int:
        return self.triples.shape[1]

    @cached_property
    def digest(self) -> str:
        """The same for the same triples, with the ids of the same key."""
        ordered = self.triples[:, np.lexsort(self.triples[::-1])]
        return hashlib.blake2b(np.ascontiguousarray(ordered), digest_size=16).hexdigest()

    def predicates(self) -> frozenset[str]:
        """The IRIs that stand as predicates."""
        table = TermTable(self.terms.subset(self.triples[1]))
        return frozenset(table.term(id_).value for id_ in np.unique(self.triples[1]).tolist())

    def keyed(self, key: int) -> StaticGraph:
        """The same graph with the ids of a run with another key."""
        if key == self.key:
            return self
        ids = hash_texts(self.terms.offsets, self.terms.data, key)
        terms = TermTable(TermChunk(ids, self.terms.offsets, self.terms.data), key=key).chunk()
        triples, hashed = self.triples.copy(), self.triples >= HASHED
        triples[hashed] = ids[np.searchsorted(self.terms.ids, self.triples[hashed])]
        return StaticGraph(self.iri, distinct_rows(triples), terms, key)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All static graphs as a process has them at hand: names, columns of ids, and one table of terms."""

    names: tuple[str | None, ...]
    triples: tuple[np.ndarray, ...]
    terms: TermTable
    found: Mapping[str, np.ndarray] = field(default_factory=dict)  # out about them, by a reasoner before

    @classmethod
    def of(cls, graphs: Sequence[StaticGraph], key: int) -> Knowledge:
        terms = TermTable(key=key)
        for graph in graphs:
            terms.add_chunk(graph.terms)
        return cls(tuple(graph.iri for graph in graphs), tuple(graph.triples for graph in graphs), terms)

    def graphs(self) -> list[StaticGraph]:
        """The graphs by themselves."""
        return [
            StaticGraph(name, triples, self.terms.subset(triples.reshape(-1)), self.terms.key)
            for name, triples in zip(self.names, self.triples, strict=True)
        ]


def triples_without(graphs: Sequence[StaticGraph], others: Sequence[StaticGraph]) -> np.ndarray:
    """The triples of some graphs that others do not have, as (3, n), each once."""
    parts = [graph.triples for graph in (*graphs, *others)]
    every = np.concatenate([np.empty((3, 0), np.int64), *parts], axis=1)
    sizes = [part.shape[1] for part in parts]
    own = np.repeat(np.arange(len(parts)) < len(graphs), sizes)
    order = np.lexsort((own, *every[::-1]))  # of equal ones, those of the others come first
    every, own = every[:, order], own[order]
    first = np.ones(every.shape[1], bool)
    first[1:] = (every[:, 1:] != every[:, :-1]).any(axis=0)
    return every[:, first & own]


def graph_of(triples: Iterable[tuple[Term, Term, Term]], iri: str | None, *, key: int = 0) -> StaticGraph:
    """A static graph of some triples."""
    quads = (Quad(*triple) for triple in triples)
    [graph] = _graphs(columns_of(quads, str, key), iri, key)
    return graph


def graph_of_frame(
    frame: pa.Table, map: TableMap, iri: str | None, *, name: str, key: int = 0
) -> StaticGraph:
    """A static graph of a table in memory."""
    [graph] = _graphs(read_frame(frame, map, name=name, key=key), iri, key)
    return graph


def read_graphs(
    path: str,
    iri: str | None = None,
    base: str | None = None,
    *,
    key: int = 0,
    map: TableMap | None = None,
) -> list[StaticGraph]:
    """The graphs of a file: its default graph under the given name, its named ones under theirs."""
    return _graphs(read_graph(path, base=base, key=key, map=map), iri, key)


def _graphs(portions: Iterable[Triples], iri: str | None, key: int) -> list[StaticGraph]:
    """The graphs of portions of quads, the default graph first."""
    table = TermTable(key=key)
    columns = [np.empty((4, 0), np.int64)]
    for portion in portions:
        table.add_chunk(portion.terms)
        columns.append(portion.columns)
    quads = np.concatenate(columns, axis=1)
    if not quads[3].any():
        return [StaticGraph(iri, distinct_rows(quads[:3]), table.chunk(), key)]
    names, first = np.unique(quads[3], return_index=True)
    named = [int(name) for name in names[np.argsort(first)] if name]
    parts: dict[str | None, list[np.ndarray]] = {iri: [quads[:3, quads[3] == 0]]}
    for name in named:  # one of them may have the name that was given to the default graph
        parts.setdefault(_name(table.term(name)), []).append(quads[:3, quads[3] == name])
    graphs = []
    for name, some in parts.items():
        graphs.append(StaticGraph.of(name, np.concatenate(some, axis=1), table))
    return graphs


def _name(name: Term) -> str:
    return name.value if isinstance(name, NamedNode) else f"_:{name.value}"
