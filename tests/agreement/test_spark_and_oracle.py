"""Spark agrees with the oracle, whatever the number of partitions and the size of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agreement.spark_runs import spark_answers
from oracle.generator import DEADLINES, NEXT, cases
from penstock.errors import QueryError

PARTITIONS = (1, 2, 8)


def agree(seeds: Sequence[int], partitions: Callable[[int], Sequence[int]]) -> int:
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
@pytest.mark.parametrize("first", range(1, 25, 3))
def test_spark_answers_as_the_definitions_say(first):
    """Two dozen cases, each with one number of partitions, and three with all of them."""
    assert agree(range(first, first + 3), lambda seed: PARTITIONS if first == 4 else [PARTITIONS[seed % 3]])


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("seeds", [(DEADLINES + 15, DEADLINES + 18), (NEXT + 3, NEXT + 5, NEXT + 11)])
def test_what_follows_or_does_not_follow_is_the_same_on_spark(seeds):
    assert agree(seeds, lambda seed: [PARTITIONS[seed % 3]]) == len(seeds)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_answers_as_the_definitions_say_in_many_cases():
    assert agree(range(100, 140), lambda seed: PARTITIONS) >= 20
