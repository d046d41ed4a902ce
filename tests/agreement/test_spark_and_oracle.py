"""Spark agrees with the oracle, whatever the number of partitions and the size of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agreement.spark_runs import spark_answers
from oracle.generator import cases
from penstock.errors import QueryError

PARTITIONS = (1, 2, 8)


def agree(seeds: range, partitions: Callable[[int], Sequence[int]]) -> int:
    """Compares the cases with these seeds; how many of them had answers."""
    answered = 0
    for case, expected in cases(seeds):
        for shards in partitions(case.seed):
            try:
                found = spark_answers(case, shards, batch_bytes=(300, 1500)[case.seed % 2])
            except QueryError as refusal:
                assert "recursion" in refusal.message, case
                break
            assert found == expected, f"with {shards} partitions:\n{case}"
        answered += any(expected)
    return answered


@pytest.mark.sample(1)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("turn", range(len(PARTITIONS)))
def test_spark_answers_as_the_definitions_say(turn):
    """Two dozen cases, each with one number of partitions, and three with all of them."""
    one, every = PARTITIONS[turn : turn + 1], PARTITIONS
    assert agree(range(1 + turn, 25, 3), lambda seed: every if seed == 4 + turn else one) >= 3


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_answers_as_the_definitions_say_in_many_cases():
    assert agree(range(100, 140), lambda seed: PARTITIONS) >= 20
