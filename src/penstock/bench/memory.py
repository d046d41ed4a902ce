"""`penstock bench memory`: memory over a stream and over one ten times as long: it must be flat."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.bench import sensors
from penstock.bench.figures import Figure, figure, scale

ELEMENTS = 1_000_000
SENSORS = 100_000
POINTS = 5
_MEGABYTE = 1 << 20


def memory() -> Iterator[Figure]:
    from penstock.api import Engine

    peaks: dict[int, float] = {}
    for times in (1, 10):
        count = max(50_000, int(ELEMENTS * scale())) * times
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
            data = sensors.readings(count, SENSORS)
            paths = sensors.write_nquads(data, Path(scratch), 2 * times)
            del data
            engine = Engine(master="local[2]", batch_bytes=32 * _MEGABYTE)
            engine.add_stream(paths).add_query(sensors.query())
            curve: list[tuple[int, dict[str, float]]] = []
            engine.run(
                on_batch=lambda batch: curve.append((batch.statistics.elements, resident()))  # noqa: B023
            )
        peaks[times] = max(sum(sizes.values()) for _, sizes in curve)
        step = max(1, len(curve) // POINTS)
        for elements, sizes in curve[step - 1 :: step]:
            yield figure("memory", f"workers after {elements:,} of {count:,}", sizes["python"], "MB")
            yield figure("memory", f"Java after {elements:,} of {count:,}", sizes["java"], "MB")
    yield figure("memory", "peak of the long stream", peaks[10], "MB", "a tenth of it", peaks[1])


def resident() -> dict[str, float]:
    """Megabytes that the processes below this one hold, Java's and the Python workers'."""
    sizes = {"java": 0.0, "python": 0.0}
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue  # it has ended meanwhile
            name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
            parents[int(entry)], names[int(entry)] = int(rest[1]), name
    for process, name in names.items():
        above = process
        while above not in (os.getpid(), 0, 1) and above in parents:
            above = parents[above]
        if above == os.getpid() and process != above:
            try:
                pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            except OSError:
                continue
            kind = "java" if "java" in name else "python"
            sizes[kind] += pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
    return sizes
