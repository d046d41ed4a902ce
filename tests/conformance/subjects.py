"""What is tested: each subject answers a query over the data of a test.

The data is one stream element at one instant in the default graph, the named graphs are
static. So a plain SPARQL query must answer exactly as SPARQL does (downward compatibility).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from pyoxigraph import NamedNode, Quad, QueryBoolean, QuerySolutions, Store, Triple, parse

from conformance.results import Answer, Graph, Solutions
from oracle.model import StaticGraph, TimedDataset, stream_of
from oracle.queries import ANSWER, OBJECT, PREDICATE, SUBJECT, evaluate_query
from penstock.algebra.nodes import Ask, ParsedQuery, Select, with_scope
from penstock.algebra.scopes import ELEMENT, STREAM, Scope
from penstock.api.engine import Batch, Engine
from penstock.columns.ids import parse_term
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.planning import make_plan
from penstock.terms import BlankNode, Literal
from penstock.timeline import parse_instant

INSTANT = parse_instant("2026-01-31T12:00:00Z")

Answering = Callable[[str, "Path | None", "dict[str, Path]", str], Answer]


def read_triples(path: Path, base: str) -> list[Triple]:
    """The triples of a file; its blank nodes are told apart from those of other files."""

    def own(term):
        return BlankNode(f"{path.stem}-{term.value}") if isinstance(term, BlankNode) else term

    return [
        Triple(own(quad.subject), quad.predicate, own(quad.object))
        for quad in parse(path=path, base_iri=_beside(base, path))
    ]


def answer_of_pyoxigraph(text: str, data: Path | None, named: dict[str, Path], base: str) -> Answer:
    """A reference that is known to be good: it tests the reading and comparing of results."""
    store = Store()
    if data is not None:
        triples = read_triples(data, base)
        store.extend(Quad(t.subject, t.predicate, t.object) for t in triples)
    for iri, path in named.items():
        store.add_graph(NamedNode(iri))
        store.extend(Quad(t.subject, t.predicate, t.object, NamedNode(iri)) for t in read_triples(path, base))
    found = store.query(text, base_iri=base)
    if isinstance(found, QueryBoolean):
        return bool(found)
    if isinstance(found, QuerySolutions):
        names = tuple(variable.value for variable in found.variables)
        return Solutions(names, [_bound((n, row[n]) for n in names) for row in found])
    return Graph(frozenset(found))


def answer_of_oracle(text: str, data: Path | None, named: dict[str, Path], base: str) -> Answer:
    """The definitions, executed literally."""
    from penstock.algebra.nodes import Ask, Select
    from penstock.languages import parse_query

    query = parse_query(text, base=base).query
    triples = [] if data is None else read_triples(data, base)
    stream = stream_of([([tuple(_parts(t)) for t in triples], INSTANT, INSTANT)])
    graphs = {
        NamedNode(iri): (StaticGraph(frozenset(map(_parts, read_triples(path, base)))),)
        for iri, path in named.items()
    }
    if data is not None and query.dataset is not None:
        graphs[NamedNode(_beside(base, data))] = (stream,)
    answers = evaluate_query(query, TimedDataset((stream,), graphs), now=INSTANT, base=base)
    if isinstance(query, Ask):
        (row,) = answers.rows
        return row.value(ANSWER) == Literal(True)
    if isinstance(query, Select):
        rows = [_bound((n, row.value(n)) for n in answers.columns) for row in answers.rows]
        return Solutions(tuple(answers.columns), rows)
    return Graph(
        frozenset(Triple(row.value(SUBJECT), row.value(PREDICATE), row.value(OBJECT)) for row in answers.rows)
    )


def answer_of_engine(
    text: str,
    data: Path | None,
    named: dict[str, Path],
    base: str,
    *,
    feed: bool = False,
    scope: Scope = STREAM,
) -> Answer:
    """The engine's kernels, fed with one batch of the one element; without `feed`, as plain SPARQL."""
    query = with_scope(parse_query(text, base=base), scope)
    name = None if query.query.dataset is None or data is None else _beside(base, data)
    catalog = Catalog((StreamName(name),), tuple(map(GraphName, named)))
    plan = make_plan([query], catalog, ["test"], feeds=feed)
    graphs = [graph_of(read_triples(path, base), iri) for iri, path in named.items()]
    program = Program(plan, graphs, now=INSTANT)
    shard = program.open(0)
    payloads = [payload for _, payload in program.route(0, _one_element(data, base))]
    rows: list[dict] = []
    for _, table in shard.answers(payloads, INSTANT, ended=True):
        rows += table.to_pylist()
    assert shard.shard.late == 0, "the element came late"
    return answer_of(query, program.columns(0), rows)


def answer_of_spark(text: str, data: Path | None, named: dict[str, Path], base: str) -> Answer:
    """All the way of an ordinary run: the element as N-Quads, decoded, on Spark."""
    query = parse_query(text, base=base)
    name = None if query.query.dataset is None or data is None else _beside(base, data)
    triples = [] if data is None else list(set(read_triples(data, base)))
    engine = Engine(master="local[2]", shards=2).add_stream([(triples, INSTANT)], iri=name)
    for iri, path in named.items():
        engine.add_graph([_parts(triple) for triple in read_triples(path, base)], iri=iri)
    engine.add_query(f"BASE <{base}>\n{text}")
    rows: list[dict] = []

    def take(batch: Batch) -> None:
        assert not batch.rejected and not batch.late, (batch.rejected, batch.late)
        for table in batch.tables.values():
            rows.extend(table.to_pylist())

    engine.run(on_batch=take)
    return answer_of(query, engine.ready().columns(0), rows)


def answer_of(query: ParsedQuery, columns: Sequence[str], rows: list[dict]) -> Answer:
    """The rows of a table of answers, all at the one instant, as the answer of a test."""
    times = {(row.pop("start"), row.pop("end")) for row in rows}
    assert times <= {(None, None), (INSTANT, INSTANT)}
    found = [
        {name: parse_term(text.encode()) for name, text in row.items() if text is not None} for row in rows
    ]
    if isinstance(query.query, Ask):
        (row,) = found
        return row[columns[0]] == Literal(True)
    if isinstance(query.query, Select):
        return Solutions(tuple(columns), found)
    return Graph(frozenset(Triple(*(row[column] for column in columns)) for row in found))


def _one_element(data: Path | None, base: str) -> Occurrences:
    """All triples of a file as one element at one instant."""
    triples = set() if data is None else set(read_triples(data, base))
    return occurrences_at_once(_parts(triple) for triple in triples)


def occurrences_at_once(triples: Iterable[tuple]) -> Occurrences:
    """Triples as one element at one instant, as the decoder would give them."""
    table = TermTable()
    rows = [tuple(table.add(term) for term in triple) for triple in triples]
    times = np.full(len(rows), INSTANT, np.int64)
    return Occurrences(
        *np.array(rows, np.int64).reshape(-1, 3).T.copy(),
        times,
        times,
        instants=np.array([INSTANT], np.int64),
        terms=table.chunk(),
        elements=1,
        element=np.full(len(rows), -1, np.int64),
    )


def _beside(base: str, path: Path) -> str:
    """The IRI of a file that lies beside the query."""
    return base.rpartition("/")[0] + "/" + path.name


def _parts(triple: Triple) -> tuple:
    return triple.subject, triple.predicate, triple.object


def _bound(pairs: Iterable[tuple]) -> dict:
    return {name: term for name, term in pairs if term is not None}


# Spark is no subject for whole suites: test_on_spark.py takes a part of them.
SUBJECTS: dict[str, Answering] = {
    "reference": answer_of_pyoxigraph,
    "oracle": answer_of_oracle,
    "engine": answer_of_engine,
    "rules": partial(answer_of_engine, feed=True),
    "events": partial(answer_of_engine, scope=ELEMENT),
}
"""`rules`: as without `--no-feed`, so that CONSTRUCT queries read what they derive."""
