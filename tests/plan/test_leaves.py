"""How each triple pattern reaches the answer: through absence, through time."""

from __future__ import annotations

import pytest

from penstock.plan.analysis.leaves import leaves, query_leaves
from penstock.plan.catalog import Catalog, GraphName
from plan.texts import SLIDING_SUM, iri, pattern, query

TIMED = Catalog().active(None)


def ways(node, dataset=TIMED) -> dict[str, tuple[bool, bool]]:
    """For the predicate of each leaf: (absent, later)."""
    return {
        leaf.pattern.predicate.value.removeprefix("http://example.org/"): (leaf.absent, leaf.later)
        for leaf in leaves(node, dataset)
    }


PLAIN, ABSENT, LATER, BOTH = (False, False), (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?s :a ?o . ?s :b ?o", {"a": PLAIN, "b": PLAIN}),
        ("{ ?s :a ?o } SEQ { ?s :b ?o }", {"a": LATER, "b": PLAIN}),
        ("{ ?s :a ?o } SEQ { ?s :b ?o } SEQ { ?s :c ?o }", {"a": LATER, "b": LATER, "c": PLAIN}),
        ("{ ?s :a ?o } EQUALS { ?s :b ?o }", {"a": PLAIN, "b": PLAIN}),
        ("?s :a ?o OPTIONAL { ?s :b ?o }", {"a": PLAIN, "b": ABSENT}),
        ("{ ?s :a ?o } OPTIONALSEQ { ?s :b ?o }", {"a": BOTH, "b": PLAIN}),
        ("{ ?s :a ?o } EQUALSOPTIONAL { ?s :b ?o }", {"a": PLAIN, "b": ABSENT}),
        ("?s :a ?o MINUS { ?s :b ?o }", {"a": PLAIN, "b": ABSENT}),
        ("?s :a ?o FILTER EXISTS { ?s :b ?o }", {"a": PLAIN, "b": ABSENT}),
        (
            "{ ?s :a ?o FILTER NOT EXISTS { ?s :b ?o } } SEQ { ?s :c ?o }",
            {"a": LATER, "b": BOTH, "c": PLAIN},
        ),
        ("{ SELECT (COUNT(*) AS ?n) { ?s :a ?o } }", {"a": ABSENT}),
        ("{ SELECT ?s { ?s :a ?o } LIMIT 1 }", {"a": ABSENT}),
        ("{ SELECT DISTINCT ?s { ?s :a ?o } }", {"a": PLAIN}),
        ("{ ?s :a ?o } SEQ { VALUES ?s { 1 } }", {"a": PLAIN}),
    ],
)
def test_ways_to_the_answer(text, expected):
    assert ways(pattern(text)) == expected


def test_equal_sides_of_an_optional_are_told_apart():
    side = pattern("?s :a ?o")
    node = type(pattern("?s :a ?o OPTIONAL { ?s :b ?o }"))(side, side)
    assert [leaf.absent for leaf in leaves(node, TIMED)] == [False, True]


def test_time_does_not_move_on_if_the_later_side_may_be_static():
    node = pattern("{ ?s :a ?o } SEQ { ?s :b ?o }")
    anything = Catalog(graphs=(GraphName(),)).active(None)
    assert ways(node, anything)["a"] == PLAIN
    labels = Catalog(graphs=(GraphName(predicates=frozenset({iri("label").value})),)).active(None)
    assert ways(node, labels)["a"] == LATER


def test_the_papers_sliding_sum_reads_its_own_results_only_from_earlier():
    found = list(leaves(query(SLIDING_SUM).pattern, TIMED))
    own = [leaf for leaf in found if "price" not in leaf.pattern.predicate.value]
    assert [(leaf.absent, leaf.later) for leaf in own] == [LATER, LATER, BOTH, BOTH]


def test_ask_and_describe_look_at_what_is_there_by_then():
    (leaf,) = query_leaves(query("ASK { ?s :a ?o }"), TIMED)
    assert leaf.absent
    first, lookup = query_leaves(query("DESCRIBE ?s { ?s :a ?o }"), TIMED)
    assert not first.absent and lookup.absent and lookup.pattern.subject == first.pattern.subject
