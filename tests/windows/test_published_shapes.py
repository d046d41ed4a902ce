"""Shapes of published texts over random streams: the engine gives what the definitions say.

What a short form stands for is written out beside it, and both have the same answers.
"""

from __future__ import annotations

import random

import pytest

from docs import windows
from docs.page import Example

PROLOGUE = "PREFIX : <http://e/>\n"
TWO = "FROM NAMED WINDOW :a ON :s [RANGE PT3S STEP PT1S] FROM NAMED WINDOW :b ON :s [RANGE PT5S STEP PT2S]"
SEQUENCE = "WHERE {{ STREAM :s [RANGE 6s] {{ SEQ({{ ?x :p ?y }}, {}, {{ ?x :r ?z }}){} }} }}"
COUNTED = "{ ?x :q ?v }+ (COUNT(*) AS ?n)"
VALUES = "WHERE { ?x :p ?y }"

SAME = {
    "whichever window": (
        "rsp-ql",
        f"SELECT ?w ?x ?y {TWO} WHERE {{ WINDOW ?w {{ ?x :p ?y }} }}",
        f"SELECT ?w ?x ?y {TWO} WHERE {{ {{ WINDOW :a {{ ?x :p ?y }} BIND(:a AS ?w) }} UNION "
        "{ WINDOW :b { ?x :p ?y } BIND(:b AS ?w) } }",
    ),
    "whichever window that something says": (
        "rsp-ql",
        f"SELECT ?w ?x {TWO} WHERE {{ WINDOW ?w {{ ?x :in ?w }} }}",
        f"SELECT ?w ?x {TWO} WHERE {{ {{ WINDOW :a {{ ?x :in :a }} BIND(:a AS ?w) }} UNION "
        "{ WINDOW :b { ?x :in :b } BIND(:b AS ?w) } }",
    ),
    "whichever window in NOT EXISTS": (
        "rsp-ql",
        f"SELECT ?x ?y {TWO} WHERE {{ WINDOW :b {{ ?x :p ?y }} "
        "FILTER NOT EXISTS { WINDOW ?w { ?x :q ?y } } }",
        f"SELECT ?x ?y {TWO} WHERE {{ WINDOW :b {{ ?x :p ?y }} "
        "FILTER (NOT EXISTS { WINDOW :a { ?x :q ?y } } "
        "&& NOT EXISTS { WINDOW :b { ?x :q ?y } }) }",
    ),
    "the number of a group": (
        "c-sparql",
        f"SELECT ?x ?y ?n FROM STREAM :s [RANGE 4s, SLIDE 2s] {VALUES} "
        "AGGREGATE { (?n, COUNT, {?x}) FILTER (?n > 1) }",
        "SELECT ?x ?y ?n FROM STREAM :s [RANGE 4s STEP 2s] WHERE { ?x :p ?y { SELECT ?x (COUNT(*) AS ?n) "
        f"{VALUES} GROUP BY ?x HAVING (COUNT(*) > 1) }} }}",
    ),
    "two of them": (
        "cqels-cep",
        "SELECT ?x ?y ?z " + SEQUENCE.format("{ ?x :q ?v }{2}", ""),
        "SELECT ?x ?y ?z " + SEQUENCE.format(COUNTED, " FILTER(?n = 2)"),
    ),
    "two of them by TIMES": (
        "cqels-cep",
        "SELECT ?x ?y ?z " + SEQUENCE.format("{ ?x :q ?v } times(2)", ""),
        "SELECT ?x ?y ?z " + SEQUENCE.format(COUNTED, " FILTER(?n = 2)"),
    ),
    "two or three of them": (
        "cqels-cep",
        "SELECT ?x ?y ?z " + SEQUENCE.format("{ ?x :q ?v }{2,3}", ""),
        "SELECT ?x ?y ?z " + SEQUENCE.format(COUNTED, " FILTER(?n IN (2, 3))"),
    ),
    "two or more of them": (
        "cqels-cep",
        "SELECT ?x ?y ?z " + SEQUENCE.format("{ ?x :q ?v }{2,}", ""),
        "SELECT ?x ?y ?z " + SEQUENCE.format(COUNTED, " FILTER(?n > 1)"),
    ),
    "any number of them": (
        "cqels-cep",
        "SELECT ?x ?y ?z " + SEQUENCE.format("{ ?x :q ?v }*", ""),
        "SELECT ?x ?y ?z WHERE { STREAM :s [RANGE 6s] { SEQ({ ?x :p ?y }, { ?x :r ?z }) } }",
    ),
    "one or the other in a window": (
        "cqels-cep",
        "SELECT ?x WHERE { STREAM :s [RANGE 4s] { { ?x :p ?y } UNION { SEQ({ ?x :q 1 }, { ?x :q 2 }) } "
        "FILTER(?x != :c) } }",
        "SELECT ?x WHERE { { STREAM :s [RANGE 4s] { ?x :p ?y } } UNION "
        "{ STREAM :s [RANGE 4s] { SEQ({ ?x :q 1 }, { ?x :q 2 }) } } FILTER(?x != :c) }",
    ),
}


def stream(seed: int) -> str:
    rng = random.Random(seed)
    elements, second = ["PREFIX : <http://e/>"], 0
    for number in range(14):
        second += rng.choice((0, 1, 1, 2))
        triples = {
            f":{rng.choice('abc')} :{rng.choice('pqqqr')} {rng.choice((1, 2))}"
            if rng.random() < 0.9
            else f":{rng.choice('abc')} :in :{rng.choice('ab')}"
            for _ in range(rng.choice((1, 1, 2, 3)))
        }
        elements.append(
            f"<urn:e{number}#t=2026-05-01T08:00:{second:02}Z> {{ {' . '.join(sorted(triples))} }}"
        )
    return "\n".join(elements)


@pytest.mark.parametrize("name", SAME)
def test_a_short_form_is_what_it_stands_for(name):
    language, short, written = SAME[name]
    found = 0
    for seed in range(12):
        one, other = (
            Example(name, (f"{PROLOGUE}{text}",), None, None, stream(seed), "") for text in (short, written)
        )
        expected = windows.by_definition(other, language)
        assert windows.by_definition(one, language) == expected, seed
        assert windows.by_the_engine(one, language) == expected, seed
        found += sum(expected[1].values())
    assert found
