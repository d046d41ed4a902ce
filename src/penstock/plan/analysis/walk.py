"""The parts of algebra nodes: patterns below a node, its expressions, and EXISTS inside them.

All analyses of this package walk through these functions, so that a new operator is
described once: `children` in the order left to right, `expressions` of the node itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.facts import once
from penstock.algebra.nodes import (
    BGP,
    Aggregate,
    Call,
    Describe,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Minus,
    OrderBy,
    OuterJoin,
    PathPattern,
    Pattern,
    Project,
    Query,
    Reduced,
    Slice,
    TriplePattern,
    Union_,
    Values,
    Var,
)
from penstock.algebra.relations import Side

BINARY = (Join, OuterJoin, Union_, Minus)
UNARY = (Filter, Extend, Graph, Group, OrderBy, Project, Distinct, Reduced, Slice)
LEAVES = (BGP, PathPattern, Values)

PER_INSTANT = (Group, OrderBy, Slice)
"""The operators that look at all solutions which complete at one instant."""

ABSENCE = (OuterJoin, Minus)
"""The operators with a required side, whose answer depends on what the other side lacks."""

OPERATOR_NAMES = {
    Minus: "MINUS",
    Union_: "UNION",
    Group: "GROUP BY",
    OrderBy: "ORDER BY",
    Slice: "LIMIT",
}
"""Each operator as its author wrote it."""


def children(node: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly below a node, from left to right (without those in EXISTS)."""
    if isinstance(node, BINARY):
        return (node.left, node.right)
    if isinstance(node, UNARY):
        return (node.pattern,)
    if isinstance(node, LEAVES):
        return ()
    raise TypeError(f"{type(node).__name__} is not a graph pattern")


def expressions(node: Pattern) -> tuple[Expression, ...]:
    """The expressions that stand in the node itself."""
    if isinstance(node, Filter):
        return (node.condition,)
    if isinstance(node, OuterJoin):
        return () if node.condition is None else (node.condition,)
    if isinstance(node, Extend):
        return (node.expression,)
    if isinstance(node, Group):
        keys = tuple(expression for _, expression in node.keys)
        return keys + tuple(aggregate for _, aggregate in node.aggregates)
    if isinstance(node, OrderBy):
        return tuple(expression for expression, _ in node.keys)
    return ()


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it, but not what is inside EXISTS patterns."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Call):
            waiting += reversed(part.args)
        elif isinstance(part, Aggregate) and part.argument is not None:
            waiting.append(part.argument)


@once
def exists_patterns(node: Pattern) -> tuple[Pattern, ...]:
    """The patterns of all EXISTS and NOT EXISTS in the node's own expressions."""
    return tuple(
        part.pattern
        for expression in expressions(node)
        for part in subexpressions(expression)
        if isinstance(part, Exists)
    )


def operator_name(node: Pattern) -> str:
    """The operator as its author wrote it."""
    return node.word if isinstance(node, (Join, OuterJoin)) else OPERATOR_NAMES[type(node)]


def required_and_other(node: OuterJoin | Minus) -> tuple[Pattern, Pattern]:
    """An absence operator's required side, and the side that may be absent."""
    if isinstance(node, OuterJoin) and node.optional is Side.LEFT:
        return node.right, node.left
    return node.left, node.right


def nodes(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all patterns in it, those in EXISTS included, top down."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node) + exists_patterns(node))


def described(query: Query) -> tuple[TriplePattern, ...]:
    """The look-ups that DESCRIBE makes besides its pattern: one per described subject."""
    if not isinstance(query, Describe):
        return ()
    return tuple(TriplePattern(subject, Var(".predicate"), Var(".object")) for subject in query.subjects)
