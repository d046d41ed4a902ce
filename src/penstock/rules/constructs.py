"""Rules over whole streams: each INSERT as CONSTRUCTs of EP-SPARQL, which may take premises from several
elements and give the consequence the hull of their intervals.

A rule may have an *internal graph*, which its template names by a variable: `GRAPH ?l { ?x :chain ?z }`.
The graphs of a run have fixed names, so such a relation is turned round: one graph per predicate, with the
variable in the predicate's place, `GRAPH :chain { ?x ?l ?z }`, in template and WHERE alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

from penstock.algebra import nodes as a
from penstock.algebra.nodes import Construct, ParsedQuery, ParsedRule, QuadPattern, Select, TriplePattern, Var
from penstock.errors import QueryError
from penstock.rules.rule import Rule
from penstock.terms import XSD, BlankNode, Literal, NamedNode
from penstock.timeline import format_duration


def constructs(rules: Iterable[Rule], within: int | None = None) -> list[ParsedQuery]:
    """The CONSTRUCTs that say what the INSERTs of some rules say; named after the rules.

    `within`: premises that span more microseconds have no consequence.
    """
    rules = list(rules)
    relations = _relations(rules)
    return [
        _parsed(rule, statement, construct)
        for rule in rules
        for statement in rule.inserts
        for construct in _constructs(rule, statement, relations, within)
    ]


def making_terms(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of regimes that compute or invent terms: fed by the others of their regime, and time standing
    still in a rule, they would make more and more of them at one instant."""
    return tuple(rule for rule in rules if rule.regimes and any(map(_makes_terms, rule.inserts)))


def _makes_terms(statement: ParsedRule) -> bool:
    computed, waiting = set[Var](), [statement.insert.pattern]
    while waiting:
        pattern = waiting.pop()
        computed.update(var for var, _ in pattern.computes)
        waiting += pattern.parts
    return any(
        isinstance(term, BlankNode) or term in computed
        for quad in statement.insert.template
        for term in (*quad.triple, quad.graph)
    )


def checks(rules: Iterable[Rule], within: int | None = None) -> list[tuple[Rule, ParsedQuery]]:
    """The queries that find contradictions, with the rules that they are of."""
    rules = list(rules)
    relations = _relations(rules)
    found = []
    for rule in rules:
        for check in rule.checks:
            pattern, shells = check.query.pattern, []
            while isinstance(pattern, (a.Project, a.Distinct, a.Reduced)):
                shells.append(pattern)
                pattern = pattern.pattern
            pattern = _bounded(_turned(pattern, relations, rule, check), within)
            for shell in reversed(shells):
                pattern = replace(shell, pattern=pattern)
            found.append((rule, _parsed(rule, check, Select(pattern, check.query.vars))))
    return found


def _parsed(rule: Rule, statement: a.Statement, query: a.Query) -> ParsedQuery:
    about = {field.name: getattr(statement, field.name) for field in fields(a.Statement)}
    return ParsedQuery(**about | {"name": rule.name}, query=query)


def _constructs(
    rule: Rule, statement: ParsedRule, relations: frozenset[NamedNode], within: int | None
) -> Iterable[Construct]:
    pattern = _bounded(_turned(statement.insert.pattern, relations, rule, statement), within)
    by_graph: dict[tuple[NamedNode | None, bool], list[TriplePattern]] = {}
    for quad in statement.insert.template:
        if isinstance(quad.graph, Var):
            s, p, o = quad.triple
            by_graph.setdefault((p, True), []).append(TriplePattern(s, quad.graph, o))
        else:
            by_graph.setdefault((quad.graph, False), []).append(quad.triple)
    labels = [
        {term for triple in triples for term in triple if isinstance(term, BlankNode)}
        for triples in by_graph.values()
    ]
    if sum(map(len, labels)) > len(set().union(*labels)):
        raise _refused(rule, statement, "puts one invented blank node into two graphs")
    for (graph, internal), triples in by_graph.items():
        yield Construct(pattern, tuple(triples), None, graph, internal)


def _relations(rules: Sequence[Rule]) -> frozenset[NamedNode]:
    """The predicates of internal graphs: those that templates put into a graph named by a variable."""
    found = set()
    for rule in rules:
        for statement in rule.inserts:
            for quad in statement.insert.template:
                if isinstance(quad.graph, Var):
                    found.add(_relation(quad, rule, statement))
    return frozenset(found)


def _relation(quad: QuadPattern, rule: Rule, statement: ParsedRule) -> NamedNode:
    if isinstance(quad.triple.predicate, NamedNode):
        return quad.triple.predicate
    raise _refused(
        rule, statement, f"writes triples of any predicate into graphs that {quad.graph} names by its values"
    )


def _bounded(pattern: a.Pattern, within: int | None) -> a.Pattern:
    if within is None:
        return pattern
    longest = Literal(format_duration(within), datatype=XSD.dayTimeDuration)
    short = a.Call("<=", (a.Call("GETDURATION", ()), longest))
    # What follows from static knowledge alone has no duration.
    return a.Filter(a.Call("COALESCE", (short, Literal("true", datatype=XSD.boolean))), pattern)


def _turned(
    pattern: a.Pattern, relations: frozenset[NamedNode], rule: Rule, statement: a.Statement
) -> a.Pattern:
    """A pattern that reads internal graphs where `constructs` has them written."""
    if not relations:
        return pattern

    def turned(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(turned, value))
        if not isinstance(value, a.Node) or isinstance(value, Var):
            return value
        if isinstance(value, a.Graph) and isinstance(value.name, Var):
            return _internal_graph(value, relations, rule, statement)
        assert is_dataclass(value)
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        new = {name: turned(part) for name, part in parts.items()}
        return value if all(new[name] is parts[name] for name in parts) else replace(value, **new)

    return turned(pattern)


def _internal_graph(
    graph: a.Graph, relations: frozenset[NamedNode], rule: Rule, statement: a.Statement
) -> a.Pattern:
    """`GRAPH ?l { … }` over internal graphs; over graphs that are given, as it is."""
    inner = graph.pattern
    triples = inner.triples if isinstance(inner, a.BGP) else ()
    if not triples or any(isinstance(triple.predicate, Var) for triple in triples):
        raise _refused(
            rule,
            statement,
            f"reads what has no named predicate in GRAPH {graph.name}, among internal graphs",
        )
    parts: list[a.Pattern] = []
    given = tuple(triple for triple in triples if triple.predicate not in relations)
    if given:
        parts.append(replace(graph, pattern=replace(inner, triples=given)))
    for s, p, o in (triple for triple in triples if triple.predicate in relations):
        parts.append(a.Graph(p, a.BGP((TriplePattern(s, graph.name, o),), inner.scope)))
    return reduce(a.Join, parts)


def _refused(rule: Rule, statement: a.Statement, what: str) -> QueryError:
    error = QueryError(
        f"the rule {rule.name} {what}, which rules over whole streams cannot",
        hint="use --scope element, or drop the rule (`# drop: " + rule.name + "` in a file of your own)",
    )
    error.span = statement.place
    error.located(statement.text, statement.origin)
    return error
