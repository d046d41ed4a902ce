"""What a basic graph pattern or a path may combine: triples of a stream, of one element, of one window.

Decision 0008 has the definitions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """A scope: its word, and of a window its name."""

    word: str
    name: str | None = None

    def __str__(self) -> str:
        return self.word if self.name is None else f"{self.word} {self.name}"


STREAM = Scope("STREAM")
"""Triples of any elements, and of static graphs and rules; the interval is their hull."""
ELEMENT = Scope("ELEMENT")
"""All triples come from one element; the interval is the element's."""


def window_scope(name: str) -> Scope:
    """All triples come from one window."""
    return Scope("WINDOW", name)
