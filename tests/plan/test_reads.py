"""What a pattern depends on: streams, absence, timeless solutions, instants."""

from __future__ import annotations

import pytest

from penstock.algebra import Var
from penstock.plan.analysis.reads import (
    can_be_timeless,
    needs_instants,
    query_needs_instants,
    reads_stream,
    sources_read,
)
from penstock.plan.analysis.unification import LookUp
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.sources import RuleGraph, Static, Stream
from plan.texts import iri, pattern, query

# One unnamed stream, one named stream, one named static graph; the default graph is timed.
TIMED = Catalog(
    streams=(StreamName(), StreamName(iri("prices").value)),
    graphs=(GraphName(iri("places").value),),
).active(None)
# The same, and a static graph of unknown content in the default graph.
MIXED = Catalog(
    streams=(StreamName(), StreamName(iri("prices").value)),
    graphs=(GraphName(iri("places").value), GraphName()),
).active(None)
STATIC = "GRAPH :places { ?s :in ?c }"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("?s :p ?o", True),
        ("?s :p+ ?o", True),
        ("", False),
        ("VALUES ?s { 1 }", False),
        (STATIC, False),
        ("GRAPH :places {} ", False),
        ("GRAPH ?g { ?s :p ?o }", True),
        ("GRAPH :nowhere { ?s :p ?o }", False),
        (STATIC + " OPTIONAL { ?s :p ?o }", True),
        (STATIC + " FILTER EXISTS { ?s :p ?o }", True),
        (STATIC + " BIND (EXISTS { ?s :p ?o } AS ?seen)", True),
    ],
)
def test_reads_stream(text, reads):
    assert reads_stream(pattern(text), TIMED) is reads


def test_the_sources_read_are_those_of_the_active_graphs():
    assert sources_read(pattern("?s :p ?o"), TIMED) == {Stream(0), Stream(1), RuleGraph()}
    assert sources_read(pattern("GRAPH :prices { ?s :p ?o }"), TIMED) == {Stream(1)}
    assert sources_read(pattern(STATIC), TIMED) == {Static(0)}


@pytest.mark.parametrize(
    ("text", "timed", "mixed"),
    [
        ("?s :p ?o", False, True),
        ("", True, True),
        ("VALUES ?s { 1 }", True, True),
        ("VALUES ?s { }", False, False),
        (STATIC, True, True),
        ("?s :p+ ?o", False, True),
        ("?s :p* ?o", False, True),
        (":a :p* ?o", True, True),  # zero length from a constant
        (":a :p+ ?o", False, True),
        (STATIC + " ?s :p ?o", False, True),
        ("{ VALUES ?s { 1 } } UNION { ?s :p ?o }", True, True),
        ("{ ?s :p ?o } SEQ { " + STATIC + "}", False, True),
        (STATIC + " OPTIONAL { ?s :p ?o }", False, False),  # one at each instant instead
        (STATIC + " OPTIONAL { GRAPH :places { ?s :by ?r } }", True, True),
        ("{ ?s :p ?o } OPTIONALSEQ { " + STATIC + "}", False, False),
        (STATIC + " FILTER NOT EXISTS { ?s :p ?o }", False, False),
        (STATIC + " FILTER (?c > 1)", True, True),
        ("{ SELECT (COUNT(*) AS ?n) { " + STATIC + "} }", True, True),
        ("{ SELECT (COUNT(*) AS ?n) { ?s :p ?o } }", False, False),
        ("{ SELECT ?s { { " + STATIC + "} UNION { ?s :p ?o } } LIMIT 1 }", False, False),
    ],
)
def test_can_be_timeless(text, timed, mixed):
    assert can_be_timeless(pattern(text), TIMED) is timed
    assert can_be_timeless(pattern(text), MIXED) is mixed


def test_a_variable_graph_is_each_named_graph_in_turn():
    # In :places alone nothing is timed, so there the OPTIONAL spreads over no instants.
    node = pattern("GRAPH ?g { ?s :in ?c OPTIONAL { ?s :p ?o } }")
    assert can_be_timeless(node, TIMED)
    assert not needs_instants(node, TIMED)


def test_known_predicates_of_static_graphs_rule_timeless_matches_out():
    known = GraphName(predicates=frozenset({iri("label").value}))
    dataset = Catalog(graphs=(known,)).active(None)
    assert can_be_timeless(pattern("?s :label ?l"), dataset)
    assert can_be_timeless(pattern("?s ?any ?l"), dataset)
    assert not can_be_timeless(pattern("?s :label ?l . ?s :price ?p"), dataset)


def test_rules_can_derive_timeless_triples():
    found = frozenset(((None, LookUp(Var("s"), iri("label"), Var("l"))),))
    assert can_be_timeless(pattern("?s :label ?l"), TIMED, found)
    assert not can_be_timeless(pattern("?s :price ?l"), TIMED, found)
    assert not can_be_timeless(pattern("GRAPH :prices { ?s :label ?l }"), TIMED, found)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("?s :p ?o", False),
        ("?s :p ?o OPTIONAL { ?s :q ?r }", False),
        (STATIC + " OPTIONAL { ?s :p ?o }", True),
        (STATIC + " MINUS { ?s :p ?o }", True),
        (STATIC + " FILTER NOT EXISTS { ?s :p ?o }", True),
        (STATIC + " BIND (EXISTS { ?s :p ?o } AS ?seen)", True),
        ("{ ?s :p ?o } OPTIONALSEQ { " + STATIC + "}", True),
        ("?s :p ?o OPTIONAL { " + STATIC + "}", False),
        ("{ SELECT (COUNT(*) AS ?n) { ?s :p ?o } }", True),
        ("{ SELECT (COUNT(*) AS ?n) { " + STATIC + " } }", False),
        ("{ SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s }", False),
        (
            "{ SELECT ?s (COUNT(*) AS ?n) { { ?s :p ?o } UNION { " + STATIC + "} } GROUP BY ?s }",
            True,
        ),
        ("{ SELECT ?s { ?s :p ?o } ORDER BY ?o LIMIT 1 }", False),
        ("{ SELECT ?s { VALUES ?s { 1 } OPTIONAL { ?s :p ?o } } LIMIT 1 }", True),
        ("?s :p ?o FILTER EXISTS { " + STATIC + " MINUS { ?s :q ?o } }", True),
    ],
)
def test_needs_instants_at_which_nothing_else_happened(text, needed):
    assert needs_instants(pattern(text), TIMED) is needed


def test_ask_answers_at_every_instant_of_a_stream():
    assert query_needs_instants(query("ASK { ?s :p ?o }"), TIMED)
    assert not query_needs_instants(query(f"ASK {{ {STATIC} }}"), TIMED)
    assert not query_needs_instants(query("SELECT * { ?s :p ?o }"), TIMED)
