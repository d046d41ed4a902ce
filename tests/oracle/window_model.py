"""Windows, reports, stream operators and event sequences of decision 0013, as values.

Names are the papers': RSP-QL (Dell'Aglio et al.) for windows and what becomes of their contents, SECRET
(Botan et al.) for when they report, CQELS-CEP (paper 001) for sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.algebra import Aggregate, Node, Pattern, Query, TriplePattern, Var
from penstock.algebra.base import node
from penstock.terms import NamedNode


class Kind(Enum):
    """What a window's width counts."""

    TIME = "time"
    TRIPLES = "triples"
    LANDMARK = "landmark"


class Shows(Enum):
    """Which of its windows an operator shows at an instant."""

    PRESENT = "present"  # the one that opened first of those that are open (RSP-QL, SECRET)
    CLOSED = "closed"  # the one that closed last (CQL, CQELS, C-SPARQL)


@dataclass(frozen=True)
class WindowSpec:
    """A window operator: windows (o, o + width], the openings o = start + k · slide apart.

    `start` None: k is any whole number and the openings are aligned to the epoch; otherwise k ≥ 0.
    `opening`: the opening instant belongs to the window, too: [o, o + width]. TRIPLES: width and slide
    are numbers of triples. LANDMARK: one window, [start, t] (None: from ever), shown anew every `slide`.
    """

    kind: Kind
    width: int = 0
    slide: int = 1
    start: int | None = None
    opening: bool = False
    shows: Shows = Shows.PRESENT

    @property
    def continuous(self) -> bool:
        """It slides by single instants: a window closes at every one."""
        return self.kind is not Kind.TRIPLES and self.slide == 1


NOW = WindowSpec(Kind.TIME, width=0, slide=1, opening=True, shows=Shows.CLOSED)
"""[NOW]: what ends at this instant."""


def last(width: int) -> WindowSpec:
    """CQELS's [RANGE T]: [t − T, t] at every t (paper 001, section 4.1)."""
    return WindowSpec(Kind.TIME, width, 1, opening=True, shows=Shows.CLOSED)


def triples(count: int, step: int = 1) -> WindowSpec:
    """[TRIPLES n STEP m]."""
    return WindowSpec(Kind.TRIPLES, count, step, shows=Shows.CLOSED)


def sliding(width: int, slide: int, start: int | None = None, shows: Shows = Shows.PRESENT) -> WindowSpec:
    """[RANGE α STEP β]; tumbling if both are the same, with gaps if the slide is longer."""
    return WindowSpec(Kind.TIME, width, slide, start, shows=shows)


@dataclass(frozen=True)
class Window:
    """`FROM NAMED WINDOW name ON stream [spec]`; without a name it is part of the default graph."""

    name: NamedNode | None
    stream: NamedNode
    spec: WindowSpec


class Tick(Enum):
    """At which instants it is asked whether to report."""

    TIME = "time"  # at every one
    TUPLE = "tuple"  # at those at which an element of the query's streams ends


@dataclass(frozen=True)
class Report:
    """When a window reports: all that is set must hold."""

    close: bool = False  # one of its windows closes
    change: bool = False  # it shows other elements than when it was last asked
    non_empty: bool = False  # it shows some element
    period: int | None = None  # the instant is a multiple of this
    tick: Tick = Tick.TIME


ON_CLOSE = Report(close=True)
ON_CHANGE = Report(change=True)


class StreamOperator(Enum):
    """What becomes of the solutions at an instant at which a query is evaluated."""

    RSTREAM = "RSTREAM"  # all
    ISTREAM = "ISTREAM"  # those that were not there the last time
    DSTREAM = "DSTREAM"  # those that were there the last time and are not now


class View(Enum):
    """What patterns see of a window."""

    GRAPH = "graph"  # an RDF graph: a set of triples without time (RSP-QL, C-SPARQL)
    ELEMENT = "element"  # elements with their intervals, one at a time (CQELS-CEP)


@dataclass(frozen=True)
class ContinuousQuery:
    """A registered query: Q over windows, when it is evaluated, and what it gives then."""

    query: Query
    windows: tuple[Window, ...]
    report: Report
    operator: StreamOperator
    view: View


# --- patterns of CQELS-CEP ----------------------------------------------------------------


@node
class InWindow(Node):
    """`WINDOW name { pattern }` in the ELEMENT view: (s, ω, TSP) of paper 001, section 3.2."""

    name: NamedNode
    pattern: Pattern


@node
class Member(Node):
    """A member of a sequence: P, !P, or P+ with aggregates over its run (variable, aggregate)."""

    pattern: Pattern
    negated: bool = False
    repeated: bool = False
    aggregates: tuple[tuple[Var, Aggregate], ...] = ()


@node
class EventSequence(Node):
    """SEQ(…): a triple sequence pattern if its members are triples, an event clause if they are windows."""

    members: tuple[Member, ...]


@node
class Background(Node):
    """[[P, t]]_D: a pattern over the static graphs, which hold since their last change (equation 17)."""

    pattern: Pattern


@node
class Timestamp(Node):
    """C-SPARQL's timestamp: `var` is when a window's element last stated the triple; unbound if none did."""

    pattern: Pattern
    var: Var
    triple: TriplePattern


class SequenceError(ValueError):
    """A sequence that has no meaning."""


def checked(sequence: EventSequence) -> EventSequence:
    """The sequence, if it is one: at most one negated member, no two repetitions side by side."""
    members = sequence.members
    if sum(each.negated for each in members) > 1:
        raise SequenceError("SEQ has at most one negated member (CQELS-CEP, section 3.2)")
    if any(each.negated and each.repeated for each in members):
        raise SequenceError("a negated member cannot be repeated")
    positive = [each for each in members if not each.negated]
    if not positive:
        raise SequenceError("SEQ needs a member that is not negated")
    if all(each.repeated for each in positive):
        raise SequenceError("SEQ needs a member that is neither negated nor repeated")
    if any(one.repeated and other.repeated for one, other in zip(positive, positive[1:], strict=False)):
        raise SequenceError("where the first of two adjacent repetitions ends is not determined")
    return sequence


# --- what languages mean without saying it --------------------------------------------------


@dataclass(frozen=True)
class Convention:
    """What a language has by convention: when it reports, what it gives, what a window shows and is."""

    report: Report
    operator: StreamOperator | None  # None: the query says it
    shows: Shows
    view: View


CONVENTIONS = {
    "C-SPARQL": Convention(ON_CLOSE, StreamOperator.RSTREAM, Shows.CLOSED, View.GRAPH),
    "RSP-QL": Convention(ON_CLOSE, None, Shows.PRESENT, View.GRAPH),
    "CQELS-CEP": Convention(ON_CHANGE, StreamOperator.ISTREAM, Shows.CLOSED, View.ELEMENT),
}
