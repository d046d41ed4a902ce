"""What operators remember and for how long: as patterns say it, and as operators do it."""

from __future__ import annotations

import pytest

from penstock import Engine
from penstock.plan.advice.retention import memories
from penstock.plan.catalog import Catalog, GraphName
from penstock.timeline import MINUTE, format_duration
from plan.texts import PREFIXES, iri, pattern

FOR_EVER = "for ever"


def describe_memory(*arguments, **options) -> tuple[str, ...]:
    """A line for each stateful operator of a pattern: what it remembers and for how long."""
    found = memories(*arguments, **options)
    times = (
        (each, FOR_EVER if each.bound is None else f"for {format_duration(each.bound)}") for each in found
    )
    return tuple(f"{each.operator} remembers {each.keeps} {time}" for each, time in times)


def explained_memory(group: str) -> list[str]:
    """The lines of `explain` about what the operators of a group remember."""
    text = Engine().add_query(f"{PREFIXES} SELECT * {{ {group} }}").explain()
    block = text.partition("\nmemory\n")[2].partition("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


CASES = [
    ("?s :a ?o", []),
    ("?s :a ?o . ?s :b ?p", [f"BGP remembers matches of its 2 triples {FOR_EVER}"]),
    ("{ ?s :a ?o } SEQ { ?s :b ?p }", [f"SeqJoin remembers its left side {FOR_EVER}"]),
    ("{ ?s :a ?o } EQUALS { ?s :b ?p }", []),
    ("{ ?s :a ?o } EQUALSOPTIONAL { ?s :b ?p }", []),
    (
        "?s :a ?o OPTIONAL { ?s :b ?p }",
        [f"LeftJoin remembers its optional right side {FOR_EVER}"],
    ),
    (
        "{ ?s :a ?o } OPTIONALSEQ { ?s :b ?p }",
        [f"SeqRightJoin remembers its optional left side {FOR_EVER}"],
    ),
    ("?s :a ?o MINUS { ?s :b ?p }", [f"Minus remembers its right side {FOR_EVER}"]),
    (
        "?s :a ?o FILTER NOT EXISTS { ?s :b ?p }",
        [f"EXISTS remembers the solutions of its pattern {FOR_EVER}"],
    ),
    (
        "?s :a+ ?o",
        [f"Path remembers the steps of `?s <http://example.org/a>+ ?o` {FOR_EVER}"],
    ),
    *(
        (f"{{ ?s :a ?o }} {word} {{ ?s :b ?p }}", [f"{name} remembers its left side {FOR_EVER}"])
        for word, name in (
            ("DURING", "DuringJoin"),
            ("STARTS", "StartsJoin"),
            ("MEETS", "MeetsJoin"),
            ("OVERLAPS", "OverlapsJoin"),
        )
    ),
    ("{ ?s :a ?o } FINISHES { ?s :b ?p }", []),
    ("?s ^:a|:b ?o", []),
    ("{ ?s :a ?o } SEQ { VALUES ?s { 1 } }", []),
]


@pytest.mark.parametrize(("text", "lines"), CASES)
def test_without_bounds(text, lines):
    assert list(describe_memory(pattern(text))) == lines


@pytest.mark.parametrize(("text", "lines"), CASES)
def test_the_operators_remember_for_ever_what_the_pattern_says(text, lines):
    endless = [line for line in explained_memory(text) if FOR_EVER in line]
    assert bool(endless) == bool(lines), (endless, lines)


UNBOUNDED = "for ever (no getDURATION bound)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("?s :a ?o . ?s :b ?p . ?s :c ?q", f"Join remembers both sides {UNBOUNDED} (2 of them)"),
        (
            "{ ?s :a ?o } SEQ { ?s :b ?p } FILTER (getDURATION() <= 'PT5M'^^xsd:duration)",
            "SeqJoin remembers its left side for PT5M",
        ),
        ("?s :a ?o OPTIONAL { ?s :b ?p }", f"LeftJoin remembers its optional side {UNBOUNDED}"),
        (
            "?s :a ?o FILTER EXISTS { ?s :b 1 }",
            "ExistsMark remembers which bindings its pattern has had for ever",
        ),
        ("?s :a ?o MINUS { ?s :b ?p }", "Minus remembers which bindings its right side has had for ever"),
        (
            "?s :a+ ?o",
            f"PathWalk remembers the steps that it goes along and the walks that it has found {UNBOUNDED}",
        ),
        ("?s :a ?o VALUES ?s { 1 }", "nothing beyond the watermark"),
        ("{ ?s :a ?o } EQUALS { ?s :b ?p }", "nothing beyond the watermark"),
    ],
)
def test_explain_asks_the_operators(text, line):
    assert explained_memory(text) == [line]


def test_a_filter_bounds_what_it_sees_and_not_the_absent_side():
    node = pattern(
        "{ { ?s :a ?o . ?s :b ?p } SEQ { ?s :c ?q } } "
        "OPTIONAL { ?s :d ?r } FILTER (getDURATION() <= 'PT5M'^^xsd:duration)"
    )
    assert list(describe_memory(node)) == [
        f"LeftJoin remembers its optional right side {FOR_EVER}",
        "SeqJoin remembers its left side for PT5M",
        "BGP remembers matches of its 2 triples for PT5M",
    ]


def test_a_bound_from_above_counts():
    node = pattern("{ ?s :a ?o } SEQ { ?s :b ?p }")
    assert describe_memory(node, 5 * MINUTE) == ("SeqJoin remembers its left side for PT5M",)


def test_static_knowledge_is_not_remembered():
    dataset = Catalog(graphs=(GraphName(iri("places").value),)).active(None)
    node = pattern("?s :a ?o OPTIONAL { GRAPH :places { ?s :in ?c . ?c :of ?r } }")
    assert describe_memory(node, dataset=dataset) == ()
    assert len(describe_memory(pattern("?s :a ?o OPTIONAL { ?s :in ?c }"), dataset=dataset)) == 1
