"""Rows that leave: the engine says at every instant what the oracle says for what is there at it."""

from __future__ import annotations

import numpy as np
import pytest

from agreement.changing_runs import differences, engine_content, program_of
from agreement.histories import Arrival, ChangingCase, make_history
from oracle.cases import Case, GraphData, StreamData
from oracle.changing import Change
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.model import Occurrence
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from penstock.errors import QueryError
from penstock.terms import XSD, Literal

A, B, C = iri(":a"), iri(":b"), iri(":c")
KNOWS, PRICE = iri(":knows"), iri(":price")


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(8))
def test_random_histories(part: int) -> None:
    compared = refused = 0
    for seed in range(part * 25, part * 25 + 25):
        history = make_history(seed)
        try:
            count, lines = differences(history, (1, 2, 8)[seed % 3], restore=seed % 5 > 2)
        except (TooManySolutions, NoClosure):
            continue
        except QueryError:
            refused += 1
            continue
        assert not lines, "\n".join([str(history), *lines])
        compared += count
    assert compared > 100 and refused < 10


def history_of(*queries: str, changes=(), graphs=(), plain: bool = False) -> ChangingCase:
    """A history with one change in each batch."""
    streams = (StreamData(iri(":s1"), ()), StreamData(iri(":s2"), ()))
    texts = tuple(PROLOGUE + query for query in queries)
    case = Case(1, streams, tuple(GraphData(None, triples) for triples in graphs), texts, 0, ())
    arrivals = tuple(Arrival(0, changes=(change,)) for change in changes)
    batches = tuple(((0, number),) for number in range(len(arrivals)))
    return ChangingCase(case, frozenset({0}), arrivals, batches, 0)


def change(since: int, subject, predicate, object_, *, weight: int = 1, until: int | None = None) -> Change:
    """A timeless occurrence that is there from a tick on."""
    end = None if until is None else EPOCH + until * TICK
    return Change(Occurrence(subject, predicate, object_), EPOCH + since * TICK, end, weight)


def texts_at(history: ChangingCase, tick: int, query: int = 0) -> dict[tuple[str, ...], int]:
    found = engine_content(history)[query].at(EPOCH + tick * TICK)
    return {tuple(text for _, text in bindings): count for (bindings, _, _), count in found.items()}


def number(value: int) -> str:
    return str(Literal(str(value), datatype=XSD.integer))


def test_what_a_distinct_takes_back_reaches_the_count_over_it() -> None:
    """DISTINCT over what leaves gives -1 rows, and so does the count over them."""
    history = history_of(
        "SELECT (COUNT(?x) AS ?n) WHERE { { SELECT DISTINCT ?x WHERE { ?x :knows ?y } } }",
        changes=[
            change(1, A, KNOWS, B),
            change(2, A, KNOWS, C),
            change(3, B, KNOWS, C),
            change(4, A, KNOWS, B, weight=-1),
            change(5, A, KNOWS, C, weight=-1),
            change(6, B, KNOWS, C, weight=-1),
        ],
    )
    counts = [texts_at(history, tick) for tick in range(8)]
    assert counts == [{(number(n),): 1} for n in (0, 1, 1, 2, 2, 1, 0, 0)]
    assert differences(history, 1, restore=True)[1] == []


def test_a_cycle_does_not_keep_itself() -> None:
    """a knows b knows a: when one leaves, what the path has found through both goes with it."""
    history = history_of(
        "SELECT ?x ?y WHERE { ?x :knows+ ?y }",
        changes=[
            change(1, A, KNOWS, B),
            change(2, B, KNOWS, A),
            change(4, A, KNOWS, B, weight=-1),
            change(5, B, KNOWS, A, weight=-1),
        ],
    )
    assert [len(texts_at(history, tick)) for tick in range(7)] == [0, 1, 4, 4, 1, 0, 0]
    assert differences(history, 1, restore=False)[1] == []


def test_removal_of_what_was_never_there_is_owed() -> None:
    """Multiplicities are those of a Z-set: what was taken back too often must come once more."""
    history = history_of(
        "SELECT DISTINCT ?x WHERE { ?x :knows ?y }",
        changes=[change(1, A, KNOWS, B, weight=-1), change(2, A, KNOWS, B), change(3, A, KNOWS, B)],
    )
    assert [len(texts_at(history, tick)) for tick in range(5)] == [0, 0, 0, 1, 1]
    assert differences(history, 1, restore=True)[1] == []


def test_late_changes_are_counted_and_left_out() -> None:
    history = history_of(
        "SELECT ?x WHERE { ?x :knows ?y }",
        changes=[change(5, A, KNOWS, B), change(3, B, KNOWS, C), change(6, C, KNOWS, A, until=9)],
    )
    assert history.late == {1}
    assert texts_at(history, 7) == {("<http://example.org/a>",): 1, ("<http://example.org/c>",): 1}
    assert texts_at(history, 9) == {("<http://example.org/a>",): 1}


def test_static_knowledge_is_there_always_and_meets_what_changes() -> None:
    history = history_of(
        "SELECT ?x ?n WHERE { ?x :price ?n OPTIONAL { ?x :knows ?y FILTER EXISTS { ?y :knows ?x } } }",
        changes=[change(1, A, KNOWS, B), change(2, B, KNOWS, A, until=4)],
        graphs=[((A, PRICE, Literal("1")), (C, PRICE, Literal("2")))],
    )
    assert differences(history, 1, restore=True) == (differences(history, 1, restore=False)[0], [])
    assert len(texts_at(history, -5)) == 2


def test_a_recursive_rule_over_what_leaves_is_refused_by_name() -> None:
    rule = "CONSTRUCT { ?x :reaches ?z } WHERE { ?x :reaches ?y . ?y :knows ?z }"
    history = history_of("CONSTRUCT { ?x :reaches ?y } WHERE { ?x :knows ?y }", rule)
    with pytest.raises(QueryError, match="a rule feeds itself with what can leave again: .*:?reaches"):
        program_of(history, 1).open(0)


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT ?x WHERE { ?x :price ?z } ORDER BY ?z LIMIT 1",
        "{ ?v :price ?z } OPTIONAL { ?w :knows ?x }",
        "{ ?v :price ?z } MINUS { ?v :knows ?x }",
    ],
)
def test_exists_that_asks_a_stream_instant_by_instant_is_refused_by_name(inner: str) -> None:
    """For solutions that can leave; for those that stay, and in a window, it is answered."""
    query = "SELECT ?x WHERE {{ GRAPH {} {{ ?x :knows ?v }} FILTER EXISTS {{ GRAPH {} {{ {} }} }} }}"
    with pytest.raises(QueryError, match="in an EXISTS looks at a stream instant by instant"):
        program_of(history_of(query.format(":s1", ":s2", inner)), 1).open(0)
    program_of(history_of(query.format(":s2", ":s2", inner)), 1).open(0)
    program_of(history_of(query.format(":s1", ":s1", inner)), 1).open(0)


def test_what_never_changes_keeps_no_presence() -> None:
    """A stream beside a window is stored as before."""
    program = program_of(history_of("SELECT * WHERE { GRAPH :s2 { ?x :knows ?y . ?y :price ?z } }"), 1)
    stores = [store for operator in program.open(0).shard.operators for store in operator.stores]
    assert stores and not any(store.changing for store in stores)
    assert np.array([store.part((0, False)).presence.shape[0] for store in stores]).sum() == 0
