"""Aggregates that are kept as members come and leave are those of the members that are there."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from penstock.algebra.nodes import Aggregate, Var
from penstock.columns.hashing import Slots
from penstock.columns.terms import TermTable
from penstock.engine.changing.quotients import quotients
from penstock.engine.changing.slots import Records
from penstock.engine.changing.totals import total_of
from penstock.functions.aggregates import aggregate
from penstock.functions.numeric import DECIMAL, INTEGER, Number, divide_decimal, number_literal
from penstock.terms import XSD, Literal, NamedNode

GROUPS = 3
NUMBERS = [
    ("integer", ("0", "-7", "12", "4503599627370496", "99999999999999999999", "+5", "-0")),
    ("decimal", ("0.1", "-2.50", "1000000000000000000000.5", "0.000000000000001", "3", "-0.0", ".5")),
    ("double", ("0.1", "1e300", "-1e300", "1.5E-300", "1e16", "1", "-0.0", "4.9E-324")),
    ("float", ("0.1", "16777217", "-3.5E20", "1e-40")),
]
PLAIN = [Literal(text, datatype=XSD[kind]) for kind, texts in NUMBERS for text in texts]
SPECIAL = [Literal(text, datatype=XSD.double) for text in ("INF", "-INF", "NaN", "1.7976931348623157E308")]
DURATIONS = [Literal(text, datatype=XSD.dayTimeDuration) for text in ("PT1H", "-PT90S", "P2D")]
OTHERS = [
    Literal("a"),
    Literal("b", language="en"),
    NamedNode("http://e.org/x"),
    Literal("x", datatype=XSD.integer),
]
CALLS = [
    Aggregate(name, Var("v"), distinct=distinct)
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
    for distinct in (False, True)
]
MEMBERS = {
    "integers": PLAIN[:4],
    "decimals": [*PLAIN[:3], *PLAIN[7:9], PLAIN[11]],
    "numbers": PLAIN,
    "all numbers": [*PLAIN, *SPECIAL],
    "durations": DURATIONS,
    "anything": [*PLAIN[::3], *SPECIAL[:2], *DURATIONS, *OTHERS, None],
}


@pytest.mark.parametrize("kind", MEMBERS)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.name}{' distinct' * call.distinct}")
def test_a_total_is_the_aggregate_of_the_members_that_are_there(call, kind):
    random = Random(f"{call} {kind}")
    terms = TermTable()
    total = total_of(call, terms, spare=2)
    there: list[Counter] = [Counter() for _ in range(GROUPS)]
    last = np.full(GROUPS, -1, np.int64)
    total.room(GROUPS)
    time = 0
    for _ in range(12):
        events, expected = [], {}
        for _ in range(random.randrange(1, 9)):
            time += random.randrange(2)
            group = random.randrange(GROUPS)
            if there[group] and random.random() < 0.55:
                term, change = random.choice(list(there[group])), -1
            else:
                term, change = random.choice(MEMBERS[kind]), random.choice((1, 1, 2))
            there[group][term] += change
            there[group] = +there[group]
            events.append((group, time, change, 0 if term is None else terms.add(term)))
            expected[group, time] = aggregate(call, list(there[group].elements()))
        group, at, change, ids = np.array(events, np.int64).T.copy()
        records = Records(group, at, last)
        found = total.values(records, records.of, change, [ids])
        given = {
            (group, at): terms.term(value) if value else None
            for group, at, value in zip(
                records.slot.tolist(), records.time.tolist(), found.tolist(), strict=True
            )
        }
        assert given == expected
        time += 1


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.name}{' distinct' * call.distinct}")
def test_groups_can_be_numbered_anew(call):
    terms = TermTable()
    one, five, seven = numbers = [Literal(text, datatype=XSD.integer) for text in "157"]
    ids = list(map(terms.add, numbers))
    total = total_of(call, terms, spare=0)
    total.room(3)
    _moved(total, [0, 1, 2], [1, 1, 1], ids)
    _moved(total, [1], [-1], ids[1:2])
    total.keep(np.array([0, 2]))
    found = _moved(total, [0, 1], [1, 1], [ids[0], ids[1]])
    assert list(map(terms.term, found)) == [aggregate(call, [one, one]), aggregate(call, [seven, five])]


def _moved(total, groups, change, ids):
    groups = np.array(groups, np.int64)
    records = Records(groups, np.zeros(len(groups), np.int64), np.full(3, -1, np.int64))
    return total.values(records, records.of, np.array(change, np.int64), [np.array(ids, np.int64)])


def test_quotients_are_written_as_one_by_one():
    random = Random(7)
    cases = [
        (0, 1),
        (1, 3),
        (-1, 3),
        (2, 3),
        (10**17 - 1, 10),
        (5, 2),
        (1, 1024),
        (-(10**17), 7),
        (1, 10**16 + 1),
    ]
    cases += [
        (
            random.randrange(-(10 ** random.randrange(1, 18)), 10**17),
            random.randrange(1, 10 ** random.randrange(1, 17)),
        )
        for _ in range(3000)
    ]
    terms = TermTable()
    total, divisor = np.array(cases, np.int64).T.copy()
    found = quotients(total, divisor, np.full(len(cases), 2), terms)
    for (a, b), id_ in zip(cases, found.tolist(), strict=True):
        expected = number_literal(Number(DECIMAL, divide_decimal(Decimal(a), Decimal(b))))
        assert terms.term(id_) == expected and terms.add(expected) == id_
    whole = [0, -5, 2**52 - 1, 2**52, 10**17]
    found = quotients(np.array(whole), np.ones(len(whole), np.int64), np.full(len(whole), 1), terms)
    assert [terms.term(id_) for id_ in found.tolist()] == [number_literal(Number(INTEGER, n)) for n in whole]


def test_keys_without_columns_are_one():
    slots = Slots(0)
    assert slots.of([], 0).tolist() == [] and slots.count == 0
    assert slots.of([], 3).tolist() == [0, 0, 0] and slots.count == 1
    assert slots.keys(np.array([0])).shape == (0, 1)
