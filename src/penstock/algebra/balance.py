"""Long chains of an associative operator as trees that are not deep.

What walks through nodes and steps recurs, so a query of 500 UNIONs must not be 500 levels deep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from penstock.algebra.nodes import Call, Expression

Part = TypeVar("Part")

SHORT = 8
"""Chains up to this length go from left to right, as they are written."""


def balanced(parts: Sequence[Part], combine: Callable[[Part, Part], Part]) -> Part:
    """The parts combined in their order."""
    if len(parts) <= SHORT:
        return reduce(combine, parts)
    middle = len(parts) // 2
    return combine(balanced(parts[:middle], combine), balanced(parts[middle:], combine))


def conjunction(conditions: Sequence[Expression]) -> Expression | None:
    """All of these conditions, or None if there are none."""
    return balanced(conditions, lambda left, right: Call("&&", (left, right))) if conditions else None
