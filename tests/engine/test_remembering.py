"""What is said about memory is one thing, whoever says it: `explain` asks operators, `check` the patterns."""

from __future__ import annotations

from random import Random

import pytest

from agreement.engine_runs import engine_answers, occurrences_of, program_of
from agreement.tunings import tiny
from oracle.cases import Case, Element, StreamData
from oracle.generator import REPEATED, answers, make_case
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from penstock.engine.program import Program
from penstock.engine.remembering import remembered
from penstock.plan.advice.retention import memories
from penstock.terms import Literal
from penstock.timeline import NEVER

TINY = tiny(Random("remembering"))
SHORT = 'FILTER (getDURATION() < "PT5S"^^xsd:dayTimeDuration)'


def case_of(where: str) -> Case:
    times = [EPOCH + tick * TICK for tick in range(200)]
    elements = [
        Element(((iri(":a"), iri((":price", ":load")[tick % 2]), Literal(str(tick))),), at, at)
        for tick, at in enumerate(times)
    ]
    return Case(
        seed=1,
        streams=(StreamData(None, tuple(elements)),),
        graphs=(),
        queries=(f"{PROLOGUE} SELECT * {{ {where} }}",),
        lateness=0,
        batches=tuple(((0, place), (0, place + 1)) for place in range(0, 200, 2)),
    )


def held(case: Case) -> int:
    """The rows that operators hold in the end."""
    program = program_of(case, 1, TINY)
    shard = program.open(0)
    watermark = NEVER
    for batch in case.batches:
        elements = [case.streams[s].elements[e] for s, e in batch]
        payloads = [payload for _, payload in program.route(0, occurrences_of(elements, program.key))]
        list(shard.answers(payloads, watermark, False))
        watermark = max(element.end for element in elements)
        list(shard.answers([], watermark, False))
    return sum(len(store) for operator in shard.shard.operators for store in operator.stores)


def for_ever(program: Program) -> list[tuple[bool, bool]]:
    """Of each query, whether `check` and whether `explain` say that something is remembered for ever."""
    found = []
    for query in program.plan.queries:
        dataset = program.plan.catalog.active(query.parsed.query.dataset)
        warned = [each for each in memories(query.parsed.query.pattern, None, dataset) if each.bound is None]
        said = [line for lines in remembered(query.step.walk()).values() for line in lines]
        found.append((bool(warned), any("for ever" in line for line in said)))
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("where", "endless"),
    [
        ("?x :price ?n . ?x :load ?m", True),
        (f"?x :price ?n . ?x :load ?m {SHORT}", False),
        (f"{{ ?x :price ?n }} SEQ {{ ?x :load ?m }} {SHORT}", False),
        ("{ ?x :price ?n } FINISHES { ?x :load ?m }", False),
        ("{ ?x :price ?n } DURING { ?x :load ?m }", True),
        (f"{{ ?x :price ?n }} DURING {{ ?x :load ?m }} {SHORT}", False),
        # what is inside something short has a partner that ends soon
        (f"{{ ?x :price ?n }} DURING {{ ?x :load ?m {SHORT} }}", False),
        (f"{{ ?x :price ?n {SHORT} }} DURING {{ ?x :load ?m }}", True),
        ("{ ?x :price ?n } MEETS { ?x :load ?m }", True),
        (f"{{ ?x :price ?n }} OVERLAPS {{ ?x :load ?m {SHORT} }}", False),
        (f"?x :price ?n OPTIONAL {{ ?x :load ?m {SHORT} }}", False),
        ("{ ?x :price ?n } SEQ { ?x :load ?m }+ (COUNT(*) AS ?c) SEQ { ?x :load 7 }", True),
        (f"{{ ?x :price ?n }} SEQ {{ ?x :load ?m }}+ (LAST(?m) AS ?l) SEQ {{ ?x :price ?k }} {SHORT}", False),
    ],
)
def test_what_is_said_is_what_is_held(where, endless):
    case = case_of(where)
    assert for_ever(program_of(case, 1)) == [(endless, endless)]
    rows = held(case)
    assert rows > 80 if endless else rows < 30, rows
    assert engine_answers(case, restore=True, tuning=TINY) == answers(case)


def test_check_warns_exactly_where_explain_says_for_ever():
    compared = []
    for seed in (*range(300), *range(REPEATED, REPEATED + 200)):
        case = make_case(seed)
        if not any("EXISTS" in text or "CONSTRUCT" in text or "DESCRIBE" in text for text in case.queries):
            found = for_ever(program_of(case, 1))
            assert all(warned == said for warned, said in found), (str(case), found)
            compared += found
    assert len(compared) > 60 and len(set(compared)) == 2, "not both kinds"
