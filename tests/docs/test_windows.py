"""The examples of the pages on languages over windows are true."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import by_engine, by_oracle, windows
from docs.page import examples_of

PAGES = Path(__file__).resolve().parent.parent.parent / "docs"
LANGUAGES = ("c-sparql", "rsp-ql", "cqels-cep")
EXAMPLES = [(language, each) for language in LANGUAGES for each in examples_of(PAGES / f"{language}.md")]
EXAMPLES += [("cqels-cep", each) for each in examples_of(PAGES / "vienna.md")]
EP_SPARQL, *OTHERS = examples_of(PAGES / "languages.md")
EXAMPLES += zip(("cqels-cep", "c-sparql", "rsp-ql"), OTHERS, strict=True)


each = pytest.mark.parametrize(
    ("language", "example"),
    [pytest.param(language, each, id=f"{language} {each.title}") for language, each in EXAMPLES],
)


@each
def test_by_the_definitions(language, example):
    assert windows.by_definition(example, language) == example.expected()


@each
def test_by_the_engine(language, example):
    assert windows.by_the_engine(example, language) == example.expected()


def test_the_same_question_in_ep_sparql():
    assert by_oracle.answer(EP_SPARQL) == by_engine.answer(EP_SPARQL) == EP_SPARQL.expected()
