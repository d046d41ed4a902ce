"""Filters that compare with constants decide before the exchange, and change no answer."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from agreement.engine_runs import engine_answers, program_of
from oracle.cases import Case
from oracle.generator import answers, make_case

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
FORMS = (
    "SELECT * { ?x :price ?n FILTER (?n {0}) }",
    "SELECT * { ?x :price ?n FILTER (?n {0} && ?n {1}) }",
    "SELECT ?x { ?x :load ?n FILTER (!(?n {0}) || ?n {1}) }",
    "SELECT * { ?x :price ?n FILTER (?n {0}) } SEQ { ?x :price ?m FILTER (?m {1}) }",
    "SELECT * { { ?x :price ?n } SEQ { ?x :load ?m } FILTER (?m {0} && ?n {1}) }",
    "SELECT * { ?x :price ?n ; :load ?m FILTER (?n {0}) FILTER (?m {1}) }",
    "SELECT * { { ?x :load ?n FILTER (?n {0}) } OPTIONAL { ?x :price ?m FILTER (?m {1}) } }",
    "SELECT (COUNT(*) AS ?k) (SUM(?n) AS ?sum) { ?x :price ?n FILTER (?n {0}) }",
    "SELECT * { { SELECT DISTINCT ?n { ?x :price ?n } } FILTER (?n {0}) }",
    "SELECT * { { SELECT ?x { ?x :load ?n } } FILTER (!BOUND(?n) || ?n {0}) }",
    "ASK { ?x :price ?n FILTER (?n {0}) }",
    "CONSTRUCT { ?x :load ?n } WHERE { ?x :price ?n FILTER (?n {0}) }",
)
CONSTANTS = ("0", "1", "2", "2.0", "2.5", "-1", "3.000", "99.99", "2.5e0", '"2"', ":a")


def filtered(seed: int) -> Case:
    """A random stream with a few queries that filter by constants."""
    random = Random(seed)
    chosen = random.sample(FORMS, random.randint(1, 3))
    queries = []
    for form in chosen:
        compared = (
            f"{random.choice(['<', '<=', '>', '>=', '=', '!='])} {random.choice(CONSTANTS)}" for _ in "ab"
        )
        for place, text in enumerate(compared):
            form = form.replace(f"{{{place}}}", text)
        queries.append(PREFIX + form)
    return replace(make_case(seed), queries=tuple(queries))


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(910_000, 910_160, 40))
def test_the_engine_answers_as_the_definitions_say(first: int):
    answered = sieved = 0
    for seed in range(first, first + 40):
        case = filtered(seed)
        expected = answers(case)
        shards = (1, 2, 8)[seed % 3]
        assert engine_answers(case, shards, restore=seed % 2 == 1) == expected, (
            f"with {shards} shards:\n{case}"
        )
        answered += any(expected)
        sieved += bool(program_of(case, shards).router.sieves)
    assert answered >= 20 and sieved >= 8, "too few of these cases prove anything"
