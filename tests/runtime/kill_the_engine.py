"""Kills whole runs of real queries at random moments while their files are written, and compares.

    python tests/runtime/kill_the_engine.py --kills 30

A writer appends to a log in pieces that cut lines anywhere and rotates it, renames compressed and
TriG files into place, and writes others slowly, member by member; its elements are out of order, and
some are far too old. The run follows all that and is killed (kill -9, with all its processes) again
and again; each life has another query beside the others, and the last one reads to the end. Which
elements came late depends on when batches were made, so it is taken from what the run itself has written:
the answers must be exactly those of an undisturbed run over all other elements, and no element may be
missing or twice.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from penstock.api.engine import Batch, Engine
from penstock.sinks import Existing, SideOutputs, open_sink
from penstock.timeline import format_instant, parse_instant

BATCH_BYTES = 60_000
LATENESS = "10m"
PREFIXES = "PREFIX ex: <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
QUERIES = {
    "all": "SELECT ?s ?v WHERE { ?s ex:reads ?v }",
    "sequence": """SELECT ?s ?v ?w WHERE { ?s ex:reads ?v } SEQ { ?s ex:reads ?w }
        FILTER (?w > ?v * 10 && getDURATION() < "PT5M"^^xsd:duration)""",
    "next": "SELECT ?s ?v ?w WHERE { ?s ex:reads ?v } NEXT { ?s ex:reads ?w } FILTER (?w > ?v + 50)",
    "silent": """SELECT ?s ?v WHERE { ?s ex:reads ?v } UNLESS { ?s ex:reads ?w } WITHIN "PT1M" """,
    "rule": """CONSTRUCT { ?s ex:fell ?w } WHERE { ?s ex:reads ?v } SEQ { ?s ex:reads ?w }
        FILTER (?w * 10 < ?v && getDURATION() < "PT5M"^^xsd:duration)""",
    "absence": """SELECT ?s ?w ?v WHERE { ?s ex:fell ?w OPTIONAL {
        ?s ex:reads ?v FILTER (?v > 90 && getDURATION() < "PT5M"^^xsd:duration) } }""",
    "aggregate": "SELECT ?s (COUNT(*) AS ?n) (SUM(?w) AS ?sum) WHERE { ?s ex:fell ?w } GROUP BY ?s",
    "window": """SELECT ?s (AVG(?v) AS ?mean) (COUNT(*) AS ?n)
        FROM STREAM ex:readings [RANGE 20m STEP 1m] WHERE { ?s ex:reads ?v } GROUP BY ?s""",
    "nobody": """SELECT (COUNT(*) AS ?n) FROM STREAM ex:readings [RANGE 10s STEP 10s]
        WHERE { ?s ex:reads ?v } HAVING (COUNT(*) = 0)""",
    "came": """REGISTER ISTREAM ex:came AS SELECT ?s ?v
        FROM NAMED WINDOW ex:w ON ex:readings [RANGE PT20M STEP PT1M]
        WHERE { WINDOW ex:w { ?s ex:reads ?v FILTER (?v > 80) } }""",
    "left": """REGISTER DSTREAM ex:left AS SELECT ?s ?v ?most
        FROM NAMED WINDOW ex:w ON ex:readings [RANGE PT5M STEP PT1M]
        FROM NAMED WINDOW ex:x ON ex:readings [RANGE PT30M STEP PT1M]
        WHERE { WINDOW ex:w { ?s ex:reads ?v FILTER (?v > 90) }
                { SELECT ?s (MAX(?u) AS ?most) WHERE { WINDOW ex:x { ?s ex:reads ?u } } GROUP BY ?s } }""",
    "last": """REGISTER RSTREAM ex:last AS CONSTRUCT { ?s ex:had ?v }
        FROM NAMED WINDOW ex:w ON ex:readings [TRIPLES 50 STEP 40]
        WHERE { WINDOW ex:w { ?s ex:reads ?v FILTER (?v > 70) } }""",
    "without": """SELECT ?s ?v ?w FROM NAMED WINDOW ex:w ON ex:readings [RANGE 10m]
        WHERE { WINDOW ex:w { SEQ({ ?s ex:reads ?v FILTER (?v > 60) }, !{ ?s ex:reads ?u FILTER (?u = 40) },
                                  { ?s ex:reads ?w FILTER (?w < 20) }) } }""",
}
PASSING = (
    {},
    {"high": "SELECT ?s ?v WHERE { ?s ex:reads ?v FILTER (?v > 95) }"},
    {
        "again": """SELECT ?s ?v WHERE { ?s ex:reads ?v } SEQ { ?s ex:fell ?v }
        FILTER (getDURATION() < "PT1M"^^xsd:duration)""",
        "for a while": """SELECT ?s (MAX(?v) AS ?most) FROM STREAM ex:readings [RANGE 20m STEP 1m]
        WHERE { ?s ex:reads ?v } GROUP BY ?s""",
    },
)
"""Queries that come with one life and go with the next; nobody else may notice."""
BEGIN = parse_instant("2026-01-01T00:00:00Z")
STEP = 2_000_000  # microseconds between two elements
SENSORS = 20


class Element:
    """One reading, as a line or a graph; an old one happened long before its neighbours."""

    def __init__(self, number: int, chance: random.Random) -> None:
        shift = chance.randrange(-100, 100) * 1_000_000
        if number > 300 and chance.random() < 0.02:
            shift = -chance.randrange(3_600, 20_000) * 1_000_000
        instant = format_instant(max(BEGIN, BEGIN + number * STEP + shift))
        self.name = f"<urn:e:{number}#t={instant}>"
        value = f'"{chance.randrange(1, 100)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        sensor = chance.randrange(SENSORS)
        self.triple = f"<http://example.org/sensor/{sensor}> <http://example.org/reads> {value}"

    def line(self) -> str:
        return f"{self.triple} {self.name} .\n"

    def graph(self) -> str:
        return f"{self.name} {{\n  {self.triple}\n}}\n"


class Writer(threading.Thread):
    """Writes elements to a directory, in all the ways that docs/streams.md allows."""

    def __init__(self, directory: Path, seed: int, pause: float = 0.3) -> None:
        super().__init__(daemon=True)
        self.directory = directory
        self.chance = random.Random(seed)
        self.pause = pause
        self.enough = threading.Event()
        self.elements: list[Element] = []
        self.files = 0

    def run(self) -> None:
        log = self.directory / "log.nq"
        rest = b""
        while not self.enough.is_set():
            way = self.chance.choice(["append"] * 6 + ["rotate", "gzip", "slow gzip", "trig"])
            some = self._some()
            if way in ("append", "rotate"):
                data = rest + "".join(element.line() for element in some).encode()
                cut = self.chance.randrange(len(data) + 1)
                with log.open("ab") as out:
                    out.write(data[:cut])
                rest = data[cut:]
                if way == "rotate":
                    with log.open("ab") as out:
                        os.rename(log, self._next("log", ".nq"))
                        out.write(rest)  # as a writer does that has the file still open
                    rest = b""
            elif way == "trig":
                self._rename("".join(element.graph() for element in some).encode(), ".trig")
            else:
                text = "".join(element.line() for element in some).encode()
                cut = self.chance.randrange(len(text) + 1)
                members = gzip.compress(text[:cut]) + gzip.compress(text[cut:])
                if way == "gzip":
                    self._rename(members, ".nq.gz")
                else:
                    with self._next("slow", ".nq.gz").open("wb", buffering=0) as out:
                        half = self.chance.randrange(len(members))
                        out.write(members[:half])
                        time.sleep(self.chance.choice([0.2, 1.5]))
                        out.write(members[half:])
            time.sleep(self.pause)
        with log.open("ab") as out:
            out.write(rest)

    def _some(self) -> list[Element]:
        begin = len(self.elements)
        self.elements += [Element(begin + n, self.chance) for n in range(self.chance.randrange(1, 60))]
        return self.elements[begin:]

    def _next(self, kind: str, suffix: str) -> Path:
        self.files += 1
        return self.directory / f"{kind}-{self.files:06d}{suffix}"

    def _rename(self, data: bytes, suffix: str) -> None:
        aside = self.directory / ".aside.tmp"
        aside.write_bytes(data)
        os.rename(aside, self._next("part", suffix))


# --- the runs ---


def life(directory: Path, name: str, follow: bool, number: int) -> None:
    """One life of a run: goes on from its checkpoint until it ends or is killed."""
    checkpoint = directory / f"{name}.checkpoint"
    # Small batches for many moments to be killed at; what is left at the end is read in large ones.
    size = BATCH_BYTES if follow else 50 * BATCH_BYTES
    engine = Engine(master="local[2]", checkpoint=checkpoint, batch_bytes=size, lateness=LATENESS)
    engine.options.compact_after = 3  # many times in each life
    engine.add_stream(directory / name, iri="http://example.org/readings")
    passing = PASSING[number % len(PASSING)]
    for query, text in {**passing, **QUERIES}.items():
        engine.add_query(PREFIXES + text, name=query)
    sink = open_sink("csv", str(directory / f"{name}.csv"), engine.queries, checkpoint, Existing.OVERWRITE)
    sides = SideOutputs(
        directory / f"{name}.rejected.jsonl", directory / f"{name}.late.jsonl", checkpoint, Existing.OVERWRITE
    )

    def take(batch: Batch) -> None:
        sides.write(batch.id, batch.rejected, batch.late)
        sink.write(batch.id, batch.tables)

    engine.run(follow=follow, on_batch=take)
    sink.close()
    sides.close()


def start(directory: Path, name: str, how: str, number: int = 0) -> subprocess.Popen:
    command = [sys.executable, __file__, "--life", str(directory), name, how, str(number)]
    return subprocess.Popen(command, start_new_session=True)


def kill_runs(directory: Path, kills: int, seed: int = 1, minutes: float = 1e9) -> dict[str, int]:
    """Kill a run so often, let it end, and compare; how many elements and answers there were."""
    until = time.monotonic() + 60 * minutes
    chance = random.Random(seed)
    (directory / "killed").mkdir()
    writer = Writer(directory / "killed", seed)
    writer.start()
    done = 0
    while done < kills and time.monotonic() < until:
        alive = start(directory, "killed", "follow", done)
        live_a_while(alive, directory, chance)
        os.killpg(alive.pid, signal.SIGKILL)
        alive.wait()
        done += 1
        batches = committed(directory)
        print(f"kill {done}: after {batches} batches, {len(writer.elements):,} elements", flush=True)
    writer.enough.set()
    writer.join()
    assert start(directory, "killed", "end").wait() == 0
    return {"kills": done} | compared(directory, writer.elements)


def live_a_while(alive: subprocess.Popen, directory: Path, chance: random.Random) -> None:
    """Mostly until soon after its first batch, at any moment of a later one; sometimes any moment of
    its start."""
    if chance.random() < 0.2:
        time.sleep(chance.uniform(0, 10))
        return
    earlier = committed(directory)
    while committed(directory) == earlier:
        assert alive.poll() is None, "a run that follows ended by itself"
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 4))


def committed(directory: Path) -> int:
    """How many batches the run has finished, over all its lives."""
    commits = directory / "killed.checkpoint" / "spark" / "commits"
    numbers = [int(name) for name in os.listdir(commits) if name.isdigit()] if commits.exists() else []
    return max(numbers, default=-1) + 1


def compared(directory: Path, elements: list[Element]) -> dict[str, int]:
    """Compare with an undisturbed run over what was not late; raises if anything differs."""
    late = [json.loads(line)["graph"] for line in lines(directory / "killed.late.jsonl")]
    rejected = lines(directory / "killed.rejected.jsonl")
    assert rejected == [], rejected[:3]
    assert len(late) == len(set(late)), "an element is late twice"
    in_time = [element for element in elements if element.name not in set(late)]
    (directory / "undisturbed").mkdir()
    in_order = sorted(in_time, key=lambda element: element.name.split("#t=")[1])
    (directory / "undisturbed" / "a.nq").write_text("".join(element.line() for element in in_order))
    assert start(directory, "undisturbed", "end").wait() == 0
    assert lines(directory / "undisturbed.late.jsonl") == []
    found, expected = (answers(directory / f"{name}.csv") for name in ("killed", "undisturbed"))
    different = {(element.triple, element.name.split("#t=")[1]) for element in in_time}
    assert sum(expected["all"].values()) == len(different), "every triple at an instant is one answer"
    for query in QUERIES:
        missing, extra = expected[query] - found[query], found[query] - expected[query]
        assert not missing and not extra, (query, list(missing)[:3], list(extra)[:3])
    return {"elements": len(elements), "late": len(late)} | {
        query: sum(rows.values()) for query, rows in found.items()
    }


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def answers(path: Path) -> dict[str, Counter]:
    passing = (query for queries in PASSING for query in queries)
    found: dict[str, Counter] = {query: Counter() for query in (*QUERIES, *passing)}
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    place = header.index("query")
    for row in rows:
        found[row[place]][tuple(row)] += 1
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--life"]:
        life(Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "follow", int(sys.argv[5]))
    else:
        options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        options.add_argument("--kills", type=int, default=30)
        options.add_argument("--seed", type=int, default=1)
        options.add_argument("--minutes", type=float, default=1e9, help="no more kills after that")
        place = Path(tempfile.mkdtemp(prefix="penstock-kills-"))
        print(f"in {place}", flush=True)
        print(f"all identical: {kill_runs(place, **vars(options.parse_args()))}")
        shutil.rmtree(place)
