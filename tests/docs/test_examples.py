"""Every example in the documentation is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import by_engine, by_oracle
from docs.page import examples_of

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LANGUAGE = examples_of(REPOSITORY / "docs" / "ep-sparql.md")
README = examples_of(REPOSITORY / "README.md")
PATHS = examples_of(REPOSITORY / "docs" / "paths.md")
EXAMPLES = LANGUAGE + README + PATHS


def test_the_page_shows_every_operator():
    queries = " ".join(query for example in LANGUAGE for query in example.queries)
    words = "SEQ EQUALS OPTIONALSEQ EQUALSOPTIONAL OPTIONAL UNION MINUS EXISTS FILTER BIND VALUES"
    words += " getDURATION getSTARTTIME getENDTIME CONSTRUCT ASK DESCRIBE SELECT DISTINCT COUNT"
    words += " HAVING LIMIT"
    assert not [word for word in words.split() if word not in queries.replace("(", " ").split()]


def test_the_readme_shows_a_first_query():
    assert len(README) == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_by_the_definitions(example):
    assert by_oracle.answer(example) == example.expected()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_by_the_engine(example):
    assert by_engine.answer(example) == example.expected()
