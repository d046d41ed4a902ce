"""The texts of the rule library: each is a request of its own, in standard SPARQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyoxigraph import Store

import penstock.rules
from penstock.languages import parse

TEXTS = sorted((Path(penstock.rules.__file__).parent / "library").glob("*.rq"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_text_is_standard_sparql(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# name: {path.stem}\n# regimes: ")
    assert re.search(r"^# (meaning|contradiction): [^\n]*\.$|^# meaning: [^\n]*…$", text, re.M)
    if "\n# contradiction: " in text:
        Store().query(text)
    else:
        Store().update(text)
    assert parse(text, origin=path.name).statements
