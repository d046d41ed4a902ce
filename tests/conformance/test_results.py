"""The judge is judged: reading expected results, and telling right answers from wrong ones."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from conformance.results import Graph, Solutions, read_answer, same_answer
from penstock.terms import XSD

A, B = NamedNode("http://example.org/a"), NamedNode("http://example.org/b")
ONE, TWO = Literal("1", datatype=XSD.integer), Literal("2", datatype=XSD.integer)


def rows(*each, ordered=False):
    names = tuple(dict.fromkeys(name for row in each for name in row))
    return Solutions(names or ("x",), each, ordered)


def blank(name):
    return BlankNode(name)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (rows({"x": A}, {"x": B}), rows({"x": B}, {"x": A}), True),
        (rows({"x": A}), rows({"x": A}, {"x": A}), False),
        (rows({"x": A}, {"x": A}), rows({"x": A}, {"x": B}), False),
        (rows({"x": A}), rows({"y": A}), False),
        (rows({"x": A, "y": B}, {"x": A}), rows({"x": A}, {"x": A, "y": B}), True),
        (rows({"x": A, "y": B}, {"x": A}), rows({"x": A, "y": B}, {"y": A}), False),
        (rows({"x": ONE}), rows({"x": Literal("01", datatype=XSD.integer)}), True),
        (rows({"x": ONE}), rows({"x": Literal("1", datatype=XSD.decimal)}), False),
        (rows({"x": ONE}), rows({"x": Literal("1")}), False),
        (
            rows({"x": Literal("1.0E2", datatype=XSD.double)}),
            rows({"x": Literal("100", datatype=XSD.double)}),
            True,
        ),
        (rows({"x": Literal("a", language="en")}), rows({"x": Literal("a")}), False),
        (rows({"x": A}, {"x": B}, ordered=True), rows({"x": B}, {"x": A}), False),
        (rows({"x": A}, {"x": B}, ordered=True), rows({"x": A}, {"x": B}), True),
        (rows(), rows(), True),
        (True, True, True),
        (True, False, False),
        (True, rows(), False),
        (rows(), Graph(frozenset()), False),
    ],
)
def test_solutions_are_multisets_of_bindings(one, other, same):
    assert same_answer(one, other) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([("a", "a"), ("b", "b")], [("x", "x"), ("y", "y")], True),
        ([("a", "a"), ("b", "b")], [("x", "y"), ("y", "x")], False),
        ([("a", "b"), ("b", "c")], [("x", "y"), ("y", "z")], True),
        ([("a", "b"), ("b", "c")], [("y", "z"), ("x", "y")], True),
        ([("a", "b"), ("b", "c")], [("x", "y"), ("z", "w")], False),
        ([("a", "a")], [("x", "y")], False),
        ([("a", "b")], [("x", "x")], False),
        ([("a", "b"), ("a", "b")], [("x", "y"), ("x", "y")], True),
        ([("a", "b"), ("a", "b")], [("x", "y"), ("z", "y")], False),
    ],
)
def test_blank_nodes_are_renamed_one_to_one(one, other, same):
    left, right = (rows(*[{"x": blank(x), "y": blank(y)} for x, y in pairs]) for pairs in (one, other))
    assert same_answer(left, right) is same


def test_a_blank_node_is_no_iri():
    assert not same_answer(rows({"x": blank("a")}), rows({"x": A}))


def test_graphs_are_compared_by_isomorphism():
    def graph(*names):
        return Graph(frozenset(Triple(blank(s), A, blank(o)) for s, o in names))

    assert same_answer(graph("ab", "bc"), graph("yz", "xy"))
    assert not same_answer(graph("ab", "bc"), graph("xy", "xz"))
    assert not same_answer(graph("ab"), graph("ab", "cd"))


XML = """<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#">
<head><variable name="x"/><variable name="y"/></head><results><result>
<binding name="x"><uri>http://example.org/a</uri></binding>
<binding name="y"><literal datatype="http://www.w3.org/2001/XMLSchema#integer">1</literal></binding>
</result><result><binding name="x"><uri>http://example.org/b</uri></binding></result>
</results></sparql>"""
JSON = """{"head": {"vars": ["x", "y"]}, "results": {"bindings": [
{"x": {"type": "uri", "value": "http://example.org/a"},
 "y": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}},
{"x": {"type": "uri", "value": "http://example.org/b"}}]}}"""
TSV = "?x\t?y\n<http://example.org/a>\t1\n<http://example.org/b>\t\n"
CSV = "x,y\r\nhttp://example.org/a,1\r\nhttp://example.org/b,\r\n"
TURTLE = """@prefix rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#> .
[] a rs:ResultSet ; rs:resultVariable "x", "y" ;
   rs:solution [ rs:index 2 ; rs:binding [ rs:variable "x" ; rs:value <b> ] ] ;
   rs:solution [ rs:index 1 ; rs:binding [ rs:variable "x" ; rs:value <a> ] ,
                                         [ rs:variable "y" ; rs:value 1 ] ] ."""


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.srx", XML), ("r.srj", JSON), ("r.tsv", TSV), ("r.csv", CSV), ("r.ttl", TURTLE)],
)
def test_results_are_read_in_every_format(tmp_path, name, text):
    (tmp_path / name).write_text(text, "utf-8", newline="")
    expected = read_answer(tmp_path / name, "http://example.org/r")
    right, wrong = rows({"x": A, "y": ONE}, {"x": B}), rows({"x": A, "y": TWO}, {"x": B})
    assert expected.ordered is (name == "r.ttl")
    assert same_answer(expected, right)
    assert not same_answer(expected, wrong)
    assert not same_answer(expected, rows({"x": A, "y": ONE}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "r.srx",
            '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head/><boolean>true</boolean></sparql>',
        ),
        ("r.srj", '{"head": {}, "boolean": true}'),
        (
            "r.ttl",
            "@prefix rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#> ."
            "[] a rs:ResultSet ; rs:boolean true .",
        ),
    ],
)
def test_an_answer_may_be_yes(tmp_path, name, text):
    (tmp_path / name).write_text(text, "utf-8")
    assert read_answer(tmp_path / name, "http://example.org/r") is True


def test_other_graphs_are_the_answer_themselves(tmp_path):
    (tmp_path / "r.ttl").write_text("<a> <b> 1 .", "utf-8")
    expected = read_answer(tmp_path / "r.ttl", "http://example.org/r")
    assert same_answer(expected, Graph(frozenset([Triple(A, B, ONE)])))
    assert not same_answer(expected, Graph(frozenset([Triple(A, B, TWO)])))
