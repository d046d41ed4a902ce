"""Property paths over timed occurrences (SPARQL 18.4, and the decision page's "Property paths").

Sequence, alternative, inverse and negated sets are translated to patterns. `+`, `*` and `?` are
sets of ⟨x, y, t, t′⟩. Paths with axes or tests are nested regular expressions (`nested`).
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from itertools import count

from oracle import nested
from oracle.model import ActiveGraph, Solution, hull, solution
from penstock.algebra import (
    BGP,
    Alternative,
    Call,
    Filter,
    Inverse,
    Join,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Pattern,
    Sequence,
    TermOrVar,
    TriplePattern,
    Union_,
    Var,
    ZeroOrMore,
    ZeroOrOne,
    is_nested,
)
from penstock.terms import NamedNode, Term

Evaluate = Callable[[Pattern], list[Solution]]
Spend = Callable[[Sized, Sized], None]
Pair = tuple[Term, Term, int | None, int | None]

_FROM, _TO = Var(".path-from"), Var(".path-to")


def evaluate_path(node: PathPattern, evaluate: Evaluate, active: ActiveGraph, spend: Spend) -> list[Solution]:
    """The solutions of a path pattern, over its own variables only."""
    if is_nested(node.path):
        return _as_solutions(node, nested.timed(node.path, active, spend))
    if isinstance(node.path, (OneOrMore, ZeroOrMore, ZeroOrOne)):
        return _as_solutions(node, _pairs(node, evaluate, active, spend))
    names = {end.name for end in (node.subject, node.object) if isinstance(end, Var)}
    # The variables in the middle of a path are not its answer's, but count its solutions.
    return [
        solution({n: t for n, t in each.mu if n in names}, each.start, each.end)
        for each in evaluate(_translated(node.subject, node.path, node.object, count()))
    ]


def _translated(subject: TermOrVar, path: Path, object_: TermOrVar, fresh: count) -> Pattern:
    """SPARQL 18.2.2.4: the path as a pattern with fresh variables."""
    if isinstance(path, NamedNode):
        return BGP((TriplePattern(subject, path, object_),))
    if isinstance(path, Inverse):
        return _translated(object_, path.path, subject, fresh)
    if isinstance(path, Sequence):
        middle = Var(f".path-{next(fresh)}")
        left = _translated(subject, path.left, middle, fresh)
        right = _translated(middle, path.right, object_, fresh)
        if isinstance(left, BGP) and isinstance(right, BGP):
            return BGP(left.triples + right.triples)
        return Join(left, right)
    if isinstance(path, Alternative):
        return Union_(
            _translated(subject, path.left, object_, fresh),
            _translated(subject, path.right, object_, fresh),
        )
    if isinstance(path, NegatedSet):
        sides = []
        if path.forward is not None:
            sides.append(_any_but(path.forward, subject, object_, fresh))
        if path.backward is not None:
            sides.append(_any_but(path.backward, object_, subject, fresh))
        return sides[0] if len(sides) == 1 else Union_(*sides)
    return PathPattern(subject, path, object_)


def _any_but(
    excluded: tuple[NamedNode, ...], subject: TermOrVar, object_: TermOrVar, fresh: count
) -> Pattern:
    """A triple pattern with a condition on its predicate."""
    predicate = Var(f".path-{next(fresh)}")
    triple = BGP((TriplePattern(subject, predicate, object_),))
    return Filter(Call("NOTIN", (predicate, *excluded)), triple) if excluded else triple


# --- + * ? -------------------------------------------------------------------------------


def _pairs(node: PathPattern, evaluate: Evaluate, active: ActiveGraph, spend: Spend) -> set[Pair]:
    """The set of ⟨x, y, t, t′⟩ of a path that ends in `+`, `*` or `?`."""
    constants = {end for end in (node.subject, node.object) if not isinstance(end, Var)}
    pairs = _own(node.path.path, constants, evaluate)
    if not isinstance(node.path, ZeroOrOne):
        pairs = _closed(pairs, spend)
    if not isinstance(node.path, OneOrMore):
        zero = _zero_length(constants, active)
        always = {(x, y) for x, y, _, end in zero if end is None}
        pairs = zero | {p for p in pairs if (p[0], p[1]) not in always}
    return pairs


def _own(path: Path, constants: set[Term], evaluate: Evaluate) -> set[Pair]:
    """The inner path's solutions, between two variables, and from and to the constants.

    SPARQL's ALP evaluates the inner path at a term: only for a zero-length path inside does
    that differ from a variable bound to the term.
    """
    result = set()
    for subject in (_FROM, *constants):
        for object_ in (_TO, *constants):
            for each in evaluate(PathPattern(subject, path, object_)):
                x = each.value(_FROM.name) if subject is _FROM else subject
                y = each.value(_TO.name) if object_ is _TO else object_
                if (subject is _FROM and x in constants) or (object_ is _TO and y in constants):
                    continue  # found with the constant itself
                result.add((x, y, each.start, each.end))
    return result


def _closed(pairs: set[Pair], spend: Spend) -> set[Pair]:
    """The smallest set with these that is closed under composition with hull."""
    closed = set(pairs)
    while True:
        spend(closed, pairs)
        longer = {
            (x, z, *hull([(s1, e1), (s2, e2)]))
            for x, y1, s1, e1 in closed
            for y2, z, s2, e2 in pairs
            if y1 == y2
        }
        if longer <= closed:
            return closed
        closed |= longer


def _zero_length(constants: set[Term], active: ActiveGraph) -> set[Pair]:
    """⟨c, c⟩ timeless for a constant end; ⟨x, x⟩ as each occurrence that x stands in."""
    if constants:
        return {(term, term, None, None) for term in constants}
    zero = {
        (term, term, occurrence.start, occurrence.end)
        for source in active
        for occurrence in source.occurrences
        for term in (occurrence.subject, occurrence.object)
    }
    always = {x for x, _, _, end in zero if end is None}
    return {pair for pair in zero if pair[3] is None or pair[0] not in always}


def _as_solutions(node: PathPattern, pairs: set[Pair]) -> list[Solution]:
    """The pairs that fit the pattern's ends, as solutions; a set."""
    result = set()
    for x, y, start, end in pairs:
        mu: dict[str, Term] = {}
        fits = True
        for wanted, term in ((node.subject, x), (node.object, y)):
            if isinstance(wanted, Var):
                fits = fits and mu.setdefault(wanted.name, term) == term
            else:
                fits = fits and wanted == term
        if fits:
            result.add(solution(mu, start, end))
    return list(result)
