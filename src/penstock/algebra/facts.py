"""What is found out about a node is kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from penstock.algebra.nodes import Node
from penstock.errors import Span

Placed = TypeVar("Placed", bound=Node)


def placed(node: Placed, span: Span) -> Placed:
    """The node, which now knows where in its query text it stands."""
    node.facts["span"] = span
    return node


def place_of(node: object) -> Span | None:
    """Where a node stands in its query text, if a parser said so."""
    return node.facts.get("span") if isinstance(node, Node) else None


Fact = TypeVar("Fact", bound=Callable)


def once(function: Fact) -> Fact:
    """Makes a function of a node (and of values that can be compared) compute each result once.

    Analyses ask for the same facts of the parts at every level above them; without this a query
    of many operators takes the square of its length, or worse.
    """

    @wraps(function)
    def known(node, *arguments, **options):
        facts = node.facts
        key = (function, arguments, *options.items())
        if key not in facts:
            facts[key] = function(node, *arguments, **options)
        return facts[key]

    return cast(Fact, known)
