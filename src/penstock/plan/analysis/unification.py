"""Can a triple that a rule makes match a triple pattern or path of a query?

The rule is unification: position by position, a variable takes anything, constants must be
the same term, a template's blank node is fresh and so equals no constant and no other
blank node; a literal is never a subject, only an IRI a predicate. A path is taken apart
into the single triples it looks up (`look_ups`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.facts import once
from penstock.algebra.nodes import (
    Alternative,
    Axis,
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
    is_nested,
)
from penstock.plan.analysis.automata import anywhere, still
from penstock.terms import BlankNode, Literal, NamedNode

LeafPattern = TriplePattern | PathPattern


@dataclass(frozen=True, slots=True)
class AnyBut:
    """The predicate of a negated set's look-up: every IRI except these."""

    excluded: tuple[NamedNode, ...]


@dataclass(frozen=True, slots=True)
class LookUp:
    """One triple that a leaf looks up; a path of several steps has fresh variables between."""

    subject: TermOrVar
    predicate: TermOrVar | AnyBut
    object: TermOrVar


@once
def look_ups(leaf: LeafPattern) -> tuple[LookUp, ...]:
    """The look-ups of single triples that a triple pattern or path consists of."""
    if isinstance(leaf, TriplePattern):
        return (LookUp(leaf.subject, leaf.predicate, leaf.object),)
    numbers = itertools.count()
    found = [*_take_apart(leaf.path, leaf.subject, leaf.object, numbers)]
    if is_nested(leaf.path) and still(leaf.path) != anywhere(leaf.path):
        # Whatever stands anywhere in a triple is its own way, also where an end is a term.
        found.append(LookUp(*(Var(f".node{place}") for place in "spo")))
    return tuple(dict.fromkeys(found))


def _take_apart(path: Path, start: TermOrVar, end: TermOrVar, numbers: Iterator[int]) -> Iterator[LookUp]:
    def fresh() -> Var:
        return Var(f".step{next(numbers)}")

    match path:
        case NamedNode():
            yield LookUp(start, path, end)
        case Inverse():
            yield from _take_apart(path.path, end, start, numbers)
        case Sequence():
            middle = fresh()
            yield from _take_apart(path.left, start, middle, numbers)
            yield from _take_apart(path.right, middle, end, numbers)
        case Alternative():
            yield from _take_apart(path.left, start, end, numbers)
            yield from _take_apart(path.right, start, end, numbers)
        case NegatedSet():
            if path.forward is not None:
                yield LookUp(start, AnyBut(path.forward), end)
            if path.backward is not None:
                yield LookUp(end, AnyBut(path.backward), start)
        case OneOrMore():
            yield from _take_apart(path.path, fresh(), fresh(), numbers)
        case ZeroOrMore() | ZeroOrOne():
            if isinstance(start, Var) and isinstance(end, Var):
                # Zero length: whatever is a subject or object of any triple is its own way.
                yield LookUp(fresh(), fresh(), fresh())
            yield from _take_apart(path.path, fresh(), fresh(), numbers)
        case Axis(axis="self"):
            return
        case Axis(axis=axis, term=term):
            yield _along(axis, start, end, fresh() if term is None else term)
        case Nested(axis=axis, path=inner):
            tested = start if axis == "self" else fresh()
            if axis != "self":
                yield _along(axis, start, end, tested)
            yield from _take_apart(inner, tested, fresh(), numbers)
        case _:
            raise TypeError(f"{type(path).__name__} is not a property path")


def _along(axis: str, start: TermOrVar, end: TermOrVar, left: TermOrVar) -> LookUp:
    """The triple of a step along an axis, with what stands in the place that is left."""
    places = {"next": (start, left, end), "edge": (start, end, left), "node": (left, start, end)}
    return LookUp(*places[axis])


def has_closure(path: Path | LeafPattern) -> bool:
    """Whether a path, or that of a leaf, holds `+`, `*` or `?` anywhere, or is a nested expression."""
    match path:
        case Axis() | Nested():
            return True
        case OneOrMore() | ZeroOrMore() | ZeroOrOne():
            return True
        case Inverse() | PathPattern():
            return has_closure(path.path)
        case Sequence() | Alternative():
            return has_closure(path.left) or has_closure(path.right)
    return False


def may_have_no_length(path: Path) -> bool:
    """Whether a path can go from a node to itself without any triple."""
    match path:
        case ZeroOrMore() | ZeroOrOne():
            return True
        case OneOrMore() | Inverse():
            return may_have_no_length(path.path)
        case Sequence():
            return may_have_no_length(path.left) and may_have_no_length(path.right)
        case Alternative():
            return may_have_no_length(path.left) or may_have_no_length(path.right)
    return False


def can_match(template: TriplePattern, leaf: LeafPattern) -> bool:
    """Whether some triple made from the template triple matches the triple pattern or path."""
    return any(can_match_look_up(template, look_up) for look_up in look_ups(leaf))


def can_match_look_up(template: TriplePattern, look_up: LookUp) -> bool:
    """Whether some triple made from the template triple is found by a single look-up."""
    unified = _Unified()
    predicate = look_up.predicate
    if isinstance(predicate, AnyBut):
        if template.predicate in predicate.excluded:
            return False
        predicate = Var(".predicate")
    pairs = zip(template, (look_up.subject, predicate, look_up.object), strict=True)
    for made, wanted in pairs:
        if not unified.join(("template", made), ("pattern", wanted)):
            return False
    subject = unified.value(("template", template.subject))
    verb = unified.value(("template", template.predicate))
    return not isinstance(subject, Literal) and (verb is None or isinstance(verb, NamedNode))


_Side = tuple[str, TermOrVar]


class _Unified:
    """Classes of variables that must be equal, each with the constant they equal, if any."""

    def __init__(self) -> None:
        self.parent: dict[_Side, _Side] = {}

    def _root(self, side: _Side) -> _Side:
        # Both sides mean the same by a constant; a fresh blank node exists in templates only.
        if not isinstance(side[1], (Var, BlankNode)):
            side = ("constant", side[1])
        while side in self.parent:
            side = self.parent[side]
        return side

    def join(self, one: _Side, other: _Side) -> bool:
        one, other = self._root(one), self._root(other)
        if one == other:
            return True
        if not isinstance(one[1], Var):
            one, other = other, one
        if not isinstance(one[1], Var):
            return False
        self.parent[one] = other
        return True

    def value(self, side: _Side) -> TermOrVar | None:
        term = self._root(side)[1]
        return None if isinstance(term, Var) else term
