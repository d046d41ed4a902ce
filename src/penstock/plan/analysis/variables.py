"""Which variables a pattern binds: in some solution (`possible`), in every one (`certain`).

Scoping is SPARQL 1.1's (section 18.2.1): a projection hides all it does not name, MINUS,
FILTER and EXISTS bind nothing, VALUES with UNDEF and OPTIONAL bind perhaps, and so does
BIND, whose expression may be an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.facts import once
from penstock.algebra.nodes import (
    BGP,
    Call,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Minus,
    OuterJoin,
    PathPattern,
    Pattern,
    Project,
    TriplePattern,
    Union_,
    Values,
    Var,
)
from penstock.plan.analysis.walk import children, expressions, required_and_other, subexpressions
from penstock.terms import BlankNode, Literal, NamedNode

Vars = frozenset[Var]
NONE: Vars = frozenset()

# An unbound operand is an error in these, so a filter that holds proves them bound.
_STRICT = frozenset(("=", "!=", "<", ">", "<=", ">=", "BOUND"))


def of_terms(terms: Iterable[object]) -> Vars:
    """The variables among the terms of a triple pattern, a template or a row."""
    return frozenset(term for term in terms if isinstance(term, Var))


@once
def possible(pattern: Pattern) -> Vars:
    """The variables that are bound in at least one solution a pattern can have."""
    if isinstance(pattern, BGP):
        return frozenset().union(*(of_terms(triple) for triple in pattern.triples))
    if isinstance(pattern, PathPattern):
        return of_terms((pattern.subject, pattern.object))
    if isinstance(pattern, Values):
        return frozenset(
            var
            for column, var in enumerate(pattern.vars)
            if any(row[column] is not None for row in pattern.rows)
        )
    if isinstance(pattern, Minus):
        return possible(pattern.left)
    if isinstance(pattern, Extend):
        return possible(pattern.pattern) | {pattern.var}
    if isinstance(pattern, Graph):
        return possible(pattern.pattern) | of_terms((pattern.name,))
    if isinstance(pattern, Group):
        inner = possible(pattern.pattern)
        keys = frozenset(var for var, value in pattern.keys if value != var or var in inner)
        return keys | {var for var, _ in pattern.aggregates}
    if isinstance(pattern, Project):
        return possible(pattern.pattern) & frozenset(pattern.vars)
    return frozenset().union(*(possible(child) for child in children(pattern)))


@once
def certain(pattern: Pattern) -> Vars:
    """The variables that are bound in every solution a pattern can have."""
    if isinstance(pattern, (BGP, PathPattern)):
        return possible(pattern)
    if isinstance(pattern, Values):
        return frozenset(
            var
            for column, var in enumerate(pattern.vars)
            if all(row[column] is not None for row in pattern.rows)
        )
    if isinstance(pattern, Join):
        return certain(pattern.left) | certain(pattern.right)
    if isinstance(pattern, Union_):
        return certain(pattern.left) & certain(pattern.right)
    if isinstance(pattern, (OuterJoin, Minus)):
        return certain(required_and_other(pattern)[0])
    if isinstance(pattern, Filter):
        proven = _proven(pattern.condition) & possible(pattern.pattern)
        return certain(pattern.pattern) | proven
    if isinstance(pattern, Extend):
        inner = certain(pattern.pattern)
        return inner | {pattern.var} if _never_fails(pattern.expression, inner) else inner
    if isinstance(pattern, Graph):
        return certain(pattern.pattern) | of_terms((pattern.name,))
    if isinstance(pattern, Group):
        inner = certain(pattern.pattern)
        keys = frozenset(var for var, value in pattern.keys if _never_fails(value, inner))
        counts = {var for var, aggregate in pattern.aggregates if aggregate.name == "COUNT"}
        return keys | counts
    if isinstance(pattern, Project):
        return certain(pattern.pattern) & frozenset(pattern.vars)
    (child,) = children(pattern)
    return certain(child)


def _never_fails(expression: Expression, bound: Vars) -> bool:
    """Whether an expression surely has a value: a constant, or a variable that is bound."""
    if isinstance(expression, Var):
        return expression in bound
    return isinstance(expression, (NamedNode, BlankNode, Literal))


def _proven(condition: Expression) -> Vars:
    """The variables that must be bound where a condition is true."""
    if not isinstance(condition, Call):
        return of_terms((condition,))
    if condition.name == "&&":
        return frozenset().union(*(_proven(part) for part in condition.args))
    if condition.name == "||":
        return frozenset.intersection(*(_proven(part) for part in condition.args))
    return of_terms(condition.args) if condition.name in _STRICT else NONE


def of_expression(expression: Expression) -> Vars:
    """The variables an expression looks at, those inside its EXISTS patterns included."""
    found: set[Var] = set()
    for part in subexpressions(expression):
        if isinstance(part, Var):
            found.add(part)
        elif isinstance(part, Exists):
            found |= free(part.pattern)
    return frozenset(found)


@once
def free(pattern: Pattern) -> Vars:
    """The variables of an EXISTS pattern that the outer solution's bindings reach.

    Everything its patterns and expressions mention; a sub-select lets in only what it projects.
    """
    if isinstance(pattern, BGP | PathPattern | Values):
        return frozenset(pattern.vars) if isinstance(pattern, Values) else possible(pattern)
    if isinstance(pattern, Project):
        return free(pattern.pattern) & frozenset(pattern.vars)
    found = frozenset().union(*(free(child) for child in children(pattern)))
    for expression in expressions(pattern):
        found |= of_expression(expression)
    if isinstance(pattern, Graph):
        found |= of_terms((pattern.name,))
    elif isinstance(pattern, Extend):
        found |= {pattern.var}
    elif isinstance(pattern, Group):
        found |= {var for var, _ in pattern.keys}
    return found


def of_template(template: tuple[TriplePattern, ...]) -> Vars:
    """The variables of a CONSTRUCT template."""
    return frozenset().union(*(of_terms(triple) for triple in template))
