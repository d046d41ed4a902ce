"""On Spark: a run is killed and goes on with other outputs and a query more; each answer is given once."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.api.engine import Engine
from penstock.runtime.recovery.checkpoint import Checkpoint
from penstock.sinks import open_sink

BATCHES = 8  # about
PREFIX = "PREFIX ex: <http://example.org/>\n"
STAYS = PREFIX + "SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ex:reads ?v FILTER (?v > 30) } GROUP BY ?s"
ADDED = PREFIX + "SELECT ?s ?v WHERE { ?s ex:reads ?v FILTER (?v = 7) }"


def write_stream(place: Path) -> None:
    line = (
        '<http://example.org/s{}> <http://example.org/reads> "{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    )
    with place.open("w") as file:
        for i in range(2_000):
            instant = f"2026-01-01T{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z"
            file.write(f"{line.format(i % 9, i * 37 % 101)} <urn:e:{i}#t={instant}> .\n")


def live(directory: Path, state: str, out: str, *texts: str) -> Engine:
    """One life of a run, to the end of the stream."""
    checkpoint, stream = directory / state, directory / "stream.nq"
    engine = Engine(
        master="local[2]", checkpoint=checkpoint, batch_bytes=stream.stat().st_size // BATCHES, shards=2
    )
    engine.add_stream(stream)
    for number, text in enumerate(texts):
        engine.add_query(text, name=f"q{number}")
    engine.ready()
    finished = Checkpoint(checkpoint).last_committed()
    sink = open_sink("csv", f"{directory}/{out}", engine.queries, checkpoint, finished=finished)
    engine.run(on_batch=lambda batch: sink.write(batch.id, batch.tables))
    sink.close()
    return engine


def kill(directory: Path, state: str, out: str, text: str, batches: int) -> int:
    """Ends a life, and all of its processes, when it has done some batches; the last one it has not noted."""
    checkpoint = Checkpoint(directory / state)
    alive = subprocess.Popen([sys.executable, __file__, directory, state, out, text], start_new_session=True)
    while checkpoint.last_committed() < batches:
        assert alive.poll() is None, "the run has ended by itself"
        time.sleep(0.02)
    os.killpg(alive.pid, signal.SIGKILL)
    alive.wait()
    last = checkpoint.last_committed()
    for offsets in (checkpoint.spark / "offsets").iterdir():
        if offsets.name.isdigit() and int(offsets.name) > last:
            offsets.unlink()
    (checkpoint.spark / "commits" / str(last)).unlink()
    return last


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return sorted(list(csv.reader(file))[1:])


@pytest.mark.sample(0)
def test_killed_and_gone_on_with_elsewhere(tmp_path, spark):
    write_stream(tmp_path / "stream.nq")
    again = kill(tmp_path, "state", "first.csv", STAYS, 2)
    live(tmp_path, "state", "found/", STAYS, ADDED)
    live(tmp_path, "undisturbed", "whole.csv", STAYS)
    parts = sorted((tmp_path / "found" / "q0").glob("part-*.csv"))
    assert parts[0].name == f"part-{again:08d}.csv", "what was not noted as done comes again, here"
    first, later = rows(tmp_path / "first.csv"), [row for part in parts for row in rows(part)]
    assert first and sorted(first + later) == rows(tmp_path / "whole.csv")
    assert any((tmp_path / "found" / "q1").glob("part-*.csv"))


if __name__ == "__main__":
    live(Path(sys.argv[1]), *sys.argv[2:])
