"""Patterns whose triples come from one element, which no language writes yet, against the oracle."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from agreement.comparing import case_by_hand, compared
from agreement.engine_runs import engine_answers, occurrences_of, program_of
from agreement.tunings import tiny
from oracle.cases import Case
from oracle.generator import answers
from oracle.scopes import scope_case, scoped
from oracle.vocabulary import PROLOGUE
from penstock import algebra as a
from penstock.algebra.printing import to_sexpr
from penstock.languages import parse_query
from penstock.plan import steps, system_columns
from penstock.plan.analysis.keys import Key


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_engine_answers_as_the_definition_says(first: int):
    counts = compared(scope_case, range(first, first + 60))
    assert counts["agree"] > 30 and counts["with answers"] > 15, counts


# --- by hand ---------------------------------------------------------------------------------------

TINY = tiny(Random("scopes"))


def element_case(where: str, *elements: str, select: str = "*", batches: int = 1) -> Case:
    """Elements (two at each instant, a second apart), and a query of one element."""
    text = f"{PROLOGUE} SELECT {select} WHERE {{ {where} }}"
    algebra = scoped(parse_query(text).query, Random(1), 1.0)
    return case_by_hand(text, algebra, elements, ticks=0, batches=batches)


TWO_AT_ONCE = (":a :p :b, :b :q :c", ":a :p :d", ":d :q :e, :a :p :b", ":b :q :c")


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("batches", [1, 2, 4])
def test_triples_of_several_elements_do_not_meet(shards: int, batches: int):
    case = element_case("?x :p ?y . ?y :q ?z", *TWO_AT_ONCE, batches=batches)
    [found] = engine_answers(case, shards)
    assert [found] == answers(case) and sum(found.values()) == 1
    everywhere = replace(case, algebra=())
    assert sum(engine_answers(everywhere, shards)[0].values()) > 1


def test_every_element_counts():
    case = element_case("?x :p ?y", ":a :p :b", ":a :p :b, :a :p :c", ":a :p :b")
    [found] = engine_answers(case)
    assert [found] == answers(case) and sum(found.values()) == 4


@pytest.mark.parametrize(
    ("path", "count"),
    [("?x (:p/:q) ?z", 1), ("?x (:p|:q)+ ?y", 7), (":nowhere :p* ?y", 4), ("?x :p? ?y", 14)],
)
def test_paths_stay_in_an_element(path: str, count: int):
    case = element_case(path, *TWO_AT_ONCE)
    [found] = engine_answers(case)
    assert [found] == answers(case) and sum(found.values()) == count


def test_only_scans_that_ask_have_the_number_of_the_element():
    case = element_case("?x :p ?y . ?y :q ?z", *TWO_AT_ONCE)
    for given, asked in ((case, True), (replace(case, algebra=()), False)):
        [planned] = program_of(given, 1).plan.queries
        scans = [step for step in planned.step.walk() if isinstance(step, steps.Scan)]
        assert len(scans) == 2 and all(scan.element is asked for scan in scans)
        assert all((system_columns.ELEMENT in scan.vars) is asked for scan in scans)


def test_a_variable_in_all_triples_is_the_key_and_an_element_is_none():
    [planned] = program_of(element_case("?x :p ?y . ?x :q ?z"), 2).plan.queries
    assert isinstance(planned.key, Key) and planned.key.variable == a.Var("x")
    [planned] = program_of(element_case("?x :p ?y . ?y :q ?z . ?z :p ?x"), 2).plan.queries
    assert not isinstance(planned.key, Key)


def test_what_is_in_one_element_is_forgotten_when_time_has_passed_it():
    texts = [":a :p :b, :b :q :c"] * 200
    for where in ("?x :p ?y . ?y :q ?z", "?x (:p|:q)+ ?y"):
        case = element_case(where, *texts, batches=100)
        program, watermark, most = program_of(case, 1, TINY), 0, 0
        shard = program.open(0)
        for batch in case.batches:
            elements = [case.streams[0].elements[place] for _, place in batch]
            payloads = [payload for _, payload in program.route(0, occurrences_of(elements, program.key))]
            list(shard.answers(payloads, watermark, False))
            watermark = max(element.end for element in elements)
            list(shard.answers([], watermark, False))
            shard.changes()
            stores = [store for operator in shard.shard.operators for store in operator.stores]
            most = max(most, sum(len(store) for store in stores))
        assert most < 60, where


def test_a_scope_is_shown():
    case = element_case("?x :p ?y . ?x :p*/:q ?z")
    shown = to_sexpr(case.algebra[0])
    assert "(bgp element" in shown and "(path element" in shown
