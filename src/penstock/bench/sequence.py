"""`penstock bench sequence`: a two-step SEQ with a shared key, numeric filters and a bound.

The filter comes in three forms (`sensors.FORMS`), each with the same condition in SQL.

The kernel is the engine on one core over columns in memory, in batches as a stream brings them,
against DuckDB joining everything in one shot on one thread. The pipeline is the whole way from
N-Quads files through Spark, against pyoxigraph only parsing the same files in one process.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock import pipeline as stages
from penstock.bench import sensors
from penstock.bench.figures import Figure, figure, scale, timed
from penstock.columns.frame import Frame
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName

ELEMENTS = 10_000_000
BATCH = 250_000
SENSORS = (1_000, 100_000)
FILES = 8


def sequence() -> Iterator[Figure]:
    yield from kernel()
    yield from pipeline()


# --- the engine alone ---


def kernel() -> Iterator[Figure]:
    count = max(BATCH, int(ELEMENTS * scale()))
    for form in sensors.FORMS:
        detect(sensors.readings(20_000, 10_000), [form.query])  # compiles
        for number in SENSORS:
            data = sensors.readings(count, number)
            seconds, found = detect(data, [form.query])
            peer_seconds, peer_found = duckdb_join(data, form.condition)
            if found != peer_found:
                raise AssertionError(f"{found} answers, but DuckDB has {peer_found}")
            yield figure(
                "kernel", f"{form.name}, {number:,} keys, {found:,} answers", count / seconds,
                "elements/s", "DuckDB, 1 thread", count / peer_seconds,
            )  # fmt: skip


def detect(data: sensors.Readings, texts: list[str] | None = None) -> tuple[float, int]:
    """Seconds and answers of the engine over readings, fed in batches to one shard."""
    queries = [parse_query(text) for text in texts or [sensors.query()]]
    program = stages.program(queries, [StreamName()], shards=1, now=0)
    shard = program.open(0).shard
    subject, value, terms = sensors.as_ids(data)
    [scan] = shard.scans

    def run() -> int:
        found = 0
        for first in range(0, len(data), BATCH):
            rows = slice(first, first + BATCH)
            times = data.instant[rows]
            batch = Frame(("s", "o"), np.stack([subject[rows], value[rows]]), times, times)
            answers = shard.feed({scan: batch}, terms, int(times[-1]))
            found += sum(map(_whole, answers.values()))
        return found

    return timed(run)


def _whole(answers: Frame) -> int:
    """How many answers there are, with all their columns put together as a reader would need them."""
    return min(answers.ids.shape[1], len(answers.start), len(answers.end))


def duckdb_join(data: sensors.Readings, condition: str) -> tuple[float, int]:
    """The same join in one shot. Buckets of the window's length make it an equality join."""
    import duckdb
    import pyarrow as pa

    window = 300_000_000
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        columns = {"k": data.sensor, "h": data.hundredths, "t": data.instant}
        database.register("readings", pa.table(columns))
        database.execute(
            "CREATE TABLE r AS SELECT k, (h / 100)::DECIMAL(6, 2) AS v, t, t // ? AS b FROM readings",
            [window],
        )
        one = (
            f"SELECT x.k, x.v, y.v AS w, x.t, y.t AS u FROM r x JOIN r y ON x.k = y.k AND x.b {{}} = y.b"
            f" AND x.t < y.t AND y.t - x.t < {window} AND {condition}"
        )
        join = f"{one.format('')} UNION ALL {one.format('+ 1')}"
        return timed(lambda: database.sql(join).to_arrow_table().num_rows)


# --- the whole way ---


def pipeline() -> Iterator[Figure]:
    count = int(ELEMENTS * scale())
    for number in SENSORS:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
            directory = Path(scratch)
            data = sensors.readings(count, number)
            paths = sensors.write_nquads(data, directory, FILES)
            for form in sensors.FORMS:
                run_on_spark(paths[:1], [form.query])  # starts Spark, compiles, fills caches
                seconds, found = timed(lambda: run_on_spark(paths, [form.query]))  # noqa: B023
                yield figure(
                    "pipeline", f"{form.name}, {number:,} keys, {found:,} answers", count / seconds,
                    "elements/s", "pyoxigraph, parsing only", parsing_rate(paths[0], len(data) // FILES),
                )  # fmt: skip


def run_on_spark(paths: list[Path], texts: list[str], iri: str | None = None) -> int:
    """Runs queries on embedded Spark with two cores; how many answers there were. `iri`: of the stream."""
    from penstock.api.engine import Engine

    engine = Engine(master="local[2]")
    engine.add_stream(paths, iri=iri)
    for text in texts:
        engine.add_query(text)
    found = 0

    def take(batch) -> None:
        nonlocal found
        found += sum(table.num_rows for table in batch.tables.values())

    engine.run(on_batch=take)
    return found


def parsing_rate(path: Path, lines: int) -> float:
    """Lines per second of pyoxigraph's N-Quads parser, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return lines / pool.apply(_parse, (str(path),))


def _parse(path: str) -> float:
    from pyoxigraph import RdfFormat, parse

    def run() -> None:
        for _ in parse(path=path, format=RdfFormat.N_QUADS):
            pass

    return timed(run)[0]
