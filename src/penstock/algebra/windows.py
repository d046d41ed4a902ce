"""Windows, when they report, and what becomes of their contents (decision 0013), as values.

Names are the papers': RSP-QL (Dell'Aglio et al.) for windows and stream operators, SECRET (Botan et al.)
for reports. What patterns over windows are is in `patterns` and `sequences`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from penstock.terms import NamedNode

# --- windows -------------------------------------------------------------------------------


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
    Times are microseconds.
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


# --- reports and stream operators -------------------------------------------------------------


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


class Bound(Enum):
    """Of what windows show when a query is evaluated: when the first opened, when the last closed."""

    START = "start"
    END = "end"


@dataclass(frozen=True)
class Continuous:
    """That a query is evaluated over windows again and again: which ones, when, and what it gives then.

    `bounds` are the columns of a SELECT that say what the windows showed, by name. They are of what is
    given, and no part of a solution: stream operators do not see them.
    """

    windows: tuple[Window, ...]
    report: Report
    operator: StreamOperator
    view: View
    bounds: tuple[tuple[str, Bound], ...] = ()


Cuts = tuple[WindowSpec, ...]
"""Windows that cut the starts of solutions: to the latest of their first instants."""


def cut_alike(parts: tuple[Cuts | None, ...]) -> Cuts | None:
    """The windows that cut the solutions of all these parts; None if they are not the same."""
    return parts[0] if all(part == parts[0] for part in parts) else None


def reaches_back_as_far(later: Cuts, earlier: Cuts) -> bool:
    """Whether the first instants of some windows are never after those of others."""
    if not later or later == earlier:
        return True
    return (
        len(later) == len(earlier) == 1
        and all(
            each == replace(WindowSpec(Kind.TIME, each.width, 1), opening=True, shows=each.shows)
            for each in (*later, *earlier)
        )
        and later[0].shows is earlier[0].shows
        and later[0].width >= earlier[0].width
    )
