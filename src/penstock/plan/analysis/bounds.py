"""How long operators must remember, as far as filters on getDURATION() say so.

A filter `getDURATION() < D` lets through only solutions whose hull is shorter than D. Every
solution that lies inside that hull is then as short, so the bound holds for all sub-patterns
that contribute to it: both sides of Join, SEQ, EQUALS and UNION, and the required side of
OPTIONAL, OPTIONALSEQ and MINUS. It does not hold for their optional or negative side (a
match forgotten there would make its partner look unmatched) unless the condition of that
very operator bounds the combination; EQUALSOPTIONAL combines equal intervals, so there it
does. Aggregates, ORDER BY and LIMIT look at whole instants: no bound passes them.

Bounds are in microseconds, the largest duration that is still allowed; None: no bound. One that
is longer than the time between any two instants bounds nothing, so all others can be added to instants.
"""

from __future__ import annotations

import math
from fractions import Fraction

from penstock.algebra.base import Bound, tighter
from penstock.algebra.comparisons import MIRRORED, NEGATED
from penstock.algebra.facts import once
from penstock.algebra.nodes import Call, Expression, Extend, Filter, Pattern, Var
from penstock.functions.temporal import Duration
from penstock.functions.values import value_of
from penstock.plan.analysis.walk import children
from penstock.terms import Literal
from penstock.timeline import LONGEST, SECOND

# --- what a condition allows ---------------------------------------------------------------


def duration_bound(condition: Expression | None) -> Bound:
    """The longest duration, in microseconds, with which a condition can be true.

    It understands getDURATION(), getENDTIME(), getSTARTTIME(), constant durations and sums
    and differences of them on either side of a comparison, under && and ||, and negated. A solution without
    an interval has no duration: `COALESCE(getDURATION() < D, true)` lets it through and bounds the others.
    """
    return None if condition is None else _bound(condition, negated=False)


def _bound(condition: Expression, negated: bool) -> Bound:
    if not isinstance(condition, Call):
        return None
    if condition.name == "!":
        return _bound(condition.args[0], not negated)
    if condition.name in ("&&", "||"):
        parts = [_bound(part, negated) for part in condition.args]
        if (condition.name == "&&") != negated:
            bound = None
            for part in parts:
                bound = tighter(bound, part)
            return bound
        return None if None in parts else max(parts)
    if condition.name == "COALESCE" and not negated:
        first = condition.args[0]
        compares = isinstance(first, Call) and first.name in MIRRORED
        return _bound(first, negated) if compares else None  # without a value only where there is no interval
    if condition.name not in MIRRORED or len(condition.args) != 2:
        return None
    comparison = NEGATED[condition.name] if negated else condition.name
    return _of_comparison(comparison, *condition.args)


def _of_comparison(comparison: str, left: Expression, right: Expression) -> Bound:
    """The bound in `left comparison right`, brought to the form end - start < limit."""
    one, other = _linear(left), _linear(right)
    if one is None or other is None:
        return None
    end, start, constant = (a - b for a, b in zip(one, other, strict=True))
    if end < 0:
        end, start, constant = -end, -start, -constant
        comparison = MIRRORED[comparison]
    if (end, start) != (1, -1):
        return None
    limit = -constant
    if comparison == "<":
        bound = max(0, math.ceil(limit) - 1)
    elif comparison in ("<=", "="):
        bound = max(0, math.floor(limit))
    else:
        return None
    return bound if bound <= LONGEST else None


_Linear = tuple[Fraction, Fraction, Fraction]


def _linear(expression: Expression) -> _Linear | None:
    """An expression as (factor of the end, factor of the start, constant microseconds)."""
    if isinstance(expression, Literal):
        micros = _constant(expression)
        return None if micros is None else (Fraction(0), Fraction(0), micros)
    if not isinstance(expression, Call):
        return None
    if expression.name == "GETDURATION":
        return (Fraction(1), Fraction(-1), Fraction(0))
    if expression.name == "GETENDTIME":
        return (Fraction(1), Fraction(0), Fraction(0))
    if expression.name == "GETSTARTTIME":
        return (Fraction(0), Fraction(1), Fraction(0))
    parts = [_linear(argument) for argument in expression.args]
    if None in parts:
        return None
    if expression.name in ("+", "-") and len(parts) == 2:
        sign = 1 if expression.name == "+" else -1
        return tuple(a + sign * b for a, b in zip(*parts, strict=True))
    if expression.name in ("UPLUS", "UMINUS") and len(parts) == 1:
        sign = 1 if expression.name == "UPLUS" else -1
        first, second, third = parts[0]
        return sign * first, sign * second, sign * third
    return None


def _constant(literal: Literal) -> Fraction | None:
    """A constant duration in microseconds; None for other literals, and if it has months."""
    duration = value_of(literal)
    if not isinstance(duration, Duration) or duration.months or duration.kind == "yearMonthDuration":
        return None
    return Fraction(duration.seconds) * SECOND


# --- how bounds go down --------------------------------------------------------------------


def own_bound(node: Pattern) -> Bound:
    """The bound that the node's own condition puts on its solutions, or its combinations."""
    if node.restriction is None:
        return None
    parts = children(node)
    return duration_bound(_inlined(node.restriction, *parts) if len(parts) == 1 else node.restriction)


def inherit(node: Pattern, bound: Bound) -> tuple[Bound, ...]:
    """The bounds of a node's children, in their order, when its own solutions have `bound`.

    Patterns in EXISTS inherit nothing.
    """
    return node.part_bounds(bound, own_bound(node))


@once
def longest(node: Pattern) -> Bound:
    """How long the solutions of a pattern can be, as far as conditions in it say so."""
    return node.longest(tuple(map(longest, children(node))), own_bound(node))


def _inlined(condition: Expression, pattern: Pattern) -> Expression:
    """The condition with variables that a BIND directly below computes from the same interval."""
    values: dict[Var, Expression] = {}
    while isinstance(pattern, (Extend, Filter)):
        values.update(pattern.computes)
        pattern = pattern.pattern
    return _replaced(condition, values) if values else condition


def _replaced(expression: Expression, values: dict[Var, Expression]) -> Expression:
    if isinstance(expression, Var):
        value = values.get(expression)
        if value is None:
            return expression
        # A BIND sees only variables that were bound before it.
        return _replaced(value, {var: v for var, v in values.items() if var != expression})
    if isinstance(expression, Call):
        return Call(expression.name, tuple(_replaced(arg, values) for arg in expression.args))
    return expression
