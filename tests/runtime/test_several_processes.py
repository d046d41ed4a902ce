"""Spark as several processes on one machine: the same answers, also when some of them are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtime.on_several_processes import write_stream

ROOT = Path(__file__).resolve().parents[2]
KILLED = ["executor", "shard_process", "spawner", "daemon"]
SCRIPT = Path(__file__).parent / "on_several_processes.py"
CLUSTER = "local-cluster[2,1,1024]"
MOVE = json.dumps({"spark.locality.wait.process": "0"})
STAY = json.dumps({"spark.locality.wait.process": "10m"})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("several")
    write_stream(place / "stream.nq", 2_500)
    return place


def told(*arguments: str | Path | int) -> dict:
    """What the script tells, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def expected(place):
    """The answers of one process, with 1, 2 and 8 shards."""
    one = told("local[2]", place, 1, 2, 8)
    for each in ("2", "8"):
        assert one[each]["lines"] == one["1"]["lines"]
    for kind in ("sequence", "rule", "absence", "aggregate", "graph", "late"):
        assert any(line.split()[1] == kind for line in one["1"]["lines"]), f"nothing of {kind} is compared"
    return one


def test_executors_answer_as_one_process_does_and_shards_stay_where_they_are(place, expected):
    cluster = told(CLUSTER, place, 1, 2, 8, "--settings", STAY)
    for shards in ("1", "2", "8"):
        assert cluster[shards]["lines"] == expected[shards]["lines"]
        assert cluster[shards]["batches"] == expected[shards]["batches"] > 10
        assert cluster[shards]["restored"] == 0, "Spark knows where the state is"
        assert cluster[shards]["too many"] == []


def test_kills_change_nothing(place, expected):
    """Executors, and what belongs to them: line by line the answers of an undisturbed run."""
    killed = told(CLUSTER, place, 8, "--settings", MOVE, "--kill", *KILLED)
    assert killed["killed"] == KILLED
    assert killed["8"]["lines"] == expected["8"]["lines"]
    assert killed["8"]["restored"] > 0
    assert killed["8"]["too many"] == [], "those of shards that are elsewhere must end"
    assert killed["orphans"] == [], "what belonged to a process that was killed must end by itself"
