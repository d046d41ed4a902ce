"""Thousands of rules that feed each other: planned, opened and run, in proportion to their number."""

from __future__ import annotations

import itertools
import pickle
from random import Random

import pytest

from agreement.engine_runs import occurrences_of
from oracle.cases import Element
from penstock import pipeline
from penstock.algebra import TriplePattern, Var
from penstock.engine.program import Program
from penstock.errors import QueryError
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.analysis.junctions import junctions
from penstock.plan.analysis.keys import Key
from penstock.plan.analysis.unification import AnyBut, LookUp, can_match_look_up
from penstock.plan.catalog import StreamName
from penstock.terms import BlankNode, Literal, NamedNode

MANY = 1200  # more than Python lets functions call each other
PROLOGUE = "PREFIX : <http://e/> "
# Each rule in a circle; `{i}` is its number, `{next}` that of the next one.
CIRCLES = {
    "a predicate each": "CONSTRUCT {{ ?x :p{next} ?y }} WHERE {{ ?x :p{i} ?y }}",
    "one predicate, an object each": "CONSTRUCT {{ ?x :p :c{next} }} WHERE {{ ?x :p :c{i} }}",
    "one predicate for all": "CONSTRUCT {{ ?x :p ?y }} WHERE {{ ?x :p ?z . ?z :q{i} ?y }}",
}


def iri(name: str) -> NamedNode:
    return NamedNode(f"http://e/{name}")


def program_of(texts: list[str], graphs=(), shards: int = 2) -> Program:
    queries = [parse_query(PROLOGUE + text) for text in texts]
    program = pipeline.program(queries, [StreamName()], graphs, shards=shards, now=0)
    return pickle.loads(pickle.dumps(program))


def rules_of(text: str, count: int = MANY) -> list[str]:
    return [text.format(i=i, next=(i + 1) % count) for i in range(count)]


def answers(program: Program, *triples: tuple[str, str, str]) -> int:
    """How many answers there are to these triples, stated at one instant after the other."""
    elements = [Element((tuple(map(iri, triple)),), t, t) for t, triple in enumerate(triples, 1)]
    live = [program.open(number) for number in range(program.shards)]
    payloads: list[list[bytes]] = [[] for _ in live]
    for shard, payload in program.route(0, occurrences_of(elements, program.key)):
        payloads[shard].append(payload)
    return sum(
        table.num_rows
        for shard, given in zip(live, payloads, strict=True)
        for _, table in shard.answers(given, 0, True)
    )


@pytest.mark.sample(0)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("text", list(CIRCLES.values())[:2], ids=list(CIRCLES)[:2])
def test_a_triple_goes_once_round_a_circle_of_rules(text: str, order: int):
    program = program_of(rules_of(text)[::order])
    [group] = program.plan.programs
    assert group.circles == (tuple(range(MANY)),) and set(group.strata) == {0}
    assert all(isinstance(query.key, Key) for query in program.plan.queries)
    first = ("a", "p0", "b") if "p{i}" in text else ("a", "p", "c0")
    assert answers(program, first) == MANY


@pytest.mark.sample(0)
def test_rules_that_all_feed_each_other_meet_in_one_place():
    program = program_of(rules_of(CIRCLES["one predicate for all"]))
    [group] = program.plan.programs
    assert group.circles == (tuple(range(MANY)),)
    assert [tuple(map(len, join_bounds)) for join_bounds in group.meetings] == [(MANY, MANY)]
    assert answers(program, ("a", "p", "z"), ("z", "q7", "y"), ("y", "q8", "w")) == 2


@pytest.mark.sample(0)
def test_a_long_chain_of_absence_has_as_many_strata():
    text = "CONSTRUCT {{ ?x :p{next} ?y }} WHERE {{ ?x :q ?y FILTER NOT EXISTS {{ ?x :p{i} ?z }} }}"
    rules = [text.format(i=i, next=i + 1) for i in range(MANY)]
    program = program_of(rules)
    [group] = program.plan.programs
    assert group.strata == tuple(range(MANY)) and not group.recursive
    assert answers(program, ("a", "q", "b")) == MANY // 2


@pytest.mark.sample(0)
def test_a_long_chain_of_rules_over_static_knowledge_is_timeless():
    rules = [f"CONSTRUCT {{ ?x :p{i} ?y }} WHERE {{ ?x :p{i + 1} ?y }}" for i in range(MANY)]
    known = graph_of([(iri("a"), iri(f"p{MANY}"), iri("b"))], None)
    program = program_of([*rules, "SELECT * { ?x :p0 ?y . ?x :q ?z }"], [known])
    assert answers(program, ("a", "q", "c")) >= 1


def test_a_refused_circle_names_a_few_of_its_rules():
    rules = rules_of(CIRCLES["a predicate each"])
    rules[5] = "CONSTRUCT { ?x :p6 ?z } WHERE { ?x :p5 ?y BIND (?y + 1 AS ?z) }"
    with pytest.raises(QueryError) as caught:
        program_of(rules)
    assert "1,196 more feed each other" in caught.value.message and len(caught.value.message) < 500


@pytest.mark.sample(0)
def test_thousands_of_queries_with_several_keys_each_hang_together():
    """What a rule derives from static knowledge links them, and leaves each its choice of a key."""
    label = "CONSTRUCT { ?x :label ?l } WHERE { GRAPH :g { ?x :name ?l } }"
    readers = [f"SELECT * {{ ?a :p{i} ?b . ?a :q ?b OPTIONAL {{ ?a :label ?b }} }}" for i in range(MANY)]
    program = program_of([label, *readers], [graph_of([(iri("a"), iri("name"), iri("b"))], "http://e/g")])
    [group] = program.plan.programs
    assert len(group.queries) == MANY + 1
    assert all(isinstance(query.key, Key) for query in program.plan.queries[1:])


def test_junctions_say_the_same_as_asking_each_pair():
    random = Random(7)
    variables = [Var(name) for name in "abc"]
    subjects = [*variables, *variables, iri("s"), iri("t")]
    predicates = [*variables[:2], iri("p"), iri("p"), iri("q")]
    objects = [*subjects, Literal("1"), Literal("2")]
    blanks = [BlankNode("e"), BlankNode("f")]
    for _ in range(60):
        made = [
            (
                random.choice((None, "g")),
                TriplePattern(
                    random.choice([*subjects, *blanks]),
                    random.choice(predicates),
                    random.choice([*objects, *blanks]),
                ),
            )
            for _ in range(25)
        ]
        sought = [
            (
                random.choice((None, "g")),
                LookUp(
                    random.choice([*subjects, Literal("1")]),
                    random.choice([*predicates, AnyBut((iri("p"),))]),
                    random.choice(objects),
                ),
            )
            for _ in range(25)
        ]
        met = [
            pair
            for junction in junctions(made, sought)
            for pair in itertools.product(junction.made, junction.sought)
        ]
        expected = {
            (i, j)
            for i, (graph, template) in enumerate(made)
            for j, (other, look_up) in enumerate(sought)
            if graph == other and can_match_look_up(template, look_up)
        }
        assert len(met) == len(set(met)) and set(met) == expected
        assert 50 < len(expected) < 400
