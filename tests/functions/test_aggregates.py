"""The set functions over groups, with errors, nothing, and duplicates."""

from __future__ import annotations

import random

import pytest

from functions.notation import term
from penstock.algebra.nodes import Aggregate, Var
from penstock.functions.aggregates import aggregate
from penstock.terms import Literal

X = Var("x")


def over(name, *texts, distinct=False, separator=None):
    """The aggregate over terms; None stands for an error, in the values and in the answer."""
    values = [text if text is None else term(text) for text in texts]
    return aggregate(Aggregate(name, X, distinct, separator), values)


@pytest.mark.parametrize(
    ("name", "texts", "answer"),
    [
        ("COUNT", [], "0"),
        ("COUNT", ["1", "1", ":a"], "3"),
        ("COUNT", ["1", None], "1"),
        ("SUM", [], "0"),
        ("SUM", ["1", "2"], "3"),
        ("SUM", ["1", "2.5"], "3.5"),
        ("SUM", ["1", "2.5", "1e0"], '"4.5E0"^^xsd:double'),
        ("SUM", ["1", '"0.5"^^xsd:float'], '"1.5E0"^^xsd:float'),
        ("SUM", ["1", '"a"'], None),
        ("SUM", ["1", None], None),
        ("SUM", ['"PT1H"^^xsd:dayTimeDuration'] * 2, '"PT2H"^^xsd:dayTimeDuration'),
        ("SUM", ['"INF"^^xsd:double', '"-INF"^^xsd:double'], '"NaN"^^xsd:double'),
        ("AVG", [], "0"),
        ("AVG", ["1", "2"], "1.5"),
        ("AVG", ["2", "2"], '"2"^^xsd:decimal'),
        ("AVG", ["1", "2e0"], '"1.5E0"^^xsd:double'),
        ("AVG", ["1", ":a"], None),
        ("AVG", ["1", None], None),
        ("AVG", ['"PT1H"^^xsd:duration', '"PT2H"^^xsd:duration'], '"PT1H30M"^^xsd:duration'),
        ("MIN", [], None),
        ("MIN", ["2", "1.5", "1e1"], "1.5"),
        ("MAX", ["2", "1.5", "1e1"], "1e1"),
        ("MIN", ["1", None], None),
        ("MAX", [None], None),
        ("MIN", ['"b"', ":a", "1"], ":a"),
        ("MAX", ['"b"', ":a", "1"], '"b"'),
        ("SAMPLE", [], None),
        ("SAMPLE", [None, "2", "1"], "1"),
        ("GROUP_CONCAT", [], '""'),
        ("GROUP_CONCAT", ['"b"', '"a"@en', "1", ":c"], '"http://example.org/c 1 b a"'),
        ("GROUP_CONCAT", ['"b"', None], None),
        ("GROUP_CONCAT", ['"b"', "_:b"], None),
    ],
)
def test_aggregates(name, texts, answer):
    assert over(name, *texts) == (answer and term(answer))


def test_distinct_looks_at_terms():
    assert over("COUNT", "1", "1", "1.0", distinct=True) == term("2")
    assert over("SUM", "2", "2", "3", distinct=True) == term("5")
    assert over("AVG", "1", "1", "4", distinct=True) == term("2.5")
    assert over("GROUP_CONCAT", '"a"', '"a"', distinct=True, separator=", ") == term('"a"')


def test_separator():
    assert over("GROUP_CONCAT", '"a"', '"b"', separator=", ") == term('"a, b"')
    assert over("GROUP_CONCAT", '"a"', '"b"', separator="") == term('"ab"')


def test_count_of_solutions():
    solutions = [("1", "2"), ("1", "2"), (None, None)]
    assert aggregate(Aggregate("COUNT"), solutions) == term("3")
    assert aggregate(Aggregate("COUNT", distinct=True), solutions) == term("2")


@pytest.mark.parametrize("name", ["SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"])
def test_the_order_of_the_members_does_not_matter(name):
    rng = random.Random(3)
    values = [
        Literal(repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-9, 9)), datatype=kind)
        for kind in (term("xsd:double"), term("xsd:double"), term("xsd:decimal"))
        for _ in range(20)
    ]
    values = [v for v in values if "e" not in v.value or "double" in v.datatype.value]
    answers = set()
    for _ in range(20):
        rng.shuffle(values)
        answers.add(aggregate(Aggregate(name, X), values))
    assert len(answers) == 1 and None not in answers
