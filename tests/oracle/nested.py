"""Nested regular expressions: the printed semantics of nSPARQL, and the same over timed occurrences.

`printed` is the definition of nSPARQL (Pérez, Arenas, Gutierrez: "nSPARQL: A navigational language for
RDF", which paper 001 refers to for the full semantics), read aloud over a set of triples. `timed` adds what
decision 0014 says about intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized

from oracle.model import ActiveGraph, Occurrence, Triple, hull
from penstock.algebra import (
    Alternative,
    Axis,
    Inverse,
    NegatedSet,
    Nested,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from penstock.terms import NamedNode, Term

Spend = Callable[[Sized, Sized], None]

# --- printed: sets of pairs ------------------------------------------------------------------------

Pairs = frozenset[tuple[Term, Term]]


def printed(path: Path, graph: Iterable[Triple]) -> Pairs:
    """[[exp]]_G."""
    triples = frozenset(graph)
    vocabulary = {term for triple in triples for term in triple}  # voc(G)

    def itself() -> Pairs:  # [[self]]_G
        return frozenset((x, x) for x in vocabulary)

    def inverse(pairs: Pairs) -> Pairs:
        return frozenset((y, x) for x, y in pairs)

    def after(one: Pairs, other: Pairs) -> Pairs:  # exists z: (x, z) in one, (z, y) in other
        return frozenset((x, y) for x, z1 in one for z2, y in other if z1 == z2)

    def repeated(pairs: Pairs) -> Pairs:  # exp ∪ exp/exp ∪ …
        found = pairs
        while True:
            more = found | after(found, pairs)
            if more == found:
                return found
            found = more

    def axis(name: str, holds: Callable[[Term], bool]) -> Pairs:
        match name:
            case "self":
                return frozenset((x, x) for x in vocabulary if holds(x))
            case "next":
                return frozenset((x, y) for x, z, y in triples if holds(z))
            case "edge":
                return frozenset((x, y) for x, y, z in triples if holds(z))
            case "node":
                return frozenset((x, y) for z, x, y in triples if holds(z))
        raise AssertionError(name)

    def value(exp: Path) -> Pairs:
        match exp:
            case NamedNode():  # a link of SPARQL is next::a
                return axis("next", lambda z: z == exp)
            case Axis(axis="self", term=term) if term is not None:
                return frozenset([(term, term)])
            case Axis(axis=name, term=term):
                return axis(name, lambda z: term is None or z == term)
            case Nested(axis=name, path=inner):
                begins = {z for z, _ in value(inner)}
                return axis(name, lambda z: z in begins)
            case Inverse(path=inner):
                return inverse(value(inner))
            case Sequence(left=left, right=right):
                return after(value(left), value(right))
            case Alternative(left=left, right=right):
                return value(left) | value(right)
            case ZeroOrMore(path=inner):
                return itself() | repeated(value(inner))
            case OneOrMore(path=inner):
                return repeated(value(inner))
            case ZeroOrOne(path=inner):
                return itself() | value(inner)
            case NegatedSet(forward=forward, backward=backward):
                found: Pairs = frozenset()
                if forward is not None:
                    found |= axis("next", lambda z: z not in forward)
                if backward is not None:
                    found |= inverse(axis("next", lambda z: z not in backward))
                return found
        raise AssertionError(exp)

    return value(path)


# --- timed -----------------------------------------------------------------------------------------

Interval = tuple[int | None, int | None]
Walk = tuple[Term, Term, int | None, int | None, bool]
"""⟨x, y⟩, the hull of the occurrences on the way and in its tests, and whether there is any."""


def timed(path: Path, active: ActiveGraph, spend: Spend) -> set[tuple[Term, Term, int | None, int | None]]:
    """The ⟨x, y, t, t′⟩ of decision 0014."""
    occurrences = frozenset(o for source in active for o in source.occurrences)
    walks = _walks(path, occurrences, _universe(path, occurrences), spend)
    longer = {(x, y, start, end) for x, y, start, end, used in walks if used}
    still = {x for x, _, _, _, used in walks if not used}
    zero = {(x, x, o.start, o.end) for o in occurrences for x in o.triple if x in still}
    zero |= {(x, y, None, None) for x, y in printed(path, ())}
    always = {(x, y) for x, y, _, end in zero if end is None}
    return {each for each in zero | longer if each[3] is None or each[:2] not in always}


def _universe(path: Path, occurrences: Iterable[Occurrence]) -> set[Term]:
    """All terms that a walk can be at."""
    terms = {term for occurrence in occurrences for term in occurrence.triple}
    waiting = [path]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Axis) and part.term is not None:
            terms.add(part.term)
        elif isinstance(part, Sequence | Alternative):
            waiting += (part.left, part.right)
        elif not isinstance(part, NamedNode | NegatedSet | Axis):
            waiting.append(part.path)
    return terms


def _walks(path: Path, occurrences: frozenset[Occurrence], universe: set[Term], spend: Spend) -> set[Walk]:
    def after(one: set[Walk], other: set[Walk]) -> set[Walk]:
        spend(one, other)
        begins: dict[Term, list[Walk]] = {}
        for walk in other:
            begins.setdefault(walk[0], []).append(walk)
        return {
            (x, y, *hull([(s1, e1), (s2, e2)]), u1 or u2)
            for x, z, s1, e1, u1 in one
            for _, y, s2, e2, u2 in begins.get(z, ())
        }

    def repeated(walks: set[Walk]) -> set[Walk]:
        found = set(walks)
        while True:
            more = after(found, walks) - found
            if not more:
                return found
            found |= more

    def steps(name: str) -> Iterator[tuple[Term, Term, Term, Occurrence]]:
        """From, to, and the place that is left, of each triple."""
        for o in occurrences:
            s, p, o_ = o.triple
            yield {"next": (s, o_, p), "edge": (s, p, o_), "node": (p, o_, s)}[name] + (o,)

    def axis(name: str, holds: Callable[[Term], bool]) -> set[Walk]:
        return {(x, y, o.start, o.end, True) for x, y, z, o in steps(name) if holds(z)}

    itself = {(x, x, None, None, False) for x in universe}

    def value(exp: Path) -> set[Walk]:
        match exp:
            case NamedNode():
                return axis("next", lambda z: z == exp)
            case Axis(axis="self", term=term):
                return {walk for walk in itself if term is None or walk[0] == term}
            case Axis(axis=name, term=term):
                return axis(name, lambda z: term is None or z == term)
            case Nested(axis=name, path=inner):
                walks = value(inner)
                free = {z for z, _, _, _, used in walks if not used}  # need no triple, and so no time
                tests = {(z, *rest) for z, _, *rest in walks if not (rest[2] and z in free)}
                if name == "self":
                    return {(z, z, start, end, used) for z, start, end, used in tests}
                spend(occurrences, tests)
                return {
                    (x, y, *hull([(o.start, o.end), (start, end)]), True)
                    for x, y, z, o in steps(name)
                    for tested, start, end, _ in tests
                    if tested == z
                }
            case Inverse(path=inner):
                return {(y, x, *rest) for x, y, *rest in value(inner)}
            case Sequence(left=left, right=right):
                return after(value(left), value(right))
            case Alternative(left=left, right=right):
                return value(left) | value(right)
            case ZeroOrMore(path=inner):
                return itself | repeated(value(inner))
            case OneOrMore(path=inner):
                return repeated(value(inner))
            case ZeroOrOne(path=inner):
                return itself | value(inner)
            case NegatedSet(forward=forward, backward=backward):
                found: set[Walk] = set()
                if forward is not None:
                    found |= axis("next", lambda z: z not in forward)
                if backward is not None:
                    found |= {(y, x, *rest) for x, y, *rest in axis("next", lambda z: z not in backward)}
                return found
        raise AssertionError(exp)

    return value(path)
