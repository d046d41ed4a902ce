"""Runs of a repetition in a window: what they cost follows the answers, not how long the runs are."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from agreement.engine_runs import occurrences_of
from oracle.cases import Element
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from penstock import pipeline
from penstock.algebra.nodes import Aggregate, Var
from penstock.columns.terms import TermTable
from penstock.engine.lists import Lists
from penstock.functions.aggregates import aggregate
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal
from windows.test_cutting import at, case_of, given

RUN = "{ ?x :price ?p }+ (COUNT(*) AS ?n) (AVG(?p) AS ?mean) (MAX(?p) AS ?most) (LAST(?p) AS ?last)"
SEQUENCES = {
    "at the end": f"SEQ({{ ?x :kind :begin }}, {RUN})",
    "at the beginning": f"SEQ({RUN}, {{ ?x :kind :end }})",
    "between": f"SEQ({{ ?x :kind :begin }}, {RUN}, {{ ?x :kind :end }})",
}


def said(predicate: str, object_, tick: int, lasts: int = 0) -> Element:
    at = EPOCH + tick * TICK
    return Element(((iri(":a"), iri(predicate), object_),), at - lasts * TICK, at)


def elements(place: str, count: int) -> list[Element]:
    """One of what stands beside the run and many members; or as many of each, between each other."""
    price = [Literal(f"{tick % 50}.5", datatype=XSD.decimal) for tick in range(count)]
    if place == "between":
        others = {0: iri(":begin"), 2: iri(":end")}
        return [
            said(":price", price[tick], tick) if tick % 3 == 1 else said(":kind", others[tick % 3], tick)
            for tick in range(count)
        ]
    single = said(":kind", iri(":begin"), 0) if place == "at the end" else said(":kind", iri(":end"), count)
    members = [said(":price", price[tick], tick) for tick in range(1, count)]
    return sorted([single, *members], key=lambda element: element.end)


def answered(place: str, count: int, batch: int) -> tuple[int, int]:
    """How many answers there are, and rows and lists that aggregates over runs look at."""
    text = (
        f"{PROLOGUE}SELECT ?x ?n ?mean ?most ?last FROM NAMED WINDOW :w ON :s [RANGE 1h] "
        f"WHERE {{ WINDOW :w {{ {SEQUENCES[place]} }} }}"
    )
    query = parse_query(text, language="cqels-cep")
    program = pipeline.program([query], [StreamName(iri(":s").value)], [], shards=1, now=0)
    shard = program.open(0).shard
    looked_at, given, values = 0, 0, Lists.values

    def counting(self, call, column, members):
        nonlocal looked_at
        looked_at += len(members[0]) + len(values(self, call, column, members))
        return values(self, call, column, members)

    stream = elements(place, count)
    with patch.object(Lists, "values", counting):
        for first in [*range(0, count, batch), None]:
            some = [] if first is None else stream[first : first + batch]
            payloads = (
                [each for _, each in program.route(0, occurrences_of(some, program.key))] if some else []
            )
            watermark = some[-1].end if some else 0
            given += sum(map(len, shard.step(payloads, watermark, not some).values()))
    return given, looked_at


@pytest.mark.parametrize("place", SEQUENCES)
def test_a_run_costs_as_much_as_it_has_answers_whatever_its_length(place: str):
    few, many = (answered(place, count, batch=1000) for count in (150, 600))
    assert many[0] >= 4 * few[0] - 4
    assert many[1] / many[0] < 1.5 * few[1] / few[0]


def test_members_inside_others_are_listed_and_those_that_a_window_has_cut_begin_together():
    """The one that began first is the second as soon as the window cuts both: its value comes later."""
    text = (
        f"{PROLOGUE}SELECT ?first ?n FROM NAMED WINDOW :w ON :s [RANGE 6s] WHERE {{ WINDOW :w {{ "
        "SEQ({ ?x :price ?p }+ (FIRST(?p) AS ?first) (COUNT(*) AS ?n), { ?x :kind :end }) } }"
    )
    query = parse_query(text, language="cqels-cep")
    program = pipeline.program([query], [StreamName(iri(":s").value)], [], shards=1, now=0)
    shard = program.open(0).shard
    one, two = (Literal(value, datatype=XSD.integer) for value in "12")
    stream = [said(":price", two, 5, lasts=4), said(":price", one, 5, lasts=2), said(":kind", iri(":end"), 7)]
    stream.append(said(":label", one, 10))  # a reason to report
    payloads = [each for _, each in program.route(0, occurrences_of(stream, program.key))]
    answers = [*shard.step(payloads, stream[-1].end, False).values(), *shard.step([], 0, True).values()]
    found = []
    for frame in answers:
        first, count = ([shard.terms.term(id_).value for id_ in column.tolist()] for column in frame.ids)
        found += zip(((frame.since - EPOCH) / TICK).tolist(), first, count, strict=True)
    assert found == [(7.0, "2", "2"), (10.0, "1", "2")]


def test_stretches_that_overlap_have_the_aggregates_of_their_members():
    terms = TermTable()
    members = [Literal(text, datatype=XSD.decimal) for text in ("2.5", "1.0", "7.25", "1.00", "3.5")]
    members += [Literal("2.0e0", datatype=XSD.double), Literal("x"), None, Literal("4", datatype=XSD.integer)]
    ids = np.array([0 if each is None else terms.add(each) for each in members])
    begin, end = np.array([(i, j) for i in range(len(ids)) for j in range(i + 1, len(ids) + 1)]).T
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"):
        for distinct in (False, True):
            call = Aggregate(name, Var("v"), distinct, "," if name == "GROUP_CONCAT" else None)
            found = Lists(begin, end, terms).values(call, ids, ())
            wanted = [aggregate(call, members[i:j]) for i, j in zip(begin, end, strict=True)]
            assert [terms.term(id_) if id_ else None for id_ in found.tolist()] == wanted


@pytest.mark.parametrize(
    "sequence",
    [
        "!{ ?x :l ?n }, { ?x :k ?a }, { ?x :k ?m }+ (COUNT(?m) AS ?c)",
        "{ ?x :k ?a }, { ?x :k ?m }+ (COUNT(?m) AS ?c), !{ ?x :l ?n }",
        "{ ?x :k ?a }, !{ ?x :l ?n }, { ?x :k ?m }+ (COUNT(?m) AS ?c)",
        "{ ?x :k ?a }, { ?x :k ?m FILTER (?m != ?n) }+ (COUNT(?m) AS ?c)",
    ],
)
def test_in_an_exists_each_outer_solution_has_runs_of_its_own(sequence: str):
    """What is absent, or in a run, sees ?n of the outer solution: :c :k :a twice is none of :d's."""
    text = (
        "SELECT ?x ?o FROM NAMED WINDOW :W ON :s1 [RANGE 20s] "
        "WHERE { WINDOW :W { SEQ({ ?x :p ?n }, { ?x :q ?o }) } "
        f"FILTER NOT EXISTS {{ WINDOW :W {{ SEQ({sequence}) }} }} }}"
    )
    elements = (
        at(5, 5, "c p b"), at(6, 6, "c k e", "c q e"), at(6, 6, "d p b"), at(7, 7, "d q c", "c k a"),
    )  # fmt: skip
    found = [(instant, row["x"]) for instant, row, _, _ in given(case_of(text, *elements))]
    assert found == [(6, "c"), (7, "d")]
