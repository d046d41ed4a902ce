"""Conditions that no value meets: `?y > 5 && ?y < 3`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.comparisons import MIRRORED
from penstock.algebra.facts import place_of
from penstock.algebra.nodes import Call, Expression, Pattern, Var
from penstock.errors import Finding
from penstock.functions.errors import ExpressionError
from penstock.functions.operators import order
from penstock.plan.analysis.walk import conjuncts, nodes
from penstock.terms import Literal


@dataclass
class _Bound:
    """A comparison of a variable with a constant, as its author wrote it."""

    sign: str
    constant: Literal
    call: Call


def contradictions(pattern: Pattern) -> Iterator[Finding]:
    """A finding for each variable of a FILTER that its comparisons with constants leave no value."""
    for node in nodes(pattern):
        for expression in node.expressions:
            bounds: dict[Var, list[_Bound]] = {}
            for part in conjuncts(expression):
                if (found := _bound(part)) is not None:
                    bounds.setdefault(found[0], []).append(found[1])
            for var, limits in bounds.items():
                pair = next((two for two in _pairs(limits) if not _meet(*two)), None)
                if pair is not None:
                    one, other = (f"{var} {each.sign} {each.constant.value}" for each in pair)
                    yield Finding(
                        "contradiction",
                        f"no value meets both `{one}` and `{other}`",
                        "|| lets through what meets one of them",
                        place_of(pair[1].call),
                    )


def _bound(part: Expression) -> tuple[Var, _Bound] | None:
    if not isinstance(part, Call) or part.name not in MIRRORED or part.name == "!=" or len(part.args) != 2:
        return None
    left, right = part.args
    if isinstance(left, Var) and isinstance(right, Literal):
        return left, _Bound(part.name, right, part)
    if isinstance(left, Literal) and isinstance(right, Var):
        return right, _Bound(MIRRORED[part.name], left, part)
    return None


def _pairs(limits: list[_Bound]) -> Iterator[tuple[_Bound, _Bound]]:
    for place, other in enumerate(limits):
        for one in limits[:place]:
            yield one, other


def _meet(one: _Bound, other: _Bound) -> bool:
    """Whether some value may be in both relations to the constants; in doubt, yes."""
    try:
        lies = order(one.constant, other.constant)
    except ExpressionError:
        return True
    if lies is None:
        return True
    if lies > 0:
        one, other = other, one
    if lies == 0:  # the same constant
        return "=" in one.sign and "=" in other.sign or one.sign[0] == other.sign[0]
    # one.constant is the smaller one: nothing lies below it and above the larger one.
    return one.sign[0] == ">" or other.sign[0] == "<"
