"""The engine and the oracle agree on what continuous queries give, and when."""

from __future__ import annotations

import pytest

from agreement.window_runs import given_by_engine
from oracle.window_generator import window_cases
from penstock.errors import QueryError


@pytest.mark.parametrize("first", range(0, 240, 40))
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_continuous_queries_give_what_the_oracle_says(first: int, shards: int):
    agreed = rows = 0
    for case, wanted in window_cases(range(first + shards * 10_000, first + shards * 10_000 + 40)):
        try:
            given = given_by_engine(case, shards, restore=case.seed % 5 > 2)
        except QueryError:
            continue
        assert given == wanted, str(case)
        agreed += 1
        rows += wanted.total()
    assert agreed >= 10 and rows > 50
