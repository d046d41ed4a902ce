"""Patterns and paths in a few words, for messages: `?c <http://e/price> ?p`, `?a <p>/<q>+ ?b`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from penstock.algebra.nodes import (
    Aggregate,
    Alternative,
    Axis,
    Call,
    Exists,
    Expression,
    Inverse,
    NegatedSet,
    Nested,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    TermOrVar,
    TriplePattern,
    Var,
    ZeroOrMore,
    ZeroOrOne,
)
from penstock.algebra.printing import to_sexpr
from penstock.plan.system_columns import MARK
from penstock.terms import RDF

_REPEAT = {OneOrMore: "+", ZeroOrMore: "*", ZeroOrOne: "?"}


def in_words(things: Iterable[object], last: str = "and", most: int | None = None) -> str:
    """`a`, `a and b`, `a, b and c`; if there are more than `most`, how many more."""
    words = [str(thing) for thing in things]
    if most is not None and len(words) > most:
        words[most - 1 :] = [f"{len(words) - most + 1:,} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def term_text(term: TermOrVar) -> str:
    """A term or variable as in a query; a blank node's hidden variable as `[]`."""
    if isinstance(term, Var) and term.hidden:
        return "[]"
    return str(term)


def path_text(path: Path) -> str:
    """A property path as in a query."""
    match path:
        case Inverse():
            return "^" + _grouped(path.path, Inverse)
        case Sequence():
            return f"{_grouped(path.left)}/{_grouped(path.right)}"
        case Alternative():
            return f"{_grouped(path.left)}|{_grouped(path.right)}"
        case OneOrMore() | ZeroOrMore() | ZeroOrOne():
            return _grouped(path.path, Inverse, *_REPEAT) + _REPEAT[type(path)]
        case NegatedSet():
            names = [str(name) for name in path.forward or ()]
            names += [f"^{name}" for name in path.backward or ()]
            return f"!({'|'.join(names)})"
        case Axis():
            return path.axis if path.term is None else f"{path.axis}::{path.term}"
        case Nested():
            return f"{path.axis}::[{path_text(path.path)}]"
    return "a" if path == RDF.type else str(path)


def _grouped(path: Path, *others: type) -> str:
    text = path_text(path)
    return f"({text})" if isinstance(path, (Sequence, Alternative, *others)) else text


def leaf_text(leaf: TriplePattern | PathPattern) -> str:
    """A triple pattern or path on one line."""
    if isinstance(leaf, PathPattern):
        verb = path_text(leaf.path)
    elif isinstance(leaf.predicate, Var):
        verb = term_text(leaf.predicate)
    else:
        verb = path_text(leaf.predicate)
    return f"{term_text(leaf.subject)} {verb} {term_text(leaf.object)}"


_INFIX = frozenset(("||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"))
_UNARY = {"!": "!", "UMINUS": "-", "UPLUS": "+"}
_MEMBERSHIP = {"IN": "IN", "NOTIN": "NOT IN"}
_LIKE_THE_PAPER = {"GETDURATION": "getDURATION", "GETSTARTTIME": "getSTARTTIME", "GETENDTIME": "getENDTIME"}


def expression_text(
    expression: Expression,
    prefixes: Iterable[tuple[str, str]] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """An expression as in a query, with parentheses only where an operand has an operator.

    `names` has other names for its variables.
    """
    prefixes = tuple(prefixes)

    def text(part: Expression, inside: bool = True) -> str:
        match part:
            case Call(name=name, args=args) if name in _INFIX and len(args) == 2:
                shown = f" {name} ".join(map(text, args))
                return f"({shown})" if inside else shown
            case Call(name=name, args=(arg,)) if name in _UNARY:
                return _UNARY[name] + text(arg)
            case Call(name=name, args=(first, *others)) if name in _MEMBERSHIP:
                listed = ", ".join(text(each, False) for each in others)
                return f"{text(first)} {_MEMBERSHIP[name]} ({listed})"
            case Call(name=name, args=args):
                listed = ", ".join(text(arg, False) for arg in args)
                return f"{_LIKE_THE_PAPER.get(name, name)}({listed})"
            case Aggregate(name=name, argument=argument):
                return f"{name}({'*' if argument is None else text(argument, False)})"
            case Exists():
                return "EXISTS {…}"
            case Var() if part.name.startswith(MARK):
                return "EXISTS {…}"
            case Var() if part.name in names:
                return f"?{names[part.name]}"
        return to_sexpr(part, prefixes=prefixes)

    return text(expression, False)
