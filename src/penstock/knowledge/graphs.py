"""Static graphs as columns: what is known besides the streams, read once before a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from pyoxigraph import DefaultGraph, Quad

from penstock.columns.terms import TermChunk, TermTable
from penstock.terms import NamedNode


@dataclass(frozen=True, eq=False)
class StaticGraph:
    """The distinct triples of one graph; `triples` has a row each for subject, predicate, object."""

    iri: str | None
    triples: np.ndarray
    terms: TermChunk

    def __len__(self) -> int:
        return self.triples.shape[1]


def graph_of(quads: Iterable[Quad], iri: str | None) -> StaticGraph:
    """A static graph with the triples of some quads."""
    table = TermTable()
    rows = {(table.add(q.subject), table.add(q.predicate), table.add(q.object)) for q in quads}
    triples = np.array(sorted(rows), np.int64).reshape(-1, 3).T.copy()
    return StaticGraph(iri, triples, table.chunk())


def read_graphs(path: str, iri: str | None = None) -> list[StaticGraph]:
    """The graphs of a file: its default graph under the given name, its named ones under theirs."""
    by_name: dict[str | None, list[Quad]] = {iri: []}
    from penstock.decode.graphs import read_graph
    for quad in read_graph(path):
        name = quad.graph_name
        key = iri if isinstance(name, DefaultGraph) else _name(name)
        by_name.setdefault(key, []).append(quad)
    return [graph_of(quads, name) for name, quads in by_name.items() if quads or name == iri]


def _name(name) -> str:
    return name.value if isinstance(name, NamedNode) else f"_:{name.value}"
