"""What an operator sees of a run: lines at an interval, JSON lines, metrics."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import penstock
from penstock import cli
from penstock.cli.showing import ProgressLine
from penstock.runtime.contract import RunStatistics
from penstock.runtime.progress import in_bytes, prometheus

SOURCE = Path(__file__).resolve().parents[2] / "src"
QUERY = "SELECT ?a ?b WHERE { ?a <urn:p> ?x } SEQ { ?b <urn:p> ?y }"
LINE = '<urn:s{0}> <urn:p> "{0}" <urn:e{0}#t=2024-01-01T00:00:{0:02d}Z> .\n'
FIGURES = {
    "batch", "elements", "elements_per_second", "answers", "watermark", "lag_seconds", "state_rows",
    "state_bytes", "late", "rejected",
}  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "s.nq").write_text("".join(LINE.format(n) for n in range(10)) + "broken\n")
    return tmp_path


def events(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def started(*arguments: str) -> subprocess.Popen:
    """`penstock try` that reads standard input, so that it runs for as long as the test wants."""
    command = "-P -m penstock try q.rq --stream - --format csv".split()
    run = subprocess.Popen(
        [sys.executable, *command, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    too_long = threading.Timer(120, run.kill)
    too_long.daemon = True
    too_long.start()
    return run


def test_without_a_terminal_a_line_comes_at_an_interval(files):
    run = started("--progress", "200ms")
    run.stdin.write("".join(LINE.format(n) for n in range(10)) + "broken\n")
    run.stdin.flush()
    for line in run.stderr:
        if re.match(r"batch \d+ · 10 elements · ", line):
            break
    assert re.search(r"· \d+ answers · up to 2024-01-01T00:00:0\d.000Z · lag [\d,]+ d ·", line), line
    assert re.search(r" state \d+ rows, [\d.]+ (bytes|KiB|MiB) · 0 late · 1 rejected$", line), line
    _, rest = run.communicate()
    assert run.returncode == 0 and "45 answers from 10 elements" in rest


def test_a_short_run_says_what_it_said(files, capfd):
    assert cli.call("try q.rq --stream s.nq --format csv".split()) == 0
    assert "batch" not in capfd.readouterr().err


def test_everything_is_a_json_line(files, capfd):
    assert cli.call("try q.rq --stream s.nq --format csv --log json".split()) == 0
    said = events(capfd.readouterr().err)
    assert {"time", "level", "event"} <= set.intersection(*map(set, said))
    (end,) = [each for each in said if each["event"] == "end"]
    assert FIGURES <= set(end) and end["elements"] == 10 and end["answers"] == 45 and end["rejected"] == 1
    assert any(each["level"] == "warning" and "1 rejected" in each["message"] for each in said)
    assert cli.call("try q.rq --stream nowhere.nq --log json".split()) == 2
    (error,) = events(capfd.readouterr().err)
    assert error["level"] == "error" and "nowhere.nq" in error["message"]
    assert cli.call("try q.rq --stream nowhere.nq".split()) == 2
    assert capfd.readouterr().err.startswith("error: "), "the next command has texts again"


def test_json_lines_at_an_interval(files):
    run = started("--progress", "200ms", "--log", "json")
    run.stdin.write("".join(LINE.format(n) for n in range(10)))
    run.stdin.flush()
    for line in run.stderr:
        said = json.loads(line)
        if said["event"] == "progress" and said["elements"]:
            break
    assert FIGURES <= set(said) and said["state_rows"] > 0 and said["lag_seconds"] > 0
    _, rest = run.communicate()
    assert run.returncode == 0 and events(rest)


def test_metrics_in_a_file(files, capfd):
    assert cli.call("try q.rq --stream s.nq --format csv --quiet --metrics m.prom".split()) == 0
    text = (files / "m.prom").read_text()
    assert "penstock_elements_total 10\n" in text and "penstock_rejected_total 1\n" in text
    assert 'penstock_answers_total{query="q"} 45\n' in text
    for line in text.splitlines():
        assert re.fullmatch(r'#( HELP| TYPE) \w+ .+|\w+(\{query="q"\})? [\d.e+-]+', line), line
    assert not list(files.glob(".m.prom*")), "replaced as a whole"
    assert cli.call("try q.rq --stream s.nq --metrics no/such/m.prom".split()) == 74
    assert cli.call("try q.rq --stream s.nq --metrics s.nq".split()) == 2, "it is read by this run"
    assert "is read by this run" in capfd.readouterr().err


def test_metrics_at_a_port(files):
    run = started("--metrics", "0")
    address = re.search(r"metrics at (http://127.0.0.1:\d+/metrics)", run.stderr.readline())[1]
    run.stdin.write("".join(LINE.format(n) for n in range(10)))
    run.stdin.flush()
    deadline = time.monotonic() + 60
    while "penstock_elements_total 10\n" not in (text := read(address)):
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    assert "# TYPE penstock_state_rows gauge\n" in text
    run.communicate()


def read(address: str) -> str:
    with urllib.request.urlopen(address) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return reply.read().decode()


def test_a_port_that_is_taken_is_refused(files, capfd):
    run = started("--metrics", "0")
    port = re.search(r":(\d+)/", run.stderr.readline())[1]
    assert cli.call(["try", "q.rq", "--stream", "s.nq", "--out", "a.csv", "--metrics", port]) == 2
    assert f"cannot listen at 127.0.0.1:{port}" in capfd.readouterr().err
    assert not (files / "a.csv").exists()
    run.communicate()


def test_the_same_figures_in_python(files):
    engine = penstock.Engine(spark=None, batch_bytes=100)
    engine.add_stream(files / "s.nq")
    engine.add_query(QUERY, name="q")
    seen = []
    engine.run(on_batch=lambda batch: seen.append(batch.statistics.progress))
    assert [each.batch for each in seen] == list(range(len(seen))) and len(seen) > 2
    assert seen[1].state_rows > 0 and seen[1].state_bytes > 8 * seen[1].state_rows
    assert seen[1].watermark is not None and seen[1].lag > 0
    statistics = engine.statistics
    assert statistics.answers == {"q": 45} and statistics.progress.rejected == 1
    assert 'penstock_answers_total{query="q"} 45' in prometheus(statistics)


def test_the_terminal_says_first_batch_while_it_runs():
    statistics = RunStatistics()
    line = ProgressLine(quiet=True, latest=lambda: statistics)
    assert str(line) == "starting Spark"
    statistics.started = True
    assert str(line) == "first batch"
    statistics.batch, statistics.elements = 0, 3
    assert str(line).startswith("batch 0 · 3 elements · 0 answers")


def test_bytes_in_words():
    assert [in_bytes(n) for n in (0, 1536, 3 << 20, 5 << 30)] == ["0 bytes", "1.5 KiB", "3.0 MiB", "5.0 GiB"]
