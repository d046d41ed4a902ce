"""How far down a filter moves, and where it must stay."""

from __future__ import annotations

from penstock import pipeline
from penstock.algebra.nodes import Var
from penstock.engine.network import Network
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan import steps
from penstock.plan.analysis import variables
from penstock.plan.catalog import StreamName

from .texts import PREFIXES, iri


def network_of(*patterns: str) -> Network:
    queries = [parse_query(f"{PREFIXES} SELECT * WHERE {{ {pattern} }}") for pattern in patterns]
    graph = graph_of([], iri("map").value, key=7)
    return pipeline.program(queries, [StreamName()], [graph], shards=1, now=0, key=7).network


def below_filters(*patterns: str) -> list[str]:
    """The kinds of steps that stand right below the filters of some queries."""
    found = network_of(*patterns).steps
    return sorted(type(step.input).__name__ for step in found if isinstance(step, steps.Filter))


def test_a_filter_on_terms_reaches_the_scan():
    assert below_filters("?s :p ?v FILTER (?v > 3)") == ["Scan"]
    assert below_filters("?s :p ?v ; :q ?w FILTER (?v > 3) FILTER (STRLEN(?w) = 2)") == ["Scan", "Scan"]
    assert below_filters("{ SELECT DISTINCT ?v { ?s :p ?v } } FILTER (?v > 3)") == ["Scan"]
    assert below_filters("{ ?s :p ?v } SEQ { ?s :p ?w } FILTER (?v > 3 && ?w < 5)") == ["Scan", "Scan"]


def test_a_filter_goes_below_a_path_that_is_walked_from_what_it_is_about():
    group = "?s :p ?v . ?v :q ?w GRAPH :map { ?w :next+ ?x . ?y (next:::next)* ?x } FILTER (?v > 3)"
    assert below_filters(group) == ["Scan"]


def test_it_speaks_of_the_columns_of_the_scan():
    [select] = [
        step for step in network_of("?s :p ?v FILTER (?v > 3)").steps if isinstance(step, steps.Filter)
    ]
    assert select.vars == ("s", "o")
    assert variables.of_expression(select.condition) == {Var("o")}


def test_queries_with_other_constants_share_the_scan():
    found = network_of("?s :p ?v FILTER (?v > 3)", "?s :p ?w FILTER (?w > 4)", "?s :p ?x").steps
    assert sum(isinstance(step, steps.Scan) for step in found) == 1


def test_a_filter_on_the_interval_or_at_random_sees_each_solution_once():
    assert below_filters('?s :p ?v FILTER (getSTARTTIME() < "2026-01-01T00:00:00Z"^^xsd:dateTime)') == [
        "Rename"
    ]
    assert below_filters("?s :p ?v FILTER (RAND() < ?v)") == ["Rename"]


def test_a_filter_does_not_see_what_a_sub_query_hides():
    assert below_filters("{ SELECT ?s { ?s :p ?v } } FILTER (?v > 3)") == ["Columns"]


def test_a_variable_that_nobody_binds_is_no_column_of_the_scan():
    assert below_filters("?x :p ?v FILTER (!BOUND(?o))") == ["Rename"]


def test_a_filter_with_exists_stays_where_the_mark_is():
    assert below_filters("?s :p ?v FILTER (?v > 3 || EXISTS { ?s :q ?w })") == ["ExistsMark"]
