"""Some of the W3C suites all the way: as N-Quads, through the decoder, on Spark, out as a table."""

from __future__ import annotations

import pytest

from conformance.manifest import EVALUATION
from conformance.running import all_tests, expected_failures, run_evaluation
from conformance.subjects import answer_of_spark

EACH = 8
"""One test in so many; a run costs about a second."""


def chosen():
    """Tests with data (an element without triples cannot be written as N-Quads), from every suite."""
    known = expected_failures("engine")
    usable = [test for test in all_tests() if test.kind == EVALUATION and test.data and test.id not in known]
    return [pytest.param(test, id=test.id) for test in usable[::EACH]]


@pytest.mark.sample(1)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("test", chosen())
def test_spark_answers_as_the_suite_says(test):
    run_evaluation(test, answer_of_spark)
