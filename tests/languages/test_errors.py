"""What a query's author reads when something is wrong: the texts are in errors.txt.

Each case there is a name (with the language, if it is not EP-SPARQL), a query, and the error
as it is shown. `REWRITE_FIXTURES=1 pytest tests/languages/test_errors.py` writes the texts
anew, for review with `git diff`.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from languages.notation import PROLOGUE
from penstock.errors import QueryError, Span, UsageError
from penstock.languages import parse

FIXTURES = Path(__file__).with_name("errors.txt")
CASE = re.compile(r"^=== ([^\n\[]+?)(?: \[(.+?)\])?\n(.*?)\n---\n(.*?)\n*(?=^=== |\Z)", re.M | re.S)


def cases() -> list[tuple[str, str, str, str]]:
    found = CASE.findall(FIXTURES.read_text("utf-8"))
    return [(name, language or "ep-sparql", query, error) for name, language, query, error in found]


def shown_error(query: str, language: str) -> str:
    with pytest.raises(QueryError) as caught:
        parse(query, language=language)
    return str(caught.value)


def test_all_fixtures_are_read():
    headings = re.findall(r"^=== ", FIXTURES.read_text("utf-8"), re.M)
    assert len(cases()) == len(headings) >= 50


@pytest.mark.parametrize(
    ("language", "query", "expected"), [c[1:] for c in cases()], ids=[c[0] for c in cases()]
)
def test_error_text(language, query, expected):
    if not os.environ.get("REWRITE_FIXTURES"):
        assert shown_error(query, language) == expected


@pytest.mark.skipif(not os.environ.get("REWRITE_FIXTURES"), reason="REWRITE_FIXTURES is not set")
def test_rewrite():
    parts = []
    for name, language, query, _ in cases():
        heading = name if language == "ep-sparql" else f"{name} [{language}]"
        parts.append(f"=== {heading}\n{query}\n---\n{shown_error(query, language)}\n")
    FIXTURES.write_text("\n".join(parts), "utf-8")


def test_an_error_names_the_file():
    with pytest.raises(QueryError) as caught:
        parse("SELEC * {}", origin="queries/q.rq")
    assert str(caught.value).startswith("queries/q.rq:1:1: SELEC is not known here\n")


def test_places_are_those_of_the_text_as_written():
    with pytest.raises(QueryError) as caught:
        parse('ASK {\n  ?s ?p "\\u0041\\U0001F46A" , oops }')
    assert caught.value.span == Span(2, 30, 4)


def test_an_unknown_language_is_the_callers_fault():
    with pytest.raises(UsageError, match="there is no query language 'epsparql'") as caught:
        parse("ASK {}", language="epsparql")
    assert caught.value.hint == "did you mean ep-sparql?"


def test_nesting_without_end_is_refused_in_words():
    depth = 5000
    with pytest.raises(QueryError, match="nested too deeply"):
        parse("ASK " + "{" * depth + "}" * depth)


def test_comments_do_not_slow_the_lexer_down():
    assert parse("ASK { FILTER ( " + "#" * 5000 + "\n true) }").queries


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_query_gives_an_error_with_a_place_or_none_at_all(seed):
    chance = random.Random(seed)
    text = PROLOGUE + (
        'SELECT ?a (COUNT(*) AS ?n) WHERE { ?a :p "x"@en ; :q/:r* [ :s ( 1 -2.5 ) ] } SEQ '
        "{ { ?a :p _:b } UNION { VALUES (?a ?b) { (1 UNDEF) } } } "
        "FILTER (getDURATION() < 'P1D'^^xsd:duration && ?a NOT IN (1, <http://x>)) "
        "GROUP BY ?a HAVING (SUM(?b) > 1) ORDER BY DESC(?a) LIMIT 5"
    )
    words = re.findall(r"\w+|\s+|.", text, re.S)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(words))
        words[place] = chance.choice(["", words[place] * 2, chance.choice(words), '"', "\\", "→"])
    damaged = "".join(words)
    try:
        parse(damaged)
    except QueryError as error:
        lines = damaged.splitlines()
        assert 1 <= error.span.line <= len(lines)
        assert 1 <= error.span.column <= len(lines[error.span.line - 1]) + 1
        assert error.text == damaged
