"""The entailment tests of the W3C SPARQL 1.1 suite that need no RIF, under every regime that they name."""

from __future__ import annotations

import pytest

from conformance.entailment import SUBJECTS, entailment_tests
from conformance.results import difference, read_answer, same_answer
from conformance.running import expected_failures


def cases():
    for test in entailment_tests():
        for regime in test.regimes:
            for subject in SUBJECTS:
                reason = expected_failures(f"entailment-{subject}").get(f"{test.name}-{regime}")
                marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
                yield pytest.param(test, regime, subject, id=f"{subject}-{test.name}-{regime}", marks=marks)


@pytest.mark.sample(40)
@pytest.mark.parametrize(("test", "regime", "subject"), list(cases()))
def test_entailment(test, regime, subject):
    actual = SUBJECTS[subject](test, regime)
    expected = read_answer(test.result, test.iri(test.result))
    assert same_answer(expected, actual), difference(expected, actual)


def test_the_suite_is_whole():
    if not entailment_tests():
        pytest.skip("the W3C suites are not at hand; set SHARED to where they are")
    assert len(entailment_tests()) == 66
