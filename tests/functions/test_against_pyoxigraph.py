"""Every function with odd values, against pyoxigraph; each difference is one that a rule explains.

`expected_differences.txt` says how many differences each rule explains in each function, so that a new
one fails even where a rule would explain it. After a change that is meant, write it anew with
`python -m functions.test_against_pyoxigraph` (in `tests`), and read what changed.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from functions.differences import PARAGRAPHS, RULES, explained
from functions.fuzz import run as fuzz
from functions.second_opinion import (
    ALL,
    BINARY,
    BOOLEANS,
    DECIMALS,
    DOUBLES,
    DURATIONS,
    FLOATS,
    HALF,
    INTEGERS,
    MOMENTS,
    SOME,
    TERNARY,
    UNARY,
    Row,
    by_columns,
    differences,
    ours,
)
from penstock.functions.errors import ExpressionError
from penstock.functions.values import effective_boolean

EXPECTED = Path(__file__).with_name("expected_differences.txt")
DECISIONS = Path(__file__).parents[2] / "docs" / "decisions" / "0007-functions.md"

CALLS = [
    *((f"{name}(a)", (name, "?a"), 1) for name in UNARY),
    *((f"{name}(a, b)", (name, "?a", "?b"), 2) for name in BINARY),
    *((f"{name}(a, b, c)", (name, "?a", "?b", "?c"), 3) for name in TERNARY),
]
NUMBERS = [*INTEGERS, *DECIMALS, *DOUBLES, *FLOATS]


def rows_of(width: int) -> list[Row]:
    """All combinations of odd values; of some of them, where there are more arguments."""
    return list(product((ALL, HALF, SOME)[width - 1], repeat=width))


def found(written: tuple, width: int) -> tuple[Counter, list[str]]:
    """How many differences each rule explains, and those that none does."""
    counted: Counter = Counter()
    left: list[str] = []
    for row, one, other in differences(written, rows_of(width)):
        rule = explained(written[0], row, one, other)
        if rule is None:
            left.append(f"{written[0]}({', '.join(map(str, row))}): ours {one}, theirs {other}")
        counted[rule] += 1
    return counted, left


def expected() -> dict[str, Counter]:
    counted: dict[str, Counter] = {}
    for line in EXPECTED.read_text().splitlines():
        call, rule, number = line.split(" | ")
        counted.setdefault(call, Counter())[rule] = int(number)
    return counted


@pytest.mark.parametrize(("call", "written", "width"), CALLS, ids=[call for call, _, _ in CALLS])
def test_each_difference_is_a_deliberate_one(call: str, written: tuple, width: int):
    counted, left = found(written, width)
    assert not left, "\n".join(left[:20])
    assert counted == expected().get(call, Counter())


def test_each_rule_is_needed_and_documented():
    used = {rule for counted in expected().values() for rules in counted for rule in rules.split(", ")}
    assert set(RULES) <= used <= set(PARAGRAPHS)
    page = " ".join(DECISIONS.read_text().split())
    assert [label for label in PARAGRAPHS if f"| {label} |" not in page] == []


COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
ONE_KIND = [
    list(product(one, other))
    for one, other in (
        (NUMBERS, NUMBERS), (INTEGERS, DECIMALS), (DOUBLES, DOUBLES), (MOMENTS, MOMENTS), (MOMENTS,
        DURATIONS),
        (DURATIONS, DURATIONS), (DURATIONS, NUMBERS), (BOOLEANS, BOOLEANS),
    )
]  # fmt: skip


def check_columns(written: tuple, rows: list[Row]) -> None:
    values, holds = by_columns(written, rows)
    exact = ours(written, rows)
    assert values == exact
    assert holds == [true(term) for term in exact]


def true(term) -> bool:
    try:
        return term is not None and effective_boolean(term)
    except ExpressionError:
        return False


@pytest.mark.parametrize(("call", "written", "width"), CALLS, ids=[call for call, _, _ in CALLS])
def test_columns_give_what_single_solutions_give(call: str, written: tuple, width: int):
    check_columns(written, rows_of(width)[:: width * width])


@pytest.mark.parametrize("name", (*COMPARISONS, "&&", "||", "SAMETERM"))
def test_columns_of_one_kind_give_what_single_solutions_give(name: str):
    """They are computed in other ways than mixed ones."""
    for rows in ONE_KIND:
        check_columns((name, "?a", "?b"), rows)


@pytest.mark.parametrize("name", COMPARISONS)
def test_columns_compared_with_constants_give_what_single_solutions_give(name: str):
    for place, constant in enumerate(term for term in ALL[COMPARISONS.index(name) :: 6] if term is not None):
        for column in (NUMBERS, MOMENTS, DURATIONS, HALF):
            arguments = (constant, "?a") if place % 2 else ("?a", constant)
            check_columns((name, *arguments), [(term,) for term in column])


@pytest.mark.sample(1)
@pytest.mark.parametrize("operator", ("+", "-", "*", "/"))
def test_columns_of_sums_and_products_give_what_single_solutions_give(operator: str):
    tables = [product(NUMBERS[::3], repeat=3), product(MOMENTS[::2], DURATIONS[::2], MOMENTS[::2]),
              product(MOMENTS[::2], MOMENTS[::2], DURATIONS[::2]), product(DURATIONS[::2],
              repeat=3)]  # fmt: skip
    for rows in map(list, tables):
        for comparison in ("=", "<", ">="):
            check_columns((comparison, (operator, "?a", "?b"), "?c"), rows)
            check_columns((comparison, "?c", (operator, (operator, "?a", "?b"), "?c")), rows[::5])


def test_random_expressions_differ_by_these_rules_alone():
    outcome = fuzz(range(1_500))
    assert outcome.unexplained == []
    assert outcome.values > 2_000, "too few of these have a value at all"


if __name__ == "__main__":
    lines = []
    for call, written, width in CALLS:
        counted, left = found(written, width)
        assert not left, left
        lines += [f"{call} | {rule} | {number}\n" for rule, number in sorted(counted.items())]
    EXPECTED.write_text("".join(lines))
