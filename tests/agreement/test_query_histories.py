"""Queries that begin later answer as if their streams began with them, others as if nothing had happened.

What rules derive from an element is by the rules, and from the knowledge, of the life that it comes in.
"""

from __future__ import annotations

import pytest

from agreement.history_definition import ByDefinition
from agreement.history_runs import Asked, ByThemselves, compared, given_by_run
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.history_rules import Rules
from oracle.query_histories import QueryHistory, make_history
from penstock.errors import QueryError


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_queries_that_come_and_go_answer_as_by_themselves_and_as_the_oracle_says(first: int):
    agreed = begun = by_oracle = ruled = 0
    for seed in range(first, first + 20):
        history = make_history(seed)
        try:
            given = given_by_run(history, (1, 2, 8)[seed % 3], restore=seed % 5 > 2)
        except QueryError:
            continue
        assert compared(given, ByThemselves(history))[1] == [], str(history)
        agreed += 1
        begun += any(rows and query.begin for query, rows in given.items())
        ruled += any(rows and len(_rules(history, query)) > 1 for query, rows in given.items())
        try:
            count, lines = compared(given, ByDefinition(history))
        except (TooManySolutions, NoClosure):
            continue
        assert lines == [], str(history)
        by_oracle += bool(count)
    assert agreed >= 15 and begun >= 6 and by_oracle >= 8
    assert ruled or first, "in the first ones rules change while queries are there"


def _rules(history: QueryHistory, query: Asked) -> set[Rules]:
    """The rules that there are as long as a query is."""
    end = len(history.data.batches) + 1 if query.until is None else query.until
    return {history.ruled(history.life(batch)) for batch in range(query.begin, end)}
