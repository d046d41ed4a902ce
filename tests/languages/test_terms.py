"""IRIs, literals, names and escapes."""

from __future__ import annotations

import pytest

from languages.notation import expression
from penstock.errors import QueryError, UsageError
from penstock.languages import parse_query
from penstock.languages.names import resolve
from penstock.terms import XSD, Literal, NamedNode


def term(text: str, prologue: str = "", base: str | None = None):
    """The object of a triple."""
    return parse_query(f"{prologue} ASK {{ ?s ?p {text} }}", base=base).query.pattern.triples[0].object


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", Literal("1", datatype=XSD.integer)),
        ("-1", Literal("-1", datatype=XSD.integer)),
        ("+01", Literal("+01", datatype=XSD.integer)),
        ("1.50", Literal("1.50", datatype=XSD.decimal)),
        (".5", Literal(".5", datatype=XSD.decimal)),
        ("-.5e3", Literal("-.5e3", datatype=XSD.double)),
        ("1.e0", Literal("1.e0", datatype=XSD.double)),
        ("1E-9", Literal("1E-9", datatype=XSD.double)),
        ("TRUE", Literal("true", datatype=XSD.boolean)),
        ("false", Literal("false", datatype=XSD.boolean)),
        ('"a"', Literal("a")),
        ("'it\"s'", Literal('it"s')),
        ('""', Literal("")),
        ('""""a" b\n""c"""', Literal('"a" b\n""c')),
        ("'''a''b'''", Literal("a''b")),
        (r'"\t\n\\\"\u00E9\U0001F46A"', Literal('\t\n\\"é👪')),
        (r'"\\u0041"', Literal(r"\u0041")),
        ('"a"@en-GB', Literal("a", language="en-GB")),
        ('"a"^^<http://x.org/t>', Literal("a", datatype=NamedNode("http://x.org/t"))),
        ('"{ # no comment"', Literal("{ # no comment")),
    ],
)
def test_literal(text, expected):
    assert term(text) == expected


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        (":", "http://e.org/"),
        (":a.b", "http://e.org/a.b"),
        (":12", "http://e.org/12"),
        (":a:b", "http://e.org/a:b"),
        (r":a\~b\.", "http://e.org/a~b."),
        (":a%2Fb", "http://e.org/a%2Fb"),
        (":été", "http://e.org/été"),
        (r":\u00E9", "http://e.org/é"),
        ("seq:x", "http://s.org/x"),
        ("filter:x", "http://f.org/x"),
        ("a:x", "http://a.org/x"),
    ],
)
def test_prefixed_name(name, iri):
    prologue = """PREFIX : <http://e.org/> prefix seq: <http://s.org/>
                  Prefix filter: <http://f.org/> PREFIX a: <http://a.org/>"""
    assert term(name, prologue) == NamedNode(iri)


def test_a_name_does_not_take_the_full_stop():
    query = parse_query("PREFIX : <http://e.org/> ASK { :a :b :c. :d :e 1. }").query
    assert [str(triple.object.value) for triple in query.pattern.triples] == ["http://e.org/c", "1"]


def test_a_character_that_no_name_may_have_is_refused():
    with pytest.raises(QueryError, match="a→b has a character that cannot stand in a name"):
        term(":a→b", "PREFIX : <http://e.org/>")


def test_a_byte_order_mark_is_no_part_of_the_query():
    assert parse_query("\ufeffASK {}").query == parse_query("ASK {}").query


def test_base_declarations_follow_each_other():
    prologue = "BASE <http://e.org/x/y> BASE <z/> PREFIX p: <q#>"
    assert term("<r>", prologue) == NamedNode("http://e.org/x/z/r")
    assert term("p:r", prologue) == NamedNode("http://e.org/x/z/q#r")


def test_base_from_outside():
    assert term("<#r>", base="http://e.org/doc") == NamedNode("http://e.org/doc#r")
    with pytest.raises(UsageError, match="not an absolute IRI"):
        term("<#r>", base="doc")


# RFC 3986, section 5.4
@pytest.mark.parametrize(
    ("reference", "iri"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
    ],
)
def test_resolution_of_relative_iris(reference, iri):
    assert resolve(reference, "http://a/b/c/d;p?q") == iri


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a || ?b && ?c", "(|| ?a (&& ?b ?c))"),
        ("?a = 1 && ?b != 2", "(&& (= ?a 1) (!= ?b 2))"),
        ("1 - 2 - 3", "(- (- 1 2) 3)"),
        ("1 + 2 * 3 / 4", "(+ 1 (/ (* 2 3) 4))"),
        ("(1 + 2) * 3", "(* (+ 1 2) 3)"),
        ("?x-1", "(- ?x 1)"),
        ("?x -1*2+3", "(+ (- ?x (* 1 2)) 3)"),
        ("1+1", "(+ 1 1)"),
        ("?x * -1", "(* ?x -1)"),
        ("-?x + +?y", "(+ (UMINUS ?x) (UPLUS ?y))"),
        ("!?x = ?y", "(= (! ?x) ?y)"),
        ("?a<?b", "(< ?a ?b)"),
        ("?a <?b && ?c> ?d", "(&& (< ?a ?b) (> ?c ?d))"),
        ("?x IN (1, 2)", "(IN ?x 1 2)"),
        ("?x not in ()", "(NOTIN ?x)"),
        ("bound(?x)", "(BOUND ?x)"),
        ("uri(?x)", "(IRI ?x)"),
        ("isUri(?x)", "(ISIRI ?x)"),
        ("sameTerm(?x, :a)", "(SAMETERM ?x :a)"),
        ("if(?x, 1, 2)", "(IF ?x 1 2)"),
        ("coalesce()", "(COALESCE)"),
        ("concat(?x, 'a', 'b')", '(CONCAT ?x "a" "b")'),
        ("bnode()", "(BNODE)"),
        ("now( )", "(NOW)"),
        ("regex(?x, 'a', 'i')", '(REGEX ?x "a" "i")'),
        ("replace(?x, 'a', 'b')", '(REPLACE ?x "a" "b")'),
        ("xsd:integer(?x)", "(xsd:integer ?x)"),
        (":f()", "(:f)"),
    ],
)
def test_expression(text, expected):
    assert expression(text) == expected


def test_iri_function_takes_the_base_along():
    query = parse_query("BASE <http://e.org/> ASK { FILTER(IRI('x')) }").query
    assert query.pattern.condition.args == (Literal("x"), NamedNode("http://e.org/"))
