"""What the analyses claim holds in the oracle's evaluation of random queries over random streams.

Each claim is turned into an experiment: a bound that was pushed down is enforced there, a
partition key is separated by its values, an instant at which nothing happens is added; the
answers must stay the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest

from oracle.closure import NoClosure, closure
from oracle.evaluate import Effort, Scope, TooManySolutions, evaluate_pattern
from oracle.generator import REPEATED, make_case, parsed
from oracle.model import TimedDataset
from oracle.reading import chosen, default_graph, instants_of, reads_a_stream
from penstock.algebra import (
    BGP,
    Call,
    Construct,
    Exists,
    Extend,
    Filter,
    Graph,
    PathPattern,
    Pattern,
    Query,
    Select,
    Values,
    Var,
)
from penstock.errors import QueryError
from penstock.plan.analysis.bounds import inherit
from penstock.plan.analysis.keys import possible_keys
from penstock.plan.analysis.reads import LookUps, can_be_timeless, needs_instants, reads_stream
from penstock.plan.analysis.recursion import feeding, programs
from penstock.plan.analysis.rule_graphs import with_rules
from penstock.plan.analysis.variables import certain, possible
from penstock.plan.analysis.walk import children
from penstock.plan.catalog import ActiveDataset, Catalog, GraphName, StreamName
from penstock.terms import XSD, Literal, Term
from penstock.timeline import format_duration

SEEDS = [*range(100), 176, 212, 255, *range(REPEATED, REPEATED + 40)]


@dataclass(frozen=True)
class Asked:
    """A query of a random case: for the oracle, and for the analyses."""

    query: Query
    scope: Scope
    dataset: ActiveDataset
    derived: LookUps


def catalog_of(case) -> Catalog:
    return Catalog(
        tuple(StreamName(stream.name and stream.name.value) for stream in case.streams),
        tuple(
            GraphName(graph.name and graph.name.value, frozenset(p.value for _, p, _ in graph.triples))
            for graph in case.graphs
        ),
    )


@lru_cache(maxsize=None)
def asked(seed: int) -> list[Asked]:
    """The queries of a case, unless the oracle cannot evaluate it."""
    case = make_case(seed, size=14)
    queries = parsed(case)
    try:
        rules = [query for query in queries if isinstance(query, Construct)]
        closed = closure(rules, case.dataset, now=case.now, effort=Effort())
    except (NoClosure, TooManySolutions):
        return []
    catalog = with_rules(catalog_of(case), queries)
    datasets = [catalog.active(query.dataset) for query in queries]
    timeless = feeding(queries, datasets).timeless
    return [
        Asked(query, scope_of(query, closed, case.now), dataset, derived)
        for query, dataset, derived in zip(queries, datasets, timeless, strict=True)
    ]


def scope_of(query: Query, dataset: TimedDataset, now: int) -> Scope:
    own = chosen(dataset, query.dataset)
    return Scope(own, default_graph(own), tuple(instants_of(query, own)), now, None)


def solutions(pattern: Pattern, scope: Scope) -> list | None:
    try:
        return evaluate_pattern(pattern, replace(scope, effort=Effort()))
    except TooManySolutions:
        return None


def parts(
    pattern: Pattern, scope: Scope, dataset: ActiveDataset
) -> Iterator[tuple[Pattern, Scope, ActiveDataset]]:
    """The pattern and its parts, each where it is evaluated; not what is inside GRAPH ?g."""
    yield pattern, scope, dataset
    if isinstance(pattern, Graph):
        if isinstance(pattern.name, Var):
            return
        scope = replace(scope, active=scope.dataset.named.get(pattern.name, ()))
        dataset = dataset.within(pattern.name)
    for child in children(pattern):
        yield from parts(child, scope, dataset)


def rebuilt(pattern: Pattern, change: Callable[[Pattern, int], Pattern]) -> Pattern:
    """The pattern with each child changed; the function gets the child and its place."""
    if len(children(pattern)) == 2:
        return replace(pattern, left=change(pattern.left, 0), right=change(pattern.right, 1))
    if len(children(pattern)) == 1:
        return replace(pattern, pattern=change(pattern.pattern, 0))
    return pattern


def test_the_random_queries_put_the_claims_to_the_test():
    claims = Counter()
    for seed in SEEDS:
        for each in asked(seed):
            rows = solutions(each.query.pattern, each.scope)
            if not rows:
                continue
            claims["key"] += bool(possible_keys(each.query, each.dataset, each.derived))
            claims["timeless"] += any(row.timeless for row in rows)
            claims["quiet"] += not needs_instants(each.query.pattern, each.dataset, each.derived)
    assert claims["key"] >= 30 and claims["quiet"] >= 50 and claims["timeless"] >= 2, claims


# --- variables, streams, timeless solutions, instants ------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_variables_and_timeless_solutions(seed):
    for each in asked(seed):
        for pattern, scope, dataset in parts(each.query.pattern, each.scope, each.dataset):
            assert reads_stream(pattern, dataset) == reads_a_stream(pattern, scope.active, scope.dataset)
            names = {var.name for var in possible(pattern)}
            always = {var.name for var in certain(pattern)}
            for solution in solutions(pattern, scope) or ():
                assert always <= set(solution.bindings) <= names
                if solution.timeless:
                    assert can_be_timeless(pattern, dataset, each.derived)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_instant_at_which_nothing_ends_changes_no_answer_unless_instants_are_needed(seed):
    for each in asked(seed):
        if needs_instants(each.query.pattern, each.dataset, each.derived):
            continue
        quiet = replace(each.scope, instants=(*each.scope.instants, 1, 2**50))
        before = solutions(each.query.pattern, each.scope)
        after = solutions(each.query.pattern, quiet)
        if before is not None and after is not None:
            assert Counter(before) == Counter(after)


# --- bounds --------------------------------------------------------------------------------------


def enforced(pattern: Pattern, bound: int | None) -> Pattern:
    """The pattern with every bound that it inherits made a filter of that part."""
    below = inherit(pattern, bound)
    inner = rebuilt(pattern, lambda child, place: enforced(child, below[place]))
    if bound is None:
        return inner
    limit = Literal(format_duration(bound), datatype=XSD.dayTimeDuration)
    short = Call("<=", (Call("GETDURATION"), limit))
    timeless_too = Call("COALESCE", (short, Literal(True)))
    return Filter(timeless_too, inner)


def test_bounds_take_no_answer_away_and_add_none():
    with_answers = 0
    for seed in range(300):
        queries = parsed(make_case(seed, size=14))
        if all(enforced(query.pattern, None) == query.pattern for query in queries):
            continue
        for each in asked(seed):
            bounded = enforced(each.query.pattern, None)
            before, after = (solutions(p, each.scope) for p in (each.query.pattern, bounded))
            if before is not None and after is not None:
                assert Counter(before) == Counter(after), seed
                with_answers += bounded != each.query.pattern and bool(before)
    assert with_answers >= 10


# --- keys ----------------------------------------------------------------------------------------


def only(pattern: Pattern, key: Var, value: Term) -> Pattern:
    """The pattern as the partition that owns one value of the key evaluates it."""
    pattern = rebuilt(pattern, lambda child, _: only(child, key, value))
    if isinstance(pattern, Filter):
        pattern = replace(pattern, condition=only_inside(pattern.condition, key, value))
    elif isinstance(pattern, Extend):
        pattern = replace(pattern, expression=only_inside(pattern.expression, key, value))
    elif getattr(pattern, "condition", None) is not None:
        pattern = replace(pattern, condition=only_inside(pattern.condition, key, value))
    introduces = (
        (isinstance(pattern, (BGP, PathPattern, Values)) and key in possible(pattern))
        or (isinstance(pattern, Extend) and pattern.var == key)
        or (isinstance(pattern, Graph) and pattern.name == key)
    )
    if not introduces:
        return pattern
    mine = Call("SAMETERM", (key, value))
    return Filter(Call("||", (Call("!", (Call("BOUND", (key,)),)), mine)), pattern)


def only_inside(expression, key: Var, value: Term):
    if isinstance(expression, Exists):
        return Exists(only(expression.pattern, key, value))
    if isinstance(expression, Call):
        return Call(expression.name, tuple(only_inside(a, key, value) for a in expression.args))
    return expression


def terms_of(scope: Scope) -> set[Term]:
    sources = [*scope.active, *(s for graph in scope.dataset.named.values() for s in graph)]
    return {
        term
        for source in sources
        for occurrence in source.occurrences
        for term in (occurrence.subject, occurrence.object)
    }


def has_expressions_that_hide_exists(pattern: Pattern) -> bool:
    """EXISTS in GROUP BY, ORDER BY: rare, and `only` does not rebuild these."""
    return any(
        not isinstance(node, (Filter, Extend))
        and not hasattr(node, "condition")
        and any(isinstance(part, Exists) for part in node.expressions)
        for node in (pattern, *children(pattern))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_partitions_of_a_key_together_give_the_timed_answers(seed):
    for each in asked(seed):
        pattern = each.query.pattern
        if not isinstance(each.query, (Select, Construct)):
            continue
        if has_expressions_that_hide_exists(pattern):
            continue
        for key in possible_keys(each.query, each.dataset, each.derived):
            whole = solutions(pattern, each.scope)
            together: Counter | None = Counter()
            for value in terms_of(each.scope):
                found = solutions(only(pattern, key.variable, value), each.scope)
                if found is None:
                    together = None
                    break
                together.update(row for row in found if not row.timeless)
            if whole is not None and together is not None:
                assert Counter(row for row in whole if not row.timeless) == together


# --- rules ---------------------------------------------------------------------------------------


def test_programs_that_are_accepted_have_a_closure():
    accepted = refused = 0
    for seed in range(200):
        case = make_case(seed, size=10)
        queries = parsed(case)
        rules = [query for query in queries if isinstance(query, Construct)]
        if not rules:
            continue
        try:
            catalog = with_rules(catalog_of(case), rules)
            programs(feeding(rules, [catalog.active(rule.dataset) for rule in rules]))
        except QueryError:
            refused += 1
            continue
        accepted += 1
        try:
            closure(rules, case.dataset, now=case.now, effort=Effort())
        except TooManySolutions:
            continue
    assert accepted >= 15, (accepted, refused)
