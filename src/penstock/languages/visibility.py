"""Which variables a pattern may bind: the "in scope" of SPARQL 1.1, section 18.2.1."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra import nodes as a
from penstock.algebra.facts import once


@once
def in_scope(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """The variables in scope after a pattern, in the order in which they first appear."""
    return tuple(dict.fromkeys(_in_scope(pattern)))


def visible(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """What `*` stands for: the variables in scope that the author named."""
    return tuple(var for var in in_scope(pattern) if not var.hidden)


def _in_scope(pattern: a.Pattern) -> Iterable[a.Var]:
    match pattern:
        case a.BGP():
            return (term for triple in pattern.triples for term in triple if isinstance(term, a.Var))
        case a.PathPattern():
            return (term for term in (pattern.subject, pattern.object) if isinstance(term, a.Var))
        case a.Minus():
            return in_scope(pattern.left)
        case a.Extend() | a.Timestamp():
            return (*in_scope(pattern.pattern), pattern.var)
        case a.EventSequence():
            return (var for member in pattern.members for var in _of_member(member))
        case a.Graph():
            name = (pattern.name,) if isinstance(pattern.name, a.Var) else ()
            return (*name, *in_scope(pattern.pattern))
        case a.Values() | a.Project():
            return pattern.vars
        case a.Group():
            return (var for var, _ in (*pattern.keys, *pattern.aggregates))
        case _:
            return (var for part in pattern.parts for var in in_scope(part))


def _of_member(member: a.Member) -> Iterable[a.Var]:
    if member.negated:
        return ()
    return (var for var, _ in member.aggregates) if member.repeated else in_scope(member.pattern)
