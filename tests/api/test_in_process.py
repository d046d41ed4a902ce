"""Runs without Spark: side outputs, standard input, signals, and what there is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock import Engine, UsageError
from penstock.errors import PenstockWarning

SOURCE = Path(__file__).resolve().parents[2] / "src"
QUERY = "SELECT ?s ?v { ?s <urn:p> ?v }"
LINE = '<urn:a> <urn:p> "{}" <urn:e{}#t=2024-01-01T00:00:{:02d}Z> .\n'


def lines(*seconds: int) -> str:
    return "".join(LINE.format(second, number, second) for number, second in enumerate(seconds))


def engine_over(text: str, place: Path, **options) -> Engine:
    (place / "s.nq").write_text(text)
    engine = Engine(spark=None, **options)
    engine.add_stream(place / "s.nq")
    engine.add_query(QUERY, name="q")
    return engine


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(SOURCE)}


def test_answers_come_without_spark(tmp_path):
    tell = (
        "import sys, penstock; engine = penstock.Engine(spark=None); engine.add_stream(sys.argv[1]);"
        f"engine.add_query({QUERY!r}); print(len(engine.answers())); print(*sys.modules)"
    )
    (tmp_path / "s.nq").write_text(lines(1, 2))
    done = subprocess.run(
        [sys.executable, "-c", tell, tmp_path / "s.nq"], env=environment(), capture_output=True, text=True
    )
    count, modules = done.stdout.splitlines()
    assert count == "2", done.stderr
    assert not {"pyspark", "py4j"} & set(modules.split())


def test_what_is_rejected_or_late_is_counted_and_told(tmp_path):
    """Two batches: what is late is known from the second one on."""
    engine = engine_over(lines(5, 6, 7) + "broken\n" + lines(1, 8), tmp_path, batch_bytes=1)
    with pytest.warns(PenstockWarning) as told:
        found = engine.answers()
    assert [solution["v"].value for solution in found] == ["5", "6", "7", "8"]
    assert engine.statistics.rejects == engine.statistics.late == 1 and engine.statistics.batches > 1
    said = " ".join(str(each.message) for each in told)
    assert "1 rejected line" in said and "1 late element" in said


def test_why_there_is_no_answer(tmp_path):
    engine = engine_over(lines(1).replace("urn:p", "urn:other"), tmp_path)
    assert not len(engine.answers())
    assert "urn:other" in str(engine.diagnosis["q"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"checkpoint": "state"}, "no checkpoint"),
        ({"master": "local[2]"}, "no master"),
    ],
)
def test_what_needs_spark_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        Engine(spark=None, **options)
    with pytest.raises(UsageError, match="'embedded' or None"):
        Engine(spark="yes")


def test_following_needs_spark(tmp_path):
    with pytest.raises(UsageError, match="not followed"):
        engine_over(lines(1), tmp_path).run(on_batch=print, follow=True)


def test_try_has_the_options_of_run_that_make_sense(tmp_path):
    (tmp_path / "q.rq").write_text(QUERY)
    command = [sys.executable, "-m", "penstock", "try", "q.rq", "--stream", "-", "--stream-format", "nquads"]
    done = subprocess.run(
        [*command, "--format", "csv"],
        input=lines(1, 2), env=environment(), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [row.split(",")[1] for row in done.stdout.split()[1:]] == ["1", "2"]
    for option in ("--follow", "--checkpoint", "--master"):
        done = subprocess.run([*command, option], env=environment(), cwd=tmp_path, capture_output=True)
        assert done.returncode == 2 and b"No such option" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_summary(tmp_path, number):
    """It waits for more of standard input, and has answered what there is."""
    (tmp_path / "q.rq").write_text(QUERY)
    command = [sys.executable, "-m", "penstock", "try", "q.rq", "--stream", "-", "--stream-format", "nquads"]
    running = subprocess.Popen(
        [*command, "--format", "csv", "--out", "found.csv"],
        env=environment(), cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    running.stdin.write(lines(1, 2))
    running.stdin.flush()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and running.poll() is None:
        if (tmp_path / "found.csv").exists() and "2024" in (tmp_path / "found.csv").read_text():
            break
        time.sleep(0.1)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert " from " in said and said.rstrip().endswith("stopped")
