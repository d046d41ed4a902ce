"""The engine and the oracle agree on what chains of queries give that read each other's streams, and on
what others give that run with them."""

from __future__ import annotations

import pytest

from agreement.chain_runs import everything_by_engine
from oracle.chains import make_chain
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.outputs import everything
from penstock.errors import QueryError


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_chains_of_queries_give_what_the_oracle_says(first: int, shards: int):
    agreed = read = 0
    for seed in range(first + shards * 1_000, first + shards * 1_000 + 20):
        case = make_chain(seed)
        try:
            given = everything_by_engine(case, shards, restore=seed % 5 > 2, at_once=seed % 4 == 0)
            wanted = everything(case.queries, case.data, case.follows)
        except (QueryError, TooManySolutions, NoClosure):
            continue
        assert given == wanted, str(case)
        agreed += 1
        read += bool(wanted[0]) and bool(wanted[case.chained - 1])
    assert agreed >= 10 and read >= 2
