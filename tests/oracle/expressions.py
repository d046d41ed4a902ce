"""Expressions, aggregates and the order of terms: SPARQL's, as `penstock.functions` has them.

The oracle is about time; what a function computes has its own tests.
"""

from __future__ import annotations

from collections.abc import Callable

from oracle.model import Solution
from penstock.algebra import Aggregate, Expression
from penstock.functions import aggregates, chance
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, evaluate
from penstock.functions.evaluate import holds as is_true
from penstock.functions.ordering import order_key, total_key
from penstock.terms import Term

ExistsTest = Callable[[object], bool]


def _context(
    one: Solution,
    exists: ExistsTest,
    now: int,
    base: str | None,
    place: str = "",
    unseeded: frozenset[str] = frozenset(),
) -> EvaluationContext:
    bindings = ((name, term) for name, term in one.mu if name not in unseeded)
    seed = chance.solution_seed(bindings, one.uncut, one.end)  # a window that moves is no new chance
    return EvaluationContext(one.start, one.end, now, exists, seed, base, place)


def value_or_none(
    expression: Expression,
    one: Solution,
    exists: ExistsTest,
    now: int,
    base: str | None,
    place: str = "",
    unseeded: frozenset[str] = frozenset(),
) -> Term | None:
    """The value of an expression for a solution; None where it is an error."""
    try:
        return evaluate(expression, one.value, _context(one, exists, now, base, place, unseeded))
    except ExpressionError:
        return None


def holds(condition: Expression, one: Solution, exists: ExistsTest, now: int, base: str | None) -> bool:
    """Whether a condition is true of a solution; an error is not."""
    return is_true(condition, one.value, _context(one, exists, now, base))


def aggregated(
    aggregate: Aggregate,
    members: list[Solution],
    value: Callable[[Expression, Solution], Term | None],
) -> Term | None:
    """The value of an aggregate over a group; None where it is an error."""
    if aggregate.argument is None:
        return aggregates.aggregate(aggregate, members)
    return aggregates.aggregate(aggregate, [value(aggregate.argument, one) for one in members])


class Downwards:
    """A key that sorts the other way round."""

    def __init__(self, key: tuple) -> None:
        self.key = key

    def __lt__(self, other: Downwards) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Downwards) and self.key == other.key

    __hash__ = None


def place(term: Term | None, descending: bool) -> tuple | Downwards:
    """Where ORDER BY puts a value; equal values (1, 1.0) are at the same place."""
    return Downwards(order_key(term)) if descending else order_key(term)


def exact_place(term: Term | None) -> tuple:
    """Where a term stands in the order of all terms; only the same term is at the same place."""
    return total_key(term)
