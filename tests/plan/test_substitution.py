"""When a look-up answers EXISTS, and when its pattern is evaluated for each outer solution."""

from __future__ import annotations

import pytest

from penstock.algebra.nodes import Filter, Project, Var
from penstock.languages import parse_query
from penstock.plan import steps
from penstock.plan.analysis import walk
from penstock.plan.catalog import Catalog, StreamName
from penstock.plan.compilation.substitution import is_independent
from penstock.plan.planning import make_plan

PREFIX = "PREFIX : <http://example.org/> "


def exists_pattern(inside: str):
    query = parse_query(f"{PREFIX} SELECT * {{ ?x :p ?n FILTER EXISTS {{ {inside} }} }}").query
    assert isinstance(query.pattern, Project) and isinstance(query.pattern.pattern, Filter)
    [pattern] = walk.exists_patterns(query.pattern.pattern)
    return pattern


OUTER = frozenset((Var("x"), Var("n")))


@pytest.mark.parametrize(
    "inside",
    [
        "?x :q ?m",
        "?x :q ?m . ?m :r ?n",
        "{ ?x :q ?m } SEQ { ?x :q ?n }",
        "{ ?x :q ?m } UNION { ?m :q ?n }",
        "?x :q ?m FILTER (?m > 3)",
        "?x :q ?n FILTER (?n > 3)",
        "?x :q ?m OPTIONAL { ?x :r ?k }",
        "?x :q ?m MINUS { ?x :r ?k }",
        "{ SELECT ?x { ?x :q ?n } }",
        "{ SELECT ?m { ?x :q ?m } LIMIT 3 }",
        "{ SELECT ?x (COUNT(*) AS ?c) { ?x :q ?m } GROUP BY ?x }",
        "{ SELECT (COUNT(*) AS ?c) { ?x :q ?m } }",
        "?x :q+ ?m",
    ],
)
def test_compatible_solutions_are_enough(inside: str):
    assert is_independent(exists_pattern(inside), OUTER)


@pytest.mark.parametrize(
    "inside",
    [
        "?x :q ?m FILTER (?m > ?n)",
        "?x :q ?m FILTER NOT EXISTS { ?m :q ?n }",
        "?x :q ?m BIND (?n + 1 AS ?k)",
        "?m :q ?k BIND (1 / ?k AS ?n)",
        "?x :q ?m OPTIONAL { ?x :r ?n }",
        "?x :q ?m MINUS { ?x :r ?n }",
        "?y :q ?m OPTIONAL { ?y :r ?x } MINUS { ?x :s ?m }",
        "{ SELECT ?x { ?x :q ?m } LIMIT 3 }",
        "{ SELECT ?x { ?x :q ?m } ORDER BY ?m }",
        "{ SELECT ?n (COUNT(*) AS ?c) { ?y :q ?m OPTIONAL { ?y :r ?n } } GROUP BY ?n }",
        "?x :q* ?m",
        "?m ^(:q?/:r) ?x",
    ],
)
def test_outer_bindings_are_substituted(inside: str):
    assert not is_independent(exists_pattern(inside), OUTER)


def plan_of(inside: str) -> list[steps.Step]:
    query = parse_query(f"{PREFIX} SELECT * {{ ?x :p ?n FILTER EXISTS {{ {inside} }} }}")
    plan = make_plan([query], Catalog((StreamName(),)), ["q"])
    return list(plan.queries[0].step.walk())


def test_a_look_up_needs_no_domain_of_outer_bindings():
    assert not any(isinstance(step, steps.OuterBindings) for step in plan_of("?x :q ?m MINUS { ?x :r ?k }"))


def test_limit_counts_for_each_outer_solution():
    [sliced] = [s for s in plan_of("{ SELECT ?x { ?x :q ?m } LIMIT 3 }") if isinstance(s, steps.Sliced)]
    assert sliced.tag is not None and sliced.tag in sliced.input.vars


def test_what_a_sub_select_hides_is_not_substituted():
    found = plan_of("{ SELECT ?m { ?x :q ?m } LIMIT 3 }")
    assert [step.tag for step in found if isinstance(step, steps.Sliced)] == [None]
