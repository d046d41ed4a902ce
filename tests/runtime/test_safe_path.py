"""No process of a run imports what lies beside the data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.runtime.session import session

SOURCE = Path(__file__).resolve().parents[2] / "src"
EVIL = (
    "import os, sys\nopen(os.path.join({where!r}, f'{{os.getpid()}}'), 'w').write(' '.join(sys.orig_argv))\n"
)
STREAM = "".join(
    f'<x:s> <x:p> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> <x:g{n}#t=2026-01-01T00:00:0{n}Z> .\n'
    for n in range(6)
)
ENGINE = """
import os
from penstock import Engine

engine = Engine(master="local[2]")
engine.add_query("SELECT ?v WHERE { ?s <x:p> ?v }")
engine.add_stream("stream.nq")
for solution in engine.solutions():
    print(solution["v"].value)
assert "PYTHONSAFEPATH" not in os.environ  # processes that the caller starts are as before
"""
COMMAND = ("run", "query.rq", "--stream", "stream.nq", "--master", "local[2]", "--format", "csv", "--quiet")
PLANTED = ("random", "json", "penstock", "pyspark_planted")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "stream.nq").write_text(STREAM)
    (tmp_path / "data" / "query.rq").write_text("SELECT ?v WHERE { ?s <x:p> ?v }")
    return tmp_path


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("how", "planted"),
    [
        # What Python itself imports in the process that a user starts is the user's choice: `-P`.
        (("-P", "-m", "penstock", *COMMAND), PLANTED),
        (("-P", "-c", ENGINE), PLANTED),
        (("-m", "penstock", *COMMAND), ("random", "json", "pyspark_planted")),
    ],
    ids=["command", "engine", "module"],
)
def test_nothing_beside_the_data_is_imported(place, how, planted):
    marks = place / "marks"
    marks.mkdir()
    for name in planted:
        (place / "data" / f"{name}.py").write_text(EVIL.format(where=str(marks)))
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, *how], cwd=place / "data", env=environment, capture_output=True, text=True
    )
    assert [mark.read_text() for mark in marks.iterdir()] == []
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"^\d", done.stdout, re.MULTILINE)) == list("012345")


def test_workers_have_the_working_directory_only_where_pythonpath_names_it(tmp_path, monkeypatch):
    own, data = tmp_path / "own", tmp_path / "data"
    own.mkdir()
    data.mkdir()
    monkeypatch.chdir(data)
    monkeypatch.setattr(sys, "path", ["", str(data), str(own), *sys.path])
    monkeypatch.setenv("PYTHONPATH", f"{own}{os.pathsep}")
    entries = session._python_path().split(os.pathsep)
    assert str(own) in entries and str(data) not in entries
    monkeypatch.setenv("PYTHONPATH", f"{own}{os.pathsep}.")
    assert str(data) in session._python_path().split(os.pathsep)
