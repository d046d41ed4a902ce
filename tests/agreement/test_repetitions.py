"""Repetitions: the engine and the oracle agree, over streams and over windows."""

from __future__ import annotations

import pytest

from agreement.engine_runs import engine_answers
from agreement.window_runs import given_by_engine
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.generator import REPEATED, answers, make_case
from oracle.scopes import event_case, scope_case
from oracle.stream_data import delayed
from oracle.window_generator import given_by, make_window_case
from penstock.errors import QueryError

REFUSED = ("recursion", "feeds itself", "feed each other", "the name of an outer variable")


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("kind", [make_case, scope_case, event_case])
def test_in_random_queries_over_streams(kind, shards: int):
    """Under OPTIONAL, in EXISTS, in rules that feed each other, beside static graphs; some elements late."""
    agreed = answered = 0
    for seed in range(REPEATED + shards * 1000, REPEATED + shards * 1000 + 40):
        case = kind(seed)
        if not any("}+" in text for text in case.queries):
            continue
        case = delayed(case) if seed % 2 else case
        try:
            expected = answers(case)
            found = engine_answers(case, shards, restore=seed % 3 == 0)
        except (TooManySolutions, NoClosure):
            continue
        except QueryError as refused:
            assert any(words in refused.message for words in REFUSED), case
            continue
        assert found == expected, case
        agreed += 1
        answered += any(expected)
    assert agreed > 15 and (answered > 5 or kind is event_case)


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_in_random_queries_over_windows(shards: int):
    agreed = answered = with_absence = 0
    for seed in range(REPEATED + shards * 1000, REPEATED + shards * 1000 + 60):
        case = make_window_case(seed)
        if "}+" not in case.body:
            continue
        try:
            given = given_by_engine(case, shards, restore=seed % 3 == 0)
            wanted = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        answered += bool(wanted)
        with_absence += bool(wanted) and "!{" in case.body
    assert agreed > 30 and answered > 6 and with_absence > 1
