"""Rules of a random history, others in each life, and what follows from elements by them.

The closure of decision 0010, for static knowledge and for each element above it: rules as CONSTRUCTs over
triples that have no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random

from oracle.cases import Case, GraphData
from oracle.model import StaticGraph, TimedDataset, Triple
from oracle.rules import meaning_by_stream
from oracle.vocabulary import GRAPH_NAMES, PROLOGUE, iri
from penstock.algebra.scopes import STREAM, Scope

Rules = tuple[str, ...]
"""Their names."""

RULES = {
    "near": "INSERT { ?y :near ?x } WHERE { ?x :knows ?y }",
    "back": "INSERT { ?y :near ?x } WHERE { ?x :near ?y }",
    "load": "INSERT { ?x :price ?n } WHERE { ?x :load ?n }",
    "both": "INSERT { ?x :knows ?z } WHERE { ?x :price ?n . ?x :near ?z }",
    "reach": "INSERT { ?x :near ?z } WHERE { ?x :knows ?y . ?y :knows ?z }",
    "share": "INSERT { ?x :price ?n } WHERE { ?x :near ?y . ?y :load ?n }",
    "same": "INSERT { ?y :price ?n } WHERE { ?x :price ?n . ?x :kind ?k . ?y :kind ?k }",
}
PLAIN = ("near", "load")
JOINING = ("both", "reach", "share", "same")
FEEDING = ("both", "near:g1", "near:g2")
"""Those that may read what they feed: rules over streams are queries, and these are looked at one by one."""
OF_GRAPHS: dict[str, Rules] = {}
"""Those that join a triple with one of a graph with a name, by that."""
for _name in GRAPH_NAMES:
    OF_GRAPHS[_name] = f"near{_name}", f"price{_name}"
    _near, _price = (f"GRAPH {_name} {{ ?x {link} }}" for link in (":knows ?z", ":load ?n"))
    RULES[f"near{_name}"] = f"INSERT {{ ?z :near ?x }} WHERE {{ ?x :price ?n . {_near} }}"
    RULES[f"price{_name}"] = f"INSERT {{ ?y :price ?n }} WHERE {{ ?x :knows ?y . {_price} }}"


def random_rules(
    random: Random, begins: Iterable[int], graphs: Iterable[GraphData], scope: Scope
) -> Iterator[tuple[int, Rules]]:
    """From which batches on there are which rules: none, some with one that joins, others."""
    known = {graph.name for graph in graphs}
    joining = [*JOINING, *(rule for name, some in OF_GRAPHS.items() if iri(name) in known for rule in some)]
    if scope is STREAM:
        joining = [rule for rule in joining if rule not in FEEDING]
    now: Rules = ()
    for number, begin in enumerate(begins):
        if number and random.random() < 0.3:
            continue
        if now and random.random() < 0.25:
            now = ()
        elif number or random.random() < 0.6:
            some = random.sample(["near", "back", "load", *joining], random.choice((0, 1, 2, 3)))
            now = tuple(dict.fromkeys((random.choice(joining), *some)))
        yield begin, now


def text_of(rules: Rules) -> str:
    """The rules as the text of one file."""
    return PROLOGUE + " ;\n".join(f"# name: {name}\n{RULES[name]}" for name in rules)


def construct_of(rule: str, within: str | None) -> str:
    """A rule over streams as a query; `within`: a duration that its premises span at most."""
    template, where = RULES[rule].removeprefix("INSERT").removesuffix("}").split("WHERE")
    bound = f" FILTER (COALESCE(getDURATION() <= {within}, true))" if within else ""
    return f"{PROLOGUE}CONSTRUCT{template}WHERE{where}{bound} }}"


@lru_cache(maxsize=4096)
def closed(rules: Rules, triples: frozenset[Triple], named: tuple[GraphData, ...] = ()) -> frozenset[Triple]:
    """Triples with all that follows from them, and from those of graphs that rules name."""
    if not rules:
        return triples
    graphs: dict = {}
    for each in named:
        graphs[each.name] = (*graphs.get(each.name, ()), StaticGraph(frozenset(each.triples)))
    known = TimedDataset((StaticGraph(triples),), graphs)
    found = meaning_by_stream([PROLOGUE + RULES[name] for name in rules], known)
    return frozenset(o.triple for part in (*found.default, *found.derived) for o in part.occurrences)


def known_in(data: Case) -> tuple[frozenset[Triple], tuple[GraphData, ...]]:
    """The triples of all graphs without a name, and the other graphs."""
    known = (triple for graph in data.graphs if graph.name is None for triple in graph.triples)
    return frozenset(known), tuple(graph for graph in data.graphs if graph.name is not None)


def with_closed_graph(data: Case, rules: Rules) -> Case:
    """The case with one graph without a name, which is closed, in place of all."""
    known, named = known_in(data)
    if not rules or not known:
        return data
    every = GraphData(None, tuple(sorted(closed(rules, known, named), key=str)))
    return replace(data, graphs=(every, *named))
