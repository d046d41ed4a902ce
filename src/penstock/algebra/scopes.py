"""What a basic graph pattern, a path or a join of these may combine: triples of a stream, or of one element.

Decision 0008 has the definitions; windows say for themselves what they show (decision 0013).
"""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    STREAM = "STREAM"
    """Triples of any elements, and of static graphs and rules; the interval is their hull."""
    ELEMENT = "ELEMENT"
    """All triples come from one element; the interval is the element's."""


STREAM, ELEMENT = Scope.STREAM, Scope.ELEMENT
