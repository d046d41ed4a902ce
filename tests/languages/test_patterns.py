"""Graph patterns to the algebra, as in SPARQL 1.1 section 18.2.2."""

from __future__ import annotations

import pytest

from languages.notation import one_line, pattern

CASES = {
    "the empty group": ("{}", "(bgp)"),
    "triples make one BGP": (
        "{ ?s :p ?o ; :q 1 , 2 . ?o a :C }",
        "(bgp (triple ?s :p ?o) (triple ?s :q 1) (triple ?s :q 2) (triple ?o rdf:type :C))",
    ),
    "a filter moves to the end and does not split a BGP": (
        "{ ?s :p ?o FILTER (?o > 1) ?s :q ?x FILTER (?x < 2) }",
        "(Filter (&& (> ?o 1) (< ?x 2)) (bgp (triple ?s :p ?o) (triple ?s :q ?x)))",
    ),
    "any other element splits a BGP": (
        "{ ?s :p ?o { ?s :r ?y } ?s :q ?x }",
        "(Join (Join (bgp (triple ?s :p ?o)) (bgp (triple ?s :r ?y))) (bgp (triple ?s :q ?x)))",
    ),
    "the unit disappears from joins": ("{ {} { ?s :p ?o } {} }", "(bgp (triple ?s :p ?o))"),
    "OPTIONAL": (
        "{ ?s :p ?o OPTIONAL { ?s :q ?x } }",
        "(LeftJoin (bgp (triple ?s :p ?o)) (bgp (triple ?s :q ?x)))",
    ),
    "OPTIONAL takes its own filter as condition": (
        "{ ?s :p ?o OPTIONAL { ?s :q ?x FILTER (?x > ?o) } }",
        "(LeftJoin (bgp (triple ?s :p ?o)) (bgp (triple ?s :q ?x)) (> ?x ?o))",
    ),
    "but not the filter of a group inside it": (
        "{ ?s :p ?o OPTIONAL { { ?s :q ?x FILTER (?x > ?o) } } }",
        "(LeftJoin (bgp (triple ?s :p ?o)) (Filter (> ?x ?o) (bgp (triple ?s :q ?x))))",
    ),
    "OPTIONAL at the beginning": (
        "{ OPTIONAL { ?s :q ?x } }",
        "(LeftJoin (bgp) (bgp (triple ?s :q ?x)))",
    ),
    "UNION goes from left to right": (
        "{ { ?a :p 1 } UNION { ?a :p 2 } UNION { ?a :p 3 FILTER(?a = 1) } }",
        """(Union (Union (bgp (triple ?a :p 1)) (bgp (triple ?a :p 2)))
                  (Filter (= ?a 1) (bgp (triple ?a :p 3))))""",
    ),
    "MINUS": (
        "{ ?s :p ?o MINUS { ?s :q ?x } }",
        "(Minus (bgp (triple ?s :p ?o)) (bgp (triple ?s :q ?x)))",
    ),
    "BIND": (
        "{ ?s :p ?o BIND (?o + 1 AS ?x) ?s :q ?x }",
        "(Join (Extend ?x (+ ?o 1) (bgp (triple ?s :p ?o))) (bgp (triple ?s :q ?x)))",
    ),
    "BIND at the beginning": ("{ BIND (1 AS ?x) }", "(Extend ?x 1 (bgp))"),
    "GRAPH": (
        "{ GRAPH ?g { ?s :p ?o } GRAPH :g { ?s :q ?x } }",
        "(Join (Graph ?g (bgp (triple ?s :p ?o))) (Graph :g (bgp (triple ?s :q ?x))))",
    ),
    "VALUES with one variable": (
        '{ VALUES ?x { 1 :a "b" UNDEF } }',
        '(Values (?x) (row 1) (row :a) (row "b") (row UNDEF))',
    ),
    "VALUES with several": (
        "{ ?x :p ?y VALUES (?x ?y) { (1 UNDEF) (true 2.5) } }",
        "(Join (bgp (triple ?x :p ?y)) (Values (?x ?y) (row 1 UNDEF) (row true 2.5)))",
    ),
    "VALUES without variables": ("{ VALUES () { () () } }", "(Values () (row) (row))"),
    "EXISTS": (
        "{ ?s :p ?o FILTER EXISTS { ?s :q ?x FILTER (?x = ?o) } }",
        "(Filter (EXISTS (Filter (= ?x ?o) (bgp (triple ?s :q ?x)))) (bgp (triple ?s :p ?o)))",
    ),
    "NOT EXISTS": (
        "{ ?s :p ?o FILTER NOT EXISTS { ?s :q ?x } }",
        "(Filter (! (EXISTS (bgp (triple ?s :q ?x)))) (bgp (triple ?s :p ?o)))",
    ),
    "a sub-query": (
        "{ ?s :p ?o { SELECT ?s { ?s :q ?x } LIMIT 1 } }",
        "(Join (bgp (triple ?s :p ?o)) (Slice 0 1 (Project (?s) (bgp (triple ?s :q ?x)))))",
    ),
}

BLANK_NODES = {
    "a label is a hidden variable": (
        "{ _:a :p _:b . _:b :q _:a }",
        "(bgp (triple ?.b_a :p ?.b_b) (triple ?.b_b :q ?.b_a))",
    ),
    "[] is a fresh one": ("{ [] :p [] }", "(bgp (triple ?.b1 :p ?.b2))"),
    "a property list as object": (
        "{ ?s :p [ :q ?x ; :r ?y ] , ?z }",
        """(bgp (triple ?s :p ?.b1) (triple ?.b1 :q ?x) (triple ?.b1 :r ?y)
                (triple ?s :p ?z))""",
    ),
    "a property list as subject": (
        "{ [ :q ?x ] :p ?y . [ :r ?z ] }",
        "(bgp (triple ?.b1 :q ?x) (triple ?.b1 :p ?y) (triple ?.b2 :r ?z))",
    ),
    "a collection": (
        "{ ?s :p (1 ?x) . () :q ?y }",
        """(bgp (triple ?s :p ?.b1) (triple ?.b1 rdf:first 1) (triple ?.b1 rdf:rest ?.b2)
                (triple ?.b2 rdf:first ?x) (triple ?.b2 rdf:rest rdf:nil)
                (triple rdf:nil :q ?y))""",
    ),
}

PATHS = {
    "a link": ("{ ?s (:p) ?o }", "(bgp (triple ?s :p ?o))"),
    "an inverse link": ("{ ?s ^:p ?o }", "(bgp (triple ?o :p ?s))"),
    "a sequence is part of the BGP": (
        "{ ?s :a ?x . ?x :p/^:q/:r ?o . ?o :b ?y }",
        """(bgp (triple ?s :a ?x) (triple ?x :p ?.p1) (triple ?.p2 :q ?.p1) (triple ?.p2 :r ?o)
                (triple ?o :b ?y))""",
    ),
    "a sequence with a closure": (
        "{ ?s :p/:q*/:r ?o }",
        """(Join (Join (bgp (triple ?s :p ?.p1)) (path ?.p1 (ZeroOrMorePath :q) ?.p2))
                 (bgp (triple ?.p2 :r ?o)))""",
    ),
    "an alternative": ("{ ?s :p|^:q ?o }", "(path ?s (alt :p (inv :q)) ?o)"),
    "a sequence inside another path": (
        "{ ?s (:p/:q)+ ?o }",
        "(path ?s (OneOrMorePath (seq :p :q)) ?o)",
    ),
    "an inverse of more than a link": ("{ ?s ^(:p/:q) ?o }", "(path ?s (inv (seq :p :q)) ?o)"),
    "zero or one": ("{ ?s :p? ?o }", "(path ?s (ZeroOrOnePath :p) ?o)"),
    "| binds less than /": ("{ ?s :a|:b/:c ?o }", "(path ?s (alt :a (seq :b :c)) ?o)"),
    "a negated link": ("{ ?s !:p ?o }", "(path ?s (notoneof :p) ?o)"),
    "a negated inverse": ("{ ?s !^:p ?o }", "(path ?s (inv (notoneof :p)) ?o)"),
    "a negated set": (
        "{ ?s !(:p|^:q|a) ?o }",
        "(path ?s (alt (notoneof :p rdf:type) (inv (notoneof :q))) ?o)",
    ),
    "an empty negated set": ("{ ?s !() ?o }", "(path ?s (notoneof) ?o)"),
    "a path before a property list": (
        "{ ?s :p* [ :q ?o ] }",
        "(Join (path ?s (ZeroOrMorePath :p) ?.b1) (bgp (triple ?.b1 :q ?o)))",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_group(text, expected):
    assert pattern(text) == one_line(expected)


@pytest.mark.parametrize(("text", "expected"), BLANK_NODES.values(), ids=BLANK_NODES)
def test_blank_nodes(text, expected):
    assert pattern(text) == one_line(expected)


@pytest.mark.parametrize(("text", "expected"), PATHS.values(), ids=PATHS)
def test_path(text, expected):
    assert pattern(text) == one_line(expected)
