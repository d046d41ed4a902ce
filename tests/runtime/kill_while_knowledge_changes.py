"""Kills a run again and again while its stream grows and its static graph is replaced, and compares.

    python tests/runtime/kill_while_knowledge_changes.py --kills 5 [--rules rdfs]

Every version of the graph has each sensor in another room, so an answer shows which version its element has
met. Each element must be answered once; the elements of a batch have met one version, the same one
when the batch was repeated; versions only go forward; and what was remembered of earlier elements
still shows theirs. Every other life ends in the middle of a batch, and the graph is replaced before
the next one repeats it. With rules, rooms and readings are told by properties that only follow, from what the
graph says of them.
"""

from __future__ import annotations

import argparse
import csv
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
from pathlib import Path

from penstock.api.engine import Batch, Engine
from penstock.sinks import Existing, open_sink
from penstock.timeline import format_instant, parse_instant

SENSORS = 5
BEGIN = parse_instant("2026-01-01T00:00:00Z")
PREFIXES = "PREFIX ex: <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
QUERIES = {
    "met": "SELECT ?n ?room WHERE { ?s READS ?n . ?s IN ?room }",
    "pairs": """SELECT ?n ?room ?m ?later WHERE { ?s READS ?n . ?s IN ?room }
        SEQ { ?s READS ?m . ?s IN ?later } FILTER (getDURATION() <= "PT5S"^^xsd:duration)""",
    "alone": "SELECT ?room WHERE { ex:sensor0 IN ?room }",
}


def line(number: int) -> str:
    instant = format_instant(BEGIN + number * 1_000_000)
    value = f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    sensor = f"<http://example.org/sensor{number % SENSORS}>"
    return f"{sensor} <http://example.org/reports> {value} <urn:e:{number}#t={instant}> .\n"


def graph(version: int) -> str:
    under = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
    known = [
        f"<http://example.org/stands{version % 3}> {under} <http://example.org/in>",
        f"<http://example.org/reports> {under} <http://example.org/reads>",
    ]
    known += [
        f"<http://example.org/sensor{i}> <http://example.org/stands{version % 3}> <http://example.org/room{version}>"
        for i in range(SENSORS)
    ]
    return "".join(f"{each} .\n" for each in known)


class Writer(threading.Thread):
    """Appends elements, and replaces the graph, in place or by renaming; sometimes with something broken."""

    def __init__(self, directory: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.directory = directory
        self.chance = random.Random(seed)
        self.enough = threading.Event()
        self.elements = self.versions = 0

    def run(self) -> None:
        while not self.enough.wait(0.4):
            self.more(self.chance.randrange(1, 8))
            if self.chance.random() < 0.2:
                self.replace()

    def more(self, count: int) -> None:
        with (self.directory / "stream.nq").open("a") as out:
            out.writelines(line(self.elements + i) for i in range(count))
        self.elements += count

    def replace(self) -> None:
        self.versions += 1
        place = self.directory / "graph.nt"
        if self.chance.random() < 0.5:
            aside = self.directory / "aside.nt"
            aside.write_text(graph(self.versions))
            os.replace(aside, place)
        else:
            text = graph(self.versions)
            place.write_text("<broken")
            time.sleep(0.05)
            place.write_text(text[: len(text) // 2])
            time.sleep(0.05)
            place.write_text(text)


def life(directory: Path, how: str, last: int, rules: str) -> None:
    """One life of a run: goes on from its checkpoint until it is killed, or has read all.

    It kills itself, with all its processes, in the batch of the number `last`.
    """
    checkpoint = directory / "checkpoint"
    engine = Engine(
        master="local[2]",
        checkpoint=checkpoint,
        batch_bytes=500 if how == "follow" else None,
        rules=[rules] if rules else [],
    )
    in_ = "ex:in" if rules else "(ex:stands0|ex:stands1|ex:stands2)"
    engine.add_stream(directory / "stream.nq").add_graph(directory / "graph.nt")
    for name, text in QUERIES.items():
        text = text.replace("READS", "ex:reads" if rules else "ex:reports").replace("IN", in_)
        engine.add_query(PREFIXES + text, name=name)
    sink = open_sink("csv", str(directory / "answers.csv"), engine.queries, checkpoint, Existing.OVERWRITE)

    def take(batch: Batch) -> None:
        met = batch.answers["met"].to_pydict()
        with (directory / "batches.jsonl").open("a") as out:  # also of those that are repeated
            out.write(json.dumps([batch.id, sorted(set(met["room"])), sorted(met["n"])]) + "\n")
            out.flush()
        sink.write(batch.id, batch.tables)
        if batch.id == last:
            os.killpg(os.getpid(), signal.SIGKILL)

    engine.run(follow=how == "follow", on_batch=take)
    sink.close()


def start(directory: Path, how: str, last: int = -1, rules: str = "") -> subprocess.Popen:
    command = [sys.executable, __file__, "--life", str(directory), how, str(last), rules]
    return subprocess.Popen(command, start_new_session=True)


def committed(directory: Path) -> int:
    commits = directory / "checkpoint" / "spark" / "commits"
    numbers = [int(name) for name in os.listdir(commits) if name.isdigit()] if commits.exists() else []
    return max(numbers, default=-1) + 1


def kill_runs(
    directory: Path, kills: int, seed: int = 1, batches: int = 4, rules: str = ""
) -> dict[str, int]:
    """Kill a run so often, each time after some more batches; let it end, and compare."""
    chance = random.Random(seed)
    (directory / "graph.nt").write_text(graph(0))
    writer = Writer(directory, seed)
    writer.more(3)
    writer.start()
    for number in range(kills):
        last = committed(directory) + batches
        if number % 2 == 0:
            assert start(directory, "follow", last, rules).wait() == -signal.SIGKILL
            writer.replace()
        else:
            alive = start(directory, "follow", rules=rules)
            while committed(directory) < last:
                assert alive.poll() is None, "a run that follows ended by itself"
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 1))
            os.killpg(alive.pid, signal.SIGKILL)
            alive.wait()
        print(f"kill {number + 1}: {writer.elements} elements, {writer.versions} versions", flush=True)
    writer.enough.set()
    writer.join()
    writer.replace()  # while nothing runs
    writer.more(5)
    assert start(directory, "end", rules=rules).wait() == 0
    return {"kills": kills, "elements": writer.elements} | compared(directory, writer)


def planned_version(directory: Path, batch: int) -> int:
    """The version of the graph that was recorded with a batch, before it ran."""
    text = (directory / "checkpoint" / "spark" / "offsets" / str(batch)).read_text()
    return json.loads(text.splitlines()[-1])["knowledge"]


def number_of(text: str) -> int:
    return int(text.split("^^")[0].strip('"').removeprefix("http://example.org/room"))


def compared(directory: Path, writer: Writer) -> dict[str, int]:
    with (directory / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    met = [(number_of(row["n"]), number_of(row["room"])) for row in rows if row["query"] == "met"]
    version = dict(met)
    assert sorted(n for n, _ in met) == list(range(writer.elements)), "each element is answered once"
    in_order = [version[n] for n in range(writer.elements)]
    assert in_order == sorted(in_order), "versions only go forward"
    assert in_order[-1] == writer.versions, "the last elements meet the last version"
    pairs = [row for row in rows if row["query"] == "pairs"]
    assert len(pairs) == max(0, writer.elements - SENSORS)
    for row in pairs:
        assert number_of(row["room"]) == version[number_of(row["n"])]
        assert number_of(row["later"]) == version[number_of(row["m"])]
    alone = [number_of(row["room"]) for row in rows if row["query"] == "alone"]
    assert alone == sorted(set(alone)) and set(in_order) <= set(alone), "each version answers once by itself"
    told = [json.loads(each) for each in (directory / "batches.jsonl").read_text().splitlines()]
    first: dict[int, list] = {}
    for batch, *seen in told:
        assert first.setdefault(batch, seen) == seen, "a repeated batch has other answers"
        assert len(seen[0]) <= 1, "the elements of a batch have met several versions"
    kept = [int(Path(name).stem) for name in os.listdir(directory / "checkpoint" / "source" / "knowledge")]
    # Spark tells that a batch is done when it plans the next one; versions may come in between unseen.
    *_, finished, _ = sorted(map(int, os.listdir(directory / "checkpoint" / "spark" / "offsets")))
    assert min(kept) >= planned_version(directory, finished), "versions are kept that no batch can ask for"
    return {"versions": len(set(in_order)), "repeated": len(told) - len(first), "batches": len(first)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--life"]:
        life(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        options.add_argument("--kills", type=int, default=5)
        options.add_argument("--seed", type=int, default=1)
        options.add_argument("--rules", default="")
        place = Path(tempfile.mkdtemp(prefix="penstock-kills-"))
        print(f"in {place}", flush=True)
        print(f"all as it should be: {kill_runs(place, **vars(options.parse_args()))}")
        shutil.rmtree(place)
