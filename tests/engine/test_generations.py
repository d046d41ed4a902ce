"""A query that begins later answers as if its streams began with its first batch; others notice nothing."""

from __future__ import annotations

from collections import Counter
from inspect import getsource

import pytest

from agreement.other_queries import Checkpoint, Life
from oracle.cases import Case, Element, StreamData
from penstock.engine.choice import _LEAVING, _STAYING
from penstock.engine.operators import RowOperator, ScanOperator, TableOperator
from penstock.plan import steps
from penstock.plan.steps import Expand, Matched, Windowed
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import SECOND

BASE = "http://example.org/"
PREFIX = f"PREFIX : <{BASE}> "
VALUES = (20, 20, 21, 20, 19, 23, 20, 20, 24, 18, 20, 30, 20, 20, 17, 20)
BATCHES = 24


def iri(name: str) -> NamedNode:
    return NamedNode(BASE + name)


def case_of(values: tuple[int, ...]) -> Case:
    """A room that says its temperature each second, an element a batch."""
    elements = tuple(
        Element(
            ((iri("room"), iri("p"), Literal(str(values[at % len(values)]), datatype=XSD.integer)),),
            at * SECOND,
            at * SECOND,
        )
        for at in range(1, BATCHES + 1)
    )
    batches = tuple(((0, place),) for place in range(BATCHES))
    return Case(0, (StreamData(iri("s"), elements),), (), (), 0, batches)


def query(window: str, select: str, having: str = "") -> str:
    return (
        f"{PREFIX}SELECT ?s ({select} AS ?n) FROM STREAM <{BASE}s> [{window}] WHERE {{ ?s :p ?v }}"
        " GROUP BY ?s" + (f" HAVING ({select} > {having})" if having else "")
    )


def answered(case: Case, *lives: tuple[int, dict[str, str]], shards: int = 2) -> dict[str, Counter]:
    """The answers of each query in all lives that have it; a life begins with a batch."""
    place = Checkpoint(case, shards)
    ends = [begin for begin, _ in lives[1:]] + [BATCHES]
    found: dict[str, Counter] = {}
    for (begin, queries), end in zip(lives, ends, strict=True):
        life = Life(queries, case.batches[begin:end], language="c-sparql")
        for name, rows in place.live(life, ends=end == BATCHES).items():
            found[name] = found.get(name, Counter()) + rows
    return found


def alone(case: Case, text: str, begin: int) -> Counter:
    return answered(case, (begin, {"alone": text}))["alone"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("values", [(20,), VALUES], ids=["always the same", "varying"])
@pytest.mark.parametrize("window", ["RANGE 10s STEP 2s", "RANGE 3s STEP 3s", "TRIPLES 4 STEP 1", "TRIPLES 3"])
@pytest.mark.parametrize("select, having", [("AVG(?v)", "10"), ("COUNT(*)", "0"), ("MAX(?v)", "1")])
def test_over_the_window_of_an_older_query(values, window, select, having):
    """Rows that leave the older one's window were never in the new one's: it is not told that they go."""
    case = case_of(values)
    old, new = query(window, select), query(window, select, having)
    found = answered(case, (0, {"old": old}), (7, {"old": old, "new": new}))
    assert found["old"] == alone(case, old, 0)
    assert found["new"] == alone(case, new, 7)
    assert found["new"].total() > 5


def test_an_equal_query_under_another_name_begins_when_it_comes():
    case, text = case_of(VALUES), query("RANGE 10s STEP 2s", "SUM(?v)")
    found = answered(
        case,
        (0, {"first": text}),
        (5, {"first": text, "second": text}),
        (9, {"third": text, "first": text, "second": text}),
        (12, {"second": text, "third": text}),
    )
    assert found["second"] == alone(case, text, 5)
    assert found["third"] == alone(case, text, 9)


def test_a_changed_query_begins_anew():
    case = case_of(VALUES)
    before, after = query("RANGE 10s STEP 2s", "AVG(?v)"), query("RANGE 10s STEP 2s", "AVG(?v)", "20")
    found = answered(case, (0, {"q": before, "other": before}), (6, {"q": after, "other": before}))
    place = Checkpoint(case, 2)
    first = place.live(Life({"q": before}, case.batches[:6], language="c-sparql"))["q"]
    assert found["q"] - first == alone(case, after, 6) - first
    assert found["other"] == alone(case, before, 0)


def test_combinations_that_an_older_query_has_begun_are_none_of_a_new_one():
    p, q = "{ ?s :p 20 }", "{ ?s :p 30 }"
    case = case_of(VALUES)
    old = f"{PREFIX}SELECT ?s WHERE {{ {p} SEQ {q} }}"
    new = f"{PREFIX}SELECT (?s AS ?room) WHERE {{ {p} SEQ {q} }}"
    place = Checkpoint(case, 2)
    place.live(Life({"old": old}, case.batches[:9]))
    found = place.live(Life({"old": old, "new": new}, case.batches[9:]), ends=True)
    fresh = Checkpoint(case, 2).live(Life({"new": new}, case.batches[9:]), ends=True)
    assert found["new"] == fresh["new"]
    assert found["old"].total() > found["new"].total() > 0


def test_what_remembers_nothing_is_shared_by_all_generations():
    case = case_of(VALUES)
    place = Checkpoint(case, 2)
    old, new = query("RANGE 10s STEP 2s", "AVG(?v)"), query("RANGE 10s STEP 2s", "AVG(?v)", "10")
    for number, queries in enumerate(({"old": old}, {"old": old, "new": new}, {"new": new})):
        batches = case.batches[5 * number : 5 * number + 5]
        place.live(Life(queries, batches, language="c-sparql"))
        net = place.program.network
        kinds = Counter(type(step).__name__ for step in net.steps)
        assert kinds["Scan"] == kinds["Windowed"] == 1
        assert kinds["Aggregated"] == len(queries)
        assert {*net.generations} == [{0}, {0, 5}, {0, 5}][number]
        assert place.steps_with_state() <= set(place.program.digests), "the rest is deleted"


def test_only_steps_that_take_rows_one_by_one_are_memoryless():
    """What runs them has no room for anything that it could remember; of what is static all have the same."""
    found = {kind: operator for table in (_STAYING, _LEAVING) for kind, operator in table.items()}
    memoryless = {kind for kind in found if kind.memoryless}
    assert {steps.Scan, steps.Filter, Windowed, Matched, Expand} <= memoryless
    for kind in memoryless - {Expand}:
        assert issubclass(found[kind], (RowOperator, ScanOperator, TableOperator)), kind
        assert "store(" not in getsource(found[kind]), kind
