"""Rules as text: SPARQL Update's INSERT, to the algebra."""

from __future__ import annotations

import pytest
from pyoxigraph import Store

from languages.notation import PROLOGUE
from penstock.algebra.nodes import (
    BGP,
    Graph,
    Insert,
    Join,
    ParsedQuery,
    ParsedRule,
    QuadPattern,
    TriplePattern,
    Var,
)
from penstock.algebra.printing import to_sexpr
from penstock.algebra.relations import SEQ
from penstock.errors import QueryError, Span
from penstock.languages import LANGUAGES, parse, parse_query
from penstock.terms import XSD, BlankNode, Literal, NamedNode

X, Y, G = Var("x"), Var("y"), Var("g")


def e(name: str) -> NamedNode:
    return NamedNode(dict(parse(PROLOGUE + "ASK {}").queries[0].prefixes)[""] + name)


def insert(text: str, **options) -> Insert:
    [rule] = parse(PROLOGUE + text, **options).rules
    return rule.insert


def quad(*terms, graph=None) -> QuadPattern:
    return QuadPattern(graph, TriplePattern(*terms))


@pytest.mark.parametrize("language", LANGUAGES)
def test_insert_where(language):
    found = insert("INSERT { ?x :p ?y } WHERE { ?y :q ?x }", language=language)
    assert found == Insert(BGP((TriplePattern(Y, e("q"), X),)), (quad(X, e("p"), Y),))


@pytest.mark.parametrize("language", LANGUAGES)
def test_insert_data_follows_from_nothing(language):
    found = insert("INSERT DATA { :a :p 1 . :b :p 2 }", language=language)
    one, two = Literal("1", datatype=XSD.integer), Literal("2", datatype=XSD.integer)
    assert found == Insert(BGP(()), (quad(e("a"), e("p"), one), quad(e("b"), e("p"), two)))


def test_graphs_of_the_template():
    found = insert(
        "INSERT { ?x :p ?y . GRAPH ?g { ?x :p ?y . ?y :p ?x . }"
        " . ?y :q ?x GRAPH :h { ?x :q ?y } GRAPH :i {} }"
        " WHERE { GRAPH ?g { ?x :p ?y } }"
    )
    assert found.template == (
        quad(X, e("p"), Y),
        quad(X, e("p"), Y, graph=G),
        quad(Y, e("p"), X, graph=G),
        quad(Y, e("q"), X),
        quad(X, e("q"), Y, graph=e("h")),
    )
    assert found.pattern == Graph(G, BGP((TriplePattern(X, e("p"), Y),)))


def test_what_a_template_says_twice_is_once_in_it_but_each_graph_has_its_own():
    found = insert("INSERT { ?x :p 1 , 1 . GRAPH :g { ?x :p 1 } } WHERE { ?x :p ?y }")
    assert [each.graph for each in found.template] == [None, e("g")]


def test_blank_nodes_of_a_template_are_one_over_its_graphs():
    found = insert("INSERT { ?x :p _:n , [ :q 1 ] , _:b1 . GRAPH :g { _:n :q [] } } WHERE { ?x :p ?y }")
    assert [each.triple.object for each in found.template] == [
        BlankNode("n"),
        BlankNode("b2"),
        Literal("1", datatype=XSD.integer),
        BlankNode("b1"),
        BlankNode("b3"),
    ]
    assert found.template[-1] == quad(BlankNode("n"), e("q"), BlankNode("b3"), graph=e("g"))


def test_temporal_operators_where_the_language_has_them():
    text = "INSERT { ?x :p ?y } WHERE { ?x :q ?y } SEQ { ?y :q ?x }"
    found = insert(text)
    assert isinstance(found.pattern, Join) and found.pattern.relation is SEQ
    assert found == insert("INSERT { ?x :p ?y } WHERE { { ?x :q ?y } SEQ { ?y :q ?x } }")
    with pytest.raises(QueryError, match="SEQ is an operator of EP-SPARQL, not of SPARQL"):
        insert(text, language="sparql")


@pytest.mark.parametrize("between", [" ", " ; ", ";\n;\n", "\nPREFIX : <http://other/>\n"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_rules_and_queries_in_one_file(between, language):
    windows = {
        "c-sparql": "FROM STREAM :s [RANGE 1m]",
        "rsp-ql": "FROM NAMED WINDOW :w ON :s [RANGE PT1M]",
        "cqels-cep": "FROM NAMED WINDOW :w ON :s [RANGE 1m]",
    }
    rule = "INSERT { ?x :p ?y } WHERE { ?y :q ?x }"
    query = f"SELECT ?x {windows.get(language, '')} {{ ?x :p ?y }}"
    module = parse(
        PROLOGUE + between.join([rule, query, "INSERT DATA { :a :p 1 }", rule, query]),
        language=language,
        origin="mixed.rq",
    )
    kinds = [ParsedRule, ParsedQuery, ParsedRule, ParsedRule, ParsedQuery]
    assert [type(each) for each in module.statements] == kinds
    assert [module.rules.index(each) for each in module.statements if each in module.rules] == [0, 1, 2]
    assert len(module.queries) == 2
    assert {each.name for each in module.statements} == {"mixed"}


def test_a_rule_knows_where_it_stands():
    [rule] = parse("PREFIX : <http://e/>\n\n  INSERT { ?x :p ?y }\nWHERE { ?y :q ?x }").rules
    assert rule.place == Span(3, 3, 6)
    assert dict(rule.spans)[Y] == Span(3, 18, 2)
    assert rule.prefixes == (("", "http://e/"),)


def test_a_rule_where_a_query_was_expected():
    with pytest.raises(QueryError, match="query:1:1: a query was expected, and this is none"):
        parse_query("INSERT DATA { <http://a> <http://b> 1 }")


def test_a_rule_is_printed_like_a_query():
    [rule] = parse("PREFIX : <http://e/> INSERT { ?x :p _:n GRAPH ?y { _:n :q 1 } } WHERE { ?x :p ?y }").rules
    assert to_sexpr(rule.insert, prefixes=rule.prefixes) == (
        "(Insert (template (triple ?x :p _:n) (quad ?y _:n :q 1)) (bgp (triple ?x :p ?y)))"
    )


def test_a_rule_may_not_be_nested_without_end():
    binds = "".join(f"BIND (1 AS ?v{number}) " for number in range(200))
    with pytest.raises(QueryError, match="nested too deeply"):
        parse("INSERT { ?s ?p ?o } WHERE { ?s ?p ?o " + binds + "}")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?x :p ?y . } WHERE { ?y :q ?x . }",
        "INSERT DATA { GRAPH :g { :a :p [] } }",
        "INSERT { GRAPH ?l { ?x :inAll :list } } WHERE { ?l :first ?c ; :rest () . ?x a ?c } ;"
        "INSERT { ?x a ?c } WHERE { ?c :all ?l . GRAPH ?l { ?x :inAll :list } } ;",
        "INSERT { ?x :p ?y } WHERE { { ?y :q|^:r ?x } UNION { ?x :q*/:r+ ?y } FILTER (?x != ?y) }",
        "INSERT { ?x :p ?z } WHERE { ?y :q ?x BIND (STR(?x) AS ?z) VALUES ?y { :a :b } }",
    ],
)
def test_it_is_standard_sparql_update(text):
    """What we read as rules, another engine takes as updates."""
    Store().update(PROLOGUE + text)
    assert parse(PROLOGUE + text, language="sparql").rules
