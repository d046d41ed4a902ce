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

import pytest

from penstock.api.engine import Batch, Engine
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
BATCHES = 9  # about
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
    stream = directory / "stream.nq"
    engine = Engine(
        master="local[2]", checkpoint=checkpoint, batch_bytes=stream.stat().st_size // BATCHES, shards=3
    )
    engine.add_stream(stream, iri="http://example.org/stream")
    for query, text in queries.items():
        language = "c-sparql" if "FROM STREAM" in text else None
        engine.add_query(PREFIXES + text, name=query, language=language)
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


def never_finish(spark: Path, batch: int) -> None:
    """Leaves a checkpoint as if the run had ended when the state of a batch was written, but no more."""
    for following in (spark / "offsets").iterdir():
        if following.name.isdigit() and int(following.name) > batch:
            following.unlink()
    (spark / "commits" / str(batch)).unlink()


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


@pytest.mark.sample(0)
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


WINDOW = "SELECT ?s (%s AS ?n) FROM STREAM ex:stream [%s] WHERE { ?s ex:reads ?v } GROUP BY ?s%s"
AVERAGE = {"average": WINDOW % ("AVG(?v)", "RANGE 10s STEP 2s", "")}
OVER_THE_SAME = {
    "high": WINDOW % ("AVG(?v)", "RANGE 10s STEP 2s", " HAVING (AVG(?v) > 10)"),
    "average-again": AVERAGE["average"],
    "last": WINDOW % ("COUNT(*)", "TRIPLES 4 STEP 1", ""),
}
LAST = {"last-before": OVER_THE_SAME["last"]}
READINGS = [value for value in (20, 20, 21, 20, 9, 3, 4, 20, 24, 18, 5) for _ in range(3)] * 12


def write_readings(place: Path) -> None:
    """A room that says its temperature each second; it often says the same again."""
    room, number = "<http://example.org/room>", "<http://www.w3.org/2001/XMLSchema#integer>"
    lines = [
        f'{room} <http://example.org/reads> "{value}"^^{number} <urn:e:{i}#t={format_instant(second(i))}> .\n'
        for i, value in enumerate(READINGS)
    ]
    place.write_text("".join(lines))


def second(number: int) -> int:
    return BEGIN + number * 1_000_000


def seen(directory: Path, name: str, query: str) -> dict[str, float]:
    """What a query says at each instant until the last reading."""
    last = format_instant(second(len(READINGS) - 1))
    return {row[-1]: float(row[1]) for row in answers(directory, name, query) if row[-1] <= last}


def averages(begin: int) -> dict[str, float]:
    """The average of the different readings from a second on in the ten seconds before each other one."""
    return {
        format_instant(second(at)): sum(shown) / len(shown)
        for at in range(begin + begin % 2, len(READINGS), 2)
        if (shown := {*READINGS[max(begin, at - 9) : at + 1]})
    }


@pytest.mark.sample(0)
def test_a_query_over_the_window_of_another_answers_as_if_its_stream_began_with_it(spark, tmp_path):
    write_readings(tmp_path / "stream.nq")
    live(tmp_path, "room", {**AVERAGE, **LAST}, batches=3)
    never_finish(tmp_path / "room.checkpoint" / "spark", committed(tmp_path, "room"))
    now = {**AVERAGE, **OVER_THE_SAME, **LAST}
    kill_after(tmp_path, "room", now, 2, pause=0.2)
    last = live(tmp_path, "room", now)
    assert not any(each.is_news for each in last.continued)

    counts = seen(tmp_path, "room", "last")
    begin = READINGS_AT[min(counts)]
    assert 40 < begin < len(READINGS) - 40, "some batches before it, and some after"
    for first, query in (0, "last-before"), (begin, "last"):
        assert seen(tmp_path, "room", query) == {
            instant: len({*READINGS[max(first, at - 3) : at + 1]})
            for instant, at in READINGS_AT.items()
            if at >= first
        }
    assert seen(tmp_path, "room", "average") == pytest.approx(averages(0))
    assert seen(tmp_path, "room", "average-again") == pytest.approx(averages(begin))
    high = {instant: value for instant, value in averages(begin).items() if value > 10}
    assert seen(tmp_path, "room", "high") == pytest.approx(high) and len(high) > 5


READINGS_AT = {format_instant(second(at)): at for at in range(len(READINGS))}

if __name__ == "__main__":
    live(Path(sys.argv[1]), sys.argv[2], eval(sys.argv[3]))
