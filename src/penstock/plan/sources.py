"""What a pattern reads: a set of sources.

Each source says of itself whether its rows have intervals (`timed`) and whether they can leave
again (`retractable`). Streams and static graphs are known by their place in the catalog, the graphs
that rules write by their name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from penstock.algebra.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Stream:
    """All occurrences of a registered stream."""

    place: int
    timed: ClassVar[bool] = True
    retractable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Static:
    """A registered static graph."""

    place: int
    timed: ClassVar[bool] = False
    retractable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class RuleGraph:
    """What rules write: into the default graph of every query (`None`), or into a named graph.

    It is timed if a rule that writes it reads something timed, and changes if one reads something
    that changes (`analysis.rule_graphs` finds out). What a continuous query gives is timed, and stays.
    `elements`: it is read as a stream is, element by element, which only windows do. `written`: some rule
    writes it; the default graph has a place for it in any case.
    """

    iri: str | None = None
    timed: bool = False
    retractable: bool = False
    elements: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class WindowSource:
    """What a window shows of a stream: rows enter it, and leave it again.

    `streams` is what has the stream's name: registered streams, and what queries write, together.
    `timeless`: it is a graph of triples without time. Patterns read a stream with it all the same.
    `derives`: some of its triples follow from its elements by rules.
    """

    streams: frozenset[Stream | RuleGraph]
    spec: WindowSpec
    timeless: bool = False
    derives: bool = False
    timed: ClassVar[bool] = True
    retractable: ClassVar[bool] = True

    @property
    def numbers(self) -> frozenset[int]:
        """By which the instants of its stream are known."""
        return frozenset(
            each.place if isinstance(each, Stream) else written_number(each.iri) for each in self.streams
        )


Source = Stream | WindowSource | Static | RuleGraph
Sources = frozenset[Source]


_STREAMS = 1 << 32
"""There are fewer streams than this."""
_WRITTEN = 1 << 49
"""What graphs are known by that rules write is less than this."""


def timed(sources: Iterable[Source]) -> bool:
    """Whether some rows have intervals: the pattern *reads a stream*."""
    return any(source.timed for source in sources)


def changing(sources: Iterable[Source]) -> bool:
    """Whether rows can leave."""
    return any(source.retractable for source in sources)


def static(sources: Iterable[Source]) -> bool:
    """Whether all rows are there before anything happens."""
    return all(
        isinstance(source, Static) or isinstance(source, RuleGraph) and not source.written
        for source in sources
    )


def streams(sources: Iterable[Source]) -> frozenset[int]:
    """The places of the streams among them; a window's elements are its stream's."""
    return frozenset(source.place for source in _inside(sources) if isinstance(source, Stream))


def _inside(sources: Iterable[Source]) -> Iterator[Source]:
    """The sources, and those that windows look at in their place."""
    for source in sources:
        yield from source.streams if isinstance(source, WindowSource) else (source,)


def only_streams(sources: Iterable[Source]) -> Sources:
    """The streams and windows among them: what elements are in."""
    return frozenset(
        source
        for source in sources
        if isinstance(source, (Stream, WindowSource)) or isinstance(source, RuleGraph) and source.elements
    )


def windows(sources: Iterable[Source]) -> tuple[WindowSource, ...]:
    """The windows among them, in an order that is always the same."""
    found = [source for source in sources if isinstance(source, WindowSource)]
    return tuple(sorted(found, key=lambda each: (sorted(each.numbers), repr(each.spec), each.timeless)))


def static_graphs(sources: Iterable[Source]) -> frozenset[int]:
    """The places of the static graphs among them."""
    return frozenset(source.place for source in sources if isinstance(source, Static))


def rule_graphs(sources: Iterable[Source]) -> frozenset[str | None]:
    """The names of the graphs among them that rules write; `None` is the default graph."""
    return frozenset(source.iri for source in sources if isinstance(source, RuleGraph))


def written_graphs(sources: Iterable[Source]) -> frozenset[str | None]:
    """The same with those that windows look at."""
    return rule_graphs(_inside(sources))


@cache
def written_number(iri: str | None) -> int:
    """What the instants of a graph that rules write are known by, among those of streams.

    It follows from the name, so that a checkpoint finds it again whatever else is registered; numbers
    of streams are small.
    """
    digest = hashlib.blake2b((iri or "").encode(), digest_size=6).digest()
    return _STREAMS + int.from_bytes(digest, "little")


def behind_number(iri: str | None) -> int:
    """What the instants of all streams together are known by from which a graph comes that rules write.

    A query that reads the graph asks for these, whichever rules write it: they may come and go.
    """
    return _WRITTEN + written_number(iri)


def is_stream(number: int) -> bool:
    """Whether a number is the place of a stream."""
    return number < _STREAMS
