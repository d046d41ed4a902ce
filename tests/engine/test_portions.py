"""What can be many more rows than came in is made in portions, and what says no more is not kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from penstock import pipeline
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.program_shard import ProgramShard
from penstock.engine.tuning import Tuning
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import SECOND

EX = "http://example.org/"
PROLOGUE = f"PREFIX : <{EX}>\n"


def shard_of(query: str, tuning: Tuning, graphs: Sequence[StaticGraph] = ()) -> ProgramShard:
    program = pipeline.program(
        [parse_query(PROLOGUE + query)], [StreamName(None)], graphs, shards=1, now=0, tuning=tuning
    )
    shard = program.open(0)

    def take(predicate: str, count: int, at: int, watermark: int, distinct: int) -> int:
        """Gives the shard that many occurrences of an instant; how many answers follow."""
        terms = TermTable()
        subjects = [terms.add(NamedNode(f"{EX}s{i}")) for i in range(distinct)]
        values = [terms.add(Literal(str(i), datatype=XSD.integer)) for i in range(count)]
        columns = (
            np.resize(np.array(subjects, np.int64), count),
            np.full(count, terms.add(NamedNode(EX + predicate)), np.int64),
            np.array(values, np.int64),
            np.full(count, at, np.int64),
            np.full(count, at, np.int64),
        )
        occurrences = Occurrences(*columns, instants=np.array([at]), terms=terms.chunk())
        payloads = [payload for _, payload in program.route(0, occurrences)]
        return sum(table.num_rows for _, table in shard.answers(payloads, watermark, False))

    shard.take = take
    return shard


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    "pattern",
    [
        "{ ?x :p ?a . ?y :q ?b FILTER (STR(?a) = CONCAT(STR(?b), '0')) }",
        "{ { ?x :p ?a } EQUALS { ?y :q ?b } FILTER (STR(?a) = CONCAT(STR(?b), '0')) }",
        "{ ?y :q ?b OPTIONAL { ?x :p ?a FILTER (STR(?a) = CONCAT(STR(?b), '0')) } FILTER (BOUND(?a)) }",
    ],
)
def test_combinations_that_a_filter_rejects_are_never_there_all_at_once(pattern: str):
    count = 350
    for size in (40, count):  # the first time, modules are imported and kernels compiled
        shard = shard_of(f"SELECT * WHERE {pattern}", Tuning(pairs=100))
        shard.take("p", size, 7, 7, distinct=1)
        if size < count:
            shard.take("q", size, 7, 8, distinct=1)
    tracemalloc.start()
    answers = shard.take("q", count, 7, 8, distinct=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answers == count // 10 - 1  # 10 is 1 and a nought, and so on to 340
    assert peak < count * count * 8, "one column of all combinations"


@pytest.mark.parametrize("absent", ["FILTER NOT EXISTS { ?x :p ?b }", "MINUS { ?x :p ?b }"])
def test_absence_remembers_different_bindings_not_solutions(absent: str):
    shard = shard_of(f"SELECT * WHERE {{ ?x :q ?a {absent} }}", Tuning())
    for at in range(60):
        shard.take("p", 100, at, at, distinct=10)
    [held] = [
        store
        for operator in shard.shard.operators
        for store in operator.stores
        if store.name.endswith(("sought", "absent"))
    ]
    assert len(held) == 10
    assert shard.take("q", 30, 70, 71, distinct=15) == 10, "five of fifteen, twice each, were never there"


@pytest.mark.parametrize(
    "pattern",
    [
        "?x :p ?a VALUES ?x { :s0 :s1 }",
        "VALUES ?x { :s0 :s1 } { ?x :p ?a }",
        "?x :p ?a GRAPH :rooms { ?x :in ?room }",
        "?x :p ?a . GRAPH :rooms { ?x :in ?room . ?room :in ?house }",
    ],
)
def test_what_has_met_all_that_is_static_is_not_kept(pattern: str):
    rooms = graph_of(
        [tuple(NamedNode(EX + name) for name in triple) for triple in (("s0", "in", "r"), ("r", "in", "h"))],
        EX + "rooms",
    )
    shard = shard_of(f"SELECT * WHERE {{ {pattern} }}", Tuning(expired=3), [rooms])
    found = 0
    for second in range(20):
        found += shard.take("p", 10, second * SECOND, second * SECOND, distinct=2)
    assert found >= 20 * 5
    assert sum(len(store) for operator in shard.shard.operators for store in operator.stores) < 60
