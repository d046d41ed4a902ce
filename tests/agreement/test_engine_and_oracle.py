"""The engine agrees with the oracle on random streams and queries, however batches and shards fall."""

from __future__ import annotations

import pytest

from agreement.engine_runs import engine_answers
from oracle.generator import cases
from penstock.algebra import balance
from penstock.errors import QueryError
from penstock.plan.compilation import joining

CASES = 300


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, CASES, 50))
def test_the_engine_answers_as_the_definitions_say(first: int):
    answered = late = 0
    for case, expected in cases(range(first, first + 50), late=True):
        shards = (1, 2, 8)[case.seed % 3]
        try:
            found = engine_answers(case, shards, restore=case.seed % 5 > 2)
        except QueryError as refusal:
            assert "recursion" in refusal.message, case
            continue
        assert found == expected, f"with {shards} shards:\n{case}"
        answered += any(expected)
        late += bool(case.late)
    assert answered >= 15 and late >= 5, "too few of these cases prove anything"


@pytest.mark.sample(1)
@pytest.mark.parametrize("length", [2, 3])
def test_so_it_does_if_long_joins_and_chains_are_short(length: int, monkeypatch):
    """From this length on, joins go in parts, and chains of UNION, && and paths as trees."""
    monkeypatch.setattr(joining, "TOGETHER", length)
    monkeypatch.setattr(balance, "SHORT", length - 1)
    answered = 0
    for case, expected in cases(range(1000 * length, 1000 * length + 40)):
        try:
            found = engine_answers(case, (1, 2)[case.seed % 2])
        except QueryError as refusal:
            assert "recursion" in refusal.message, case
            continue
        assert found == expected, case
        answered += any(expected)
    assert answered >= 12
