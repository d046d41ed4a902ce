"""Walking through patterns: those below a node, its expressions, and EXISTS inside them.

What an operator is, it says itself (`algebra.base.GraphPattern`): all analyses of this package ask it
through these functions or directly, and none knows the operators by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.facts import once
from penstock.algebra.nodes import Aggregate, Call, Describe, Exists, Expression, Pattern, Query, Var
from penstock.algebra.patterns import TriplePattern


def children(node: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly below a node, from left to right (without those in EXISTS)."""
    return node.parts


def conjuncts(condition: Expression) -> list[Expression]:
    """A filter holds exactly if all these hold."""
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.args for part in conjuncts(argument)]
    return [condition]


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
        for expression in node.expressions
        for part in subexpressions(expression)
        if isinstance(part, Exists)
    )


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
