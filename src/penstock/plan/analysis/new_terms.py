"""Terms that rules make: which variables of a pattern have values that occurred nowhere before."""

from __future__ import annotations

from penstock.algebra.base import UnknownNode
from penstock.algebra.facts import once
from penstock.algebra.nodes import Aggregate, Call, Exists, Expression, Pattern, Var
from penstock.plan.analysis.variables import of_expression, possible
from penstock.plan.analysis.walk import children

# Their results are few, or parts of what they are given: no end of new terms comes from them.
_FINITE = frozenset(
    "= != < > <= >= && || ! IN NOTIN BOUND EXISTS SAMETERM ISIRI ISURI ISBLANK ISLITERAL "
    "ISNUMERIC LANGMATCHES CONTAINS STRSTARTS STRENDS REGEX LANG DATATYPE".split()
)
_CHOOSING = frozenset(("IF", "COALESCE", "STR", "UCASE", "LCASE"))
_FRESH_EACH_TIME = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))


@once
def made_variables(pattern: Pattern) -> frozenset[Var]:
    """The variables whose values are computed and may be terms that occurred nowhere before."""
    parts = children(pattern)
    computed = frozenset(var for var, _ in pattern.computes)
    unknown = possible(pattern).difference(pattern.finds, computed, *map(possible, parts))
    if unknown:
        raise UnknownNode(pattern, f"where the values of {', '.join(sorted(map(str, unknown)))} come from")
    made = frozenset().union(*map(made_variables, parts))
    return made.union(var for var, expression in pattern.computes if _makes(expression, made))


def _makes(expression: Expression, made: frozenset[Var]) -> bool:
    if isinstance(expression, Var):
        return expression in made
    if isinstance(expression, Exists):
        return False
    if isinstance(expression, Aggregate):
        if expression.name in ("MIN", "MAX", "SAMPLE") and expression.argument is not None:
            return _makes(expression.argument, made)
        return True
    if not isinstance(expression, Call) or expression.name in _FINITE:
        return False
    if expression.name in _FRESH_EACH_TIME:
        return True
    if expression.name in _CHOOSING:
        return any(_makes(argument, made) for argument in expression.args)
    # From constants and the solution's interval alone only finitely many values come.
    return bool(of_expression(expression)) or any(_makes(argument, made) for argument in expression.args)
