"""Which triples of a rule's template can match which triple patterns and paths."""

from __future__ import annotations

import pytest

from penstock.algebra import BGP, PathPattern
from penstock.plan.analysis.unification import can_match, look_ups
from plan.texts import pattern, query


def template(text: str):
    (triple,) = query(f"CONSTRUCT {{ {text} }} WHERE {{}}").template
    return triple


def leaf(text: str):
    node = pattern(text)
    if isinstance(node, BGP):
        (node,) = node.triples
    return node


@pytest.mark.parametrize(
    ("made", "wanted", "matches"),
    [
        ("?x :p ?y", "?a :p ?b", True),
        ("?x :p ?y", "?a :q ?b", False),
        ("?x :p ?y", "?a ?q ?b", True),
        ("?x ?v ?y", "?a :q ?b", True),
        (":s :p ?y", ":s :p 5", True),
        (":s :p ?y", ":t :p 5", False),
        ("?x :p 5", "?a :p 5", True),
        ("?x :p 5", "?a :p 05", False),
        ('?x :p "a"', '?a :p "a"@en', False),
        ("_:b :p ?y", "?a :p ?b", True),
        ("_:b :p ?y", ":s :p ?b", False),
        ("_:b :p _:c", "?a :p ?a", False),
        ("_:b :p _:b", "?a :p ?a", True),
        ("?x :p :o", "?a :p ?a", True),
        ("?x :p 5", "?a :p ?a", False),  # a literal is no subject
        ("?x :p ?x", ":s :p :o", False),
        ("?x :p ?x", ":s :p :s", True),
        ("?x :p ?x", "?a :p 5", False),
        (":s ?v ?v", "?a ?b 5", False),  # only an IRI is a predicate
        (":s :p :o", "?a ?a ?b", False),
        (":s :s :o", "?a ?a ?b", True),
    ],
)
def test_triple_patterns(made, wanted, matches):
    assert can_match(template(made), leaf(wanted)) is matches


@pytest.mark.parametrize(
    ("made", "wanted", "matches"),
    [
        ("?x :p ?y", "?a !(:p) ?b", False),
        ("?x :p ?y", "?a !(:q|:r) ?b", True),
        ("?x ?v ?y", "?a !(:p) ?b", True),
        (":s :p ?y", ":t !(:q) ?b", False),
        (":s :p ?y", ":s !(:q|^:r) ?b", True),
        (":s :p ?y", "?a !(^:q) :t", False),
        (":s :p :o", ":s !(^:q) ?b", False),
        (":s :p :o", ":o !(^:q) ?b", True),
        ("?x :q ?y", "?a !(:q|^:p) ?b", True),  # backwards :q is not excluded
        ("?x :p ?y", "?a :p+ ?b", True),
        ("?x :q ?y", "?a :p+ ?b", False),
        (":x :p :y", ":a (:q/:p)+ ?b", True),  # in the middle of the way
        ("?x :p ?y", "?a (:q|:p) ?b", True),
        ("?x :r ?y", "?a (:q|:p) ?b", False),
        ("?x :r ?y", "?a :p* ?b", True),  # every node of the graph is a way of no length
        ("?x :r ?y", ":a :p* ?b", False),
        ("?x :r ?y", ":a :p? ?b", False),
        ("?x :p ?y", ":a :p? ?b", True),
    ],
)
def test_paths(made, wanted, matches):
    node = leaf(wanted)
    assert isinstance(node, PathPattern)
    assert can_match(template(made), node) is matches


def test_a_long_sequence_has_different_variables_between_its_steps():
    found = look_ups(leaf("?a ((:p/:q)/:r)+ ?b"))
    assert len(found) == 3
    assert len({step.object for step in found}) == 3
    assert found[0].object == found[1].subject and found[1].object == found[2].subject
