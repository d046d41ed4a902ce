"""The pages of the regimes are what the rule files say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from penstock.rules.rule import REGIMES

TOOL = Path(__file__).parents[2] / "tools" / "regimes.py"
_spec = importlib.util.spec_from_file_location("regimes", TOOL)
regimes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(regimes)


@pytest.mark.parametrize("name", REGIMES)
def test_a_page_is_up_to_date(name):
    written = (regimes.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written == regimes.page(name), "PYTHONPATH=src .venv/bin/python tools/regimes.py writes it"


@pytest.mark.parametrize("name", REGIMES)
def test_examples_stay_as_they_are_written(name):
    assert set(re.findall(r"^```(.*)$", regimes.page(name), re.M)) == {"sparql", ""}


def test_there_is_a_page_for_each_regime():
    assert {path.stem for path in regimes.PAGES.glob("*.md")} == set(REGIMES)
