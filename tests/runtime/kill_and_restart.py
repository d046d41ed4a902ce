"""Kills a run with all its processes at random moments, restarts it, and compares the answers.

    python tests/runtime/kill_and_restart.py --kills 20

The run writes each batch to a file of its own, as the file sinks do: a batch that comes
again replaces its file. At the end nothing may be missing, and nothing there twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for entry in (str(ROOT), str(ROOT / "src")):
    if entry not in sys.path:
        sys.path.insert(0, entry)
os.environ["PYTHONPATH"] = str(ROOT)  # so that workers find the program, also from the working directory

from tests.runtime.toy import ToyProgram, expected_answers, rows_of, toy_decoder  # noqa: E402

from penstock.runtime.contract import RunOptions  # noqa: E402
from penstock.runtime.detection.watermark import Timing  # noqa: E402
from penstock.runtime.run import run  # noqa: E402
from penstock.sources.streams import StreamSpec  # noqa: E402

LATENESS = 400


def child(directory: Path, batch_bytes: int) -> None:
    """One life of the run: goes on from the checkpoint until it ends or is killed."""
    out = directory / "out"
    out.mkdir(exist_ok=True)

    def write(batch: int, results: list[tuple[int, bytes]]) -> None:
        rows = [row for query, payload in results if query == 0 for row in rows_of(payload)]
        late = sum(query == -1 for query, _ in results)
        aside = out / f".{batch}"
        aside.write_text(json.dumps({"rows": rows, "late": late}))
        os.replace(aside, out / f"{batch}.json")
        print(f"batch {batch}", flush=True)

    run(
        ToyProgram(3),
        [StreamSpec(None, (str(directory / "data"),))],
        decoder=toy_decoder,
        on_batch=write,
        timing=Timing(LATENESS),
        checkpoint=directory / "checkpoint",
        master="local[2]",
        options=RunOptions(batch_bytes=batch_bytes),
    )
    print("ended", flush=True)


def descendants(root: int) -> list[int]:
    """A process and all that it has started, and these, and so on."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    found = [root]
    for each in found:
        found += [pid for pid, parent in parents.items() if parent == each]
    return found


def kill_tree(process: subprocess.Popen) -> int:
    """SIGKILL to everything that belongs to a run; how many processes that were."""
    killed: set[int] = set()
    # Stopped first, so that nobody starts another one while we look.
    tree = descendants(process.pid)
    for pid in tree:
        _send(pid, signal.SIGSTOP)
    for pid in {*tree, *descendants(process.pid)}:
        _send(pid, signal.SIGKILL)
        killed.add(pid)
    process.wait()
    return len(killed)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def live(directory: Path, batch_bytes: int, patience: float | None, after_batches: int) -> bool:
    """Start one life; kill it `patience` seconds after it has done some batches (None: never).

    Returns whether it ended by itself.
    """
    log = directory / "child.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [
                sys.executable, __file__, "--child", str(directory),
                "--batch-bytes", str(batch_bytes),
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    waited: float | None = None
    try:
        while process.poll() is None:
            time.sleep(0.02)
            if patience is None:
                continue
            if waited is None and log.read_bytes().count(b"batch ") >= after_batches:
                waited = time.monotonic()
            if waited is not None and time.monotonic() - waited >= patience:
                kill_tree(process)
                return False
    finally:
        if process.poll() is None:
            kill_tree(process)
    if process.returncode != 0:
        raise AssertionError(f"the run failed:\n{log.read_text()}")
    return True


def kill_and_restart(
    directory: Path, *, kills: int, events: int, batch_bytes: int, seed: int, say=print
) -> int:
    """Kill a run `kills` times, let it end, and compare; returns the kills that hit it."""
    draw = random.Random(seed)
    made = [(draw.randrange(50), t * 10 + draw.randrange(10)) for t in range(events)]
    arrival = sorted(made, key=lambda event: event[1] + draw.randrange(LATENESS))
    data = directory / "data"
    data.mkdir(parents=True)
    third = events // 3 + 1
    for number in range(3):
        part = arrival[number * third : (number + 1) * third]
        (data / f"{number}.nq").write_text("".join(f"{key} {end}\n" for key, end in part))
    hit = 0
    while hit < kills:
        # Some die while they start or restore, most while they work.
        after = 0 if draw.random() < 0.15 else draw.randrange(1, 4)
        patience = draw.uniform(0, 15) if after == 0 else draw.uniform(0, 1.5)
        if live(directory, batch_bytes, patience, after):
            say("the run ended before all kills; give it more events")
            break
        hit += 1
        done = len(list((directory / "out").glob("*.json"))) if (directory / "out").exists() else 0
        say(f"kill {hit}: {done} batches are written")
    else:
        live(directory, batch_bytes, None, 0)
    outputs = [json.loads(path.read_text()) for path in (directory / "out").glob("*.json")]
    answers = sorted(tuple(row) for output in outputs for row in output["rows"])
    assert sum(output["late"] for output in outputs) == 0, "nothing may be late"
    expected = expected_answers(made)
    lost, wrong = set(expected) - set(answers), set(answers) - set(expected)
    assert answers == expected, f"{len(lost)} lost, {len(wrong)} wrong, {len(answers)} in all"
    say(f"{hit} kills, {len(outputs)} batches, {len(answers)} answers: identical")
    return hit


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--events", type=int, default=40_000)
    options.add_argument("--batch-bytes", type=int, default=3000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child is not None:
        child(given.child, given.batch_bytes)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-kills-") as directory:
        kill_and_restart(
            Path(directory), kills=given.kills, events=given.events,
            batch_bytes=given.batch_bytes, seed=given.seed,
        )  # fmt: skip


if __name__ == "__main__":
    main()
