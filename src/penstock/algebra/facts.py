"""What is found out about a node is kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

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

    return known
