"""Class expressions of queries in runs: over static knowledge, over streams, and where knowledge changes."""

from __future__ import annotations

import pytest

import penstock
from oracle.notation import triples
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.pipeline.entailment import ClosedFiles, entailed
from penstock.rules.executors import RuleConfig
from penstock.rules.library import ruleset
from penstock.timeline import parse_instant

PREFIXES = "PREFIX : <http://example.org/> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
RULES = ("owl2-rl", "owl2-direct")
BITERS = "SELECT ?x { ?x a [ owl:onProperty :bites ; owl:someValuesFrom [ owl:unionOf (:Cat :Dog) ] ] }"
BEGIN = parse_instant("2026-05-01T08:00:00Z")


def told(turtle: str) -> tuple:
    return triples(PREFIXES + turtle)


def local(answers) -> list[str]:
    return sorted(" ".join(term.value.rsplit("/")[-1] for term in row.values()) for row in answers)


@pytest.mark.parametrize("all_rules", [False, True])
def test_over_static_knowledge(all_rules):
    engine = penstock.Engine(rules=RULES, all_rules=all_rules)
    engine.add_graph(told(":tom a :Cat . :rex :bites :tom . :max :bites :bone"))
    engine.add_query(PREFIXES + BITERS, name="biters")
    engine.add_query(PREFIXES + "SELECT ?c { :rex a ?c }", name="classes")
    found = engine.all_answers()
    assert local(found["biters"]) == ["rex"]
    assert all("penstock" not in each for each in local(found["classes"]))


def test_without_the_regime_the_query_looks_for_triples():
    engine = penstock.Engine(rules=["owl2-rl"]).add_graph(told(":tom a :Cat . :rex :bites :tom"))
    assert local(engine.add_query(PREFIXES + BITERS).answers()) == []


def test_over_a_stream():
    said = [":rex :bites :tom . :tom a :Cat", ":rex :bites :max", ":max a :Dog", ":max :bites :old"]
    elements = [(told(turtle), BEGIN + 1_000_000 * n) for n, turtle in enumerate(said)]
    engine = penstock.Engine(master="local[2]", shards=2, rules=RULES)
    engine.add_stream(elements).add_graph(told(":old a :Cat"))
    engine.add_query(PREFIXES + BITERS)
    assert local(engine.answers()) == ["max", "rex"]


class Files:
    """Knowledge that may change while a run goes on."""

    watched = True

    def __init__(self, *graphs) -> None:
        self.graphs = graphs


@pytest.mark.sample(0)
def test_where_knowledge_changes():
    query, rules = parse_query(PREFIXES + BITERS), tuple(ruleset(RULES))
    files = Files(graph_of(told(":tom a :Cat"), None))
    begun = entailed(files.graphs, [query], RuleConfig(rules), 0, changing=True)
    closed = ClosedFiles(files, begun)
    files.graphs = (graph_of(told(":rex :bites :tom . :tom a :Dog"), None),)
    [graph] = closed.graphs
    found = penstock.Engine().add_graph(_terms(graph))
    found.add_query(f"SELECT ?x {{ ?x a <{_name(begun)}> }}")
    assert local(found.answers()) == ["rex"]


def _terms(graph) -> list:
    from penstock.columns.terms import TermTable

    table = TermTable(graph.terms, key=graph.key)
    return [tuple(map(table.term, ids)) for ids in graph.triples.T.tolist()]


def _name(begun) -> str:
    """The name that the query has for its expression."""
    [triple] = [t for t in begun.applied.queries[0].query.pattern.pattern.pattern.triples]
    return triple.object.value
