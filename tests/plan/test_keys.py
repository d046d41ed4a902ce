"""The partition key of a query: the variable that keeps its solutions apart."""

from __future__ import annotations

import pytest

from penstock.algebra import TriplePattern, Var
from penstock.plan.analysis.keys import (
    Key,
    NoKey,
    find_key,
    leaf_key_position,
    possible_keys,
)
from penstock.plan.analysis.program_keys import find_program_keys
from penstock.plan.analysis.recursion import feeding, programs
from penstock.plan.catalog import Catalog, GraphName
from plan.texts import SLIDING_SUM, iri, query

CATALOG = Catalog(graphs=(GraphName(iri("places").value),))
DATASET = CATALOG.active(None)


def key(text: str) -> str:
    found = find_key(query(text), DATASET)
    assert isinstance(found, Key), found
    return found.variable.name


def reason(text: str) -> str:
    found = find_key(query(text), DATASET)
    assert isinstance(found, NoKey), found
    return found.reason


# --- queries with a key ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * { ?s :p ?o }", "s"),
        ("SELECT * { :acme :p ?o }", "o"),
        ("SELECT ?o { ?s :p ?o }", "s"),  # nothing meets above the last SELECT
        ("SELECT * { { ?c :p ?x } SEQ { ?c :p ?y } SEQ { ?c :p ?z } }", "c"),
        ("SELECT * { ?r :rater ?a . ?r :rated ?c }", "r"),
        ("SELECT * { { ?r :rated ?c } SEQ { ?c :p ?x } }", "c"),
        ("SELECT * { ?x :a ?c . ?y :b ?c }", "c"),
        ("SELECT * { ?b :a ?a . ?a :b ?b }", "b"),
        ("SELECT * { ?c :p ?x OPTIONAL { ?c :q ?y } }", "c"),
        ("SELECT * { { ?c :p ?x } OPTIONALSEQ { ?c :q ?y } }", "c"),
        ("SELECT * { { ?c :p ?x } EQUALSOPTIONAL { ?c :q ?y } }", "c"),
        ("SELECT * { ?c :p ?x MINUS { ?c :q ?x } }", "c"),
        ("SELECT * { ?c :p ?x FILTER NOT EXISTS { ?c :q ?y } }", "c"),
        ("SELECT * { { ?c :p ?x } UNION { ?c :q ?y } }", "c"),
        ("SELECT * { ?c :p ?x BIND (?x * 2 AS ?y) FILTER (?y > 1) }", "c"),
        ("SELECT DISTINCT ?c { ?c :p ?x . ?c :q ?y }", "c"),
        ("SELECT ?c (AVG(?x) AS ?m) { ?c :p ?x . ?c :q ?y } GROUP BY ?c HAVING (AVG(?x) > 1)", "c"),
        ("SELECT * { ?c :p ?x { SELECT ?c (MAX(?y) AS ?m) { ?c :q ?y } GROUP BY ?c } }", "c"),
        ("SELECT * { ?c :p ?x . ?c (:q|:r) ?y . ?c ^:s ?z . ?c !(:t) ?u }", "c"),
        ("SELECT * { ?c :p ?x . ?c (:q|^:r) ?c }", "c"),
        ("SELECT * { ?c :p ?x GRAPH :places { ?x :in ?y . ?y :of* ?z } }", "c"),
        ("SELECT * { ?c :p ?x OPTIONAL { GRAPH :places { ?d :in ?y } } }", "c"),
        ("SELECT * { VALUES ?d { 1 2 } ?c :p ?d . ?c :q ?e }", "c"),
        ("CONSTRUCT { ?c :fell ?y } WHERE { { ?c :p ?x } SEQ { ?c :p ?y } }", "c"),
        ("CONSTRUCT { _:e :of ?c . _:e :by ?y } WHERE { { ?c :p ?x } SEQ { ?c :p ?y } }", "c"),
    ],
)
def test_key(text, expected):
    assert key(text) == expected


def test_static_solutions_that_absence_spreads_over_instants_must_have_the_key():
    assert key("SELECT * { GRAPH :places { ?c :in ?y } OPTIONAL { ?c :p ?x . ?c :q ?z } }") == "c"
    assert "static solutions without ?c" in reason(
        "SELECT * { GRAPH :places { ?d :in ?y } OPTIONAL { ?c :p ?x . ?c :q ?z } }"
    )
    assert "static solutions without ?c" in reason(
        "SELECT ?c { { ?c :p ?x . ?c :q ?y } UNION { VALUES ?z { 1 } } } GROUP BY ?c"
    )


def test_all_keys_are_known_best_first():
    found = possible_keys(query("SELECT * { { ?a :p ?b } SEQ { ?a :q ?b } }"), DATASET)
    assert found == (Key(Var("a")), Key(Var("b")))


# --- queries without one ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * { ?c :p ?x . ?d :q ?y }", "`?d <http://example.org/q> ?y` may match a stream"),
        ("SELECT * { ?c :p ?x . ?x :q ?y . ?y :r ?z }", "does not have ?x"),
        ("SELECT * { ?s ?c ?o . ?c :p ?x }", "does not have ?"),  # only as a predicate
        ("SELECT * { :a :p :b }", "has a variable"),
        ("SELECT * { GRAPH :places { ?s :in ?o } }", "reads no stream"),
        ("SELECT * { ?s :p ?o } LIMIT 1", "LIMIT"),
        ("SELECT * { ?s :p ?o } ORDER BY ?o", "ORDER BY"),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o }", "aggregate without GROUP BY"),
        ("SELECT ?o (COUNT(*) AS ?n) { ?s :p ?o . ?s :q ?r } GROUP BY ?o", "group by ?s"),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?s :q ?r } GROUP BY (STR(?s))", "group by ?s"),
        ("SELECT DISTINCT ?o { ?s :p ?o . ?s :q ?r }", "does not keep ?s"),
        ("SELECT * { ?s :p ?o { SELECT ?r { ?s :q ?r } } }", "?s"),
        ("SELECT * { ?s :p+ ?o }", "goes from node to node"),
        ("SELECT * { ?s :p ?o . ?s :p* ?r }", "goes from node to node"),
        ("SELECT * { ?s :p ?o . ?s (:p/:q)|:r ?r }", "does not have ?s"),
        ("SELECT * { ?s (:p/:q)|:r ?s }", "does not have ?s"),  # but for the end, which is another column
        ("SELECT * { ?s :p ?o FILTER NOT EXISTS { ?t :q ?r } }", "?t <http://example.org/q> ?r"),
        ("SELECT * { ?s :p ?o OPTIONAL { ?t :q ?r } }", "?t <http://example.org/q> ?r"),
        ("SELECT * { { ?s :p ?o } UNION { ?t :q ?r } }", "?t <http://example.org/q> ?r"),
        ("ASK { ?s :p ?o }", "ASK"),
        ("DESCRIBE ?s { ?s :p ?o }", "DESCRIBE"),
        ("CONSTRUCT { :all :saw ?o } WHERE { ?s :p ?o . ?s :q ?r }", "the same triple"),
        (SLIDING_SUM, "?p"),
    ],
)
def test_no_key_and_why(text, words):
    assert words in reason(text)


def test_background_in_the_default_graph_takes_the_key_away():
    text = "SELECT * { ?c :p ?x . ?c :in ?y . ?y :label ?l }"
    assert isinstance(find_key(query(text), Catalog(graphs=(GraphName(),)).active(None)), NoKey)
    assert key("SELECT * { ?c :p ?x . ?c :in ?y GRAPH :places { ?y :label ?l } }") == "c"


# --- positions -------------------------------------------------------------------------------


def test_position_of_the_key_in_a_triple_pattern():
    a, b = Var("a"), Var("b")
    assert leaf_key_position(TriplePattern(a, iri("p"), b), a) == "subject"
    assert leaf_key_position(TriplePattern(a, iri("p"), b), b) == "object"
    assert leaf_key_position(TriplePattern(a, iri("p"), a), a) == "subject"
    assert leaf_key_position(TriplePattern(b, a, b), a) is None


# --- programs of rules -----------------------------------------------------------------------


def program_key(*texts: str):
    queries = [query(text) for text in texts]
    datasets = [DATASET] * len(queries)
    fed = feeding(queries, datasets)
    [program] = programs(fed)
    [found] = find_program_keys([program], fed, datasets)
    if isinstance(found, NoKey):
        return found
    by_query = dict(zip(program.queries, found, strict=True))
    return [each and each.variable.name for _, each in sorted(by_query.items())]


FELL = "CONSTRUCT { ?c :fell ?y } WHERE { { ?c :p ?x } SEQ { ?c :p ?y } }"


def test_a_rule_and_its_reader_agree_on_the_place_of_the_key():
    assert program_key(FELL, "SELECT * { { ?d :fell ?y } SEQ { ?d :p ?z } }") == ["c", "d"]


def test_the_reader_gives_up_its_favourite_for_one_that_fits():
    # Alone, the reader would choose ?s; derived triples stay with their object ?c.
    rule = "CONSTRUCT { ?y :was ?c } WHERE { { ?c :p ?x } SEQ { ?c :p ?y } }"
    reader = "SELECT * { { ?s :was ?o } UNION { ?s :is ?o } }"
    assert key(reader) == "s"
    assert program_key(rule, reader) == ["c", "o"]


def test_a_rule_chooses_another_key_because_of_its_reader():
    rule = "CONSTRUCT { ?o :of ?s } WHERE { ?s :p ?o }"
    reader = "SELECT * { { ?a :of ?b } SEQ { ?a :q ?x } SEQ { ?a :r ?y } }"
    assert program_key(rule, reader) == ["o", "a"]


def test_no_common_place_no_key():
    rule = "CONSTRUCT { _:e :fell ?y . _:e :company ?c } WHERE { { ?c :p ?x } SEQ { ?c :p ?y } }"
    found = program_key(rule, "SELECT * { { ?e :fell ?y . ?e :company ?c } }")
    assert isinstance(found, NoKey) and "feeds" in found.reason


def test_a_recursive_rule_keeps_its_own_key_in_place():
    assert program_key(
        "CONSTRUCT { ?c :high ?m } WHERE { { ?c :high ?h } SEQ { ?c :p ?m } FILTER (?m > ?h) }"
    ) == ["c"]
    swapped = program_key("CONSTRUCT { ?m :high ?c } WHERE { { ?c :high ?h } SEQ { ?c :p ?m } }")
    assert isinstance(swapped, NoKey)


def test_one_query_without_key_leaves_the_program_without():
    found = program_key(FELL, "SELECT * { ?d :fell ?y } LIMIT 1")
    assert isinstance(found, NoKey) and "LIMIT" in found.reason


def test_rules_over_static_knowledge_are_free():
    rule = "CONSTRUCT { ?y :label ?l } WHERE { GRAPH :places { ?y :name ?l } }"
    assert program_key(rule, "SELECT * { ?c :p ?x . ?c :label ?l }") == [None, "c"]
