"""What is registered, and which of it a query looks at.

A `Catalog` lists the streams and static graphs of a run. Decision 0001: without FROM the
default graph holds all streams and the static graphs that were given without a name, and
every stream or static graph with a name is a named graph. With FROM / FROM NAMED it is
exactly those. What rules write belongs to the default graph of every query, unless they write
into a graph with a name: that is a named graph like any other.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.algebra.nodes import Construct, Dataset, Query, Var, is_rule
from penstock.algebra.scopes import ELEMENT
from penstock.algebra.windows import Continuous, View, Window
from penstock.errors import QueryError
from penstock.plan.analysis.walk import nodes
from penstock.plan.sources import RuleGraph, Source, Sources, Static, Stream, WindowSource, static_graphs
from penstock.terms import NamedNode


@dataclass(frozen=True, slots=True)
class StreamName:
    """A registered stream; `None`: it was given without a name.

    `repeats`: whether two of its elements may state the same triple; `None`: nobody knows.
    """

    iri: str | None = None
    repeats: bool | None = None


@dataclass(frozen=True, slots=True)
class GraphName:
    """A registered static graph; `None`: it was given without a name.

    `predicates` are the IRIs that its triples have as predicates; `None`: not known yet.
    """

    iri: str | None = None
    predicates: frozenset[str] | None = None


@dataclass(frozen=True)
class ActiveDataset:
    """What patterns read right now, and the named graphs that GRAPH can turn to.

    `predicates` has those of each static graph of the catalog, as far as they are known.
    """

    default: Sources
    named: tuple[tuple[str, Sources], ...] = ()
    predicates: tuple[frozenset[str] | None, ...] = ()
    internal_graphs: frozenset[str] = frozenset()

    @cached_property
    def _hash(self) -> int:
        return hash((self.default, self.named, self.predicates, self.internal_graphs))

    def __hash__(self) -> int:  # once: all that is found out about nodes is kept by it
        return self._hash

    @cached_property
    def by_name(self) -> dict[str, Sources]:
        return dict(self.named)

    @cached_property
    def offered(self) -> tuple[tuple[str, Sources], ...]:
        """The named graphs that a variable stands for: internal_graphs are read by their names alone."""
        return tuple((iri, sources) for iri, sources in self.named if iri not in self.internal_graphs)

    def graph(self, name: NamedNode | Var) -> Sources:
        """The graph of that name, empty if there is none; a variable: all named ones together."""
        if isinstance(name, Var):
            return frozenset().union(*(sources for _, sources in self.offered))
        return self.by_name.get(name.value, frozenset())

    def within(self, name: NamedNode | Var) -> ActiveDataset:
        """The dataset as the pattern inside `GRAPH name` sees it."""
        return replace(self, default=self.graph(name))

    def each_within(self, name: NamedNode | Var) -> tuple[ActiveDataset, ...]:
        """The datasets that the pattern inside `GRAPH name` is evaluated on, one by one."""
        if isinstance(name, Var):
            return tuple(replace(self, default=graph) for _, graph in self.offered)
        return (self.within(name),)

    def without_rules(self) -> ActiveDataset:
        """The same without what rules write."""
        named = tuple((iri, _unwritten(sources)) for iri, sources in self.named)
        return replace(self, default=_unwritten(self.default), named=named)

    def static_may_have(self, predicate: NamedNode | None) -> bool:
        """Whether a static triple of the default graph may have this predicate (None: any)."""
        for place in static_graphs(self.default):
            known = self.predicates[place] if place < len(self.predicates) else None
            if known is None or (known if predicate is None else predicate.value in known):
                return True
        return False


def _unwritten(sources: Sources) -> Sources:
    return frozenset(source for source in sources if not isinstance(source, RuleGraph))


@dataclass(frozen=True)
class Catalog:
    """The streams and static graphs that are registered, each known by its place here.

    `rules` are the graphs that rules write; the default one is always there.
    """

    streams: tuple[StreamName, ...] = (StreamName(),)
    graphs: tuple[GraphName, ...] = ()
    rules: tuple[RuleGraph, ...] = (RuleGraph(),)
    internal_graphs: frozenset[str] = frozenset()  # those of them that only rules read
    changing: bool = False  # the static graphs may have triples with other predicates later
    derives: bool = False  # elements are closed under rules

    @cached_property
    def _by_name(self) -> dict[str | None, Sources]:
        """What has a name, by it; what has none is under None."""
        found: dict[str | None, set[Source]] = {None: set()}
        for place, stream in enumerate(self.streams):
            found.setdefault(stream.iri, set()).add(Stream(place))
        for place, graph in enumerate(self.graphs):
            found.setdefault(graph.iri, set()).add(Static(place))
        for graph in self.rules:
            found.setdefault(graph.iri, set()).add(graph)
        return {iri: frozenset(sources) for iri, sources in found.items()}

    def names(self) -> tuple[str, ...]:
        """All IRIs that something is registered under, in the order of registration."""
        return tuple(iri for iri in self._by_name if iri is not None)

    def named(self, iri: str) -> Sources:
        """What is registered under an IRI, or written by rules: maybe nothing."""
        return self._by_name.get(iri, frozenset())

    def with_targets(self, queries: Iterable[Query]) -> Catalog:
        """The catalog that has a graph for each target of the rules among the queries."""
        queries = list(queries)
        targets = (query.target for query in queries if is_rule(query))
        iris = dict.fromkeys((None, *(target.value for target in targets if target is not None)))
        internal_graphs = frozenset(
            query.target.value for query in queries if isinstance(query, Construct) and query.internal
        )
        return replace(self, rules=tuple(map(RuleGraph, iris)), internal_graphs=internal_graphs)

    def unknown(self, dataset: Dataset | None) -> tuple[NamedNode, ...]:
        """The IRIs after FROM and FROM NAMED that nothing is registered under."""
        if dataset is None:
            return ()
        mentioned = dict.fromkeys(dataset.default + dataset.named)
        return tuple(name for name in mentioned if not self.named(name.value))

    def active(self, dataset: Dataset | None) -> ActiveDataset:
        """The dataset that a query with this dataset clause (or none) looks at."""
        if dataset is None:
            return self._whole
        for name in self.unknown(dataset):
            raise unknown_source(name.value, self.names())
        written = frozenset(graph for graph in self.rules if graph.iri is None)
        default = written.union(*(self.named(name.value) for name in dataset.default))
        iris = dict.fromkeys(name.value for name in dataset.named)
        return ActiveDataset(
            default, tuple((iri, self.named(iri)) for iri in iris), self._predicates, self.internal_graphs
        )

    def in_elements(self, dataset: Dataset | None) -> ActiveDataset:
        """The same for a query that looks at one element at a time.

        What rules write belongs to no element. The steps of such queries depend on what static graphs
        have, unless that may change.
        """
        active = self.active(dataset).without_rules()
        return replace(active, predicates=()) if self.changing else active

    def dataset_of(self, query: Query) -> ActiveDataset:
        """The dataset that a query looks at."""
        if query.continuous is not None:
            return self.over_windows(query.dataset, query.continuous)
        return self.in_elements(query.dataset) if query.scope == ELEMENT else self.active(query.dataset)

    def over_windows(self, dataset: Dataset | None, continuous: Continuous) -> ActiveDataset:
        """The same for a continuous query: its windows beside static graphs, and no streams (decision 0013).

        A window without a name is part of the default graph; one with a name is a graph that no
        variable stands for.
        """
        for name in self.unknown(dataset):
            raise unknown_source(name.value, self.names())
        if dataset is None:
            default, names = _static(self._by_name[None]), self.names()
        else:
            default = _static(frozenset().union(*(self.named(name.value) for name in dataset.default)))
            names = tuple(dict.fromkeys(name.value for name in dataset.named))
        named = {iri: found for iri in names if (found := _static(self.named(iri)))}
        seen: dict[str | None, Sources] = {}
        for window in continuous.windows:
            own = self.shown_by(window, timeless=continuous.view is View.GRAPH)
            name = window.name.value if window.name else None
            seen[name] = seen.get(name, frozenset()) | {own}
        default |= seen.pop(None, frozenset())
        named |= seen
        hidden = self.internal_graphs | frozenset(seen)
        return ActiveDataset(default, tuple(named.items()), self._predicates, hidden)

    def shown_by(self, window: Window, *, timeless: bool) -> WindowSource:
        """What a window shows of the streams that are registered under its stream's name, or that queries
        give under it."""
        streams = self.streams_called(window.stream.value)
        if not streams:
            raise self.unknown_stream(window.stream.value)
        return WindowSource(streams, window.spec, timeless, self.derives)

    def streams_called(self, iri: str) -> Sources:
        """The streams of that name: registered ones, and what queries give."""
        return frozenset(each for each in self.named(iri) if isinstance(each, (Stream, RuleGraph)))

    def unknown_stream(self, iri: str) -> QueryError:
        """The error for a window over a stream that there is not."""
        own = (*(each.iri for each in self.streams), *(each.iri for each in self.rules))
        known = [each for each in own if each is not None]
        return QueryError(
            f"the window's stream <{iri}> is not registered, and no query gives it",
            hint=unknown_source_hint(iri, known),
        )

    @cached_property
    def _whole(self) -> ActiveDataset:
        default = self._by_name[None].union(map(Stream, range(len(self.streams))))
        named = tuple((iri, self.named(iri)) for iri in self.names())
        return ActiveDataset(default, named, self._predicates, self.internal_graphs)

    @property
    def _predicates(self) -> tuple[frozenset[str] | None, ...]:
        return tuple(graph.predicates for graph in self.graphs)


def _static(sources: Sources) -> Sources:
    """The static graphs among them."""
    return frozenset(source for source in sources if isinstance(source, Static))


def unknown_source(iri: str, known: Iterable[str]) -> QueryError:
    """The error for FROM with an IRI that no stream or graph has."""
    return QueryError(
        f"FROM <{iri}> names no registered stream or graph", hint=unknown_source_hint(iri, known)
    )


def unknown_source_hint(iri: str, known: Iterable[str]) -> str:
    """What to do about an IRI that nothing is registered under."""
    close = difflib.get_close_matches(iri, [each for each in known if _named_alike(iri, each)], n=1)
    if close:
        return f"did you mean <{close[0]}>?"
    return f"register it with --stream '{iri}=SOURCE' or --graph '{iri}=FILE'"


def _named_alike(iri: str, other: str) -> bool:
    """Whether the ends of two IRIs are alike; that they are of one directory says nothing."""
    common = os.path.commonprefix((iri, other))
    own = max(common.rfind("/"), common.rfind("#")) + 1
    return bool(difflib.get_close_matches(iri[own:], [other[own:]]))


def assumed_catalog(queries: Sequence[Query]) -> Catalog:
    """The catalog that queries suggest when nothing is registered (check and explain alone).

    One unnamed stream; each IRI after FROM, FROM NAMED or GRAPH is taken for a stream, unless a
    rule writes a graph of that name. What a query names beside its windows is a static graph.
    """
    written = Catalog().with_targets(queries)
    streams: dict[str, None] = {}
    graphs: dict[str, None] = {}
    for query in queries:
        windows = () if query.continuous is None else query.continuous.windows
        streams.update((window.stream.value, None) for window in windows)
        own, others = {window.name for window in windows}, graphs if windows else streams
        if query.dataset is not None:
            others.update((name.value, None) for name in query.dataset.default + query.dataset.named)
        for node in nodes(query.pattern):
            if isinstance(node.graph, NamedNode) and node.graph not in own:
                others[node.graph.value] = None
    known = (*written.names(), *streams)
    return replace(
        written,
        streams=(StreamName(), *(StreamName(iri) for iri in streams if iri not in written.names())),
        graphs=tuple(GraphName(iri, None) for iri in graphs if iri not in known),
    )
