"""Running one conformance test, and the failures that are expected."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

from conformance.manifest import EVALUATION, POSITIVE_SYNTAX, ConformanceTest, suites, tests_of
from conformance.results import difference, read_answer, same_answer
from conformance.subjects import SUBJECTS, Answering
from penstock.errors import QueryError
from penstock.languages import parse_query
from shared_data import shared

SYNTAX = "syntax"
INDEXES = ("manifest-sparql11-query.ttl", "manifest-sparql11-results.ttl")


class Failure(AssertionError):
    """A test that was not passed, with what a person needs to know about it."""


@lru_cache(maxsize=None)
def all_tests() -> tuple[ConformanceTest, ...]:
    """The tests of the SPARQL 1.1 query and result suites; none if they are not at hand."""
    root = shared("w3c", "sparql", "sparql11")
    if root is None:
        return ()
    found = [suite for index in INDEXES for suite in suites(root, index)]
    return tuple(test for suite in found for test in tests_of(root, suite))


@lru_cache(maxsize=None)
def expected_failures(subject: str) -> dict[str, str]:
    """The ids of the tests that a subject is known to fail, with the reasons."""
    listed = tomllib.loads((Path(__file__).parent / "expected_failures.toml").read_text("utf-8"))
    return listed.get(subject, {})


def run(test: ConformanceTest, subject: str) -> None:
    """Raises `Failure`, or whatever the subject raises, if the test is not passed."""
    if test.kind == EVALUATION:
        run_evaluation(test, subject)
    else:
        run_syntax(test)


def run_evaluation(test: ConformanceTest, subject: str | Answering) -> None:
    text = test.query.read_text("utf-8")
    answering = SUBJECTS[subject] if isinstance(subject, str) else subject
    actual = answering(text, test.data, dict(test.named), test.base)
    expected = read_answer(test.result, test.iri(test.result))
    if not same_answer(expected, actual):
        raise Failure(f"{test.id}: {test.title}\n{text}\n{difference(expected, actual)}")


def run_syntax(test: ConformanceTest) -> None:
    text = test.query.read_text("utf-8")
    try:
        parse_query(text, language="sparql", base=test.base, origin=test.query.name)
    except QueryError as error:
        if test.kind == POSITIVE_SYNTAX:
            raise Failure(f"{test.id}: {test.title}\n{error}") from None
        return
    if test.kind != POSITIVE_SYNTAX:
        raise Failure(f"{test.id}: {test.title}: accepted, but is not SPARQL 1.1:\n{text}")
