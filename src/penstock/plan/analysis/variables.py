"""Which variables a pattern binds: in some solution (`possible`), in every one (`certain`).

Scoping is SPARQL 1.1's (section 18.2.1): a projection hides all it does not name, MINUS,
FILTER and EXISTS bind nothing, VALUES with UNDEF and OPTIONAL bind perhaps, and so does
BIND, whose expression may be an error.
"""

from __future__ import annotations

from penstock.algebra.facts import once
from penstock.algebra.nodes import Exists, Expression, Pattern, TriplePattern, Var, Vars, variables_among
from penstock.plan.analysis.walk import children, subexpressions

of_terms = variables_among
"""The variables among the terms of a triple pattern, a template or a row."""


@once
def possible(pattern: Pattern) -> Vars:
    """The variables that are bound in at least one solution a pattern can have."""
    return pattern.binds(tuple(map(possible, children(pattern))))


@once
def certain(pattern: Pattern) -> Vars:
    """The variables that are bound in every solution a pattern can have."""
    parts = children(pattern)
    return pattern.certainly_binds(tuple(map(certain, parts)), tuple(map(possible, parts)))


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
    found = pattern.names.union(*map(free, children(pattern)), *map(of_expression, pattern.expressions))
    return found if pattern.shows is None else found & frozenset(pattern.shows)


def of_template(template: tuple[TriplePattern, ...]) -> Vars:
    """The variables of a CONSTRUCT template."""
    return frozenset().union(*(of_terms(triple) for triple in template))
