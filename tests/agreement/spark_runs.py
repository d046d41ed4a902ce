"""Runs a random case through Spark: its elements as N-Quads files, in the order of their arrival."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from agreement.engine_runs import table_rows
from oracle.canonical import Row, canonical
from oracle.cases import Case, Element
from penstock.api.engine import EMBEDDED, Batch, Engine
from penstock.timeline import format_instant

PROV = "http://www.w3.org/ns/prov#"
DATETIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def lines_of(name: str, element: Element) -> list[str]:
    """An element as N-Quads: compactly, or with stated times if its graph is empty."""
    start, end = format_instant(element.start), format_instant(element.end)
    if not element.triples:
        said = [("startedAtTime", start), ("endedAtTime", end)]
        return [f'<{name}> <{PROV}{time}> "{at}"^^<{DATETIME}> .' for time, at in said]
    graph = f"<{name}#t={start},{end}>"
    return [f"{' '.join(map(str, triple))} {graph} ." for triple in element.triples]


def name_of(stream: int, element: int) -> str:
    """What an element of a case is called in its file."""
    return f"http://example.org/element/{stream}/{element}"


def add_inputs(engine: Engine, case: Case, directory: Path) -> None:
    """Registers the streams of a case, as directories with a file for each batch, and its graphs."""
    for number, stream in enumerate(case.streams):
        place = directory / f"stream-{number}"
        place.mkdir()
        for count, batch in enumerate(case.batches):
            arrived = [(e, stream.elements[e]) for s, e in batch if s == number]
            lines = [line for e, element in arrived for line in lines_of(name_of(number, e), element)]
            (place / f"batch-{count:03d}.nq").write_text("".join(f"{x}\n" for x in lines))
        engine.add_stream(place, iri=stream.name and stream.name.value)
    for graph in case.graphs:
        engine.add_graph(graph.triples, iri=graph.name and graph.name.value)


def engine_on(spark: str | None, **options: Any) -> Engine:
    """An engine on embedded Spark, or (None) without it."""
    return Engine(spark=spark, master="local[2]" if spark else None, **options)


def spark_answers(
    case: Case, shards: int, *, batch_bytes: int, query_scope: str | None = None, spark: str | None = EMBEDDED
) -> list[Counter[Row]]:
    """The answers to each query of the case, of Spark with a number of partitions, or of this process."""
    engine = engine_on(
        spark, shards=shards, lateness=case.lateness, batch_bytes=batch_bytes, query_scope=query_scope
    )
    with tempfile.TemporaryDirectory() as scratch:
        add_inputs(engine, case, Path(scratch))
        for query in case.queries:
            engine.add_query(query)
        found: dict[int, list] = {i: [] for i in range(len(case.queries))}

        def take(batch: Batch) -> None:
            assert not batch.rejected, batch.rejected
            assert not batch.late, batch.late
            for query, table in batch.tables.items():
                found[query] += table_rows(table)

        engine.run(on_batch=take)
    return [canonical(rows) for rows in found.values()]
