"""The examples of the pages on languages over windows are true."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import windows
from docs.page import examples_of
from penstock.errors import QueryError

PAGES = Path(__file__).resolve().parent.parent.parent / "docs"
LANGUAGES = ("c-sparql", "rsp-ql", "cqels-cep")
EXAMPLES = [(language, each) for language in LANGUAGES for each in examples_of(PAGES / f"{language}.md")]


NOT_BUILT = ("f:timestamp(", "}+")
"""What the engine refuses for now: the examples with these fail, and must not fail unnoticed any longer."""


def cases(engine: bool):
    for language, example in EXAMPLES:
        unbuilt = engine and any(word in example.queries[0] for word in NOT_BUILT)
        marks = [pytest.mark.xfail(raises=QueryError, strict=True)] if unbuilt else []
        yield pytest.param(language, example, id=f"{language} {example.title}", marks=marks)


@pytest.mark.parametrize(("language", "example"), cases(engine=False))
def test_by_the_definitions(language, example):
    assert windows.by_definition(example, language) == example.expected()


@pytest.mark.parametrize(("language", "example"), cases(engine=True))
def test_by_the_engine(language, example):
    assert windows.by_the_engine(example, language) == example.expected()
