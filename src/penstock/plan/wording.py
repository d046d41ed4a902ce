"""Patterns and paths in a few words, for messages: `?c <http://e/price> ?p`, `?a <p>/<q>+ ?b`."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.nodes import (
    Alternative,
    Inverse,
    NegatedSet,
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
from penstock.terms import RDF

_REPEAT = {OneOrMore: "+", ZeroOrMore: "*", ZeroOrOne: "?"}


def in_words(things: Iterable[object], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = [str(thing) for thing in things]
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
            return "^" + _grouped(path.path)
        case Sequence():
            return f"{_grouped(path.left)}/{_grouped(path.right)}"
        case Alternative():
            return f"{_grouped(path.left)}|{_grouped(path.right)}"
        case OneOrMore() | ZeroOrMore() | ZeroOrOne():
            return _grouped(path.path) + _REPEAT[type(path)]
        case NegatedSet():
            names = [str(name) for name in path.forward or ()]
            names += [f"^{name}" for name in path.backward or ()]
            return f"!({'|'.join(names)})"
    return "a" if path == RDF.type else str(path)


def _grouped(path: Path) -> str:
    text = path_text(path)
    return f"({text})" if isinstance(path, (Sequence, Alternative)) else text


def leaf_text(leaf: TriplePattern | PathPattern) -> str:
    """A triple pattern or path on one line."""
    if isinstance(leaf, PathPattern):
        verb = path_text(leaf.path)
    elif isinstance(leaf.predicate, Var):
        verb = term_text(leaf.predicate)
    else:
        verb = path_text(leaf.predicate)
    return f"{term_text(leaf.subject)} {verb} {term_text(leaf.object)}"
