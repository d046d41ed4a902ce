"""Random cases whose rules write named graphs: as algebra, because no language says so yet."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

from oracle.cases import Case
from oracle.query_text import QueryWriter, Style
from oracle.rule_text import random_rules
from oracle.stream_data import random_graphs, random_streams
from oracle.vocabulary import BASE, iri
from penstock.algebra import BGP, Dataset, Graph, Join, Query, Var
from penstock.algebra.nodes import Node
from penstock.languages import parse_query
from penstock.terms import NamedNode

OWN_GRAPHS = (":written", ":noted")


def make_case(seed: int, size: int = 16) -> Case:
    """Rules with targets, and queries that read these by GRAPH, FROM and FROM NAMED."""
    random = Random(f"into graphs {seed}")
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    graphs = [graph for graph in random_graphs(random, size // 3) if graph.name is not None]
    registered = [each.name for each in (*streams, *graphs) if each.name is not None]
    rules, derived = random_rules(random)
    if random.random() < 0.4:
        more, also = random_rules(random)
        rules, derived = [*rules, *more], derived | also
    names = [":" + name.value.removeprefix(BASE) for name in registered]
    style = Style(graphs=[*names, *OWN_GRAPHS], derived=derived, depth=random.choice((0, 1)))
    texts = (*rules, *(QueryWriter(random, style).query() for _ in range(2)))
    queries = [parse_query(text).query for text in texts]
    targets = [random.choice((None, *map(iri, OWN_GRAPHS), *registered)) for _ in rules]
    written: dict[NamedNode, set[NamedNode]] = {}
    for place, target in enumerate(targets):
        if target is not None:
            queries[place] = replace(queries[place], target=target)
            for triple in queries[place].template:
                written.setdefault(triple.predicate, set()).add(target)
    known = sorted({*registered, *(target for target in targets if target is not None)}, key=str)
    queries = [_reading(query, random, written, known) for query in queries]
    return Case(seed, tuple(streams), tuple(graphs), texts, lateness, tuple(batches), algebra=tuple(queries))


def _reading(
    query: Query, random: Random, written: dict[NamedNode, set[NamedNode]], known: list[NamedNode]
) -> Query:
    """The query, looking for most of what rules write where they write it, in one way or another."""
    if known and random.random() < 0.3:
        default, named = (tuple(n for n in known if random.random() < 0.7) for _ in range(2))
        query = replace(query, dataset=Dataset(default, named))
    return replace(query, pattern=_looking(query.pattern, random, written))


def _looking(node, random: Random, written: dict[NamedNode, set[NamedNode]]):
    if isinstance(node, tuple):
        return tuple(_looking(part, random, written) for part in node)
    if isinstance(node, BGP):
        made = tuple(triple for triple in node.triples if triple.predicate in written)
        if not made or random.random() < 0.25:
            return node
        rest = tuple(triple for triple in node.triples if triple not in made)
        name = random.choice(sorted(written[made[0].predicate], key=str))
        there = Graph(Var(f"g{random.randint(0, 1)}") if random.random() < 0.2 else name, BGP(made))
        return Join(BGP(rest), there) if rest else there
    if not isinstance(node, Node):
        return node
    parts = {field.name: getattr(node, field.name) for field in fields(node)}
    return type(node)(**{name: _looking(part, random, written) for name, part in parts.items()})
