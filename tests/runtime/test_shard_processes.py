"""Hosts of shards: state stays in one process, and comes back if that process dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own, as Spark's daemon is: forking is safe where no threads are.
SCRIPT = """
import os, sys
from pathlib import Path
import numpy as np
from penstock.errors import InputError, InternalError
from penstock.runtime.detection import shard_processes
from penstock.runtime.job import Job, publish
from tests.runtime.toy import ToyProgram, rows_of, toy_decoder

place = Path(sys.argv[1])
os.environ["SPARK_LOCAL_DIRS"] = str(place)
shard_processes.start_spawner()
(place / "source").mkdir()
commits = place / "spark" / "commits"
commits.mkdir(parents=True)
job = publish(Job("run", ToyProgram(2, fail_on=99), (), toy_decoder, False), place / "source")
stored, stamp, reads, batch = {}, None, 0, 0

def chunks():
    global reads
    reads += 1
    return list(stored.items())

def step(rows, watermark, number=0):
    global stamp, batch
    data = [np.array(rows, np.int64).tobytes()] if rows else []
    step = shard_processes.step(job, number, batch, stamp, chunks, data, watermark, False)
    for key in step.deletes:
        stored.pop(key)
    stored.update(step.puts)
    stamp = step.stamp
    (commits / str(batch)).touch()
    batch += 1
    return [row for query, data in step.results for row in rows_of(data)]

def children(pid):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and parent(p) == pid]

def parent(pid):
    try:
        stat = open(f"/proc/{pid}/stat").read()
    except OSError:
        return None
    return int(stat[stat.rindex(")") + 2 :].split()[1])

assert step([(1, 10), (1, 20)], 15) == [(1, 10, 1)]
assert step([(1, 30)], 25) == [(1, 20, 2)]
assert reads == 0, "a live shard process needs no stored state"

[spawner] = children(os.getpid())
[first] = children(spawner)
os.kill(first, 9)
assert step([(1, 40)], 35) == [(1, 30, 3)]
assert reads == 1, "a new shard process restores once"
[second] = children(spawner)
assert second != first

try:
    step([(99, 50)], 45)
except InputError as problem:
    assert problem.message == "the key is forbidden"
else:
    raise AssertionError("an error of the shard must reach the worker")
assert step([(1, 50)], 45) == [(1, 40, 4)]
print("processes", spawner, second, flush=True)
if sys.argv[2] == "ended":
    os.unlink(job.path)
elif sys.argv[2].startswith("busy"):
    import threading, time
    threading.Thread(target=step, args=([(7_777_777, 60)], 55), daemon=True).start()
    time.sleep(1)
    print("busy", flush=True)
    if sys.argv[2] == "busy, ended":
        os.unlink(job.path)
elif sys.argv[2] == "moved":
    # Another executor has stepped the shard in the next batch, and that one is finished.
    (commits / str(batch)).touch()
    sys.stdin.readline()
    assert step([(1, 60)], 55) == [(1, 50, 5)], "it may come back"
    assert reads == 3
    [third] = children(spawner)
    print(third, len(os.listdir(os.path.dirname(os.environ[shard_processes.SPAWNER]))), flush=True)
elif sys.argv[2] == "alone":
    os.kill(spawner, 9)
    sys.stdin.readline()
    assert step([(1, 60)], 55) == [(1, 50, 5)], "without a spawner it lives in the worker"
    assert step([(1, 70)], 65) == [(1, 60, 6)]
    assert reads == 3, "there it stays"
    print("done", flush=True)
elif sys.argv[2] == "mortal":
    # Whatever steps it is killed, as by a system that has no memory left.
    import signal, threading
    asked = shard_processes._ask
    def kill_and_ask(connection, request):
        if request[0] == "step":
            [shard_process] = children(spawner)
            os.kill(shard_process, 9)
        return asked(connection, request)
    shard_processes._ask = kill_and_ask
    try:
        step([(1, 60)], 55)
    except InternalError as problem:
        print(problem.message, flush=True)
sys.stdin.read()
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def gone(pid: int, patience: float = 20.0) -> bool:
    until = time.monotonic() + patience
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_alive(pid)


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@contextlib.contextmanager
def running(place: Path, ending: str) -> Iterator[tuple[subprocess.Popen, int, int]]:
    """The script, and the ids of its spawner and its shard process."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(place), ending],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("processes"), process.stderr.read()
        spawner, shard_process = map(int, line.split()[1:])
        yield process, spawner, shard_process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.mark.parametrize("ending", ["ended", "killed"])
def test_shard_processes_keep_restore_fail_and_end(tmp_path, ending):
    with running(tmp_path, ending) as (process, spawner, shard_process):
        if ending == "ended":
            assert gone(shard_process), "a shard process must end with its run"
            assert is_alive(spawner)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert gone(shard_process) and gone(spawner), "nothing may be left when the daemon is killed"
        assert not list(tmp_path.glob("shards-*")), "the spawner clears its sockets away"


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", ["busy, killed", "busy, ended"])
def test_shard_processes_end_with_their_run_in_the_middle_of_a_step(tmp_path, ending):
    with running(tmp_path, ending) as (process, spawner, shard_process):
        assert process.stdout.readline() == "busy\n"
        if ending == "busy, killed":
            process.send_signal(signal.SIGKILL)
        assert gone(shard_process, 10.0), "a step may take minutes"
        assert gone(spawner, 10.0) == (ending == "busy, killed")


def test_a_shard_process_ends_whose_shard_has_moved_elsewhere(tmp_path):
    with running(tmp_path, "moved") as (process, spawner, shard_process):
        assert gone(shard_process), "a batch is finished without it: its memory must not stay"
        process.stdin.write("\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, process.stderr.read()
        third, sockets = map(int, line.split())
        assert third != shard_process and is_alive(third) and is_alive(spawner)
        assert sockets == 2, "of the spawner and of the shard process that is there"


def test_without_its_spawner_a_shard_lives_in_the_worker(tmp_path):
    with running(tmp_path, "alone") as (process, spawner, shard_process):
        assert gone(spawner) and gone(shard_process)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n", process.stderr.read()


def test_a_shard_process_that_dies_whenever_it_steps_is_told_of(tmp_path):
    with running(tmp_path, "mortal") as (process, _, _):
        line = process.stdout.readline()
        assert "shard 0 has ended 3 times in the middle of batch 4" in line, process.stderr.read()
