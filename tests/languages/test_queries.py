"""Query forms and solution modifiers to the algebra, as in SPARQL 1.1 section 18.2.4."""

from __future__ import annotations

import pytest

from languages.notation import PROLOGUE, algebra, one_line
from penstock.algebra import nodes as a
from penstock.errors import Span
from penstock.languages import parse_query
from penstock.terms import BlankNode

SPO = "(bgp (triple ?s ?p ?o))"

CASES = {
    "SELECT": ("SELECT ?o ?s { ?s ?p ?o }", f"(Select (?o ?s) (Project (?o ?s) {SPO}))"),
    "a variable named twice": ("SELECT ?s ?s { ?s ?p ?o }", f"(Select (?s) (Project (?s) {SPO}))"),
    "SELECT * takes named variables as they appear": (
        "SELECT * { ?z :p [ :q ?y ] . FILTER (?f > 1) MINUS { ?m :p 1 } GRAPH ?g { ?a :p ?z } }",
        """(Select (?z ?y ?g ?a) (Project (?z ?y ?g ?a) (Filter (> ?f 1) (Join
             (Minus (bgp (triple ?z :p ?.b1) (triple ?.b1 :q ?y)) (bgp (triple ?m :p 1)))
             (Graph ?g (bgp (triple ?a :p ?z)))))))""",
    ),
    "SELECT * sees what a sub-query projects": (
        "SELECT * { { SELECT ?s { ?s ?p ?o } } }",
        f"(Select (?s) (Project (?s) (Project (?s) {SPO})))",
    ),
    "the order of modifiers": (
        "SELECT DISTINCT ?s (?o + 1 AS ?x) { ?s ?p ?o } ORDER BY DESC(?x) ?s LIMIT 3 OFFSET 2",
        f"""(Select (?s ?x) (Slice 2 3 (Distinct (Project (?s ?x)
              (OrderBy ((desc ?x) (asc ?s)) (Extend ?x (+ ?o 1) {SPO}))))))""",
    ),
    "OFFSET alone": (
        "SELECT REDUCED ?s { ?s ?p ?o } OFFSET 2",
        f"(Select (?s) (Slice 2 _ (Reduced (Project (?s) {SPO}))))",
    ),
    "LIMIT 0 is a limit": (
        "SELECT ?s { ?s ?p ?o } LIMIT 0",
        f"(Select (?s) (Slice 0 0 (Project (?s) {SPO})))",
    ),
    "an expression may use an earlier one": (
        "SELECT (1 AS ?x) (?x + 1 AS ?y) {}",
        "(Select (?x ?y) (Project (?x ?y) (Extend ?y (+ ?x 1) (Extend ?x 1 (bgp)))))",
    ),
    "VALUES at the end": (
        "SELECT * { ?s ?p ?o } VALUES ?x { 1 }",
        f"(Select (?s ?p ?o ?x) (Project (?s ?p ?o ?x) (Join {SPO} (Values (?x) (row 1)))))",
    ),
    "FROM": (
        "SELECT ?s FROM :a FROM NAMED :b FROM :c { ?s ?p ?o }",
        f"(Select (?s) (dataset (from :a) (from :c) (from-named :b)) (Project (?s) {SPO}))",
    ),
    "ASK": ("ASK FROM :a { ?s ?p ?o }", f"(Ask (dataset (from :a)) {SPO})"),
    "DESCRIBE a term": ("DESCRIBE :a", "(Describe (:a) (bgp))"),
    "DESCRIBE": ("DESCRIBE ?s :a { ?s ?p ?o } LIMIT 1", f"(Describe (?s :a) (Slice 0 1 {SPO}))"),
    "DESCRIBE *": ("DESCRIBE * { ?s ?p [] }", "(Describe (?s ?p) (bgp (triple ?s ?p ?.b1)))"),
    "CONSTRUCT": (
        "CONSTRUCT { ?s :p [ :q ?o ] } WHERE { ?s ?p ?o } ORDER BY ?s",
        f"""(Construct (template (triple ?s :p _:b1) (triple _:b1 :q ?o))
              (OrderBy ((asc ?s)) {SPO}))""",
    ),
    "CONSTRUCT WHERE": (
        "CONSTRUCT FROM :g WHERE { ?s :p _:x . _:x :q ?o }",
        """(Construct (dataset (from :g)) (template (triple ?s :p _:x) (triple _:x :q ?o))
             (bgp (triple ?s :p ?.b_x) (triple ?.b_x :q ?o)))""",
    ),
    "CONSTRUCT nothing": ("CONSTRUCT {} { ?s ?p ?o }", f"(Construct (template) {SPO})"),
}

GROUPING = {
    "GROUP BY": (
        "SELECT ?s (COUNT(*) AS ?n) (SUM(DISTINCT ?o) / COUNT(*) AS ?x) { ?s ?p ?o } GROUP BY ?s",
        f"""(Select (?s ?n ?x) (Project (?s ?n ?x) (Extend ?x (/ ?.a2 ?.a1) (Extend ?n ?.a1
              (Group (?s) ((?.a1 (COUNT *)) (?.a2 (SUM distinct ?o))) {SPO})))))""",
    ),
    "an implicit group": (
        "SELECT (COUNT(?o) AS ?n) { ?s ?p ?o }",
        f"(Select (?n) (Project (?n) (Extend ?n ?.a1 (Group () ((?.a1 (COUNT ?o))) {SPO}))))",
    ),
    "keys by expression": (
        "SELECT ?x { ?s ?p ?o } GROUP BY (?o + 1 AS ?x) STR(?s) ?p",
        f"(Select (?x) (Project (?x) (Group ((?x (+ ?o 1)) (?.g1 (STR ?s)) ?p) () {SPO})))",
    ),
    "HAVING": (
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1) (MAX(?o) < 9)",
        f"""(Select (?s) (Project (?s) (Filter (&& (> ?.a1 1) (< ?.a2 9))
              (Group (?s) ((?.a1 (COUNT *)) (?.a2 (MAX ?o))) {SPO}))))""",
    ),
    "HAVING may use a name of SELECT": (
        "SELECT (COUNT(*) AS ?n) (?n * 2 AS ?m) { ?s ?p ?o } HAVING (?m > 1)",
        f"""(Select (?n ?m) (Project (?n ?m) (Extend ?m (* ?n 2) (Extend ?n ?.a1
              (Filter (> (* ?.a1 2) 1) (Group () ((?.a1 (COUNT *))) {SPO}))))))""",
    ),
    "other variables in HAVING and ORDER BY are sampled": (
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (?o > 1) ORDER BY ?o ?s MIN(?p)",
        f"""(Select (?s) (Project (?s) (OrderBy ((asc ?.a1) (asc ?s) (asc ?.a2))
              (Filter (> ?.a1 1)
                (Group (?s) ((?.a1 (SAMPLE ?o)) (?.a2 (MIN ?p))) {SPO})))))""",
    ),
    "GROUP_CONCAT": (
        "SELECT (GROUP_CONCAT(DISTINCT ?o ; SEPARATOR = ', ') AS ?x) { ?s ?p ?o }",
        f"""(Select (?x) (Project (?x) (Extend ?x ?.a1
              (Group () ((?.a1 (GROUP_CONCAT distinct ?o (separator ", ")))) {SPO}))))""",
    ),
    "the name of an aggregate may be that of a variable inside": (
        "SELECT (MAX(?o) AS ?o) { ?s ?p ?o } GROUP BY ?s",
        f"(Select (?o) (Project (?o) (Extend ?o ?.a1 (Group (?s) ((?.a1 (MAX ?o))) {SPO}))))",
    ),
    "VALUES come after grouping": (
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s VALUES ?s { 1 }",
        f"(Select (?s) (Project (?s) (Join (Group (?s) () {SPO}) (Values (?s) (row 1)))))",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_query_form(text, expected):
    assert algebra(text) == one_line(expected)


@pytest.mark.parametrize(("text", "expected"), GROUPING.values(), ids=GROUPING)
def test_grouping(text, expected):
    assert algebra(text) == one_line(expected)


def test_anonymous_blank_nodes_of_a_template_avoid_its_labels():
    query = parse_query(PROLOGUE + "CONSTRUCT { _:b1 :p [], _:b2 } { }").query
    objects = [triple.object for triple in query.template]
    assert objects == [BlankNode("b3"), BlankNode("b2")]


def test_a_template_and_the_pattern_may_use_the_same_label():
    query = parse_query(PROLOGUE + "CONSTRUCT { _:x :p ?o } { _:x :q ?o }").query
    assert query.template[0].subject == BlankNode("x")
    assert query.pattern.triples[0].subject == a.Var(".b_x")


def test_a_parsed_query_knows_where_it_came_from():
    text = "PREFIX ex: <http://example.org/>\nSELECT ?s {\n  ?s ex:p ?longer, ?s }"
    parsed = parse_query(text, origin="my.rq")
    assert (parsed.text, parsed.origin, parsed.language) == (text, "my.rq", "ep-sparql")
    assert parsed.prefixes == (("ex", "http://example.org/"),)
    assert parsed.spans == ((a.Var("s"), Span(2, 8, 2)), (a.Var("longer"), Span(3, 11, 7)))
