"""A join leaves out combinations only if every filter above it is sure to reject them."""

from __future__ import annotations

import numpy as np

from penstock import pipeline
from penstock.algebra.nodes import Call, Var
from penstock.engine import kernels
from penstock.engine.prefilters import linear, prefilters_for
from penstock.languages import parse
from penstock.plan import steps
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal

QUERY = "PREFIX : <http://example.org/> SELECT * WHERE {{ ?s :p ?v }} SEQ {{ ?s :p ?w }} FILTER ({})"


def prefilters(*conditions: str):
    """The prefilters of the one join that queries with these conditions share."""
    queries = [parse(QUERY.format(condition)) for condition in conditions]
    net = pipeline.program(queries, [StreamName()], shards=1, now=0).network
    [place] = [i for i, step in enumerate(net.steps) if isinstance(step, steps.Meet)]
    readers = [net.steps[edge.target] for edge in net.outgoing()[place]]
    return prefilters_for(net.steps[place], readers)


def test_a_linear_comparison_of_both_sides_is_one():
    found = prefilters("?w > ?v * 1.5 + 2")
    assert (found.left, found.right) == ("v", "w")
    assert found.rows.tolist() == [[kernels.LESS, 1.5, 2.0, 1.0, 0.0]]


def test_queries_that_share_the_join_add_theirs():
    assert len(prefilters("?w > ?v * 2", "?w > ?v * 3", "?w < ?v").rows) == 3


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
