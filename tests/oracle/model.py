"""Timed solutions, and the streams and graphs that they come from, as plain small values.

Nothing here is fast: a solution is a frozen set of bindings and two instants, a stream is
a set of triple occurrences, exactly as section 4.2 of the EP-SPARQL paper has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.terms import NamedNode, Term

Triple = tuple[Term, Term, Term]


@dataclass(frozen=True)
class Solution:
    """⟨μ, start, end⟩; a timeless solution has neither start nor end.

    `order` is what ORDER BY said about this row, `began` where the interval began before a window
    cut it (None: it is not cut). They are no part of the solution: two that differ only there are equal.
    """

    mu: frozenset[tuple[str, Term]] = frozenset()
    start: int | None = None
    end: int | None = None
    order: tuple = field(default=(), compare=False)
    began: int | None = field(default=None, compare=False)

    @property
    def uncut(self) -> int | None:
        """Where the interval would begin if no window had cut it."""
        return self.start if self.began is None else self.began

    @property
    def timeless(self) -> bool:
        return self.end is None

    @cached_property
    def bindings(self) -> dict[str, Term]:
        return dict(self.mu)

    def value(self, name: str) -> Term | None:
        return self.bindings.get(name)

    def at(self, instant: int) -> Solution:
        """A timeless solution as it holds at one instant."""
        return replace(self, start=instant, end=instant)


def solution(
    bindings: Mapping[str, Term] | None = None, start: int | None = None, end: int | None = None
) -> Solution:
    return Solution(frozenset((bindings or {}).items()), start, end)


UNIT = Solution()
"""The one solution of the empty pattern: no bindings, timeless."""


def hull(intervals: Iterable[tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """min of the starts and max of the ends; timeless is neutral."""
    timed = [(start, end) for start, end in intervals if end is not None]
    if not timed:
        return None, None
    return min(start for start, _ in timed), max(end for _, end in timed)


def compatible(one: Solution, other: Solution) -> bool:
    """Every variable that both map is mapped to the same RDF term by both."""
    left, right = one.bindings, other.bindings
    return all(right[name] == term for name, term in left.items() if name in right)


def combine(one: Solution, other: Solution) -> Solution:
    """⟨μ, t, t′⟩ ⋈ ⟨μ′, s, s′⟩: both mappings, and the hull of the intervals."""
    start, end = hull([(one.start, one.end), (other.start, other.end)])
    return Solution(one.mu | other.mu, start, end, began=uncut_hull([one, other]))


def uncut_hull(solutions: Iterable[Solution]) -> int | None:
    """Where the hull of some solutions would begin if no window had cut them; None if none did."""
    solutions = [each for each in solutions if not each.timeless]
    if all(each.began is None for each in solutions):
        return None
    return min(each.uncut for each in solutions)


@dataclass(frozen=True)
class Occurrence:
    """⟨⟨s, p, o⟩, t, t′⟩; without instants it is a triple of a static graph."""

    subject: Term
    predicate: Term
    object: Term
    start: int | None = None
    end: int | None = None

    @property
    def triple(self) -> Triple:
        return self.subject, self.predicate, self.object


@dataclass(frozen=True)
class Stream:
    """A set of triple occurrences, and the instants: the ends of its elements.

    An element whose graph is empty leaves no occurrence, but its instant.
    """

    occurrences: frozenset[Occurrence]
    instants: frozenset[int]
    elements: tuple[tuple[frozenset[Triple], int, int], ...] | None = None  # None: rules derive it

    is_stream = True

    def before(self, instant: int) -> Stream:
        """{⟨σ, t, t′⟩ | t′ < instant}, the prefix of timewise monotonicity."""
        return Stream(
            frozenset(o for o in self.occurrences if o.end < instant),
            frozenset(t for t in self.instants if t < instant),
            None if self.elements is None else tuple(each for each in self.elements if each[2] < instant),
        )


@dataclass(frozen=True)
class StaticGraph:
    """Background knowledge: a set of timeless triples."""

    triples: frozenset[Triple]

    is_stream = False

    @property
    def occurrences(self) -> frozenset[Occurrence]:
        return frozenset(Occurrence(*triple) for triple in self.triples)

    @property
    def instants(self) -> frozenset[int]:
        return frozenset()

    def before(self, instant: int) -> StaticGraph:
        return self


Source = Stream | StaticGraph
ActiveGraph = tuple[Source, ...]


@dataclass(frozen=True)
class TimedDataset:
    """What a query may read: the default graph's sources, and those with a name.

    `derived` is what rules added without a target; it belongs to the default graph of every
    query, also of one with FROM. What they write into a graph with a name is among the named.
    """

    default: ActiveGraph = ()
    named: Mapping[NamedNode, ActiveGraph] = field(default_factory=dict)
    derived: ActiveGraph = ()

    def before(self, instant: int) -> TimedDataset:
        return TimedDataset(
            tuple(source.before(instant) for source in self.default),
            {name: tuple(s.before(instant) for s in graph) for name, graph in self.named.items()},
            tuple(source.before(instant) for source in self.derived),
        )


def stream_of(elements: Iterable[tuple[Iterable[Triple], int, int]]) -> Stream:
    """The stream that stated these elements: (triples, start, end) each."""
    elements = [(tuple(triples), start, end) for triples, start, end in elements]
    return Stream(
        frozenset(Occurrence(*t, start, end) for triples, start, end in elements for t in triples),
        frozenset(end for _, _, end in elements),
        tuple((frozenset(triples), start, end) for triples, start, end in elements),
    )
