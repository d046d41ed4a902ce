"""Answers an example by the engine, element by element, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyoxigraph as ox

from agreement.engine_runs import occurrences_of
from docs.by_oracle import elements_of
from docs.page import Example, read_answers
from oracle.cases import Element
from penstock.algebra import ParsedQuery
from penstock.engine.program import Program
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.languages import parse
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.planning import make_plan
from penstock.sinks import shapes_of
from penstock.sinks.formats import Csv
from penstock.timeline import NEVER


def answer(example: Example, shards: int = 2) -> tuple[list[str], Counter]:
    """The header and the rows of the last query of an example, as CSV has them."""
    graphs = []
    if example.graph:
        quads = ox.parse(example.graph.encode(), ox.RdfFormat.TURTLE)
        triples = [(quad.subject, quad.predicate, quad.object) for quad in quads]
        graphs.append(graph_of(triples, example.graph_name))
    queries = [query for text in example.queries for query in parse(text).queries]
    elements = [Element(tuple(t), start, end) for t, start, end in elements_of(example.stream)]
    return run(queries, graphs, elements, shards)[-1]


def run(
    queries: Sequence[ParsedQuery],
    graphs: Sequence[StaticGraph],
    elements: Iterable[Element],
    shards: int,
    stream: str | None = None,
) -> list[tuple[list[str], Counter]]:
    """The answers of all queries, fed with one element per batch in the order of time."""
    catalog = Catalog((StreamName(stream),), tuple(GraphName(graph.iri) for graph in graphs))
    shapes = shapes_of(queries)
    program = Program(make_plan(queries, catalog, [s.name for s in shapes]), graphs, shards=shards)
    live = [program.open(number) for number in range(shards)]
    found: dict[int, list[pa.Table]] = {}
    watermark = NEVER
    for element in [*sorted(elements, key=lambda each: each.end), None]:
        payloads: list[list[bytes]] = [[] for _ in live]
        if element is not None:
            for shard, payload in program.route(0, occurrences_of([element], program.key)):
                payloads[shard].append(payload)
        for number, shard in enumerate(live):
            for query, table in shard.answers(payloads[number], watermark, element is None):
                found.setdefault(query, []).append(table)
            assert shard.shard.late == 0
        watermark = element.end if element is not None else watermark
    answers = []
    for number, shape in enumerate(shapes):
        encoder = Csv({0: shape})
        text = encoder.header()
        for table in found.get(number, ()):
            text += encoder.batch({0: table}, first=False)
        answers.append(read_answers(text.decode()))
    return answers
