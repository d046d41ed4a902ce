"""Contradictions in words."""

from __future__ import annotations

from tests.reason.rule_texts import rule

from penstock.reason.conflicts import Conflict, conflict_text
from penstock.terms import Literal, NamedNode


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def test_the_triples_of_the_pattern():
    apart = rule(
        "apart", "SELECT ?x ?c ?d WHERE { ?c owl:disjointWith ?d . ?x a ?c, ?d ; :p ?y FILTER (?y != 1) }"
    )
    conflict = Conflict(
        "apart", "Too much.", (("x", ex("a")), ("c", ex("C")), ("d", NamedNode("http://other/D")))
    )
    assert conflict_text(conflict, [rule("other", "ASK {}"), apart]).splitlines() == [
        "apart: Too much.",
        "    :C owl:disjointWith <http://other/D>",
        "    :a a :C",
        "    :a a <http://other/D>",
    ]


def test_values_where_no_triple_is_whole():
    check = rule("few", "SELECT ?x WHERE { ?x :p ?y { ?x a :C } UNION { ?x a :D } GRAPH :g { ?x a :E } }")
    assert conflict_text(Conflict("few", "", (("x", Literal("1")),)), [check]) == 'few\n    ?x = "1"'
    assert conflict_text(Conflict("unknown", "Hm.", (("x", ex("a")),))).startswith(
        "unknown: Hm.\n    ?x = <http"
    )


def test_long_terms_are_shortened():
    text = conflict_text(Conflict("r", "", (("x", Literal("x" * 5000)),)))
    assert len(text) < 700 and "…" in text
