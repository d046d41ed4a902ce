"""The Python page's examples run as they are, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    assert len(BLOCKS) == 5
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    assert "<http://example.org/pump1> 2026-05-01 08:00:00+00:00 2026-05-01 08:15:00+00:00" in shown
    assert "the prefix : is not declared" in shown
