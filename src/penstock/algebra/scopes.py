"""What a pattern, a join of some or a rule may combine: triples of a stream, or of one element.

Decision 0008 has the definitions for patterns and whole queries, decision 0010 for rules; windows say for
themselves what they show (decision 0013).
"""

from __future__ import annotations

import difflib
from enum import StrEnum

from penstock.errors import UsageError


class Scope(StrEnum):
    STREAM = "stream"
    """Triples of any elements, and of static graphs and rules; the interval is their hull."""
    ELEMENT = "element"
    """All triples come from one element; the interval is the element's."""


STREAM, ELEMENT = Scope.STREAM, Scope.ELEMENT


def scope_named(name: str) -> Scope:
    """The scope that an option names: --scope that of rules, --query-scope that of queries."""
    try:
        return Scope(name)
    except ValueError:
        close = difflib.get_close_matches(str(name).lower(), list(Scope), 1)
        raise UsageError(
            f"there is no scope {name!r}",
            hint=f"did you mean {close[0]}?" if close else f"the scopes are {', '.join(Scope)}",
        ) from None
