"""Columns of numbers are compared in float64, and yet the answer is the exact one."""

from __future__ import annotations

from decimal import Decimal
from operator import eq, ge, lt, ne

import numpy as np
import pytest

from penstock.algebra.nodes import Call, Var
from penstock.columns import ids
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.expressions import FALSE, TRUE, Evaluator
from penstock.functions.errors import take_refused
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import EARLIEST, LATEST, SECOND, TIMELESS_END, TIMELESS_START, format_instant


def decimal(text: str) -> Literal:
    return Literal(text, datatype=XSD.decimal)


def frame_of(table: TermTable, rows: list[dict], start: int = 0, end: int = 0) -> Frame:
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    ids = [[table.add(row[name]) if name in row else 0 for row in rows] for name in names]
    times = np.full(len(rows), start, np.int64), np.full(len(rows), end, np.int64)
    return Frame(names, np.array(ids, np.int64).reshape(len(names), len(rows)), *times)


def holds(condition: Call, rows: list[dict], **times: int) -> list[bool]:
    table = TermTable()
    return Evaluator(table).holds(condition, frame_of(table, rows, **times)).tolist()


A, B = Var("a"), Var("b")


@pytest.mark.parametrize(
    ("a", "b", "less"),
    [
        ("0.3", "0.1", False),  # 0.1 * 3 is 0.3 exactly, though not in float64
        ("0.29999999999999", "0.1", True),
        ("0.30000000000001", "0.1", False),
    ],
)
def test_numbers_too_close_to_call_are_compared_exactly(a: str, b: str, less: bool):
    three_times = Call("*", (B, decimal("3")))
    rows = [{"a": decimal(a), "b": decimal(b)}]
    assert holds(Call("<", (A, three_times)), rows) == [less]
    assert holds(Call("=", (A, three_times)), rows) == [a == "0.3"]


def test_an_error_is_neither_true_nor_false():
    rows = [{"a": decimal("abc"), "b": decimal("1")}, {"b": decimal("1")}]
    less = Call("<", (A, B))
    assert holds(less, rows) == [False, False]
    assert holds(Call("!", (less,)), rows) == [False, False]
    assert holds(Call("||", (less, Call("BOUND", (B,)))), rows) == [True, True]


def test_terms_of_all_kinds_may_meet_in_one_column():
    rows = [{"a": decimal("2"), "b": Literal("2", datatype=XSD.double)},
            {"a": NamedNode("http://example.org/x"), "b": NamedNode("http://example.org/x")},
            {"a": Literal("2"), "b": decimal("2")}]  # fmt: skip
    assert holds(Call("=", (A, B)), rows) == [True, True, False]


def test_durations_compare_with_the_interval():
    short = Call("<", (Call("GETDURATION"), Literal("PT5S", datatype=XSD.duration)))
    assert holds(short, [{"a": decimal("1")}], end=5 * SECOND - 1) == [True]
    assert holds(short, [{"a": decimal("1")}], end=5 * SECOND) == [False]


def test_a_column_of_truth_values_leaves_errors_unbound():
    table = TermTable()
    frame = frame_of(table, [{"a": decimal("1")}, {"a": decimal("abc")}, {"a": decimal("3")}])
    column = Evaluator(table).column(Call("<", (A, decimal("2"))), frame)
    assert column.tolist() == [TRUE, 0, FALSE]


@pytest.mark.parametrize(
    ("divisor", "outcome"),
    [
        ("0.3", [False, False]),  # 0.1 + 0.2 - 0.3 is zero exactly, though not in float64
        ("0.2999999999999999", [True, False]),
    ],
)
def test_a_divisor_that_may_be_zero_is_not_divided_by_in_float64(divisor: str, outcome: list[bool]):
    difference = Call("-", (Call("+", (A, B)), decimal(divisor)))
    far = Call("-", (decimal("0"), Call("*", (decimal("4000000000000000"), decimal("4000000000000000")))))
    above = Call(">", (Call("/", (decimal("1"), difference)), far))
    rows = [{"a": decimal("0.1"), "b": decimal("0.2")}]
    assert holds(above, rows) + holds(Call("!", (above,)), rows) == outcome


def test_a_product_that_is_zero_in_float64_only_is_not_taken_for_zero():
    product = A
    for _ in range(24):
        product = Call("*", (product, A))
    assert holds(Call(">", (product, decimal("0"))), [{"a": decimal("0.000000000000001")}]) == [True]


def test_a_pattern_from_data_that_meets_a_limit_is_an_error_and_counted():
    take_refused()
    rows = [{"a": Literal(text), "b": Literal(pattern)} for text, pattern in
            (("aa", "(a)\\1"), ("ab", "(a)\\1"), ("a", "a"), ("b", "a"))]  # fmt: skip
    found = Call("REGEX", (A, B))
    assert holds(found, rows) == [False, False, True, False]
    assert list(take_refused().values()) == [2]
    assert holds(Call("!", (found,)), rows) == [False, False, False, True]


@pytest.mark.parametrize("name", ["GETSTARTTIME", "GETENDTIME"])
def test_times_are_the_literals_that_are_written_for_them(name: str):
    far = ids.DATETIME_BIAS
    instants = [0, 1, -1, 1_000, SECOND, -SECOND, 1_767_225_600_123_456, far - 1, far, -far, 1 - far]
    table = TermTable()
    times = np.array([*instants, EARLIEST, LATEST], np.int64)
    starts, ends = (times, times + 1) if name == "GETSTARTTIME" else (times - 1, times)
    starts, ends = np.append(starts, TIMELESS_START), np.append(ends, TIMELESS_END)
    frame = Frame((), np.empty((0, len(starts)), np.int64), starts, ends)
    *found, timeless = Evaluator(table).column(Call(name), frame).tolist()
    assert timeless == 0
    assert [table.term(id_).value for id_ in found] == [format_instant(time) for time in times]
    assert found == [table.add(Literal(format_instant(time), datatype=XSD.dateTime)) for time in times]


@pytest.mark.parametrize("places", [14, 15, 20, 40])
def test_decimals_that_have_no_inline_id_are_compared_exactly(places: int):
    """Averages mostly have more digits than an id; those too close to call are looked at one by one."""
    bit = "0" * places + "1"
    near = ["50", f"50.{bit}", "49." + "9" * places, f"-50.{bit}", "51.5", "7" * 30]
    rows = [{"a": decimal(a), "b": decimal(b)} for a in near for b in near]
    for name, outcome in ("<", lt), (">=", ge), ("=", eq), ("!=", ne):
        expected = [outcome(Decimal(row["a"].value), Decimal(row["b"].value)) for row in rows]
        assert holds(Call(name, (A, B)), rows) == expected
