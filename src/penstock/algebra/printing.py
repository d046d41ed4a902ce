"""The algebra as text: indented S-expressions with the operators' names in the papers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.algebra import nodes as a
from penstock.algebra.base import UnknownNode
from penstock.algebra.relations import HULL
from penstock.algebra.scopes import STREAM
from penstock.algebra.windows import Kind, Report, WindowSpec
from penstock.terms import XSD, BlankNode, Literal, NamedNode
from penstock.timeline import format_duration

_WIDTH = 88
_NUMBERS = (XSD.integer, XSD.decimal, XSD.double)
_BINARY = {a.Union_: "Union", a.Minus: "Minus"}
_PATHS = {
    a.Inverse: "inv",
    a.Sequence: "seq",
    a.Alternative: "alt",
    a.ZeroOrMore: "ZeroOrMorePath",
    a.OneOrMore: "OneOrMorePath",
    a.ZeroOrOne: "ZeroOrOnePath",
}

# Operators whose short first parts stay beside them: (Project (?a ?b) …
_BESIDE = frozenset(
    ("Select", "Describe", "Project", "Extend", "Graph", "Values", "Group", "OrderBy", "Slice")
    + ("Window", "Timestamp", "Unless")
    + ("Filter", "path")
)
_IRI_AT_END = re.compile(r'((?:".*"\^\^)?)<([^<>]*)>', re.S)
_PLAIN_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

# A form to print: a word, or the parts of a parenthesised list.
Form = str | tuple["Form", ...]


def to_sexpr(
    node: a.Query | a.Insert | a.Pattern | a.Expression | a.Path,
    *,
    prefixes: Iterable[tuple[str, str]] = (),
) -> str:
    """A query or rule, or a part of one, as an indented S-expression; equal text means equal nodes.

    With `prefixes` (as `ParsedQuery` has them), IRIs are written with their prefix.
    """
    form = _form(node)
    if namespaces := sorted(prefixes, key=lambda item: (-len(item[1]), item[0])):
        form = _shortened(form, namespaces)
    return _laid_out(form, 0)


def _shortened(form: Form, namespaces: list[tuple[str, str]]) -> Form:
    if isinstance(form, tuple):
        return tuple(_shortened(part, namespaces) for part in form)
    found = _IRI_AT_END.fullmatch(form)
    if found is None:
        return form
    for prefix, namespace in namespaces:
        if namespace and found[2].startswith(namespace):
            local = found[2][len(namespace) :]
            if _PLAIN_LOCAL.fullmatch(local):
                return f"{found[1]}{prefix}:{local}"
    return form


def _laid_out(form: Form, indent: int) -> str:
    """A form on one line if it fits, else its parts below each other."""
    line = _one_line(form)
    if isinstance(form, str) or not form or form[0] in ("triple", "quad") or indent + len(line) <= _WIDTH:
        return line
    head, *parts = form
    first = _one_line(head)
    while head in _BESIDE and len(parts) > 1 and len(_one_line(parts[0])) <= _WIDTH // 2:
        first += " " + _one_line(parts.pop(0))
    inner = indent + 2
    return "(" + "\n".join([first, *(" " * inner + _laid_out(p, inner) for p in parts)]) + ")"


def _one_line(form: Form) -> str:
    if isinstance(form, str):
        return form
    return "(" + " ".join(_one_line(part) for part in form) + ")"


def _forms(nodes) -> tuple[Form, ...]:
    return tuple(_form(node) for node in nodes)


def _form(node) -> Form:
    kind = type(node)
    if kind in _BINARY:
        return (_BINARY[kind], _form(node.left), _form(node.right))
    if kind in _PATHS:
        parts = (node.left, node.right) if kind in (a.Sequence, a.Alternative) else (node.path,)
        return (_PATHS[kind], *_forms(parts))
    match node:
        case a.Var() | NamedNode() | BlankNode():
            return str(node)
        case Literal():
            return _literal(node)
        case a.Select() | a.Construct() | a.Ask() | a.Describe():
            return _query(node)
        case a.Insert():
            return ("Insert", ("template", *_forms(node.template)), _form(node.pattern))
        case a.QuadPattern():
            triple = _form(node.triple)
            return triple if node.graph is None else ("quad", _form(node.graph), *triple[1:])
        case a.Call() | a.Exists() | a.Aggregate():
            return _expression(node)
        case a.NegatedSet():
            return _negated_set(node)
        case a.Axis():
            return node.axis if node.term is None else (f"{node.axis}::", _form(node.term))
        case a.Nested():
            return (f"{node.axis}::[]", _form(node.path))
        case a.TriplePattern():
            return ("triple", *_forms(node))
        case a.BGP():
            return ("bgp", *_scope(node), *_forms(node.triples))
        case a.PathPattern():
            return ("path", *_scope(node), _form(node.subject), _form(node.path), _form(node.object))
        case a.Join():
            interval = () if node.interval is HULL else (node.interval.value,)
            return (node.operator, *_scope(node), *interval, _form(node.left), _form(node.right))
        case a.OuterJoin():
            interval = () if node.interval is HULL else (node.interval.value,)
            condition = () if node.condition is None else (_form(node.condition),)
            return (node.operator, *interval, _form(node.left), _form(node.right), *condition)
        case a.Next():
            return ("Next", _form(node.left), _form(node.right))
        case a.Unless():
            return ("Unless", format_duration(node.within), _form(node.left), _form(node.right))
        case a.Filter():
            return ("Filter", _form(node.condition), _form(node.pattern))
        case a.Extend():
            return ("Extend", _form(node.var), _form(node.expression), _form(node.pattern))
        case a.Graph():
            return ("Graph", _form(node.name), _form(node.pattern))
        case a.Values():
            rows = (tuple("UNDEF" if x is None else _form(x) for x in row) for row in node.rows)
            return ("Values", _forms(node.vars), *(("row", *row) for row in rows))
        case a.Group():
            keys = tuple(
                _form(var) if var == expression else (_form(var), _form(expression))
                for var, expression in node.keys
            )
            aggregates = tuple((_form(var), _form(value)) for var, value in node.aggregates)
            return ("Group", keys, aggregates, _form(node.pattern))
        case a.OrderBy():
            keys = tuple(
                ("desc" if descending else "asc", _form(expression)) for expression, descending in node.keys
            )
            return ("OrderBy", keys, _form(node.pattern))
        case a.Project():
            return ("Project", _forms(node.vars), _form(node.pattern))
        case a.Distinct():
            return ("Distinct", _form(node.pattern))
        case a.Reduced():
            return ("Reduced", _form(node.pattern))
        case a.Slice():
            limit = "_" if node.limit is None else str(node.limit)
            return ("Slice", str(node.offset), limit, _form(node.pattern))
        case a.InWindow():
            return ("Window", _form(node.name), _form(node.pattern))
        case a.EventSequence():
            return ("Seq", *map(_member, node.members))
        case a.Background():
            return ("Background", _form(node.pattern))
        case a.Timestamp():
            return ("Timestamp", _form(node.var), _form(node.triple), _form(node.pattern))
    raise UnknownNode(node, "how it is printed")


def _member(member: a.Member) -> Form:
    aggregates = tuple((_form(var), _form(value)) for var, value in member.aggregates)
    form = _form(member.pattern)
    if member.negated:
        form = ("not", form)
    return ("repeated", *aggregates, form) if member.repeated else form


def _continuous(query: a.Query) -> tuple[Form, ...]:
    """The windows of a query, when it is evaluated, and what it gives."""
    if query.continuous is None:
        return ()
    windows = (
        ("window", *_named(each.name), _form(each.stream), *_spec(each.spec))
        for each in query.continuous.windows
    )
    return (
        *windows,
        ("report", *_report(query.continuous.report)),
        (query.continuous.operator.value.lower(), query.continuous.view.value),
        *((f"window-{which.value}", f"?{name}") for name, which in query.continuous.bounds),
    )


def _named(name: NamedNode | None) -> tuple[Form, ...]:
    return () if name is None else (_form(name),)


def _spec(spec: WindowSpec) -> tuple[Form, ...]:
    width = () if spec.kind is Kind.LANDMARK else (f"width={spec.width}",)
    start = () if spec.start is None else (f"start={spec.start}",)
    opening = ("opening",) if spec.opening else ()
    return (spec.kind.value, *width, f"slide={spec.slide}", *start, *opening, spec.shows.value)


def _report(report: Report) -> tuple[Form, ...]:
    words = ("close", "change", "non_empty")
    period = () if report.period is None else (f"period={report.period}",)
    return (*(word for word in words if getattr(report, word)), *period, report.tick.value)


def _scope(node: a.BGP | a.PathPattern | a.Join | a.Query) -> tuple[str, ...]:
    return () if node.scope == STREAM else (str(node.scope).lower(),)


def _query(query: a.Query) -> Form:
    dataset: tuple[Form, ...] = ()
    if query.dataset is not None:
        default = tuple(("from", _form(iri)) for iri in query.dataset.default)
        named = tuple(("from-named", _form(iri)) for iri in query.dataset.named)
        dataset = (("dataset", *default, *named),)
    dataset = (*_scope(query), *_continuous(query), *dataset)
    match query:
        case a.Select():
            return ("Select", _forms(query.vars), *dataset, _form(query.pattern))
        case a.Construct():
            template = ("template", *_forms(query.template))
            into = "internal" if query.internal else "into"
            target = () if query.target is None else ((into, _form(query.target)),)
            return ("Construct", *target, *dataset, template, _form(query.pattern))
        case a.Ask():
            return ("Ask", *dataset, _form(query.pattern))
        case a.Describe():
            return ("Describe", _forms(query.subjects), *dataset, _form(query.pattern))


def _expression(node: a.Call | a.Exists | a.Aggregate) -> Form:
    if isinstance(node, a.Exists):
        return ("EXISTS", _form(node.pattern))
    if isinstance(node, a.Call):
        return (node.name, *_forms(node.args))
    distinct = ("distinct",) if node.distinct else ()
    separator: tuple[Form, ...] = ()
    if node.separator is not None:
        separator = (("separator", _literal(Literal(node.separator))),)
    argument = "*" if node.argument is None else _form(node.argument)
    return (node.name, *distinct, argument, *separator)


def _negated_set(path: a.NegatedSet) -> Form:
    forward = None if path.forward is None else ("notoneof", *_forms(path.forward))
    backward = None if path.backward is None else ("inv", ("notoneof", *_forms(path.backward)))
    if forward is not None and backward is not None:
        return ("alt", forward, backward)
    return forward if forward is not None else backward


def _literal(literal: Literal) -> str:
    """Numbers and booleans bare, as in a query; everything else as in N-Triples."""
    if literal.datatype in _NUMBERS and _is_plain_number(literal):
        return literal.value
    if literal.datatype == XSD.boolean and literal.value in ("true", "false"):
        return literal.value
    return str(literal)


def _is_plain_number(literal: Literal) -> bool:
    """Whether the digits alone say the datatype."""
    digits = literal.value.lstrip("+-")
    if literal.datatype == XSD.integer:
        return digits.isdecimal() and digits.isascii()
    mantissa, exponent, power = digits.lower().partition("e")
    whole, point, fraction = mantissa.partition(".")
    if not (whole + fraction).isdecimal() or not (whole + fraction).isascii():
        return False
    if literal.datatype == XSD.decimal:
        return bool(point and fraction) and not exponent
    return bool(exponent) and power.lstrip("+-").isdecimal()
