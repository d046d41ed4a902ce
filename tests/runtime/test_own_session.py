"""Penstock in a Spark session that somebody else has configured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import UsageError
from penstock.runtime.session.session import start_session

SCRIPT = Path(__file__).parent / "in_a_session_of_ones_own.py"


@pytest.fixture(
    scope="module",
    params=["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.slow)],
)
def told(request, tmp_path_factory):
    """What the script in a process of its own tells."""
    place = tmp_path_factory.mktemp("session")
    done = subprocess.run([sys.executable, SCRIPT, place, request.param], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"log": done.stderr}


pytestmark = pytest.mark.sample(0)


def test_runs_answer_whatever_the_session_has_also_two_at_once(told):
    assert (told["1 shards"], told["3 shards"]) == (20, 20)


def test_an_error_in_a_worker_comes_back_as_it_is(told):
    assert "this is no line of N-Quads" in told["with None"] and "Spark" not in told["with None"]


def test_spark_logs_neither_warnings_nor_traces_of_our_runs(told):
    assert "WARN MicroBatchExecution" not in told["log"] and "WARN DAGScheduler" not in told["log"]
    assert "\tat org.apache.spark" not in told["log"], "errors are raised, in our words"


def test_a_setting_that_cannot_be_made_any_more_is_named(told):
    said = told["with {'spark.driver.memory': '3g'}"]
    assert "has spark.driver.memory=1g, and this run needs 3g" in said


def test_the_settings_are_as_before(told):
    assert told["given"] == "6"
    assert told["as before"]


def test_spark_connect_is_refused(monkeypatch):
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with pytest.raises(UsageError, match="Spark Connect"):
        start_session()
