"""What a pattern reads: a set of sources.

Each source says of itself whether its rows have intervals (`timed`) and whether they can leave
again (`changes`). Streams and static graphs are known by their place in the catalog, the graphs
that rules write by their name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from penstock.algebra.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Stream:
    """All occurrences of a registered stream."""

    place: int
    timed: ClassVar[bool] = True
    changes: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Window:
    """What a window shows of a stream: rows enter it, and leave it again.

    `timeless`: it is a graph of triples without time. Patterns read a stream with it all the same.
    `derives`: some of its triples follow from its elements by rules.
    """

    stream: Stream
    spec: WindowSpec
    timeless: bool = False
    derives: bool = False
    timed: ClassVar[bool] = True
    changes: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Static:
    """A registered static graph."""

    place: int
    timed: ClassVar[bool] = False
    changes: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class RuleGraph:
    """What rules write: into the default graph of every query (`None`), or into a named graph.

    It is timed if a rule that writes it reads something timed, and changes if one reads something
    that changes (`analysis.rule_graphs` finds out).
    """

    iri: str | None = None
    timed: bool = False
    changes: bool = False


Source = Stream | Window | Static | RuleGraph
Sources = frozenset[Source]


def timed(sources: Iterable[Source]) -> bool:
    """Whether some rows have intervals: the pattern *reads a stream*."""
    return any(source.timed for source in sources)


def changing(sources: Iterable[Source]) -> bool:
    """Whether rows can leave."""
    return any(source.changes for source in sources)


def streams(sources: Iterable[Source]) -> frozenset[int]:
    """The places of the streams among them; a window's elements are its stream's."""
    return frozenset(
        source.stream.place if isinstance(source, Window) else source.place
        for source in sources
        if isinstance(source, (Stream, Window))
    )


def only_streams(sources: Iterable[Source]) -> Sources:
    """The streams and windows among them: what elements are in."""
    return frozenset(source for source in sources if isinstance(source, (Stream, Window)))


def windows(sources: Iterable[Source]) -> tuple[Window, ...]:
    """The windows among them, in an order that is always the same."""
    found = [source for source in sources if isinstance(source, Window)]
    return tuple(sorted(found, key=lambda each: (each.stream.place, repr(each.spec), each.timeless)))


def static_graphs(sources: Iterable[Source]) -> frozenset[int]:
    """The places of the static graphs among them."""
    return frozenset(source.place for source in sources if isinstance(source, Static))


def rule_graphs(sources: Iterable[Source]) -> frozenset[str | None]:
    """The names of the graphs among them that rules write; `None` is the default graph."""
    return frozenset(source.iri for source in sources if isinstance(source, RuleGraph))
