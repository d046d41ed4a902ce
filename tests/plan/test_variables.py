"""Which variables are bound in some, and which in every solution of a pattern."""

from __future__ import annotations

import pytest

from penstock.algebra import Exists, Project, Var
from penstock.plan.analysis.variables import certain, free, of_expression, possible
from penstock.plan.analysis.walk import subexpressions
from plan.texts import pattern, query


def names(variables) -> set[str]:
    return {var.name for var in variables if not var.hidden}


@pytest.mark.parametrize(
    ("text", "in_some", "in_all"),
    [
        ("?s :p ?o . ?o ?q 1", "s o q", "s o q"),
        ("?s :p+ ?o", "s o", "s o"),
        ("{ ?a :p ?b } SEQ { ?a :p ?c }", "a b c", "a b c"),
        ("{ ?a :p ?b } EQUALS { ?a :p ?c }", "a b c", "a b c"),
        ("{ ?a :p ?b } UNION { ?a :p ?c }", "a b c", "a"),
        ("?a :p ?b OPTIONAL { ?a :p ?c }", "a b c", "a b"),
        ("{ ?a :p ?b } OPTIONALSEQ { ?a :p ?c }", "a b c", "a c"),
        ("{ ?a :p ?b } EQUALSOPTIONAL { ?a :p ?c }", "a b c", "a b"),
        ("?a :p ?b MINUS { ?a :p ?c }", "a b", "a b"),
        ("VALUES (?a ?b ?c) { (1 UNDEF UNDEF) (1 2 UNDEF) }", "a b", "a"),
        ("?a :p ?b BIND (?b + 1 AS ?c)", "a b c", "a b"),
        ("?a :p ?b BIND (?b AS ?c) BIND (5 AS ?d)", "a b c d", "a b c d"),
        ("?a :p ?b BIND (?x AS ?c)", "a b c", "a b"),
        ("GRAPH ?g { ?a :p ?b }", "a b g", "a b g"),
        ("{ SELECT ?a ?z { ?a :p ?b } }", "a", "a"),
        ("{ SELECT ?a (COUNT(*) AS ?n) (AVG(?b) AS ?m) { ?a :p ?b } GROUP BY ?a }", "a n m", "a n"),
        ("?a :p ?b OPTIONAL { ?a :p ?c } FILTER (BOUND(?c))", "a b c", "a b c"),
        ("?a :p ?b OPTIONAL { ?a :p ?c } FILTER (?b > 1 && ?c < 5)", "a b c", "a b c"),
        ("?a :p ?b OPTIONAL { ?a :p ?c } FILTER (?b > 1 || ?c < 5)", "a b c", "a b"),
        ("?a :p ?b OPTIONAL { ?a :p ?c } FILTER (!BOUND(?c))", "a b c", "a b"),
        ("?a :p ?b FILTER (?never < 5)", "a b", "a b"),
        ("?a :p ?b FILTER EXISTS { ?a :p ?c }", "a b", "a b"),
    ],
)
def test_bound_in_some_and_in_every_solution(text, in_some, in_all):
    node = pattern(text)
    assert names(possible(node)) == set(in_some.split())
    assert names(certain(node)) == set(in_all.split())
    assert certain(node) <= possible(node)


def test_modifiers_bind_nothing_new():
    node = query("SELECT DISTINCT ?a { ?a :p ?b } ORDER BY ?b LIMIT 3").pattern
    assert names(possible(node)) == names(certain(node)) == {"a"}


def test_grouping_by_a_variable_that_is_never_bound_does_not_bind_it():
    node = pattern("{ SELECT ?z (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?z }")
    assert names(possible(node)) == {"n"}


def test_an_expression_looks_at_its_variables_also_inside_exists():
    (condition,) = pattern("?a :p ?b FILTER (?b > ?x || EXISTS { ?a :q ?c })").expressions
    assert names(of_expression(condition)) == {"a", "b", "c", "x"}


def test_a_sub_select_inside_exists_lets_in_only_what_it_projects():
    text = "?a :p ?b FILTER EXISTS { ?a :q ?x FILTER (?b < ?x) { SELECT ?c { ?c :r ?d } } }"
    (condition,) = pattern(text).expressions
    inner = [e.pattern for e in subexpressions(condition) if isinstance(e, Exists)]
    assert names(free(inner[0])) == {"a", "b", "c", "x"}


def test_a_projection_hides_what_it_does_not_name():
    node = Project(pattern("?a :p ?b"), (Var("b"), Var("nothing")))
    assert possible(node) == certain(node) == {Var("b")}
