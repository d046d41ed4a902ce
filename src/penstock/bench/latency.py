"""`penstock bench latency`: from an element's arrival to its answer at 1,000 elements per second."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock.bench.figures import Figure, figure, scale
from penstock.timeline import format_instant

RATE = 1_000
SECONDS = 45
WARM_UP = 30
SENSORS = 1_000
TICK = 0.02

QUERY = """PREFIX ex: <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?sensor ?after
WHERE { ?sensor ex:reads ?before } SEQ { ?sensor ex:reads ?after }
FILTER (?after > ?before * 10 && getDURATION() < "PT1M"^^xsd:duration)
"""


def latency() -> Iterator[Figure]:
    """Elements carry the instant at which they are written, so an answer's age is its latency."""
    from penstock.api.engine import Engine

    ages: list[np.ndarray] = []
    batches: list[float] = []
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        path = Path(scratch) / "live.nq"
        path.touch()
        begun = time.time()
        seconds = WARM_UP + max(10, SECONDS * scale())
        writer = threading.Thread(target=_write, args=(path, begun, seconds), daemon=True)

        def take(batch) -> None:
            now = time.time()
            batches.append(now)
            for table in batch.tables.values():
                written = table["end"].to_numpy() / 1e6
                ages.append(now - written[written > begun + WARM_UP])
            if now > begun + seconds:
                stop.set()

        writer.start()
        engine = Engine(master="local[2]").add_stream(scratch).add_query(QUERY)
        threading.Timer(seconds + 20, stop.set).start()
        engine.run(follow=True, on_batch=take, stop=stop)
        writer.join()
    found = np.concatenate(ages) * 1000
    between = np.diff([moment for moment in batches if moment > begun + WARM_UP]) * 1000
    for name, value in (
        ("median", np.median(found)),
        ("99th percentile", np.percentile(found, 99)),
        ("of it: between two batches, median", np.median(between)),
        ("of it: waiting for the batch, mean", np.median(between) / 2),
    ):
        yield figure("latency", f"{name}, {len(found):,} answers", float(value), "ms")


def _write(path: Path, begun: float, seconds: float) -> None:
    random = np.random.default_rng(3)
    written = 0
    with open(path, "a", encoding="utf-8") as out:
        while (now := time.time()) < begun + seconds:
            due = int((now - begun) * RATE)
            stamp = format_instant(int(now * 1e6))
            for i in range(written, due):
                sensor, value = random.integers(SENSORS), random.integers(100, 10_000)
                out.write(
                    f"<http://example.org/sensor/{sensor}> <http://example.org/reads>"
                    f' "{value // 100}.{value % 100:02d}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
                    f" <http://example.org/g/{i}#t={stamp}> .\n"
                )
            out.flush()
            written = due
            time.sleep(TICK)
