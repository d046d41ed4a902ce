"""Comparisons with a constant are decided from the ids, exactly, and keep rows out of the exchange."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock import pipeline
from penstock.algebra.nodes import Call, Var
from penstock.columns import wire
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.expressions import Evaluator
from penstock.engine.thresholds import threshold
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.plan.compilation.sieves import MOST, constant_comparison
from penstock.terms import XSD, Literal, NamedNode, Term

V = Var("v")
COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
PREFIX = "PREFIX : <http://example.org/> "
P = NamedNode("http://example.org/p")


def number(text: str, kind: str = "decimal") -> Literal:
    return Literal(text, datatype=XSD[kind])


def frame_of(table: TermTable, terms: list[Term | None]) -> Frame:
    ids = np.array([[table.add(term) if term is not None else 0 for term in terms]], np.int64)
    times = np.arange(len(terms), dtype=np.int64)
    return Frame(("v",), ids, times, times)


# --- the comparison itself ---

OTHERS = [
    number("2.5", "double"), number("1e0", "double"), number("NaN", "double"), number("2.5", "float"),
    number("7", "byte"), number("0" * 3 + "3", "integer"), number("+3.0"), number("abc", "integer"),
    number("1" * 30, "integer"), Literal("3"), Literal("3", language="en"), NamedNode("http://example.org/x"),
    number("true", "boolean"), number("2026-01-01T00:00:00Z", "dateTime"), None,
]  # fmt: skip

numbers = st.builds(
    lambda sign, mantissa, scale: f"{sign}{_pointed(mantissa, scale)}",
    st.sampled_from(["", "-"]),
    st.integers(0, 400) | st.integers(0, 2**52 - 1),
    st.integers(0, 15),
)


def _pointed(mantissa: int, scale: int) -> str:
    digits = str(mantissa).rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, max_size=20), numbers, st.booleans())
@example(["0", "-0", "0.0", "-0.00", "0.000000000000001", "-0.000000000000001"], "0", True)
@example(["4503599627370495", "-4503599627370495", "0.000000000000001"], "4503599627370495", False)
@example(["2.99", "3", "3.0", "3.00", "3.01", "-3"], "3", True)
def test_it_is_decided_as_the_exact_evaluation_decides(texts: list[str], constant: str, flipped: bool):
    table = TermTable()
    terms = [number(text, "integer" if "." not in text else "decimal") for text in texts] + OTHERS
    frame = frame_of(table, terms)
    evaluator = Evaluator(table)
    bound = number(constant, "integer" if "." not in constant else "decimal")
    for name in COMPARISONS:
        call = Call(name, (bound, V) if flipped else (V, bound))
        assert constant_comparison(call) is not None
        found, exact = evaluator._truth(call, frame), evaluator._exact_truth(call, frame)
        assert found.true.tolist() == exact.true.tolist(), name
        assert found.false.tolist() == exact.false.tolist(), name


def test_only_inline_integers_and_decimals_are_decided_from_the_ids():
    frame = frame_of(TermTable(), [number("2"), number("4"), *OTHERS])
    true, unknown, count = threshold(constant_comparison(Call("<", (V, number("3"))))).decide(frame.ids[0])
    assert true.tolist() == [True] + [False] * (1 + len(OTHERS))
    assert unknown.tolist() == [False, False] + [True] * len(OTHERS) and count == len(OTHERS)


@pytest.mark.parametrize(
    "other", [number("3", "double"), number("3", "float"), Literal("3"), number("x"), V, Call("+", (V, V))]
)
def test_a_comparison_with_anything_else_is_no_threshold(other):
    assert constant_comparison(Call("<", (V, other))) is None


# --- what is routed ---


def program_of(*patterns: str, shards: int = 1):
    queries = [parse_query(f"{PREFIX} SELECT * WHERE {{ {pattern} }}") for pattern in patterns]
    return pipeline.program(queries, [StreamName()], shards=shards, now=0)


def routed(program, terms: list[Term]) -> list[Term]:
    """Which objects of a stream of `?s :p ?v` get through to the shards."""
    table = TermTable()
    subject = np.full(len(terms), table.add(NamedNode("http://example.org/s")), np.int64)
    predicate = np.full(len(terms), table.add(P), np.int64)
    values = np.array([table.add(term) for term in terms], np.int64)
    times = np.arange(len(terms), dtype=np.int64)
    occurrences = Occurrences(subject, predicate, values, times, times, times, table.chunk(), len(terms))
    found = []
    for _, payload in program.route(0, occurrences):
        frames, _, _ = wire.unpack(payload)
        found += [
            term
            for name, frame in frames
            if not name.startswith("instants/")
            for term in map(table.term, frame.ids[-1])
        ]
    return found


ONE_TO_NINE = [number(str(i), "integer") for i in range(1, 10)]


def values(terms: list[Term]) -> list[int]:
    return [int(term.value) for term in terms]


def test_rows_that_fail_the_filters_of_all_queries_are_not_routed():
    program = program_of(
        "?s :p ?v FILTER (?v < 3)", "?s :p ?v FILTER (8 < ?v)", "?s :p ?v FILTER (?v > 4 && ?v <= 5)"
    )
    assert values(routed(program, ONE_TO_NINE)) == [1, 2, 5, 9]


def test_both_sides_of_a_sequence_count():
    program = program_of("{ ?s :p ?v FILTER (?v < 3) } SEQ { ?s :p ?w FILTER (?w > 8) }", shards=3)
    assert sorted(values(routed(program, ONE_TO_NINE))) == [1, 2, 9]


def test_what_the_ids_do_not_tell_is_routed():
    others = [other for other in OTHERS if other is not None]
    assert routed(program_of("?s :p ?v FILTER (?v < 3)"), [number("4"), *others]) == others


def test_a_query_without_such_a_filter_needs_all_rows():
    for free in (
        "?s :p ?v",
        "?s :p ?v FILTER (STRLEN(STR(?v)) < 3)",
        "?s :p ?v FILTER (?v < 3 || BOUND(?s))",
    ):
        assert len(routed(program_of("?s :p ?v FILTER (?v < 3)", free), ONE_TO_NINE)) == 9


def test_of_many_queries_in_one_direction_the_weakest_decides():
    many = [f"?s :p ?v FILTER (?v {c} {i})" for i in range(5, MOST + 10) for c in (">", ">=")]
    program = program_of(*many, "?s :p ?v FILTER (?v < 2)", "?s :p ?v FILTER (?v < -7)")
    [sieve] = program.router.sieves.values()
    assert sum(map(len, sieve)) == 2
    assert values(routed(program, ONE_TO_NINE)) == [1, 5, 6, 7, 8, 9]


def test_too_many_different_tests_are_left_to_the_filters():
    assert not program_of(*(f"?s :p ?v FILTER (?v = {i})" for i in range(MOST + 1))).router.sieves


def test_instants_are_reported_whatever_the_filters_keep():
    program = program_of(
        "{ ?s :p ?v FILTER (?v > 100) } OPTIONAL { ?s :q ?w }", "{ SELECT (COUNT(*) AS ?n) { ?s :q ?o } }"
    )
    table = TermTable()
    column = np.array([table.add(P)] * 3, np.int64)
    five = np.array([table.add(number("5"))] * 3, np.int64)
    times = np.array([10, 20, 30], np.int64)
    [(shard, payload)] = program.route(
        0, Occurrences(column, column, five, times, times, times, table.chunk(), 3)
    )
    [(name, frame)], _, _ = wire.unpack(payload)
    assert (shard, name, frame.end.tolist()) == (0, "instants/0", [10, 20, 30])


def test_answers_are_those_of_the_filters_alone():
    terms = [*ONE_TO_NINE, number("2.5"), number("2.5", "double"), Literal("2")]
    for low, high in itertools.product(("2", "2.5", "1e1"), repeat=2):
        found = []
        for condition in (f"?v >= {low} && ?v <= {high}", f"IF(?v >= {low}, ?v <= {high}, false)"):
            program = program_of(f"?s :p ?v FILTER ({condition})")
            shard = program.open(0).shard
            table = TermTable()
            ids = np.array([[1 << 60] * len(terms), [table.add(term) for term in terms]], np.int64)
            times = np.arange(len(terms), dtype=np.int64)
            [scan] = shard.scans
            answers = shard.feed({scan: Frame(("s", "o"), ids, times, times)}, table.chunk(), len(terms))
            found.append([answers[0].column("v").tolist()] if 0 in answers else [])
        assert found[0] == found[1]
