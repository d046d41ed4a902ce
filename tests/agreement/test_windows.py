"""The engine and the oracle agree on what continuous queries give, and when."""

from __future__ import annotations

import pytest

from agreement.window_runs import alone, given_by_engine
from oracle.evaluate import TooManySolutions
from oracle.vocabulary import EPOCH, TICK
from oracle.window_generator import given_by, make_window_case
from penstock.errors import QueryError


@pytest.mark.parametrize("first", range(0, 240, 40))
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_continuous_queries_give_what_the_oracle_says(first: int, shards: int):
    agreed = rows = 0
    for seed in range(first + shards * 10_000, first + shards * 10_000 + 40):
        case = alone(make_window_case(seed))
        try:
            given = given_by_engine(case, shards, restore=seed % 5 > 2)
            wanted = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        rows += wanted.total()
    assert agreed >= 10 and rows > 50


@pytest.mark.parametrize("shards", [1, 2, 8])
def test_what_follows_from_static_graphs_alone_is_new_once(shards: int):
    """The first batch passes the first report already: all shards have the answer, one of them gives it."""
    case = alone(make_window_case(1_011_865))
    assert given_by_engine(case, shards) == given_by(case)


@pytest.mark.parametrize("shards", [1, 2, 8])
def test_empty_windows_go_on_reporting_while_streams_live_in_silence(shards: int):
    """As `--tick` moves the watermark by the clock: up to it windows report, and not beyond."""
    agreed = longer = 0
    for seed in range(shards * 20_000, shards * 20_000 + 60):
        case = alone(make_window_case(seed))
        last = max((each.end for elements in case.streams.values() for each in elements), default=EPOCH)
        silence = [last + seconds * TICK + seed % 2 for seconds in (1, 5, 6, 30)]
        try:
            given = given_by_engine(case, shards, restore=seed % 3 == 0, silence=silence)
            wanted = given_by(case, silence[-1])
            over = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        longer += wanted.total() > over.total()
    assert agreed >= 20 and longer >= 1
