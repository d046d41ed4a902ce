"""The direct semantics in queries: class expressions that are taken, and what variables are bound to."""

from __future__ import annotations

import pytest

from oracle.model import StaticGraph, TimedDataset
from oracle.notation import triples
from oracle.queries import evaluate_query
from oracle.rules import fixpoint
from penstock.languages import parse_query
from penstock.rules.expressions import NAMES, with_direct_semantics
from penstock.rules.library import ruleset

PREFIXES = """PREFIX : <http://example.org/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
ANIMALS = ":Cat a owl:Class . :Dog a owl:Class . :tom a :Cat . :rex a :Dog ; :bites :tom . :cow a :Cow . "


def answers(
    text: str, data: str = ANIMALS, rules=("owl2-rl", "owl2-direct"), *, named: bool = False
) -> list[str]:
    """What a query answers over the closure of Turtle: shortened bindings, sorted."""
    chosen = ruleset(rules)
    [query], said = with_direct_semantics([parse_query(PREFIXES + text)], chosen)
    found = fixpoint([each.text for each in chosen], [*triples(PREFIXES.partition("\n")[2] + data), *said])
    rows = evaluate_query(query.query, TimedDataset((StaticGraph(found),))).rows
    return sorted(" ".join(f"{n}={_short(t)}" for n, t in sorted(row.bindings.items())) for row in rows)


def _short(term) -> str:
    return getattr(term, "value", str(term)).rpartition("/")[2].rpartition("#")[2]


def said_by(text: str, rules=("owl2-rl", "owl2-direct")) -> tuple:
    return with_direct_semantics([parse_query(PREFIXES + text)], ruleset(rules))[1]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("owl:unionOf (:Cat :Dog)", ["x=rex", "x=tom"]),
        ("owl:intersectionOf (:Cat :Dog)", []),
        ("owl:oneOf (:tom :cow)", ["x=cow", "x=tom"]),
        ("a owl:Restriction ; owl:onProperty :bites ; owl:someValuesFrom :Cat", ["x=rex"]),
        ("owl:onProperty :bites ; owl:someValuesFrom [ owl:unionOf (:Cow [ owl:oneOf (:tom) ]) ]", ["x=rex"]),
        ("owl:onProperty :bites ; owl:hasValue :tom", ["x=rex"]),
        ("owl:onProperty :bites ; owl:minCardinality 1", ["x=rex"]),
    ],
)
def test_who_belongs_to_a_class_expression(expression, found):
    assert answers(f"SELECT ?x {{ ?x a [ {expression} ] }}") == found


def test_what_the_data_says_of_the_same_expression_makes_no_second_answer():
    data = ANIMALS + ":Pet owl:equivalentClass [ owl:unionOf (:Cat :Dog) ] . "
    assert answers("SELECT ?x { ?x a [ owl:unionOf (:Cat :Dog) ] }", data) == ["x=rex", "x=tom"]
    assert answers("SELECT ?c { ?c rdfs:subClassOf [ owl:unionOf (:Cat :Dog) ] }", data) == [
        "c=Cat",
        "c=Dog",
        "c=Nothing",
        "c=Pet",
    ]


def test_no_variable_is_bound_to_an_expression():
    text = "SELECT * { ?x a [ owl:unionOf (:Cat :Dog) ] . ?x a ?c FILTER (?x = :tom) }"
    assert answers(text) == ["c=Cat x=tom", "c=Thing x=tom"]
    assert answers("SELECT ?x ?y { ?x a [ owl:oneOf (:tom) ] . ?y owl:oneOf [] }") == []
    several = with_direct_semantics(
        [parse_query(PREFIXES + "SELECT ?c { :tom a ?c }"), parse_query(PREFIXES + text)],
        ruleset(["owl2-rl", "owl2-direct"]),
    )[0]
    assert "NOTIN" in repr(several[0].query)  # also in a query without one, beside one that has it


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x { ?x a [ owl:unionOf (:Cat ?c) ] }",  # it has a variable
        "SELECT ?x { ?x a ?c . ?c owl:unionOf (:Cat :Dog) }",  # it is a variable itself
        "SELECT ?x { ?x a [ owl:onProperty :p ] }",  # it says half of it
        "SELECT ?x { ?x a [ :p :Cat ] }",  # it is something else
        "SELECT ?p { ?x ?p [ owl:unionOf _:l ] . _:l rdf:first :Cat ; rdf:rest _:l }",  # its list loops
        "ASK { [] owl:unionOf (:Cat :Dog) }",  # nothing is asked of it
    ],
)
def test_what_is_not_taken(text):
    assert said_by(text) == ()


def test_only_expressions_that_the_rules_know_are_taken():
    text = "SELECT ?x { ?x a [ owl:unionOf (:Cat :Dog) ] }"
    assert said_by(text) and not said_by(text, ["rdfs", "direct-same"])
    itself = "SELECT ?x { ?x a [ owl:onProperty :p ; owl:hasSelf true ] }"
    assert not said_by(itself)


def test_without_the_regime_a_query_looks_for_triples_as_it_says():
    query = parse_query(PREFIXES + "SELECT ?x ?c { ?x a [ owl:unionOf (:Cat :Dog) ], ?c }")
    assert with_direct_semantics([query], ruleset(["owl2-rl"])) == ([query], ())


def test_the_same_expression_has_the_same_name():
    one = said_by("SELECT ?x { ?x a [ a owl:Class ; owl:unionOf (:Cat :Dog) ] }")
    other = said_by("SELECT ?y { ?y a _:b . _:b owl:unionOf (:Cat :Dog) ; a owl:Class . ?y :p ?z }")
    assert set(one) == set(other) != set(said_by("SELECT ?x { ?x a [ owl:unionOf (:Dog :Cat) ] }"))
    assert all(term.value.startswith(NAMES) for term, _, _ in one)


def test_variables_for_classes_can_stand_for_names_only():
    data = ANIMALS + ":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :Dog ] . "
    text = "SELECT ?c { :Cat rdfs:subClassOf ?c }"
    assert len(answers(text, data, ["owl2-rl"])) == 3
    assert answers(text, data) == ["c=Cat", "c=Thing"]
    kept = answers("SELECT ?x { ?x a :Cat }", ANIMALS + "_:n a :Cat")
    assert len(kept) == 2  # an individual may have no name
