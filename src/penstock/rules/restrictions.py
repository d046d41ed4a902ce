"""What a rule may not say, and what it says in vain.

Rules are monotone: what was derived stays derived, whatever comes. So a rule may not depend on what is
absent, nor on how many there are, and is refused by the name of what it uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra import nodes as a
from penstock.algebra.facts import place_of
from penstock.algebra.relations import ANY
from penstock.errors import Finding, QueryError, Span
from penstock.languages.visibility import in_scope
from penstock.rules.rule import Rule
from penstock.terms import Literal

_MONOTONE = (a.BGP, a.PathPattern, a.Union_, a.Filter, a.Extend, a.Graph, a.Values)
_AROUND_A_CHECK = (a.Project, a.Distinct, a.Reduced)
_STAYS = "what was derived must stay derived, so a rule may not ask for what is absent"
_INSTEAD = {
    a.OuterJoin: f"{_STAYS}; write a rule for each case",
    a.Minus: f"{_STAYS}; values that are not meant are left out with FILTER (?x != …)",
    a.Next: "a rule over several elements is CONSTRUCT { … } WHERE { … } in a query file",
    a.Unless: f"{_STAYS}; ask for it in a query",
    a.Group: "a rule looks at one solution at a time; ask for the aggregate in a query",
    a.Project: "write its pattern into WHERE itself",
    a.OrderBy: "a rule takes all solutions, in no order",
    a.Slice: "a rule takes all solutions",
    a.Join: "a rule over several elements is CONSTRUCT { … } WHERE { … } in a query file",
}
_EXISTS = f"{_STAYS}; a pattern that must be there is written into WHERE itself"
_NAMED_GRAPH = "name the graph, or write the recursion as a rule: what reaches y, and a step further"
_NESTED = "write its steps as triples with variables between them, and what it repeats as a rule of its own"
_TIMES = "a rule speaks of triples, whenever they hold; ask for times in a query"


def refuse(name: str, statement: a.ParsedRule | a.ParsedQuery) -> None:
    """Raises if a statement is none that a rule may have."""

    def error(what: str, span: Span | None, hint: str) -> QueryError:
        return QueryError(
            f"rule {name}: {what} cannot stand in a rule",
            hint=hint,
            span=span or statement.place,
            text=statement.text,
            origin=statement.origin,
        )

    pattern = statement.insert.pattern if isinstance(statement, a.ParsedRule) else _checked(statement, error)
    waiting = [(pattern, False)]
    while waiting:
        node, in_any_graph = waiting.pop()
        for expression in node.expressions:
            _refuse_in(expression, error)
        if isinstance(node, a.PathPattern) and a.is_nested(node.path):
            raise error("a path with an axis or a test", place_of(node), _NESTED)
        if in_any_graph and isinstance(node, a.PathPattern) and _repeats(node.path):
            raise error("a path with + or * under GRAPH ?…", place_of(node), _NAMED_GRAPH)
        if isinstance(node, a.Join) and node.relation == ANY or isinstance(node, _MONOTONE):
            inside = isinstance(node.name, a.Var) if isinstance(node, a.Graph) else in_any_graph
            waiting += ((part, inside) for part in reversed(node.parts))
            continue
        kind = a.Project if isinstance(node, _AROUND_A_CHECK) else type(node)
        raise error(_named(node), place_of(node), _INSTEAD.get(kind, _STAYS))


def _repeats(path: a.Path) -> bool:
    """Whether + or * stands in a path."""
    if isinstance(path, (a.OneOrMore, a.ZeroOrMore)):
        return True
    if isinstance(path, (a.Sequence, a.Alternative)):
        return _repeats(path.left) or _repeats(path.right)
    return isinstance(path, (a.Inverse, a.ZeroOrOne)) and _repeats(path.path)


def _checked(statement: a.ParsedQuery, error) -> a.Pattern:
    """The pattern of a SELECT, without SELECT itself."""
    if statement.query.dataset is not None:
        raise error("FROM", None, "a rule reads the default graph, and other graphs with GRAPH")
    pattern = statement.query.pattern
    while isinstance(pattern, _AROUND_A_CHECK):
        pattern = pattern.pattern
    return pattern


def _named(node: a.Pattern) -> str:
    if isinstance(node, a.Group):
        return node.aggregates[0][1].name if node.aggregates else node.word
    return "a sub-select" if isinstance(node, _AROUND_A_CHECK) else node.title or node.operator


def _refuse_in(expression: a.Expression, error) -> None:
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, a.Exists):
            raise error("EXISTS", place_of(part), _EXISTS)
        if isinstance(part, a.Call):
            if part.name == "!" and isinstance(part.args[0], a.Exists):
                raise error("NOT EXISTS", place_of(part.args[0]), _EXISTS)
            if part.name in a.TIME_FUNCTIONS:
                raise error(part.name.replace("GET", "get"), place_of(part), _TIMES)
            waiting += reversed(part.args)


def findings(rule: Rule) -> Iterator[tuple[a.ParsedRule, Finding]]:
    """What rules can hold but not mean: triples of their templates that never come to be."""
    for statement in rule.inserts:
        insert = statement.insert
        if not insert.template:
            yield (
                statement,
                Finding("adds-nothing", "the template is empty: this adds nothing", None, statement.place),
            )
        bound = frozenset(in_scope(insert.pattern))
        for quad in insert.template:
            if isinstance(quad.triple.subject, Literal):
                yield (
                    statement,
                    Finding(
                        "never-a-triple",
                        f"the literal {quad.triple.subject} is a subject here: RDF has no such triple, "
                        "and this one is never added",
                        "exchange subject and object, or remove it",
                        place_of(quad.triple) or statement.place,
                    ),
                )
            for term in (*quad.triple, quad.graph):
                if isinstance(term, a.Var) and term not in bound:
                    yield (
                        statement,
                        Finding(
                            "never-bound",
                            f"{term} is not bound in WHERE: this triple is never added",
                            f"bind {term} in WHERE, or write a blank node where a new one is meant",
                            dict(statement.spans).get(term, statement.place),
                        ),
                    )
