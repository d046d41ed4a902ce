"""On Spark: a run that is stopped in the middle of a long batch leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
LONG = (
    "SELECT * WHERE { ?a <urn:p> ?x } SEQ { ?b <urn:p> ?y }"
    " FILTER (STRLEN(CONCAT(STR(?x), STR(?y))) = 99)"  # some minutes for two billion pairs
)
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


def of_session(number: int) -> dict[int, int]:
    """The processes of a session, and how many ticks each has run."""
    found = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                state, _, _, session, *rest = (place / "stat").read_text().rpartition(")")[2].split()
            except (OSError, ValueError):
                continue
            if int(session) == number and state != "Z":
                found[int(place.name)] = int(rest[7]) + int(rest[8])
    return found


@pytest.mark.sample(0)
def test_stopped_in_a_long_batch(tmp_path):
    (tmp_path / "q.rq").write_text(LONG)
    with (tmp_path / "s.nq").open("w") as file:
        for i in range(60_000):
            instant = f"2024-01-01T{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z"
            file.write(f'<urn:s{i}> <urn:p> "{i}" <urn:e{i}#t={instant}> .\n')
    run = subprocess.Popen(
        [sys.executable, "-P", "-m", "penstock", *"run q.rq --stream s.nq --format csv --log json".split(),
         *"--progress 1s --master local[2]".split()],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(SOURCE)}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in run.stderr:
            if '"event": "progress"' in line:
                break
        # Once a process works for longer than it takes to begin: a shard is at its step.
        until, before = time.monotonic() + 120, {}
        while time.monotonic() < until:
            time.sleep(5)
            now = of_session(run.pid)
            workers = [pid for pid in now if "session.daemon" in command_of(pid)]
            if len(workers) >= 5 and any(now[pid] - before.get(pid, now[pid]) > 100 for pid in workers):
                break
            before = now
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=60)
        assert run.returncode == 130 and '"interrupted": true' in said
        until = time.monotonic() + 15
        while (left := of_session(run.pid)) and time.monotonic() < until:
            time.sleep(0.2)
        assert not left, [command_of(pid) for pid in left]
    finally:
        for pid in of_session(run.pid):
            os.kill(pid, signal.SIGKILL)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
