"""What is registered, and which of it a query looks at.

A `Catalog` lists the streams and static graphs of a run. Decision 0001: without FROM the
default graph holds all streams and the static graphs that were given without a name, and
every stream or static graph with a name is a named graph. With FROM / FROM NAMED it is
exactly those. What CONSTRUCT rules derive belongs to the default graph of every query.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.algebra.nodes import Dataset, Graph, Query, Var
from penstock.errors import QueryError
from penstock.plan.analysis.walk import nodes
from penstock.terms import NamedNode


@dataclass(frozen=True, slots=True)
class StreamName:
    """A registered stream; `None`: it was given without a name."""

    iri: str | None = None


@dataclass(frozen=True, slots=True)
class GraphName:
    """A registered static graph; `None`: it was given without a name.

    `predicates` are the IRIs that its triples have as predicates; `None`: not known yet.
    """

    iri: str | None = None
    predicates: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ActiveGraph:
    """The streams and static graphs, by their place in the catalog, that a pattern matches.

    `derived`: what rules derive is part of it; `derived_stream`: with intervals, because
    some rule reads a stream.
    """

    streams: frozenset[int] = frozenset()
    graphs: frozenset[int] = frozenset()
    derived: bool = False
    derived_stream: bool = False

    @property
    def reads_stream(self) -> bool:
        return bool(self.streams) or self.derived_stream

    @property
    def is_empty(self) -> bool:
        return not (self.streams or self.graphs or self.derived)

    def __or__(self, other: ActiveGraph) -> ActiveGraph:
        return ActiveGraph(
            self.streams | other.streams,
            self.graphs | other.graphs,
            self.derived or other.derived,
            self.derived_stream or other.derived_stream,
        )


@dataclass(frozen=True, slots=True)
class ActiveDataset:
    """The graph that patterns match right now, and the named ones that GRAPH can turn to.

    `predicates` has those of each static graph of the catalog, as far as they are known.
    """

    default: ActiveGraph
    named: tuple[tuple[str, ActiveGraph], ...] = ()
    predicates: tuple[frozenset[str] | None, ...] = ()

    def graph(self, name: NamedNode | Var) -> ActiveGraph:
        """The graph of that name, empty if there is none; a variable: all named ones together."""
        wanted = None if isinstance(name, Var) else name.value
        found = ActiveGraph()
        for iri, graph in self.named:
            if wanted is None or iri == wanted:
                found |= graph
        return found

    def within(self, name: NamedNode | Var) -> ActiveDataset:
        """The dataset as the pattern inside `GRAPH name` sees it."""
        return replace(self, default=self.graph(name))

    def each_within(self, name: NamedNode | Var) -> tuple[ActiveDataset, ...]:
        """The datasets that the pattern inside `GRAPH name` is evaluated on, one by one."""
        if isinstance(name, Var):
            return tuple(replace(self, default=graph) for _, graph in self.named)
        return (self.within(name),)

    def static_may_have(self, predicate: NamedNode | None) -> bool:
        """Whether a static triple of the default graph may have this predicate (None: any)."""
        for place in self.default.graphs:
            known = self.predicates[place] if place < len(self.predicates) else None
            if known is None or (known if predicate is None else predicate.value in known):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Catalog:
    """The streams and static graphs that are registered, each known by its place here.

    `derives_stream`: some registered CONSTRUCT rule reads a stream.
    """

    streams: tuple[StreamName, ...] = (StreamName(),)
    graphs: tuple[GraphName, ...] = ()
    derives_stream: bool = False

    def names(self) -> tuple[str, ...]:
        """All IRIs that something is registered under, in the order of registration."""
        return tuple(dict.fromkeys(s.iri for s in self.streams + self.graphs if s.iri is not None))

    def named(self, iri: str) -> ActiveGraph:
        """What is registered under an IRI: streams, static graphs, or nothing."""
        return ActiveGraph(
            frozenset(i for i, stream in enumerate(self.streams) if stream.iri == iri),
            frozenset(i for i, graph in enumerate(self.graphs) if graph.iri == iri),
        )

    def unknown(self, dataset: Dataset | None) -> tuple[NamedNode, ...]:
        """The IRIs after FROM and FROM NAMED that nothing is registered under."""
        if dataset is None:
            return ()
        mentioned = dict.fromkeys(dataset.default + dataset.named)
        return tuple(name for name in mentioned if self.named(name.value).is_empty)

    def active(self, dataset: Dataset | None) -> ActiveDataset:
        """The dataset that a query with this dataset clause (or none) looks at."""
        predicates = tuple(graph.predicates for graph in self.graphs)
        derived = ActiveGraph(derived=True, derived_stream=self.derives_stream)
        if dataset is None:
            unnamed = frozenset(i for i, graph in enumerate(self.graphs) if graph.iri is None)
            default = derived | ActiveGraph(frozenset(range(len(self.streams))), unnamed)
            named = tuple((iri, self.named(iri)) for iri in self.names())
            return ActiveDataset(default, named, predicates)
        for name in self.unknown(dataset):
            raise unknown_source(name.value, self.names())
        default = derived
        for name in dataset.default:
            default |= self.named(name.value)
        iris = dict.fromkeys(name.value for name in dataset.named)
        return ActiveDataset(default, tuple((iri, self.named(iri)) for iri in iris), predicates)


def unknown_source(iri: str, known: Iterable[str]) -> QueryError:
    """The error for FROM with an IRI that no stream or graph has."""
    return QueryError(
        f"FROM <{iri}> names no registered stream or graph", hint=unknown_source_hint(iri, known)
    )


def unknown_source_hint(iri: str, known: Iterable[str]) -> str:
    """What to do about an IRI that nothing is registered under."""
    close = difflib.get_close_matches(iri, list(known), n=1)
    if close:
        return f"did you mean <{close[0]}>?"
    return f"register it with --stream '{iri}=SOURCE' or --graph '{iri}=FILE'"


def assumed_catalog(queries: Iterable[Query]) -> Catalog:
    """The catalog that queries suggest when nothing is registered (check and explain alone).

    One unnamed stream; each IRI after FROM, FROM NAMED or GRAPH is taken for a stream.
    """
    iris: dict[str, None] = {}
    for query in queries:
        if query.dataset is not None:
            iris.update((name.value, None) for name in query.dataset.default + query.dataset.named)
        for node in nodes(query.pattern):
            if isinstance(node, Graph) and not isinstance(node.name, Var):
                iris[node.name.value] = None
    return Catalog((StreamName(),) + tuple(StreamName(iri) for iri in iris))
