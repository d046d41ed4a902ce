"""What a random case consists of, and how it reads in a bug report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from oracle.model import ActiveGraph, Occurrence, StaticGraph, TimedDataset, Triple, stream_of
from oracle.vocabulary import EPOCH
from penstock.algebra import ParsedQuery, Query
from penstock.algebra.printing import to_sexpr
from penstock.languages import parse_query
from penstock.terms import NamedNode
from penstock.timeline import MINUTE, format_duration, format_instant


@dataclass(frozen=True)
class Element:
    """A stream element: an RDF graph (maybe empty) with its interval."""

    triples: tuple[Triple, ...]
    start: int
    end: int

    @property
    def occurrences(self) -> list[Occurrence]:
        return [Occurrence(*triple, self.start, self.end) for triple in self.triples]


@dataclass(frozen=True)
class GivenElement(Element):
    """An element of a stream that a query gives: rules for elements are not asked about it."""


@dataclass(frozen=True)
class ClosedElement(Element):
    """An element of which it is known what follows from it."""

    derived: frozenset[Triple] = frozenset()


@dataclass(frozen=True)
class StreamData:
    """A stream, named or not, with its elements in the order of their arrival."""

    name: NamedNode | None
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class GraphData:
    """A static graph, named or not."""

    name: NamedNode | None
    triples: tuple[Triple, ...]


Batch = tuple[tuple[int, int], ...]
"""The elements that arrive together, as (number of the stream, number of the element)."""


@dataclass(frozen=True)
class Case:
    """Streams, graphs and queries, with an order of arrival.

    All queries run together: the CONSTRUCT ones are rules for all of them. `now` is the start
    of the run. `algebra` is what the queries are instead of what their texts say, where no
    language can say it.
    """

    seed: int
    streams: tuple[StreamData, ...]
    graphs: tuple[GraphData, ...]
    queries: tuple[str, ...]
    lateness: int
    batches: tuple[Batch, ...]
    now: int = EPOCH - MINUTE
    algebra: tuple[Query, ...] = ()

    @cached_property
    def parsed(self) -> tuple[ParsedQuery, ...]:
        """The queries as the languages hand them over."""
        found = tuple(parse_query(text) for text in self.queries)
        if not self.algebra:
            return found
        return tuple(replace(each, query=query) for each, query in zip(found, self.algebra, strict=True))

    @cached_property
    def late(self) -> frozenset[tuple[int, int]]:
        """The elements that end before the watermark which the batches before theirs have made."""
        result: set[tuple[int, int]] = set()
        watermark: int | None = None
        for batch in self.batches:
            ends = {place: self.streams[place[0]].elements[place[1]].end for place in batch}
            if watermark is not None:
                result |= {place for place, end in ends.items() if end < watermark}
            if ends:
                latest = max(ends.values()) - self.lateness
                watermark = latest if watermark is None else max(watermark, latest)
        return frozenset(result)

    @cached_property
    def dataset(self) -> TimedDataset:
        """What the queries read: what is in time of all streams, and the static graphs without a name."""
        named: dict[NamedNode, ActiveGraph] = {}
        default: list = []
        for number, data in enumerate(self.streams):
            in_time = (e for place, e in enumerate(data.elements) if (number, place) not in self.late)
            stream = stream_of((e.triples, e.start, e.end) for e in in_time)
            default.append(stream)
            if data.name is not None:
                named[data.name] = (*named.get(data.name, ()), stream)
        for data in self.graphs:
            graph = StaticGraph(frozenset(data.triples))
            if data.name is None:
                default.append(graph)
            else:
                named[data.name] = (*named.get(data.name, ()), graph)
        return TimedDataset(tuple(default), named)

    def arriving(self) -> list[list[tuple[StreamData, Element]]]:
        """The batches as lists of (stream, element)."""
        return [[(self.streams[s], self.streams[s].elements[e]) for s, e in batch] for batch in self.batches]

    def __str__(self) -> str:
        lines = [f"case {self.seed}: make_case({self.seed})"]
        for number, stream in enumerate(self.streams):
            lines.append(f"stream {number} {stream.name or '(no name)'}")
            for place, element in enumerate(stream.elements):
                span = format_instant(element.start)
                if element.end != element.start:
                    span += f" to {format_instant(element.end)}"
                lines.append(f"  {number}.{place} at {span}")
                lines += [f"      {' '.join(map(str, triple))} ." for triple in element.triples]
        for graph in self.graphs:
            lines.append(f"graph {graph.name or '(no name)'}")
            lines += [f"      {' '.join(map(str, triple))} ." for triple in graph.triples]
        arrival = " | ".join(" ".join(f"{s}.{e}" for s, e in batch) for batch in self.batches)
        late = " ".join(f"{s}.{e}" for s, e in sorted(self.late)) or "none"
        lines.append(f"lateness {format_duration(self.lateness)}, batches {arrival}, late: {late}")
        for query in map(to_sexpr, self.algebra) if self.algebra else self.queries:
            lines += ["query", *("  " + line for line in query.splitlines())]
        return "\n".join(lines)
