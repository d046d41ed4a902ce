"""Which triples that rules make can be found by which look-ups, thousands against thousands.

Asking each pair would take the product of them. Instead they meet at *junctions*: every look-up of
a junction can find every triple of it, and whoever wants to know who feeds whom goes from rules to
junctions and on to queries. Where no variable stands twice, a template triple and a look-up match
if they have the same terms at the positions where both have one. So those with terms at the same
positions, and with the same terms at the common ones, make a junction; that is at most eight for
each of them. The rest, of which there are few, is unified one by one with those of its predicate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.algebra.nodes import TriplePattern, Var
from penstock.plan.analysis.unification import AnyBut, LookUp, can_match_look_up
from penstock.terms import BlankNode, Literal, NamedNode

Graph = str | None
"""The name of a graph that rules write."""


@dataclass(frozen=True, slots=True)
class Junction:
    """Places of template triples and of look-ups, each of which can find each of the triples."""

    graph: Graph
    made: tuple[int, ...]
    sought: tuple[int, ...]


class _Fresh:
    """The blank node of a template, which no look-up can name."""


_Shape = tuple  # three terms, or places of variables; equal shapes match the same


class _Side:
    """All template triples, or all look-ups, by graph and shape."""

    def __init__(self, given: Iterable[tuple[Graph, TriplePattern | LookUp]]) -> None:
        self.places: dict[tuple[Graph, _Shape], list[int]] = {}
        self.examples: dict[tuple[Graph, _Shape], TriplePattern | LookUp] = {}
        for place, (graph, triple) in enumerate(given):
            shape = _shape(triple)
            if shape is not None:
                self.places.setdefault((graph, shape), []).append(place)
                self.examples.setdefault((graph, shape), triple)
        self.plain = [each for each in self.places if _is_plain(each[1])]
        self.special = [each for each in self.places if not _is_plain(each[1])]
        self.masks: defaultdict[Graph, set[int]] = defaultdict(set)
        for graph, shape in self.plain:
            self.masks[graph].add(_mask(shape))

    def by_predicate(self, shapes: Iterable[tuple[Graph, _Shape]]) -> dict:
        """Shapes by graph and predicate; None: any predicate."""
        found: dict[tuple[Graph, NamedNode | None], list[tuple[Graph, _Shape]]] = {}
        for graph, shape in shapes:
            found.setdefault((graph, _predicate(shape)), []).append((graph, shape))
        return found


def junctions(
    made: Sequence[tuple[Graph, TriplePattern]], sought: Sequence[tuple[Graph, LookUp]]
) -> list[Junction]:
    """Where the triples made (each with the graph it is written into) meet the look-ups in graphs."""
    triples, look_ups = _Side(made), _Side(sought)
    found: dict[tuple, tuple[list[int], list[int]]] = {}
    for graph, shape in triples.plain:
        own = _mask(shape)
        for mask in look_ups.masks.get(graph, ()):
            join_bounds = found.setdefault((graph, own, mask, _common(shape, own & mask)), ([], []))
            join_bounds[0].extend(triples.places[graph, shape])
    for graph, shape in look_ups.plain:
        own = _mask(shape)
        for mask in triples.masks.get(graph, ()):
            join_bounds = found.get((graph, mask, own, _common(shape, own & mask)))
            if join_bounds is not None:
                join_bounds[1].extend(look_ups.places[graph, shape])
    result = [
        Junction(key[0], tuple(sorted(one)), tuple(sorted(other)))
        for key, (one, other) in found.items()
        if other
    ]
    result += _unified(look_ups, triples, triples.places, lookups_first=True)
    result += _unified(triples, look_ups, look_ups.plain, lookups_first=False)
    return result


def _unified(
    specials: _Side, others: _Side, among: Iterable[tuple[Graph, _Shape]], *, lookups_first: bool
) -> list[Junction]:
    """A junction for each special shape of one side, with all that it unifies with on the other."""
    if not specials.special:
        return []
    result = []
    index = others.by_predicate(among)
    by_graph: defaultdict[Graph, list] = defaultdict(list)
    for (graph, _), shapes in index.items():
        by_graph[graph] += shapes
    for graph, shape in specials.special:
        predicate = _predicate(shape)
        candidates = by_graph[graph]
        if predicate is not None:
            candidates = [*index.get((graph, predicate), ()), *index.get((graph, None), ())]
        mine, met = specials.places[graph, shape], []
        for other in candidates:
            pair = (specials.examples[graph, shape], others.examples[other])
            template, look_up = reversed(pair) if lookups_first else pair
            if can_match_look_up(template, look_up):
                met += others.places[other]
        if met:
            one, other_side = (met, mine) if lookups_first else (mine, met)
            result.append(Junction(graph, tuple(sorted(one)), tuple(sorted(other_side))))
    return result


def _shape(triple: TriplePattern | LookUp) -> _Shape | None:
    """What decides with what it matches: terms, and where its variables stand; None: with nothing."""
    if isinstance(triple.subject, Literal) or isinstance(triple.predicate, (Literal, BlankNode)):
        return None
    terms = (triple.subject, triple.predicate, triple.object)
    first: dict[object, int] = {}
    parts: list[object] = []
    for place, term in enumerate(terms):
        if isinstance(term, (Var, BlankNode)):
            standing = first.setdefault(term, place)
            parts.append((_Fresh, standing) if isinstance(term, BlankNode) else standing)
        else:
            parts.append(term)
    return tuple(parts)


def _is_plain(shape: _Shape) -> bool:
    """Whether each variable stands once, and there is nothing but variables and terms."""
    standing = (part[1] if isinstance(part, tuple) else part for part in shape)
    once = all(not isinstance(part, int) or part == place for place, part in enumerate(standing))
    return once and not isinstance(shape[1], AnyBut)


def _mask(shape: _Shape) -> int:
    """The positions that have a term, as bits."""
    return sum(1 << place for place, part in enumerate(shape) if not isinstance(part, int))


def _common(shape: _Shape, mask: int) -> _Shape:
    return tuple(part for place, part in enumerate(shape) if mask >> place & 1)


def _predicate(shape: _Shape) -> NamedNode | None:
    return shape[1] if isinstance(shape[1], NamedNode) else None
