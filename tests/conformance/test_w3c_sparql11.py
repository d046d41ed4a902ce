"""The W3C SPARQL 1.1 query suites: every test, for every subject."""

from __future__ import annotations

import pytest

from conformance.manifest import EVALUATION
from conformance.running import SYNTAX, all_tests, expected_failures, run
from conformance.subjects import SUBJECTS


def cases():
    for test in all_tests():
        for subject in SUBJECTS if test.kind == EVALUATION else (SYNTAX,):
            reason = expected_failures(subject).get(test.id)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(test, subject, id=f"{subject}-{test.id}", marks=marks)


@pytest.mark.sample(130)
@pytest.mark.parametrize(("test", "subject"), list(cases()))
def test_w3c_sparql11(test, subject):
    run(test, subject)


def test_expected_failures_are_tests_of_the_suites():
    if not all_tests():
        pytest.skip("the W3C suites are not at hand; set SHARED to where they are")
    known = {test.id for test in all_tests()}
    for subject in (SYNTAX, *SUBJECTS):
        assert set(expected_failures(subject)) <= known
