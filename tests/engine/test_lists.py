"""Aggregates over lists that stand one after the other: what is said of all at once is exact."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.algebra.nodes import Aggregate, Var
from penstock.columns.terms import TermTable
from penstock.engine.lists import Lists, in_order
from penstock.functions.aggregates import aggregate
from penstock.functions.ordering import total_key
from penstock.terms import XSD, Literal, NamedNode

EXACT = [
    *(Literal(text, datatype=XSD.integer) for text in ("0", "1", "-1", "7", "4503599627370495", "-12")),
    *(Literal(text, datatype=XSD.decimal) for text in ("1.0", "1.00", "0.1", "-0.1", "0.000000000000001")),
    Literal("4503599.627370495", datatype=XSD.decimal),
    Literal("-0", datatype=XSD.integer),
]
OTHERS = [
    None,
    Literal("0.1", datatype=XSD.float),
    Literal("0.1", datatype=XSD.double),
    Literal("1E3", datatype=XSD.double),
    Literal("99999999999999999999999", datatype=XSD.integer),
    Literal("PT1S", datatype=XSD.dayTimeDuration),
    Literal("abc"),
    NamedNode("http://example.org/a"),
]
CALLS = [
    Aggregate(name, Var("v"), distinct, "," if name == "GROUP_CONCAT" else None)
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
    for distinct in (False, True)
]


def random_lists(random: Random, pool: list) -> list[list]:
    return [random.choices(pool, k=random.choice((1, 1, 2, 3, 9))) for _ in range(random.randint(1, 6))]


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize("pool", [EXACT, EXACT + OTHERS, OTHERS], ids=["exact", "mixed", "others"])
def test_all_at_once_is_as_one_by_one(call: Aggregate, pool: list):
    random = Random(str(call))
    terms = TermTable(key=3)
    for _ in range(60):
        values = random_lists(random, pool)
        flat = [0 if each is None else terms.add(each) for one in values for each in one]
        first = np.cumsum([0, *map(len, values)])[:-1]
        found = Lists(first, np.cumsum(list(map(len, values))), terms).values(call, np.array(flat), ())
        wanted = [aggregate(call, one) for one in values]
        assert [terms.term(id_) if id_ else None for id_ in found.tolist()] == wanted


def test_members_are_counted_and_different_ones_are_told_apart_by_all_columns():
    terms = TermTable()
    lists = Lists(np.array([0, 3]), np.array([3, 5]), terms)
    columns = [np.array([1, 1, 1, 1, 2]), np.array([5, 5, 6, 5, 5])]

    def counted(distinct: bool) -> list[str]:
        ids = lists.values(Aggregate("COUNT", None, distinct), None, columns)
        return [terms.term(id_).value for id_ in ids.tolist()]

    assert counted(False) == ["3", "2"]
    assert counted(True) == ["2", "2"]


def test_the_order_is_by_time_and_then_by_terms_also_among_few_that_are_simultaneous():
    random = Random(1)
    terms = TermTable()
    for _ in range(100):
        count = random.randint(1, 12)
        group, begins, ends = (np.array([random.randint(0, 2) for _ in range(count)]) for _ in range(3))
        ties = [[random.choice([*EXACT, *OTHERS]) for _ in range(count)] for _ in range(2)]
        columns = [np.array([0 if term is None else terms.add(term) for term in each]) for each in ties]
        order = in_order(group, begins, ends, columns, terms)
        keys = [
            (group[row], begins[row], ends[row], *(total_key(each[row]) for each in ties)) for row in order
        ]
        assert sorted(order.tolist()) == list(range(count))
        assert keys == sorted(keys)
