"""Nested regular expressions as automata: which steps a walk may take after which (decision 0014).

The automaton of Glushkov has a state for each step of the expression; states after which the same can
follow are then made one. Staying at a node is no step, so `((a*)*)*` has two states. A test, which has an
expression inside, is one step here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.algebra import nodes as a
from penstock.terms import NamedNode, Term

Label = tuple[a.Path, bool]
"""A single step, and whether it is taken backwards: `Axis`, `Nested`, or a `NegatedSet` of one direction.

A `Nested` step stands for the tests that some triple fulfils: without, they are fulfilled by terms."""

Still = frozenset[Term] | None
"""At which terms a walk can have no triple at all; None: at every one."""

NOWHERE: Still = frozenset()


@dataclass(frozen=True)
class Automaton:
    """Walks of at least one triple. State 0 is the first one."""

    labels: tuple[Label, ...]
    transitions: tuple[tuple[int, int, int], ...]  # from a state, by a label, to a state
    accepting: frozenset[int]


# --- walks without a triple --------------------------------------------------------------------


def still(path: a.Path) -> Still:
    """The terms at which a walk needs no triple: neither on its way nor for its tests."""
    match path:
        case a.Axis(axis="self", term=term):
            return None if term is None else frozenset((term,))
        case a.Nested(axis="self", path=inner) | a.Inverse(path=inner) | a.OneOrMore(path=inner):
            return still(inner)
        case a.ZeroOrMore() | a.ZeroOrOne():
            return None
        case a.Sequence(left=left, right=right):
            one, other = still(left), still(right)
            if one is None or other is None:
                return other if one is None else one
            return one & other
        case a.Alternative(left=left, right=right):
            one, other = still(left), still(right)
            return None if one is None or other is None else one | other
    return NOWHERE


def anywhere(path: a.Path) -> frozenset[Term]:
    """The terms that a path connects with themselves in every graph, also in one without them."""
    match path:
        case a.Axis(axis="self", term=term) if term is not None:
            return frozenset((term,))
        case a.Sequence(left=left, right=right):
            return anywhere(left) & anywhere(right)
        case a.Alternative(left=left, right=right):
            return anywhere(left) | anywhere(right)
        case a.Inverse() | a.ZeroOrMore() | a.OneOrMore() | a.ZeroOrOne():
            return anywhere(path.path)
    return frozenset()


# --- Glushkov's automaton ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """What matters of an expression around it: its first and last places, and whether it may be left out."""

    first: frozenset[int]
    last: frozenset[int]
    passable: bool


_STAY = _Part(frozenset(), frozenset(), True)


class _Places:
    """The places of an expression, and which can follow which."""

    def __init__(self) -> None:
        self.labels: list[Label] = []
        self.follow: list[set[int]] = []

    def of(self, path: a.Path, backwards: bool) -> _Part:
        match path:
            case NamedNode():
                return self._step(a.Axis("next", path), backwards)
            case a.Axis(axis="self", term=term):
                return _STAY if term is None else self._step(path, False)
            case a.Axis():
                return self._step(path, backwards)
            case a.Nested():
                return self._nested(path, backwards)
            case a.NegatedSet(forward=forward, backward=backward):
                both = ((forward, backwards), (backward, not backwards))
                parts = [self._step(a.NegatedSet(no), way) for no, way in both if no is not None]
                return _either(parts)
            case a.Inverse(path=inner):
                return self.of(inner, not backwards)
            case a.Alternative(left=left, right=right):
                return _either([self.of(left, backwards), self.of(right, backwards)])
            case a.Sequence(left=left, right=right):
                if backwards:
                    left, right = right, left
                return self._after(self.of(left, backwards), self.of(right, backwards))
            case a.ZeroOrMore(path=inner):
                return _or_none(self._repeated(self.of(inner, backwards)))
            case a.OneOrMore(path=inner):
                return self._repeated(self.of(inner, backwards))
            case a.ZeroOrOne(path=inner):
                return _or_none(self.of(inner, backwards))
        raise TypeError(f"{type(path).__name__} is not a path")

    def _step(self, path: a.Path, backwards: bool) -> _Part:
        place = frozenset((len(self.labels),))
        self.labels.append((path, backwards))
        self.follow.append(set())
        return _Part(place, place, False)

    def _nested(self, path: a.Nested, backwards: bool) -> _Part:
        backwards = backwards and path.axis != "self"
        terms = still(path.path)
        if terms is None:  # it begins everywhere
            return self.of(a.Axis(path.axis), backwards)
        steps = [a.Axis(path.axis, term) for term in sorted(terms, key=str)]
        return _either([self._step(step, backwards) for step in (path, *steps)])

    def _after(self, one: _Part, other: _Part) -> _Part:
        self._join(one, other)
        return _Part(
            one.first | other.first if one.passable else one.first,
            one.last | other.last if other.passable else other.last,
            one.passable and other.passable,
        )

    def _repeated(self, part: _Part) -> _Part:
        self._join(part, part)
        return part

    def _join(self, one: _Part, other: _Part) -> None:
        for place in one.last:
            self.follow[place] |= other.first


def _either(parts: Iterable[_Part]) -> _Part:
    parts = list(parts)
    return _Part(
        frozenset().union(*(part.first for part in parts)),
        frozenset().union(*(part.last for part in parts)),
        any(part.passable for part in parts),
    )


def _or_none(part: _Part) -> _Part:
    return _Part(part.first, part.last, True)


def automaton(path: a.Path, *, backwards: bool = False) -> Automaton:
    """The automaton of a path's walks of at least one triple; `backwards`: from its end to its beginning."""
    places = _Places()
    whole = places.of(path, backwards)
    # A state is the place of the last step (None: none yet), and whether there was a triple so far.
    first = (None, False)
    outgoing: dict[tuple, set[tuple[Label, tuple]]] = {}
    waiting = [first]
    while waiting:
        state = waiting.pop()
        if state in outgoing:
            continue
        place, used = state
        outgoing[state] = set()
        for there in whole.first if place is None else places.follow[place]:
            step = places.labels[there][0]
            target = (there, used or not _is_stay(step))
            outgoing[state].add((places.labels[there], target))
            waiting.append(target)
    return _least(first, outgoing, {(place, True) for place in whole.last})


def _is_stay(step: a.Path) -> bool:
    """Whether a step needs no triple."""
    return isinstance(step, a.Axis) and step.axis == "self"


def _least(first: tuple, outgoing: dict[tuple, set[tuple[Label, tuple]]], accepting: set[tuple]) -> Automaton:
    """Without states that lead nowhere; and those with the same ways on are one."""
    useful = accepting & outgoing.keys()
    while more := {s for s in outgoing.keys() - useful if any(t in useful for _, t in outgoing[s])}:
        useful = useful | more
    group = {state: state for state in outgoing if state in useful or state == first}
    while True:
        ways: dict[tuple, tuple] = {}
        made = {}
        for state in group:  # in a fixed order: equal paths are equal automata
            on = frozenset((label, group[t]) for label, t in outgoing[state] if t in useful)
            made[state] = ways.setdefault((on, state in accepting), group[state])
        if len(set(made.values())) == len(set(group.values())):
            break
        group = made
    numbers = {group[first]: 0}
    for each in group.values():
        numbers.setdefault(each, len(numbers))
    moves = dict.fromkeys(
        (numbers[group[state]], label, numbers[group[target]])
        for state in group
        for label, target in sorted(outgoing[state], key=lambda way: (str(way[1][0]), way[1][1]))
        if target in useful
    )
    labels = {label: number for number, label in enumerate(dict.fromkeys(label for _, label, _ in moves))}
    return Automaton(
        tuple(labels),
        tuple((source, labels[label], target) for source, label, target in moves),
        frozenset(numbers[group[state]] for state in accepting if state in group),
    )
