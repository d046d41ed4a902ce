"""`penstock bench memory`: memory over a stream and over one ten times as long: it must be flat."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.api.engine import Engine
from penstock.bench import sensors, universities
from penstock.bench.figures import Figure, figure, scale

ELEMENTS = 1_000_000
SENSORS = 100_000
UNIVERSITIES = 20
POINTS = 5
_MEGABYTE = 1 << 20


def memory() -> Iterator[Figure]:
    """Sequences of readings within a window; then event mode, in which nothing is remembered."""
    yield from _flat("", _readings)
    yield from _flat("event mode: ", _departments)


def _flat(what: str, made: Callable[[Path, int], tuple[Engine, int]]) -> Iterator[Figure]:
    """The curve over a stream and over one ten times as long, and the peaks of both."""
    peaks: dict[int, float] = {}
    for times in (1, 10):
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
            engine, count = made(Path(scratch), times)
            curve: list[tuple[int, dict[str, float]]] = []
            engine.run(
                on_batch=lambda batch: curve.append((batch.statistics.elements, resident()))  # noqa: B023
            )
        peaks[times] = max(sum(sizes.values()) for _, sizes in curve)
        step = max(1, len(curve) // POINTS)
        for elements, sizes in curve[step - 1 :: step]:
            case = f"after {elements:,} of {count:,}"
            yield figure("memory", f"{what}workers {case}", sizes["python"], "MB")
            yield figure("memory", f"{what}Java {case}", sizes["java"], "MB")
    yield figure("memory", f"{what}peak of the long stream", peaks[10], "MB", "a tenth of it", peaks[1])


def _readings(directory: Path, times: int) -> tuple[Engine, int]:
    count = max(50_000, int(ELEMENTS * scale())) * times
    paths = sensors.write_nquads(sensors.readings(count, SENSORS), directory, 2 * times)
    engine = Engine(master="local[2]", batch_bytes=32 * _MEGABYTE)
    return engine.add_stream(paths).add_query(sensors.query()), count


def _departments(directory: Path, times: int) -> tuple[Engine, int]:
    """All queries of LUBM under OWL 2 RL over departments, each by itself."""
    stream = directory / "departments.nq"
    number = max(1, int(UNIVERSITIES * scale())) * times
    universities.generated(number, stream, stream=True)
    return universities.in_events(stream, batch_bytes=32 * _MEGABYTE), universities.departments(number)


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
