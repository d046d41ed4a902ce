"""Logic with errors, functional forms, and what looks at the solution's time or at chance."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from functions.notation import ERROR, expected, expression, term, value
from penstock.algebra.nodes import (
    BGP,
    Aggregate,
    Call,
    Exists,
    Extend,
    Filter,
    Join,
    Var,
)
from penstock.functions.chance import extended, solution_seed
from penstock.functions.evaluate import EvaluationContext, arity, evaluate, holds, known_function
from penstock.terms import BlankNode, NamedNode
from penstock.timeline import parse_instant

T, F, E = "true", "false", "?unbound"


@pytest.mark.parametrize(
    ("left", "right", "either", "both"),
    [  # the truth table of SPARQL 1.1, section 17.2
        (T, T, T, T),
        (T, F, T, F),
        (F, T, T, F),
        (F, F, F, F),
        (T, E, T, ERROR),
        (E, T, T, ERROR),
        (F, E, ERROR, F),
        (E, F, ERROR, F),
        (E, E, ERROR, ERROR),
    ],
)
def test_or_and_and_with_errors(left, right, either, both):
    assert value(("||", left, right)) == expected(either)
    assert value(("&&", left, right)) == expected(both)


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (("!", T), F),
        (("!", F), T),
        (("!", E), ERROR),
        (("IN", "2", "1", "2", "3"), T),
        (("IN", "2", "1", "3"), F),
        (("IN", "2"), F),
        (("IN", "2", "1", E), ERROR),
        (("IN", "2", E, "2"), T),
        (("IN", E, "2"), ERROR),
        (("IN", "2", "2.0"), T),
        (("NOTIN", "2", "1", "3"), T),
        (("NOTIN", "2", E, "2"), F),
        (("NOTIN", "2", E, "3"), ERROR),
        (("NOTIN", "2"), T),
        (("COALESCE", E, "1", "2"), "1"),
        (("COALESCE", ("/", "1", "0"), "5"), "5"),
        (("COALESCE", E), ERROR),
        (("COALESCE",), ERROR),
        (("IF", T, "1", E), "1"),
        (("IF", F, E, "2"), "2"),
        (("IF", E, "1", "2"), ERROR),
        (("IF", '"text"', "1", "2"), "1"),
        (("IF", ":a", "1", "2"), ERROR),
        (("BOUND", "?x"), T),
        (("BOUND", E), F),
        (("!", ("BOUND", E)), T),
        ("?x", "7"),
        (E, ERROR),
    ],
)
def test_functional_forms(written, answer):
    assert value(written, x="7") == expected(answer)


@pytest.mark.parametrize(
    ("written", "truth"),
    [  # section 17.2.2
        ("true", True),
        ("false", False),
        ('"1"^^xsd:boolean', True),
        ('"maybe"^^xsd:boolean', False),
        ("1", True),
        ("0", False),
        ("0.0", False),
        ('"NaN"^^xsd:double', False),
        ('"abc"^^xsd:integer', False),
        ('"x"', True),
        ('""', False),
        ('"x"@en', True),
        ('""@en', False),
        (":iri", False),
        ('"x"^^:unknown', False),
        ("?unbound", False),
    ],
)
def test_a_filter_holds_for_the_effective_boolean_value(written, truth):
    assert holds(expression(written), {}.get, EvaluationContext()) is truth


@pytest.mark.parametrize("written", [":iri", '"x"^^:unknown', '"2026-01-01"^^xsd:date'])
def test_what_has_no_effective_boolean_value_is_an_error_and_not_false(written):
    assert value(("!", written)) == ERROR
    assert value(("!", '"abc"^^xsd:integer')) == expected("true")


def test_exists_asks_the_context_for_the_pattern():
    pattern = BGP(())
    asked = []

    def exists(asked_pattern):
        asked.append(asked_pattern)
        return len(asked) == 1

    context = EvaluationContext(exists=exists)
    assert evaluate(Exists(pattern), {}.get, context) == term("true")
    assert holds(Call("!", (Exists(pattern),)), {}.get, context)
    assert asked == [pattern, pattern]


def test_aggregates_belong_to_groups():
    with pytest.raises(TypeError):
        evaluate(Aggregate("SUM", Var("x")), {}.get, EvaluationContext())


# --- time --------------------------------------------------------------------------------

TIMED = EvaluationContext(
    start=parse_instant("2026-01-31T12:00:00Z"),
    end=parse_instant("2026-01-31T13:05:00.250Z"),
    now=parse_instant("2026-02-01T00:00:00Z"),
)


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (("GETSTARTTIME",), '"2026-01-31T12:00:00.000Z"^^xsd:dateTime'),
        (("GETENDTIME",), '"2026-01-31T13:05:00.250Z"^^xsd:dateTime'),
        (("GETDURATION",), '"PT1H5M0.25S"^^xsd:dayTimeDuration'),
        (("NOW",), '"2026-02-01T00:00:00.000Z"^^xsd:dateTime'),
        (("<", ("GETDURATION",), '"PT2H"^^xsd:dayTimeDuration'), "true"),
        (("<", ("GETDURATION",), '"P1M"^^xsd:duration'), "true"),
        (("=", ("-", ("GETENDTIME",), ("GETSTARTTIME",)), ("GETDURATION",)), "true"),
        (("=", ("+", ("GETSTARTTIME",), ("GETDURATION",)), ("GETENDTIME",)), "true"),
    ],
)
def test_time_functions_see_the_interval_of_the_solution(written, answer):
    assert value(written, TIMED) == expected(answer)


@pytest.mark.parametrize("name", ["GETSTARTTIME", "GETENDTIME", "GETDURATION"])
def test_a_timeless_solution_has_no_times(name):
    assert value((name,), EvaluationContext(now=5)) == ERROR


# --- chance ------------------------------------------------------------------------------


def test_random_functions_repeat_for_the_same_solution_and_differ_for_another():
    here = EvaluationContext(seed=solution_seed([("x", term("1"))], 10, 20))
    there = EvaluationContext(seed=solution_seed([("x", term("2"))], 10, 20))
    later = EvaluationContext(seed=solution_seed([("x", term("1"))], 10, 21))
    for name in ("RAND", "UUID", "STRUUID", "BNODE"):
        drawn = value((name,), here)
        assert drawn == value((name,), here)
        assert len({drawn, value((name,), there), value((name,), later)}) == 3
        assert value((name,), replace(here, place="elsewhere")) != drawn


def test_the_seed_does_not_depend_on_the_order_of_bindings_or_on_unbound_ones():
    bindings = [("x", term("1")), ("y", term(":a"))]
    seed = solution_seed(bindings)
    assert solution_seed([*reversed(bindings), ("z", None)]) == seed
    assert solution_seed([("y", term("1")), ("x", term(":a"))]) != seed


def test_what_expressions_added_is_no_part_of_the_solution_that_they_drew_from():
    base = BGP(())
    bound = Extend(Filter(term("true"), Extend(base, Var("a"), term("1"))), Var("b"), term("2"))
    assert extended(base) == set()
    assert extended(bound) == {"a", "b"}
    assert extended(Extend(Join(bound, base), Var("c"), term("3"))) == {"c"}


def test_two_calls_in_one_expression_are_two_draws():
    assert value(("=", ("RAND",), ("RAND",))) == term("false")
    assert value(("SAMETERM", ("BNODE",), ("BNODE",))) == term("false")


def test_forms_of_random_values():
    for seed in range(50):
        context = EvaluationContext(seed=seed)
        assert 0 <= float(value(("RAND",), context).value) < 1
        text = value(("STRUUID",), context).value
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-\w{12}", text)
        iri = value(("UUID",), context)
        assert isinstance(iri, NamedNode) and iri.value == f"urn:uuid:{text}"


def test_bnode_with_a_label_is_one_node_per_solution_and_label():
    one, other = EvaluationContext(seed=1), EvaluationContext(seed=2)
    node = value(("BNODE", '"a"'), one)
    assert isinstance(node, BlankNode)
    assert value(("BNODE", ("CONCAT", '"a"', '""')), replace(one, place="elsewhere")) == node
    assert value(("BNODE", '"b"'), one) != node
    assert value(("BNODE", '"a"'), other) != node
    assert value(("BNODE", "1"), one) == ERROR


# --- names -------------------------------------------------------------------------------


def test_known_functions():
    for name in ("||", "NOTIN", "STRLEN", "GETDURATION", "BNODE"):
        assert known_function(name)
    assert known_function("<http://www.w3.org/2001/XMLSchema#integer>")
    assert not known_function("<http://example.org/f>")
    assert not known_function("STRLENGTH")
    assert arity("SUBSTR") == (2, 3)


def test_an_unknown_function_or_a_wrong_number_of_arguments_is_an_error():
    unknown = Call("<http://example.org/f>", (term("1"),))
    assert not holds(unknown, {}.get, EvaluationContext())
    fallback = Call("COALESCE", (unknown, term("1")))
    assert evaluate(fallback, {}.get, EvaluationContext()) == term("1")
    assert value(("STRLEN", '"a"', '"b"')) == ERROR
    assert value(("xsd:integer",)) == ERROR
    assert value(("IF", T, "1")) == ERROR
