"""What operators remember and for how long, in the words of `explain`."""

from __future__ import annotations

import pytest

from penstock.plan.advice.retention import describe_memory
from penstock.plan.catalog import Catalog, GraphName
from penstock.timeline import MINUTE
from plan.texts import iri, pattern

FOR_EVER = "for ever (no getDURATION bound)"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
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
    ],
)
def test_without_bounds(text, lines):
    assert list(describe_memory(pattern(text))) == lines


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
