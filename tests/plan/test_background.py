"""What is known beside events is looked up for them, and not multiplied with itself (decision 0013)."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from penstock import pipeline
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse
from penstock.plan import steps
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.planning import make_plan

BASE = "http://example.org/"
QUERY = """
PREFIX : <http://example.org/>
SELECT * FROM NAMED WINDOW :W ON :s [RANGE 10m] WHERE { WINDOW :W { ?x :p ?y } %s }
"""


def plan_of(background: str):
    queries = parse(QUERY % background, language="cqels-cep").queries
    catalog = Catalog((StreamName(f"{BASE}s"),), (GraphName(None),))
    (planned,) = make_plan(queries, catalog, ["asked"]).queries
    return planned.step


def joins(step) -> list[steps.Join]:
    return [each for each in step.walk() if isinstance(each, steps.Join)]


@pytest.mark.parametrize(
    "background",
    [
        "?x :a ?u . ?y :b ?w .",
        "?x :a ?u . ?y (:b/[:c])+ :d .",
        "?x :a ?u . ?y :b ?w . ?u :c ?w . ?w :d+ ?v . ?v :e ?z",
        "?y :b ?w . GRAPH :g { ?x :a ?u } ?w :c ?u . ?u :d ?y",
        "?x a :one . ?y a :other",
    ],
)
def test_no_two_parts_meet_that_have_nothing_in_common(background):
    found = joins(plan_of(background))
    assert found and all(join.shared for join in found)
    assert all(not join.right.reads_stream for join in found)


def test_what_is_about_one_thing_is_joined_before():
    inner, outer = joins(plan_of("?x :a ?u ; :b ?w ."))
    assert not inner.reads_stream and outer.right.vars == ("x", "u", "w")


def test_long_patterns_stay_as_they_are():
    chain = " ".join(f"?n{n} :next ?n{n + 1} ." for n in range(60))
    found = joins(plan_of(f"?x :first ?n0 . {chain}"))
    assert len(found) == 61
    assert sum(join.reads_stream for join in found) == 1


def test_an_event_of_many_subways_and_stops_costs_what_it_asks_for():
    """Example 6 with a thousand subways and a thousand stops: a million pairs that nobody asks for."""
    node = lambda name: ox.NamedNode(BASE + name)  # noqa: E731
    stops = [(node(f"y{n}"), node("b"), node(f"y{n + 1}")) for n in range(1_000)]
    subways = [(node(f"x{n}"), node("a"), node("subway")) for n in range(1_000)]
    queries = parse(QUERY % "?x :a :subway . ?y :b+ :y1000 .", language="cqels-cep").queries
    program = pipeline.program(
        queries, [StreamName(f"{BASE}s")], [graph_of(stops + subways, None)], shards=1, now=0
    )
    program.open(0)
    assert sum(array.nbytes for array in program.snapshot.arrays.values()) < 2_000_000
