"""Random cases some of whose patterns have the scope of one element, which no language writes yet."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

from oracle.cases import Case, Element
from oracle.generator import make_case
from oracle.stream_data import delayed, random_triple
from penstock import algebra as a


def scoped(node, random: Random, share: float):
    """The same, some of its triple patterns and paths with the scope of one element."""
    if isinstance(node, tuple):
        return tuple(scoped(each, random, share) for each in node)
    if not isinstance(node, a.Node):
        return node
    changed = {each.name: scoped(getattr(node, each.name), random, share) for each in fields(node)}
    if isinstance(node, (a.BGP, a.PathPattern)) and random.random() < share:
        changed["scope"] = a.ELEMENT
    return replace(node, **changed)


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
    case = replace(case, streams=streams, algebra=algebra)
    return delayed(case) if seed % 4 == 0 else case
