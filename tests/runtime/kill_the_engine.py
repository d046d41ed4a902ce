"""Kills whole runs of real queries into a CSV file at random moments, restarts, and compares.

    python tests/runtime/kill_the_engine.py --kills 20

The queries join, wait for absence, and feed each other; the answers are one file with the
answers of all of them, and what comes late is another one. After the last restart both must hold
exactly the rows of an undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from penstock.api import Batch, Engine
from penstock.bench import sensors
from penstock.sinks import SideOutputs, open_sink

BATCH_BYTES = 60_000
PREFIXES = "PREFIX ex: <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
QUERIES = [
    sensors.query(20),
    PREFIXES
    + """CONSTRUCT { ?s ex:fell ?w } WHERE { ?s ex:reads ?v } SEQ { ?s ex:reads ?w }
    FILTER (?w * 30 < ?v && getDURATION() < "PT5M"^^xsd:duration)""",
    PREFIXES
    + """SELECT ?s ?w ?v WHERE { ?s ex:fell ?w OPTIONAL {
    ?s ex:reads ?v FILTER (?v > 99 && getDURATION() < "PT5M"^^xsd:duration) } }""",
    PREFIXES + "SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ex:fell ?w } GROUP BY ?s",
]


def run(directory: Path, name: str) -> None:
    """One life of a run: goes on from its checkpoint until it ends or is killed."""
    checkpoint = directory / f"{name}.checkpoint"
    engine = Engine(master="local[2]", checkpoint=checkpoint, batch_bytes=BATCH_BYTES)
    engine.add_stream(directory / "data")
    for query in QUERIES:
        engine.add_query(query)
    sink = open_sink("csv", str(directory / f"{name}.csv"), engine.queries, checkpoint)
    sides = SideOutputs(late=directory / f"{name}.late.jsonl", checkpoint=checkpoint)

    def take(batch: Batch) -> None:
        sides.write(batch.id, batch.rejected, batch.late)
        sink.write(batch.id, batch.tables)

    engine.run(on_batch=take)
    sink.close()
    sides.close()


def start(directory: Path, name: str) -> subprocess.Popen:
    command = [sys.executable, __file__, "--life", str(directory), name]
    return subprocess.Popen(command, start_new_session=True)


def kill(process: subprocess.Popen) -> None:
    """Kills the run and everything it has started, without a warning."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(kills: int, events: int, seed: int) -> int:
    chance = random.Random(seed)
    directory = Path(tempfile.mkdtemp(prefix="penstock-kills-"))
    (directory / "data").mkdir()
    paths = sensors.write_nquads(sensors.readings(events, 20), directory / "data", 4)
    for path in paths[1:]:
        repeat_late(paths[0], path)
    begun = time.monotonic()
    assert start(directory, "undisturbed").wait() == 0
    length = time.monotonic() - begun
    print(f"undisturbed: {length:.0f} s", flush=True)
    done = 0
    while True:
        life = start(directory, "killed")
        try:
            if done == kills:
                life.wait()
            else:
                live_a_while(life, directory, chance, length)
            assert life.returncode == 0
            if done == kills:
                break
            # A run that was quicker than its kill is compared, too, before the next one begins.
            if not same(directory):
                return 1
            print("it ended before the kill: beginning anew", flush=True)
            shutil.rmtree(directory / "killed.checkpoint")
            (directory / "killed.csv").unlink()
            (directory / "killed.late.jsonl").unlink()
        except subprocess.TimeoutExpired:
            kill(life)
            done += 1
            size = (directory / "killed.csv").stat().st_size if (directory / "killed.csv").exists() else 0
            batches = committed(directory / "killed.checkpoint" / "spark" / "commits")
            print(f"kill {done}: after {batches} batches, {size:,} bytes of answers", flush=True)
    if not same(directory):
        return 1
    print(f"{done} kills: all files that were finished are identical to the undisturbed ones")
    shutil.rmtree(directory)
    return 0


def live_a_while(life: subprocess.Popen, directory: Path, chance: random.Random, length: float) -> None:
    """Returns if the run ends by itself, and raises TimeoutExpired when it is time to kill it.

    Mostly that is soon after its first batch, at any moment of a later one; sometimes any moment of
    its start.
    """
    if chance.random() < 0.2:
        life.wait(chance.uniform(0, 0.7) * length)
        return
    commits = directory / "killed.checkpoint" / "spark" / "commits"
    earlier = committed(commits)
    while life.poll() is None and committed(commits) == earlier:
        time.sleep(0.02)
    life.wait(chance.uniform(0, 4))


def committed(commits: Path) -> int:
    """How many batches a run has finished, over all its lives."""
    numbers = [int(name) for name in os.listdir(commits) if name.isdigit()] if commits.exists() else []
    return max(numbers, default=-1) + 1


def repeat_late(source: Path, path: Path) -> None:
    """Puts old elements between those of a file, each with a triple that no query reads."""
    lines = path.read_text().splitlines(keepends=True)
    old = source.read_text().splitlines(keepends=True)[:100]
    for number, line in enumerate(old):
        unread = line.replace("/reads>", "/unread>")
        at = number * len(lines) // len(old)
        lines[at] += line + unread
    path.write_text("".join(lines))


def same(directory: Path) -> bool:
    """Whether the run that was killed has written exactly the rows of the undisturbed one."""
    equal = True
    for suffix in ("csv", "late.jsonl"):
        expected, found = (
            Counter((directory / f"{name}.{suffix}").read_text().splitlines())
            for name in ("undisturbed", "killed")
        )
        equal = equal and expected == found
        verdict = "identical" if expected == found else "DIFFERENT"
        print(f"{suffix}: {sum(expected.values()):,} lines, {verdict}")
    return equal


if __name__ == "__main__":
    if sys.argv[1:2] == ["--life"]:
        run(Path(sys.argv[2]), sys.argv[3])
    else:
        options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        options.add_argument("--kills", type=int, default=20)
        options.add_argument("--events", type=int, default=20_000)
        options.add_argument("--seed", type=int, default=1)
        sys.exit(main(**vars(options.parse_args())))
