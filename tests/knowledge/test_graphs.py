"""Static graphs in columns: distinct triples, by graph, with the ids of any run."""

from __future__ import annotations

from random import Random

import numpy as np
from pyoxigraph import RdfFormat, parse, serialize

from penstock.columns.terms import TermTable
from penstock.knowledge.graphs import StaticGraph, graph_of, read_graphs
from penstock.terms import BlankNode, Literal, NamedNode

TERMS = [
    NamedNode("http://e/a"),
    NamedNode("http://e/ä"),
    Literal("x"),
    Literal("x", language="en"),
    Literal("1", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
    Literal("01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
    BlankNode("b"),
]


def triples_of(graph: StaticGraph) -> list[tuple]:
    table = TermTable(graph.terms)
    return [tuple(map(table.term, triple)) for triple in graph.triples.T.tolist()]


def random_triples(random: Random, count: int) -> list[tuple]:
    nodes = [term for term in TERMS if not isinstance(term, Literal)]
    names = [term for term in nodes if isinstance(term, NamedNode)]
    return [(random.choice(nodes), random.choice(names), random.choice(TERMS)) for _ in range(count)]


def test_each_triple_is_there_once_whatever_the_order():
    random = Random(7)
    for count in (0, 1, 2, 60):
        triples = random_triples(random, count)
        graph = graph_of(triples, "http://e/g", key=random.getrandbits(62))
        assert triples_of(graph) == list(dict.fromkeys(triples))  # as they came
        random.shuffle(triples)
        assert graph_of(triples, None, key=graph.key).digest == graph.digest
        more = graph_of([*triples, (*TERMS[:2], Literal("new"))], None, key=graph.key)
        assert more.digest != graph.digest
        assert graph.keyed(3).digest == graph_of(triples, None, key=3).digest
        assert triples_of(graph.keyed(3)) and count or not count
        assert sorted(map(str, triples_of(graph.keyed(3)))) == sorted(map(str, triples_of(graph)))


def test_the_same_graph_in_any_format(tmp_path):
    ground = [t for t in random_triples(Random(1), 50) if not any(isinstance(x, BlankNode) for x in t)]
    lines = serialize(parse("".join(f"{s} {p} {o} .\n" for s, p, o in ground).encode(), RdfFormat.N_TRIPLES),
                      format=RdfFormat.N_TRIPLES)  # fmt: skip
    digests = set()
    for suffix in ("nt", "nq", "ttl", "trig"):
        path = tmp_path / f"g.{suffix}"
        path.write_bytes(lines)
        [graph] = read_graphs(str(path), "http://e/g", key=9)
        assert graph.iri == "http://e/g" and len(graph) == len(set(ground))
        digests.add(graph.digest)
    assert len(digests) == 1


def test_named_graphs_of_a_file(tmp_path):
    path = tmp_path / "g.nq"
    path.write_text(
        "<x:a> <x:p> <x:1> .\n<x:a> <x:p> <x:2> <x:g> .\n<x:a> <x:p> <x:2> <x:g> .\n"
        "<x:a> <x:q> <x:3> <x:h> .\n<x:a> <x:p> <x:4> _:n .\n"
    )
    graphs = {graph.iri: graph for graph in read_graphs(str(path), None)}
    names = [name for name in graphs if name and name.startswith("_:")]
    assert len(names) == 1 and graphs.keys() == {None, "x:g", "x:h", *names}
    assert [str(o) for _, _, o in triples_of(graphs["x:g"])] == ["<x:2>"]
    assert graphs["x:h"].predicates() == {"x:q"} and len(graphs["x:h"].terms) == 3
    merged = {graph.iri: len(graph) for graph in read_graphs(str(path), "x:g")}
    assert merged == {"x:g": 2, "x:h": 1, names[0]: 1}  # the file's own <x:g> is part of it
    assert np.array_equal(read_graphs(str(path))[0].triples, graphs[None].triples)
