"""Runs over streams: what is late belongs to them, and a long one is put together once."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest

from agreement.engine_runs import engine_answers, occurrences_of, program_of
from agreement.tunings import tiny
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.generator import answers
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from penstock.engine.operators import Matcher
from penstock.terms import XSD, Literal
from penstock.timeline import NEVER

QUERY = (
    PROLOGUE + "SELECT ?x ?n ?total ?first ?last { { ?x :kind :begin } SEQ "
    "{ ?x :price ?p }+ (COUNT(*) AS ?n) (SUM(?p) AS ?total) (FIRST(?p) AS ?first) (LAST(?p) AS ?last) "
    "SEQ { ?x :kind :end } }"
)


def said(predicate: str, object_, tick: int) -> Element:
    at = EPOCH + tick * TICK
    return Element(((iri(":a"), iri(predicate), object_),), at, at)


def price(tick: int) -> Element:
    return said(":price", Literal(f"{tick}.5", datatype=XSD.decimal), tick)


def case_of(elements: list[Element], batches: list[list[int]], lateness: int = 0) -> Case:
    return Case(
        seed=1,
        streams=(StreamData(None, tuple(elements)),),
        graphs=(),
        queries=(QUERY,),
        lateness=lateness * TICK,
        batches=tuple(tuple((0, place) for place in batch) for batch in batches),
    )


BEGIN, END = iri(":begin"), iri(":end")


def test_what_is_late_within_the_lateness_is_in_its_run():
    elements = [said(":kind", BEGIN, 0), price(2), said(":kind", END, 5), price(3), price(6), price(20)]
    case = case_of(elements, [[0, 1], [2], [4], [3], [5]], lateness=4)
    [found] = answers(case)
    [row] = found
    assert '"2"' in str(row) and found.total() == 1
    assert engine_answers(case) == [found]


def test_what_has_no_time_begins_and_ends_no_run():
    text = QUERY.replace(":kind :begin", ":load ?l")
    case = case_of([price(1), price(2), said(":kind", END, 5)], [[0], [1], [2]])
    graph = GraphData(None, ((iri(":a"), iri(":load"), Literal("1")),))
    case = replace(case, queries=(text,), graphs=(graph,))
    assert engine_answers(case) == answers(case) == [{}]


@pytest.mark.parametrize("size", [1, 7])
def test_a_long_run_is_looked_at_once_whatever_the_batches(size: int):
    count = 400
    elements = [said(":kind", BEGIN, 0), *(price(tick) for tick in range(1, count + 1))]
    elements.append(said(":kind", END, count + 1))
    batches = [list(range(len(elements)))[at : at + size] for at in range(0, len(elements), size)]
    case = case_of(elements, batches)
    looked_at = 0
    pairs = Matcher.pairs

    def counting(self, frame, **how):
        nonlocal looked_at
        for rows, partners, which in pairs(self, frame, **how):
            looked_at += len(rows)
            yield rows, partners, which

    with patch.object(Matcher, "pairs", counting):
        found = engine_answers(case, tuning=tiny(Random(3)))
    assert found == answers(case) and found[0].total() == 1
    assert looked_at == count


def test_a_bound_on_the_duration_lets_members_be_forgotten():
    short = 'FILTER (getDURATION() < "PT20S"^^xsd:dayTimeDuration) }'
    elements = []
    for tick in range(0, 180, 9):
        elements += [said(":kind", BEGIN, tick), *(price(tick + n) for n in range(1, 8))]
        elements.append(said(":kind", END, tick + 8))
    batches = [[place] for place in range(len(elements))]
    bounded = case_of(elements, batches)
    bounded = replace(bounded, queries=(QUERY[:-1] + short,))
    assert engine_answers(bounded, restore=True) == answers(bounded)
    assert held(bounded) < 60 < 140 < held(case_of(elements, batches))


def held(case: Case) -> int:
    """The rows that operators hold in the end."""
    program = program_of(case, 1, tiny(Random(5)))
    shard = program.open(0)
    watermark = NEVER
    for element in case.streams[0].elements:
        payloads = [payload for _, payload in program.route(0, occurrences_of([element], program.key))]
        list(shard.answers(payloads, watermark, False))
        watermark = element.end
        list(shard.answers([], watermark, False))
    return sum(len(store) for operator in shard.shard.operators for store in operator.stores)
