"""Paths with axes and tests: what they are read as (decision 0014)."""

from __future__ import annotations

import pytest

from languages.notation import PROLOGUE
from penstock import algebra as a
from penstock.algebra.printing import to_sexpr
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.plan.wording import path_text

NAMES = (("", "http://example.org/"), ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"))
PREFIXES = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in NAMES)


def read(triples: str, *, language: str = "sparql") -> str:
    """The pattern of these triples, short."""
    pattern = parse_query(f"{PREFIXES} SELECT * WHERE {{ {triples} }}", language=language).query.pattern
    while isinstance(pattern, a.Project):
        pattern = pattern.pattern
    return " ".join(to_sexpr(pattern, prefixes=NAMES).split())


def path_of(text: str) -> a.Path:
    return parse_query(f"{PREFIXES} SELECT * WHERE {{ ?x {text} ?y }}").query.pattern.pattern.path


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("self", "self"),
        ("next/edge-1", "(seq next (inv edge))"),
        ("next::<http://example.org/p>", "(next:: :p)"),
        ("next:::p", "(next:: :p)"),
        ("next::p", "(next:: :p)"),  # as papers write it
        ("next-1::p", "(inv (next:: :p))"),
        ("^next::p", "(inv (next:: :p))"),
        ("next::rdf:type", "(next:: rdf:type)"),
        ("next::a", "(next:: rdf:type)"),
        ("next:: :p", "(next:: :p)"),
        ("self::5/self::-2.5/self::1e3", "(seq (seq (self:: 5) (self:: -2.5)) (self:: 1e3))"),
        ('self::"x"@en|self::true', '(alt (self:: "x"@en) (self:: true))'),
        ("edge::[next::p/self::c]", "(edge::[] (seq (next:: :p) (self:: :c)))"),
        ("node-1::[:p*]", "(inv (node::[] (ZeroOrMorePath :p)))"),
        (":p[:q]", "(seq :p (self::[] :q))"),
        ("(:p[:q])+", "(OneOrMorePath (seq :p (self::[] :q)))"),
        (":p[:q]+", "(OneOrMorePath (seq :p (self::[] :q)))"),
        (":p+[:q][:r]", "(seq (seq (OneOrMorePath :p) (self::[] :q)) (self::[] :r))"),
        # the grammar's elt ::= elt[elt] binds closer than ^, which is no elt
        ("^:p[:q]", "(inv (seq :p (self::[] :q)))"),
        ("^:p/[:q :r]", "(seq (inv :p) (self::[] (seq :q (self:: :r))))"),
        ("[:q]/:p", "(seq (self::[] :q) :p)"),
        ("[:q 1, 2]", "(self::[] (seq (self::[] (seq :q (self:: 1))) (self::[] (seq :q (self:: 2)))))"),
        (":p[:q []; :r :s]", "(seq :p (self::[] (seq (self::[] :q) (self::[] (seq :r (self:: :s))))))"),
        (":p[:q[:r]]", "(seq :p (self::[] (seq :q (self::[] :r))))"),
        (":p[:q [:r :s]]", "(seq :p (self::[] (seq :q (self::[] (seq :r (self:: :s))))))"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["sparql", "ep-sparql"])
def test_axes_and_tests(path: str, meaning: str, language: str) -> None:
    assert read(f"?x {path} ?y", language=language) == f"(path ?x {meaning} ?y)"


@pytest.mark.parametrize(
    ("triples", "meaning"),
    [
        ("?s :p [ :q :r ] .", "(triple ?s :p ?.b1) (triple ?.b1 :q :r)"),
        ("?s :p[:q :r]", "(triple ?s :p ?.b1) (triple ?.b1 :q :r)"),
        ("?s :p [ :q :r ], 5", "(triple ?s :p ?.b1) (triple ?.b1 :q :r) (triple ?s :p 5)"),
        ("?s :p/:q [ :r :s ]", "(triple ?s :p ?.p1) (triple ?.p1 :q ?.b1) (triple ?.b1 :r :s)"),
        ("?s ^:p [ :r :s ]; :t 1", "(triple ?.b1 :p ?s) (triple ?.b1 :r :s) (triple ?s :t 1)"),
        ("?s :p [ :q [ :r :s ] ]", "(triple ?s :p ?.b1) (triple ?.b1 :q ?.b2) (triple ?.b2 :r :s)"),
        ("[ :p :q ] :r ?o", "(triple ?.b1 :p :q) (triple ?.b1 :r ?o)"),
        ("?s ?p [ :r ?o ]", "(triple ?s ?p ?.b1) (triple ?.b1 :r ?o)"),
    ],
)
def test_a_bracket_that_no_object_follows_is_the_object_as_in_sparql(triples: str, meaning: str) -> None:
    assert read(triples) == f"(bgp {meaning})"


def test_a_bracket_in_a_list_stays_a_node() -> None:
    assert "(triple ?.b2 :r :s)" in read("?s :p ( :q [ :r :s ] :t )").replace("?.b3", "?.b2")


def test_names_that_only_look_like_axes_are_names() -> None:
    text = "PREFIX next: <http://n/> PREFIX node-1: <http://m/> SELECT * { ?s next:p/node-1:q ?o }"
    triples = parse_query(text).query.pattern.pattern.triples
    assert [str(triple.predicate) for triple in triples] == ["<http://n/p>", "<http://m/q>"]


@pytest.mark.parametrize(
    "text", ["^(:p[:q])", "(^:p)*", "(:p*)+", "next::[:p|^edge]/:q", "self/:p?", "!(:p|^:q)[:r]"]
)
def test_what_messages_show_is_read_as_the_same_path(text: str) -> None:
    path = path_of(text)
    assert path_of(path_text(path)) == path


def test_deep_nesting_is_refused_as_everywhere() -> None:
    deep = "next::[" * 200 + ":p" + "]" * 200
    with pytest.raises(QueryError, match="nested"):
        parse_query(f"{PROLOGUE} SELECT * {{ ?s {deep} ?o }}")
