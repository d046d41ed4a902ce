"""Which variables a pattern may bind: the "in scope" of SPARQL 1.1, section 18.2.1."""

from __future__ import annotations

from penstock.algebra import nodes as a
from penstock.algebra.facts import once


@once
def in_scope(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """The variables in scope after a pattern, in the order in which they first appear."""
    return tuple(dict.fromkeys(pattern.in_scope(tuple(map(in_scope, pattern.parts)))))


def visible(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """What `*` stands for: the variables in scope that the author named."""
    return tuple(var for var in in_scope(pattern) if not var.hidden)


@once
def always_bound(pattern: a.Pattern) -> frozenset[a.Var]:
    """The variables that every solution of a pattern has."""
    possible = tuple(frozenset(in_scope(part)) for part in pattern.parts)
    return frozenset(pattern.certainly_binds(tuple(map(always_bound, pattern.parts)), possible))
