"""Real queries on a Spark of several processes, undisturbed or while its processes are killed.

    python tests/runtime/on_several_processes.py MASTER DIRECTORY SHARDS… [--kill WHAT…] [--settings JSON]

Run by test_several_processes.py in a process of its own, because a process has one Spark. What is to be
killed (executor, daemon, spawner, shard_process) is killed one after the other, soon after every fourth
batch. Prints all answers and what happened as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

from pyspark import SparkContext

from penstock.api.engine import Batch, Engine
from penstock.terms import NamedNode
from penstock.timeline import format_instant, parse_instant

BEGIN = parse_instant("2026-01-01T00:00:00Z")
EX = "http://example.org/"
PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
QUERIES = {
    "sequence": """SELECT ?s ?v ?w WHERE { ?s :reads ?v } SEQ { ?s :reads ?w }
        FILTER (?w > ?v * 10 && getDURATION() < "PT5M"^^xsd:duration)""",
    "rule": """CONSTRUCT { ?s :fell ?w } WHERE { ?s :reads ?v } SEQ { ?s :reads ?w }
        FILTER (?w * 10 < ?v && getDURATION() < "PT5M"^^xsd:duration)""",
    "absence": """SELECT ?s ?w ?v WHERE { ?s :fell ?w OPTIONAL {
        ?s :reads ?v FILTER (?v > 90 && getDURATION() < "PT5M"^^xsd:duration) } }""",
    "aggregate": "SELECT ?s (COUNT(*) AS ?n) (SUM(?w) AS ?sum) WHERE { ?s :fell ?w } GROUP BY ?s",
    "graph": "SELECT ?room ?s ?v WHERE { ?s :reads ?v . ?s :in ?room FILTER (?v > 95) }",
}
SENSORS = 20
BATCH_BYTES = 20_000
EVERY = 4
"""Batches between two kills."""
PATIENCE = 60.0


def write_stream(path: Path, elements: int) -> None:
    """Readings out of order, some of them far too late."""
    chance = random.Random(1)
    with path.open("w") as out:
        for number in range(elements):
            shift = chance.randrange(-20, 20) - (chance.random() < 0.02) * chance.randrange(3_600, 20_000)
            at = format_instant(max(BEGIN, BEGIN + (number * 2 + shift) * 1_000_000))
            value = f'"{chance.randrange(1, 100)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            out.write(f"<{EX}{chance.randrange(SENSORS)}> <{EX}reads> {value} <urn:e:{number}#t={at}> .\n")


class Processes:
    """The processes of this Spark, as /proc shows them."""

    def __init__(self) -> None:
        self.parents: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    stat = Path(f"/proc/{name}/stat").read_text()
                except OSError:
                    continue
                state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
                if state != "Z":
                    self.parents[int(name)] = int(parent)

    def children(self, pid: int) -> list[int]:
        return sorted(each for each, parent in self.parents.items() if parent == pid)

    def below(self, pid: int) -> list[int]:
        return [each for child in self.children(pid) for each in (child, *self.below(child))]

    def executors(self) -> list[int]:
        java = SparkContext._gateway.proc.pid
        return [each for each in self.below(java) if "CoarseGrainedExecutorBackend" in _command(each)]

    def daemons(self) -> list[int]:
        return [d for e in self.executors() for d in self.children(e) if "session.daemon" in _command(d)]

    def spawners(self) -> list[int]:
        """The daemon puts its workers into a group of its own; the spawner was there before."""
        return [n for d in self.daemons() for n in self.children(d) if _group(n) not in (d, None)]

    def shard_processes(self) -> list[int]:
        return [shard_process for spawner in self.spawners() for shard_process in self.children(spawner)]

    def of(self, what: str) -> list[int]:
        kinds = {
            "executor": self.executors,
            "daemon": self.daemons,
            "spawner": self.spawners,
            "shard_process": self.shard_processes,
        }
        return kinds[what]()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def until(holds) -> bool:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


class Killer:
    """Kills one process after the other, and looks whether all that belonged to it ends by itself."""

    def __init__(self, what: list[str]) -> None:
        self.left = list(what)
        self.killed: list[str] = []
        self.orphans: set[int] = set()
        self.chance = random.Random(3)

    def soon(self, batch: int) -> None:
        """In the middle of the next batch: it begins when this one has been taken."""
        if self.left and batch % EVERY == 1:
            what = self.left.pop(0)
            threading.Timer(self.chance.uniform(0.0, 1.0), self.kill, [what]).start()

    def kill(self, what: str) -> None:
        processes = Processes()
        alive = processes.of(what)
        if not alive:
            self.left.insert(0, what)
            return
        victim = self.chance.choice(alive)
        orphans = set(processes.below(victim))
        if what == "daemon":  # its workers go on as long as their executor has work for them
            orphans &= {*processes.spawners(), *processes.shard_processes()}
        self.orphans |= orphans
        os.kill(victim, signal.SIGKILL)
        self.killed.append(what)


def run(master: str, directory: Path, shards: int, killer: Killer, settings: dict[str, str]) -> dict:
    engine = Engine(master=master, shards=shards, batch_bytes=BATCH_BYTES, lateness="1m")
    engine.options.settings = settings
    engine.add_stream(directory / "stream.nq")
    engine.add_graph(
        [(NamedNode(f"{EX}{n}"), NamedNode(f"{EX}in"), NamedNode(f"{EX}room{n % 3}")) for n in range(SENSORS)]
    )
    for name, text in QUERIES.items():
        engine.add_query(PREFIXES + text, name=name)
    lines: list[str] = []
    shard_processes: list[tuple[int, int]] = []
    restored = 0

    def take(batch: Batch) -> None:
        nonlocal restored
        for number, table in sorted(batch.tables.items()):
            lines.extend(f"{batch.id} {engine.names[number]} {row}" for row in table.to_pylist())
        lines.extend(f"{batch.id} late {record}" for record in batch.late)
        assert not batch.rejected
        # Those that moved in this very batch may have a shard process in both places until it is finished.
        most = shards + batch.statistics.restored - restored
        restored = batch.statistics.restored
        if "cluster" in master and not until(lambda: len(Processes().shard_processes()) <= most):
            shard_processes.append((batch.id, len(Processes().shard_processes())))
        killer.soon(batch.id)

    statistics = engine.run(on_batch=take)
    return {
        "lines": sorted(lines),  # within a batch, their order depends on the key of the run
        "batches": statistics.batches,
        "restored": statistics.restored,
        "late": statistics.late,
        "too many": shard_processes,
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("master")
    options.add_argument("directory", type=Path)
    options.add_argument("shards", type=int, nargs="+")
    options.add_argument("--kill", nargs="*", default=[])
    options.add_argument("--settings", type=json.loads, default={})
    given = options.parse_args()
    killer = Killer(given.kill)
    told: dict = {
        str(shards): run(given.master, given.directory, shards, killer, given.settings)
        for shards in given.shards
    }
    told["killed"] = killer.killed
    told["orphans"] = (
        []
        if until(lambda: not killer.orphans & set(Processes().parents))
        else [_command(each) for each in killer.orphans & set(Processes().parents)]
    )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
