"""`penstock bench queries`: what 1, 10 and 100 queries with different constants cost in one run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.bench import sensors
from penstock.bench.figures import Figure, figure, scale, timed
from penstock.bench.sequence import detect, run_on_spark

ELEMENTS = 2_000_000
SENSORS = 1_000


def texts(count: int) -> list[str]:
    """Queries that differ in the factor by which a reading must rise: rare rises, rarer ones…"""
    return [sensors.query(20 + i / 2) for i in range(count)]


def queries() -> Iterator[Figure]:
    elements = max(100_000, int(ELEMENTS * scale()))
    data = sensors.readings(elements, SENSORS)
    detect(sensors.readings(20_000, 100))
    alone = None
    for count in (1, 10, 100):
        seconds, found = detect(data, texts(count))
        alone = alone or seconds
        yield figure(
            "queries", f"engine, {count} queries, {found:,} answers", seconds, "s",
            f"{count} runs of one", alone * count,
        )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        paths = sensors.write_nquads(data, Path(scratch), 4)
        run_on_spark(paths[:1], texts(1))
        alone = None
        for count in (1, 10, 100):
            seconds, found = timed(lambda: run_on_spark(paths, texts(count)))  # noqa: B023
            alone = alone or seconds
            yield figure(
                "queries", f"Spark, {count} queries, {found:,} answers", seconds, "s",
                f"{count} runs of one", alone * count,
            )  # fmt: skip
