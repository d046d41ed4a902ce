"""The pages about tables: their files are written, their commands and Python run, and the output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock import cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {name: FENCE.findall((DOCS / name).read_text("utf-8")) for name in ("tables.md", "for-sql-users.md")}


@pytest.mark.parametrize(("page", "commands"), [("tables.md", 7), ("for-sql-users.md", 4)])
def test_every_block_is_used(page: str, commands: int):
    blocks = PAGES[page]
    assert [kind for kind, name, _ in blocks if not name and kind not in ("console", "python")] == []
    assert sum(kind == "console" for kind, _, _ in blocks) >= commands


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page: str, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, name, body in PAGES[page]:
        if name:
            Path(name).write_text(body, "utf-8")
        elif kind == "python":
            exec(compile(body, page, "exec"), names)
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
    Path("readings.csv").write_text(
        next(body for _, name, body in PAGES["tables.md"] if name == "readings.csv")
    )
    assert cli.call(["map", "readings.csv"]) == 0
    shown = capsys.readouterr().out
    assert '"aboutUrl"' not in shown and '"valueUrl": "http://example.org/{station}"' in shown
    assert '"instant": "when"' in shown
    assert cli.call(["map", "nothing.csv"]) == 2
