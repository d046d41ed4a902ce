"""What the oracle's windows and sequences are made of: the values of the algebra (decision 0013)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra import Background, EventSequence, InWindow, Member, Query, Timestamp
from penstock.algebra.sequences import sequence_problem
from penstock.algebra.windows import (
    NOW,
    ON_CHANGE,
    ON_CLOSE,
    Bound,
    Continuous,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    View,
    Window,
    WindowSpec,
    last,
    sliding,
    triples,
)
from penstock.languages.conventions import CONVENTIONS, Convention

__all__ = [
    "CONVENTIONS",
    "NOW",
    "ON_CHANGE",
    "ON_CLOSE",
    "Background",
    "Bound",
    "Continuous",
    "ContinuousQuery",
    "Convention",
    "EventSequence",
    "InWindow",
    "Kind",
    "Member",
    "Report",
    "SequenceError",
    "Shows",
    "StreamOperator",
    "Tick",
    "Timestamp",
    "View",
    "Window",
    "WindowSpec",
    "checked",
    "last",
    "sliding",
    "triples",
]


@dataclass(frozen=True)
class ContinuousQuery:
    """A query over windows, taken apart."""

    query: Query
    windows: tuple[Window, ...]
    report: Report
    operator: StreamOperator
    view: View
    bounds: tuple[tuple[str, Bound], ...] = ()

    @property
    def registered(self) -> Query:
        """The same as a query of the algebra."""
        how = Continuous(self.windows, self.report, self.operator, self.view, self.bounds)
        return replace(self.query, continuous=how)


class SequenceError(ValueError):
    """A sequence that has no meaning."""


def checked(sequence: EventSequence) -> EventSequence:
    """The sequence, if it is one."""
    problem = sequence_problem(sequence.members)
    if problem is not None:
        raise SequenceError(problem)
    return sequence
