"""A join leaves out combinations only if every filter above it is sure to reject them."""

from __future__ import annotations

import numpy as np

from agreement.engine_runs import engine_answers
from oracle.cases import Case, Element, StreamData
from penstock import pipeline
from penstock.algebra.nodes import Call, Var
from penstock.engine import kernels
from penstock.languages import parse_query
from penstock.plan import steps
from penstock.plan.catalog import StreamName
from penstock.plan.compilation.prefilters import linear, prefilters_for
from penstock.terms import XSD, Literal, NamedNode

QUERY = "PREFIX : <http://example.org/> SELECT * WHERE {{ ?s :p ?v }} SEQ {{ ?s :p ?w }} FILTER ({})"


def prefilters(*conditions: str):
    """The prefilters of the one join that queries with these conditions share."""
    queries = [parse_query(QUERY.format(condition)) for condition in conditions]
    net = pipeline.program(queries, [StreamName()], shards=1, now=0).network
    [place] = [i for i, step in enumerate(net.steps) if isinstance(step, steps.Join)]
    readers = [net.steps[edge.target] for edge in net.outgoing()[place]]
    return prefilters_for(net.steps[place], readers)


def test_a_linear_comparison_of_both_sides_is_one():
    found = prefilters("?w > ?v * 1.5 + 2")
    assert (found.left, found.right) == ("v", "w")
    assert found.comparisons == ((True, 1.5, 2.0, 1.0, 0.0),)


def test_queries_that_share_the_join_add_theirs():
    assert len(prefilters("?w > ?v * 2", "?w > ?v * 3", "?w < ?v").comparisons) == 3


def test_one_reader_without_a_comparison_means_there_are_none():
    assert prefilters("?w > ?v", "STR(?w) != STR(?v)") is None


def test_what_is_not_linear_has_no_factors():
    assert linear(Call("*", (Var("v"), Var("v")))) is None
    assert linear(Call("/", (Literal("1", datatype=XSD.integer), Var("v")))) is None


def test_close_calls_are_kept():
    rows = np.array([[kernels.LESS, 3.0, 0.0, 1.0, 0.0]])  # 3·x < y
    assert kernels._may_hold(rows, 0.1, 0.3), "0.1 * 3 < 0.3 is for the exact filter to reject"
    assert not kernels._may_hold(rows, 0.1, 0.2)
    assert kernels._may_hold(rows, np.nan, 0.2), "what is no plain number is kept"


def test_constants_that_cancel_each_other_are_left_to_the_filter():
    """In doubles (0.001 + 1e15) - 1e15 is 0, so the filter below holds for 0.001 and 0."""
    answers = joined("(?v + 1000000000000000) - 1000000000000000 <= ?w", ("0.001", "0.0"))
    assert answers == [("0.001", "0.0")]
    assert prefilters("(?v + 3) - 2 < ?w") is None and prefilters("?v + 3 + 2 < ?w + 1") is not None


def test_factors_that_leave_the_range_of_doubles_are_left_to_the_filter():
    factors = " * ".join(["?v", *["4000000000000000"] * 24])
    assert prefilters(f"{factors} < ?w") is None
    assert prefilters(" * ".join(["?v", *["0.000000000000001"] * 24]) + " < ?w") is None


def joined(condition: str, values: tuple[str, str]) -> list[tuple[str, str]]:
    """The answers over two doubles, one after the other."""
    subject, predicate = NamedNode("http://example.org/s"), NamedNode("http://example.org/p")
    elements = tuple(
        Element(((subject, predicate, Literal(value, datatype=XSD.double)),), time, time)
        for time, value in enumerate(values)
    )
    case = Case(0, (StreamData(None, elements),), (), (QUERY.format(condition),), 0, (((0, 0), (0, 1)),))
    [answers] = engine_answers(case)
    return [tuple(term.split('"')[1] for name, term in sorted(row[0]) if name != "s") for row in answers]
