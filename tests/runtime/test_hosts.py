"""Hosts of shards: state stays in one process, and comes back if that process dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own, as Spark's daemon is: forking is safe where no threads are.
SCRIPT = """
import os, sys
from pathlib import Path
import numpy as np
from penstock.errors import InputError
from penstock.runtime.detection import hosts
from penstock.runtime.job import Job, publish
from tests.runtime.toy import ToyProgram, rows_of, toy_decoder

os.environ["SPARK_LOCAL_DIRS"] = sys.argv[1]
hosts.start_nursery()
job = publish(Job("run", ToyProgram(2, fail_on=99), (), toy_decoder, False), Path(sys.argv[1]))
stored, stamp, reads = {}, None, 0

def chunks():
    global reads
    reads += 1
    return list(stored.items())

def step(rows, watermark, number=0):
    global stamp
    data = [np.array(rows, np.int64).tobytes()] if rows else []
    step = hosts.step(job, number, stamp, chunks, data, watermark, False)
    for key in step.deletes:
        stored.pop(key)
    stored.update(step.puts)
    stamp = step.stamp
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
assert reads == 0, "a live host needs no stored state"

[nursery] = children(os.getpid())
[first] = children(nursery)
os.kill(first, 9)
assert step([(1, 40)], 35) == [(1, 30, 3)]
assert reads == 1, "a new host restores once"
[second] = children(nursery)
assert second != first

try:
    step([(99, 50)], 45)
except InputError as problem:
    assert problem.message == "the key is forbidden"
else:
    raise AssertionError("an error of the shard must reach the worker")
assert step([(1, 50)], 45) == [(1, 40, 4)]
print("hosts", nursery, second, flush=True)
if sys.argv[2] == "ended":
    os.unlink(job.path)
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


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("ending", ["ended", "killed"])
def test_hosts_keep_restore_fail_and_end(tmp_path, ending):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path), ending],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("hosts"), process.stderr.read()
        nursery, host = map(int, line.split()[1:])
        if ending == "ended":
            assert gone(host), "a host must end with its run"
            assert is_alive(nursery)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert gone(host) and gone(nursery), "nothing may be left when the daemon is killed"
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
