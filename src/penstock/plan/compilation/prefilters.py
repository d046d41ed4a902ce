"""Which combinations of a join cannot pass the filters above it.

Where everybody who reads a join filters it by comparing a number of one side with a number of
the other, linearly, the join itself can leave out combinations that fail for all of them. It
compares in float64 and keeps what is close; the filters still decide exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.algebra.comparisons import MIRRORED
from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import ids
from penstock.plan import steps
from penstock.plan.steps import Step
from penstock.terms import Literal

MOST = 256
"""More comparisons than this cost more than they save."""

_ORDERING = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Prefilters:
    """Comparisons a·x + b ≶ c·y + d, each as (whether it is <, a, b, c, d)."""

    left: str  # the left side's column x
    right: str  # the right side's column y
    comparisons: tuple[tuple[bool, float, float, float, float], ...]


@dataclass(frozen=True)
class Linear:
    """factor · variable + constant; without a variable, a constant."""

    var: str | None
    factor: float
    constant: float


def prefilters_for(join: steps.Join, readers: Sequence[Step]) -> Prefilters | None:
    """The prefilters that the readers of a join agree to, if each of them has one."""
    found: dict[tuple[str, str], list[tuple[bool, float, float, float, float]]] = {}
    for reader in readers:
        of_reader = _of_condition(reader.condition, join) if isinstance(reader, steps.Filter) else None
        if of_reader is None:
            return None
        pair, comparison = of_reader
        found.setdefault(pair, []).append(comparison)
    if len(found) != 1:
        return None
    [((left, right), comparisons)] = found.items()
    return Prefilters(left, right, tuple(comparisons)) if len(comparisons) <= MOST else None


def _of_condition(
    condition: Expression, join: steps.Join
) -> tuple[tuple[str, str], tuple[bool, float, float, float, float]] | None:
    if not isinstance(condition, Call) or condition.name not in _ORDERING:
        return None
    one, other = (linear(arg) for arg in condition.args)
    name = condition.name
    if one is None or other is None or one.var is None or other.var is None:
        return None
    if _belongs(one.var, join.right, join.left) and _belongs(other.var, join.left, join.right):
        one, other, name = other, one, MIRRORED[name]
    elif not (_belongs(one.var, join.left, join.right) and _belongs(other.var, join.right, join.left)):
        return None
    less = name in ("<", "<=")
    return (one.var, other.var), (less, one.factor, one.constant, other.factor, other.constant)


def _belongs(var: str, side: Step, other: Step) -> bool:
    return var in side.vars and var not in other.vars


def linear(expression: Expression) -> Linear | None:
    """An expression of one variable as factor and constant; None if it is not linear."""
    if isinstance(expression, Var):
        return Linear(expression.name, 1.0, 0.0)
    if isinstance(expression, Literal):
        return _constant(expression)
    if not isinstance(expression, Call) or len(expression.args) != 2:
        return None
    one, other = (linear(arg) for arg in expression.args)
    if one is None or other is None or (one.var is not None and other.var is not None):
        return None
    if expression.name in ("+", "-"):
        sign = 1.0 if expression.name == "+" else -1.0
        if sign * one.constant * other.constant < 0:
            return None  # doubles lose digits on the way that the difference does not show
        var = one.var or other.var
        return _of_use(var, one.factor + sign * other.factor, one.constant + sign * other.constant)
    if expression.name == "*":
        number, linear_part = (one, other) if one.var is None else (other, one)
        by = number.constant
        return _of_use(linear_part.var, by * linear_part.factor, by * linear_part.constant)
    if expression.name == "/" and other.var is None and other.constant:
        return _of_use(one.var, one.factor / other.constant, one.constant / other.constant)
    return None


def _of_use(var: str | None, factor: float, constant: float) -> Linear | None:
    """Unless it left the range of doubles; what follows from that is for the filter to say."""
    if not (math.isfinite(factor) and math.isfinite(constant)) or (var is not None and not factor):
        return None
    return Linear(var, factor, constant)


def _constant(literal: Literal) -> Linear | None:
    tag = ids.TAG_OF_DATATYPE.get(literal.datatype.value, 0)
    if not ids.INTEGER <= tag <= ids.DOUBLE:
        return None
    inline = ids.inline_id(literal.value, tag)
    return Linear(None, 0.0, ids.number(inline)[0]) if inline else None
