"""The error of an expression: a value SPARQL knows, not a failure of the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class ExpressionError(Exception):
    """An expression has no value for this solution (SPARQL 1.1, section 17.2).

    A filter takes it as false, BIND leaves its variable unbound; it never reaches a user.
    """


_refused: Counter[str] = Counter()


class ExpressionLimit(ExpressionError):
    """An expression has no value for this solution because a limit of ours forbids to compute it.

    Such errors are counted by their reason, so that a run can tell its user that they happened.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        _refused[reason] += 1


def take_refused() -> dict[str, int]:
    """How often each limit was met in this process since the last call."""
    taken = dict(_refused)
    _refused.clear()
    return taken


def add_refused(counts: Mapping[str, int]) -> None:
    """Counts limits that were met in another process, or at another time."""
    _refused.update(counts)
