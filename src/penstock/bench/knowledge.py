"""`penstock bench knowledge`: five million static triples, over one shard and over eight.

Memory is the proportional set size (PSS): a page that several processes share counts once, in parts.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from penstock.bench.figures import Figure, figure, scale

TRIPLES = 5_000_000
SHARDS = (1, 8)
ELEMENTS = 40_000
PREDICATES = 5
_MEGABYTE = 1 << 20
_PORTION = 50_000
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

QUERY = """PREFIX : <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?sensor ?name ?place ?value
WHERE { ?sensor :reads ?value . ?sensor :name ?name . ?sensor :locatedIn ?place
  FILTER ( ?value > 90 && getDURATION() < "PT1H"^^xsd:duration ) }
"""


def knowledge() -> Iterator[Figure]:
    """What static knowledge costs: to load, to run with, and whenever a shard opens."""
    subjects = max(1000, int(TRIPLES * scale())) // PREDICATES
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        graph, stream = Path(scratch) / "sensors.nt", Path(scratch) / "readings.nq"
        write_graph(graph, 1000)
        write_stream(stream, 1000)
        _measured("run", str(graph), str(stream), "1")  # compiles, in time and memory of its own
        write_graph(graph, subjects)
        write_stream(stream, subjects)
        one: dict[str, float] = {}
        for shards in SHARDS:
            found = _measured("run", str(graph), str(stream), str(shards))
            one = one or found
            case = f"{subjects * PREDICATES:,} triples, shards {shards}"
            yield figure("knowledge", f"{case}: load", found["load"], "s")
            yield figure("knowledge", f"{case}: load to last answer", found["all"], "s")
            yield figure("knowledge", f"{case}: job file", found["job"], "MB")
            yield figure("knowledge", f"{case}: knowledge file", found["prepared"], "MB")
            yield figure("knowledge", f"{case}: open a shard", found["open"] * 1000, "ms")
            for kind in ("driver", "workers", "java"):
                yield figure("knowledge", f"{case}: {kind}", found[kind], "MB")
            memory, alone = (sum(each[k] for k in ("driver", "workers", "java")) for each in (found, one))
            yield figure("knowledge", f"{case}: all memory", memory, "MB", "one shard", alone)


def write_graph(path: Path, subjects: int) -> None:
    """Sensors with a class, a name, a place, a capacity and a code."""
    with path.open("w", encoding="utf-8") as out:
        for first in range(0, subjects, _PORTION):
            out.writelines(
                f"<http://example.org/sensor/{i}> <{_TYPE}> <http://example.org/Class{i % 50}> .\n"
                f'<http://example.org/sensor/{i}> <http://example.org/name> "sensor number {i}"@en .\n'
                f"<http://example.org/sensor/{i}> <http://example.org/locatedIn>"
                f" <http://example.org/place/{i * 7919 % 10_000}> .\n"
                f"<http://example.org/sensor/{i}> <http://example.org/capacity>"
                f' "{i % 1000}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
                f'<http://example.org/sensor/{i}> <http://example.org/code> "C-{i * 31 % 1_000_003:07d}" .\n'
                for i in range(first, min(first + _PORTION, subjects))
            )


def write_stream(path: Path, subjects: int) -> None:
    """Readings of sensors from all over the graph."""
    with path.open("w", encoding="utf-8") as out:
        for i in range(ELEMENTS):
            seconds = f"2026-05-01T{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}.{i // 86400:02d}Z"
            out.write(
                f"<http://example.org/sensor/{i * 104_729 % subjects}> <http://example.org/reads>"
                f' "{i % 100}"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:e{i}#t={seconds}> .\n'
            )


def proportional(processes: Iterator[int] | list[int]) -> float:
    """Megabytes that some processes hold, what they share counted once."""
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue  # it has ended meanwhile
        total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


def memory_by_kind() -> dict[str, float]:
    """PSS in megabytes of this process (the driver), of Java, and of all other processes below."""
    parents, names = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
        parents[int(entry)], names[int(entry)] = int(rest[1]), name
    below: list[int] = []
    for process in names:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and process != above:
            below.append(process)
    java = [process for process in below if "java" in names[process]]
    return {
        "driver": proportional([os.getpid()]),
        "java": proportional(java),
        "workers": proportional([process for process in below if process not in java]),
    }


# --- in processes of their own, so that nothing remains of what was measured before ---


def _measured(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "penstock.bench.knowledge", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _run(graph: str, stream: str, shards: str) -> dict[str, float]:
    from penstock.api.engine import Engine

    begun = time.perf_counter()
    engine = Engine(master="local[2]", shards=int(shards))
    engine.add_graph(graph)
    load = time.perf_counter() - begun
    engine.add_stream(stream).add_query(QUERY)
    memory: list[dict[str, float]] = []
    answers = 0

    def took(batch) -> None:
        nonlocal answers
        answers += sum(table.num_rows for table in batch.tables.values())
        memory.append(memory_by_kind())

    engine.run(on_batch=took)
    seconds = time.perf_counter() - begun
    if answers != ELEMENTS * 9 // 100:
        raise RuntimeError(f"{answers} answers")
    found = max(memory, key=lambda kinds: sum(kinds.values()))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        return {"load": load, "all": seconds, **found, **_opening(engine, Path(scratch))}


def _opening(engine, directory: Path) -> dict[str, float]:
    """What a worker does when a shard comes to it, timed in a new process for some shards."""
    from penstock.runtime.intake.decoding import file_decoder
    from penstock.runtime.job import JOB_FILE, Job, publish

    directory.mkdir(exist_ok=True)
    program = engine.ready()
    job = Job(uuid.uuid4().hex, program, tuple(engine.streams), file_decoder, False)
    reference = publish(job, directory)
    numbers = sorted({0, program.shards // 2, program.shards - 1})
    place = (reference.run, reference.path, reference.digest)
    times = [_measured("open", *place, str(number))["open"] for number in numbers]
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / _MEGABYTE
    job_size = (directory / JOB_FILE).stat().st_size / _MEGABYTE
    return {"open": statistics.median(times), "job": job_size, "prepared": size - job_size}


def _open(run: str, path: str, digest: str, number: str) -> dict[str, float]:
    import penstock.engine.program  # noqa: F401 — a shard process has it imported when it begins
    from penstock.runtime.job import JobReference

    job = JobReference(run, path, digest).load()
    _ = job.program.network  # type: ignore[attr-defined]
    begun = time.perf_counter()
    job.program.open(int(number))
    return {"open": time.perf_counter() - begun}


if __name__ == "__main__":
    print(json.dumps({"run": _run, "open": _open}[sys.argv[1]](*sys.argv[2:])))
