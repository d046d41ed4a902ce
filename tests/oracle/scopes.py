"""Random cases some of whose patterns have the scope of one element, which no language writes yet."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

from oracle.cases import Case, Element, StreamData
from oracle.evaluate import with_scope
from oracle.generator import make_case
from oracle.stream_data import delayed, random_triple
from penstock import algebra as a
from penstock.algebra.relations import ANY


def scoped(node, random: Random, share: float):
    """The same, some of its triple patterns and paths with the scope of one element."""
    if isinstance(node, tuple):
        return tuple(scoped(each, random, share) for each in node)
    if not isinstance(node, a.Node):
        return node
    if isinstance(node, a.Join) and _of_leaves(node) and random.random() < share:
        return with_scope(node, a.ELEMENT)
    changed = {each.name: scoped(getattr(node, each.name), random, share) for each in fields(node)}
    if isinstance(node, (a.BGP, a.PathPattern)) and random.random() < share:
        changed["scope"] = a.ELEMENT
    return replace(node, **changed)


def _of_leaves(node: a.Pattern) -> bool:
    """Triples, paths, and joins of these."""
    if isinstance(node, a.Join):
        return node.relation == ANY and all(map(_of_leaves, node.parts))
    return isinstance(node, a.PathPattern) or (isinstance(node, a.BGP) and bool(node.triples))


def in_event_mode(query: a.Query) -> a.Query:
    """The query for each element by itself."""
    return replace(query, scope=a.ELEMENT)


def scope_case(seed: int) -> Case:
    """A random case whose elements have some triples more, and whose patterns ask for one element."""
    random = Random(f"scopes {seed}")
    case = make_case(seed, 16)

    def denser(each: Element) -> Element:
        more = [random_triple(random) for _ in range(random.randrange(4))]
        return replace(each, triples=tuple(dict.fromkeys((*each.triples, *more))))

    streams = tuple(replace(data, elements=tuple(map(denser, data.elements))) for data in case.streams)
    share = random.choice((0.5, 1.0))
    algebra = tuple(scoped(each.query, random, share) for each in case.parsed)
    return _with_algebra(case, streams, algebra)


def event_case(seed: int) -> Case:
    """A random case whose elements have some triples more, some of them static ones; most of its queries
    are evaluated for each element by itself. Some are there several times.
    """
    random = Random(f"events {seed}")
    case = make_case(seed, 16)
    known = [triple for graph in case.graphs for triple in graph.triples]

    def denser(each: Element) -> Element:
        more = [random_triple(random) for _ in range(random.randrange(6))]
        more += random.sample(known, min(len(known), random.randrange(3)))
        return replace(each, triples=tuple(dict.fromkeys((*each.triples, *more))))

    streams = tuple(replace(data, elements=tuple(map(denser, data.elements))) for data in case.streams)
    share, leaves = random.choice((0.7, 1.0)), random.choice((0.0, 0.0, 0.3))
    algebra = tuple(
        in_event_mode(scoped(each.query, random, leaves)) if random.random() < share else each.query
        for each in case.parsed
    )
    again = random.choices(range(len(algebra)), k=random.choice((0, 0, 1, 3)))
    case = replace(case, queries=(*case.queries, *(case.queries[place] for place in again)))
    return _with_algebra(case, streams, (*algebra, *(algebra[place] for place in again)))


def _with_algebra(case: Case, streams: tuple[StreamData, ...], algebra: tuple[a.Query, ...]) -> Case:
    case = replace(case, streams=streams, algebra=algebra)
    return delayed(case) if case.seed % 4 == 0 else case
