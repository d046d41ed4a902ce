"""Substitution of an outer solution into the pattern of EXISTS (SPARQL 18.6, `substitute`).

Wherever a variable of μ occurs it is replaced by its value, and stays bound to it, so that
BOUND, MINUS and the rest of the pattern still see it. A sub-SELECT's variables that it does
not project are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from penstock.algebra import (
    BGP,
    Aggregate,
    Call,
    EventSequence,
    Exists,
    Extend,
    Graph,
    Group,
    Join,
    Member,
    PathPattern,
    Pattern,
    Project,
    TriplePattern,
    Values,
    Var,
)
from penstock.terms import XSD, Literal, NamedNode, Term

Bindings = Mapping[str, Term]


def correlated(pattern: Pattern, mu: Bindings) -> Pattern:
    """The pattern with μ substituted; its solutions are compatible with μ."""
    if not mu:
        return pattern
    if isinstance(pattern, BGP):
        names = {part.name for t in pattern.triples for part in t if isinstance(part, Var)}
        triples = tuple(TriplePattern(*(_term(part, mu) for part in t)) for t in pattern.triples)
        return _bound(BGP(triples, pattern.scope), names, mu)
    if isinstance(pattern, PathPattern):
        ends = (pattern.subject, pattern.object)
        names = {end.name for end in ends if isinstance(end, Var)}
        subject, object_ = (_term(end, mu) for end in ends)
        return _bound(PathPattern(subject, pattern.path, object_, pattern.scope), names, mu)
    if isinstance(pattern, Values):
        rows = tuple(row for row in pattern.rows if _agrees(pattern.vars, row, mu))
        return Values(pattern.vars, rows)
    if isinstance(pattern, Graph):
        inside = correlated(pattern.pattern, mu)
        name = _term(pattern.name, mu)
        if name == pattern.name:
            return Graph(name, inside)
        if not isinstance(name, NamedNode):
            return Values((), ())  # no graph has this name
        return _bound(Graph(name, inside), {pattern.name.name}, mu)
    if isinstance(pattern, Project):
        visible = {var.name: mu[var.name] for var in pattern.vars if var.name in mu}
        return Project(correlated(pattern.pattern, visible), pattern.vars)
    if isinstance(pattern, EventSequence):
        return EventSequence(tuple(_member(each, mu) for each in pattern.members))
    rebuilt = _rebuilt(pattern, mu)
    if isinstance(pattern, Extend):
        return _bound(rebuilt, {pattern.var.name}, mu)
    if isinstance(pattern, Group):
        return _bound(rebuilt, {var.name for var, _ in pattern.keys}, mu)
    return rebuilt


def _member(member: Member, mu: Bindings) -> Member:
    aggregates = tuple((var, _expression(aggregate, mu)) for var, aggregate in member.aggregates)
    return replace(member, pattern=correlated(member.pattern, mu), aggregates=aggregates)


def _bound(pattern: Pattern, names: set[str], mu: Bindings) -> Pattern:
    """The pattern with these variables bound to what μ says, if it says something."""
    known = tuple(sorted(name for name in names if name in mu))
    if not known:
        return pattern
    row = tuple(mu[name] for name in known)
    return Join(pattern, Values(tuple(Var(name) for name in known), (row,)))


def _term(part, mu: Bindings):
    return mu.get(part.name, part) if isinstance(part, Var) else part


def _agrees(variables: tuple[Var, ...], row: tuple, mu: Bindings) -> bool:
    return all(
        term is None or mu.get(var.name, term) == term for var, term in zip(variables, row, strict=True)
    )


def _rebuilt(node, mu: Bindings):
    """The same operator on substituted patterns and expressions."""
    changed = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if each.name in ("left", "right", "pattern"):
            changed[each.name] = correlated(value, mu)
        elif each.name in ("condition", "expression"):
            changed[each.name] = _expression(value, mu)
        elif each.name in ("keys", "aggregates") and isinstance(node, Group):
            changed[each.name] = tuple((var, _expression(e, mu)) for var, e in value)
        elif each.name == "members":
            changed[each.name] = tuple(_member(member, mu) for member in value)
        elif each.name == "keys":
            changed[each.name] = tuple((_expression(e, mu), down) for e, down in value)
    return replace(node, **changed)


def _member(member: Member, mu: Bindings) -> Member:
    aggregates = tuple((var, _expression(e, mu)) for var, e in member.aggregates)
    return replace(member, pattern=correlated(member.pattern, mu), aggregates=aggregates)


def _expression(expression, mu: Bindings):
    """An expression in which the variables of μ are their values."""
    if isinstance(expression, Var):
        return mu.get(expression.name, expression)
    if isinstance(expression, Exists):
        return Exists(correlated(expression.pattern, mu))
    if isinstance(expression, Aggregate):
        return replace(expression, argument=_expression(expression.argument, mu))
    if isinstance(expression, Call):
        if expression.name == "BOUND" and expression.args[0].name in mu:
            return Literal("true", datatype=XSD.boolean)
        return Call(expression.name, tuple(_expression(each, mu) for each in expression.args))
    return expression
