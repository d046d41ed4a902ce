"""`check` tells of conditions that no value meets."""

from __future__ import annotations

import pytest

from penstock.languages import parse_query
from penstock.plan.advice.contradictions import contradictions


def told(condition: str) -> list[str]:
    query = parse_query(f"SELECT * {{ ?x <urn:p> ?y FILTER ({condition}) }}").query
    return [finding.message for finding in contradictions(query.pattern)]


@pytest.mark.parametrize(
    "condition",
    [
        "?y > 5 && ?y < 3", "?y < 3 && ?x != ?y && ?y >= 5", "5 < ?y && 3.5 > ?y", "?y > 5 && ?y <= 5",
        "?y = 1 && ?y = 2", "?y = 1.0 && ?y > 1", "?y = 9 && ?y < 3", '?y < "a" && ?y > "b"',
    ],
)  # fmt: skip
def test_what_no_value_meets(condition: str):
    assert len(told(condition)) == 1


@pytest.mark.parametrize(
    "condition",
    [
        "?y > 3 && ?y < 5", "?y > 5 || ?y < 3", "?y >= 5 && ?y <= 5", "?y = 1 && ?y = 1.0",
        "?y > 5 && ?x < 3", '?y < 3 && ?y > "a"', "?y != 1 && ?y != 2", "?y < 3 && ?y < 5",
        "?y > 3 && ?y > 5", "?y = 4 && ?y < 5", "?y > ?x && ?y < 3",
    ],
)  # fmt: skip
def test_what_some_value_may_meet(condition: str):
    assert told(condition) == []


def test_both_are_named():
    assert told("?y > 5 && ?y < 3") == ["no value meets both `?y > 5` and `?y < 3`"]
