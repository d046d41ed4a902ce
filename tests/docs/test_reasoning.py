"""The reasoning guide's examples run as they are, one after the other.

A block after "Save this as `name`:" is a file; a line of a `sh` block is a command; the `text` block after it
is what it says (triples in any order; of messages, the beginning); `python` blocks run.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from penstock import cli
from penstock.rules.library import DESCRIPTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reasoning.md"
TEXT = PAGE.read_text("utf-8")
_BLOCK = re.compile(r"(?:Save this as `([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
def test_the_page_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    commands, compared, said = 0, 0, ""
    for file, kind, body in _BLOCK.findall(TEXT):
        if file:
            Path(file).write_text(body)
        elif kind == "sh":
            for line in body.splitlines():
                code = int((re.search(r"# exit code (\d)", line) or [0, 0])[1])
                assert cli.call(shlex.split(line, comments=True)[1:]) == code, line
                shown = capfd.readouterr()
                said = shown.out or shown.err
                commands += 1
        elif kind == "text":
            compared += 1
            if said.startswith(("<", "who,")):  # triples and answers come in any order
                assert sorted(said.splitlines()) == sorted(body.splitlines())
            else:
                assert said.replace("\r\n", "\n").startswith(body)
        elif kind == "python":
            exec(compile(body, str(PAGE), "exec"), names)
        else:
            raise AssertionError(f"a {kind} block that is no file: {body}")
    assert (commands, compared) == (9, 7)
    assert "closed.ttl" in [path.name for path in tmp_path.iterdir()]
    assert "cax-dw" in capfd.readouterr().out


def test_the_page_has_every_regime():
    assert re.findall(r"^\| `([\w-]+)` \|", TEXT, re.M) == list(DESCRIPTIONS)
