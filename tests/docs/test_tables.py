"""The page about tables: its files are written, its commands and Python run, and the output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, name, body) for kind, name, body in FENCE.findall(PAGE.read_text("utf-8"))]


def test_every_block_is_used():
    assert [kind for kind, name, _ in BLOCKS if not name and kind not in ("console", "python")] == []
    assert sum(kind == "console" for kind, _, _ in BLOCKS) >= 6


@pytest.mark.usefixtures("spark")
def test_the_page_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, name, body in BLOCKS:
        if name:
            Path(name).write_text(body, "utf-8")
        elif kind == "python":
            exec(compile(body, str(PAGE), "exec"), names)
        else:
            command, _, expected = body.partition("\n")
            words = command.removeprefix("$ penstock ").split()
            capfd.readouterr()
            assert cli.call([*words, "--quiet"]) == 0, capfd.readouterr().err
            out = capfd.readouterr().out.replace("\r\n", "\n")
            # Answers that are found together come in any order; of JSON, the last has no comma.
            shown, said = ([line.rstrip(",") for line in text.splitlines()] for text in (out, expected))
            assert shown[:1] == said[:1] and sorted(shown) == sorted(said), command


def test_the_command_that_suggests_a_map(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("readings.csv").write_text(next(body for _, name, body in BLOCKS if name == "readings.csv"))
    assert cli.call(["map", "readings.csv"]) == 0
    shown = capsys.readouterr().out
    assert '"aboutUrl"' not in shown and '"valueUrl": "http://example.org/{station}"' in shown
    assert '"instant": "when"' in shown
    assert cli.call(["map", "nothing.csv"]) == 2
