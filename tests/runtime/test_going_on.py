"""On Spark: a run is stopped and killed, and goes on with other queries; those that stay notice nothing."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from penstock.api import Batch, Engine
from penstock.sinks import Existing, open_sink
from penstock.timeline import format_instant, parse_instant

PREFIXES = "PREFIX ex: <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
SHORT = 'getDURATION() < "PT2M"^^xsd:duration'
RISE = "{ ?s ex:reads ?v } SEQ { ?s ex:reads ?w } FILTER (?w > ?v + %d && " + SHORT + ")"
STAY = {
    "rule": f"CONSTRUCT {{ ?s ex:rose ?w }} WHERE {RISE % 70}",
    "absence": "SELECT ?s ?w ?v WHERE { ?s ex:rose ?w OPTIONAL"
    f" {{ ?s ex:reads ?v FILTER (?v > 95 && {SHORT}) }} }}",
    "count": "SELECT ?s (COUNT(*) AS ?v) WHERE { ?s ex:reads ?w FILTER (?w > 30) } GROUP BY ?s",
}
REMOVED = {"removed": f"SELECT ?s ?v ?w WHERE {RISE % 80}"}
BEFORE = {"changed": "SELECT ?s ?v WHERE { ?s ex:reads ?v FILTER (?v < 5) }"}
AFTER = {"changed": "SELECT ?s ?v WHERE { ?s ex:reads ?v FILTER (?v < 3) }"}
ADDED = {
    "added": "SELECT ?s ?v ?w WHERE { ?s ex:reads ?v } SEQ { ?s ex:reads ?w }"
    ' FILTER (?w = ?v && getDURATION() < "PT1H"^^xsd:duration)'
}
ELEMENTS = 3_000
BATCH_BYTES = 40_000
BEGIN = parse_instant("2026-01-01T00:00:00Z")


def write_stream(place: Path) -> None:
    lines = []
    for i in range(ELEMENTS):
        sensor, value = (
            f"<http://example.org/s{i % 9}>",
            f'"{i * 37 % 101}"^^<http://www.w3.org/2001/XMLSchema#integer>',
        )
        name = f"<urn:e:{i}#t={format_instant(BEGIN + i * 1_000_000)}>"
        lines.append(f"{sensor} <http://example.org/reads> {value} {name} .\n")
    place.write_text("".join(lines))


def live(directory: Path, name: str, queries: dict[str, str], batches: int | None = None) -> Engine:
    """One life of a run: to the end, or until it has given some batches."""
    checkpoint = directory / f"{name}.checkpoint"
    engine = Engine(master="local[2]", checkpoint=checkpoint, batch_bytes=BATCH_BYTES, shards=3)
    engine.add_stream(directory / "stream.nq")
    for query, text in queries.items():
        engine.add_query(PREFIXES + text, name=query)
    engine.ready()
    sink = open_sink("csv", f"{directory}/{name}/", engine.queries, checkpoint, Existing.REFUSE)
    stop = threading.Event()
    seen = 0

    def take(batch: Batch) -> None:
        nonlocal seen
        sink.write(batch.id, batch.tables)
        seen += 1
        if batches is not None and seen >= batches:
            stop.set()

    engine.run(on_batch=take, stop=stop)
    sink.close()
    return engine


def committed(directory: Path, name: str) -> int:
    commits = directory / f"{name}.checkpoint" / "spark" / "commits"
    names = os.listdir(commits) if commits.exists() else []
    return max((int(each) for each in names if each.isdigit()), default=-1)


def kill_after(directory: Path, name: str, queries: dict[str, str], batches: int, pause: float) -> None:
    """Lets a run live in a process of its own until it has finished some batches, and kills all of it."""
    until = committed(directory, name) + batches
    command = [sys.executable, __file__, str(directory), name, repr(queries)]
    alive = subprocess.Popen(command, start_new_session=True)
    while committed(directory, name) < until:
        assert alive.poll() is None, "the run has ended by itself"
        time.sleep(0.02)
    time.sleep(pause)
    os.killpg(alive.pid, signal.SIGKILL)
    alive.wait()


def answers(directory: Path, name: str, query: str) -> list[list[str]]:
    """The lines of all parts of a query; in which order those of a batch come depends on the run's key."""
    lines = []
    for part in sorted((directory / name / query).glob("part-*")):
        with part.open(newline="") as file:
            lines += list(csv.reader(file))[1:]
    return sorted(lines, key=lambda line: (line[-1], line))


def test_queries_that_stay_notice_nothing(spark, tmp_path):
    write_stream(tmp_path / "stream.nq")
    undisturbed = {**STAY, **REMOVED, **BEFORE, **ADDED}
    live(tmp_path, "undisturbed", undisturbed)

    first = live(tmp_path, "other", {**REMOVED, **STAY, **BEFORE}, batches=2)
    assert first.continued == ()
    at = committed(tmp_path, "other")
    now = {**ADDED, **AFTER, **STAY}
    kill_after(tmp_path, "other", now, 2, pause=0.3)
    assert committed(tmp_path, "other") > at
    last = live(tmp_path, "other", now)
    assert [str(each) for each in last.continued if each.is_news] == [], "it has gone on before"

    for query in STAY:
        expected = answers(tmp_path, "undisturbed", query)
        assert len(expected) > 50
        assert answers(tmp_path, "other", query) == expected, query
    removed, all_of_it = (answers(tmp_path, name, "removed") for name in ("other", "undisturbed"))
    assert 0 < len(removed) < len(all_of_it) and removed == all_of_it[: len(removed)]
    added, all_of_it = (answers(tmp_path, name, "added") for name in ("other", "undisturbed"))
    begun = min(row[3] for row in added)
    assert added and added == [row for row in all_of_it if row[3] >= begun], "both parts came after it began"
    values = {int(row[1]) for row in answers(tmp_path, "other", "changed")}
    assert values == {0, 1, 2, 3, 4}


if __name__ == "__main__":
    live(Path(sys.argv[1]), sys.argv[2], eval(sys.argv[3]))
