"""Lists that are none are told, with the node and who uses it."""

from __future__ import annotations

import pytest

from penstock.knowledge.graphs import graph_of
from penstock.knowledge.lists import list_findings
from penstock.terms import RDF, NamedNode


def ex(name: str) -> NamedNode:
    return RDF.nil if name == "nil" else NamedNode(f"http://e/{name}")


def findings(*chains: str, more=()) -> list[str]:
    """`a b nil` is the list of the cells a and b; each cell has itself as its first."""
    triples = {(ex("C"), ex("of"), ex(chain.split()[0])) for chain in chains}
    for chain in chains:
        cells = chain.split()
        triples |= {(ex(a), RDF.rest, ex(b)) for a, b in zip(cells, cells[1:], strict=False)}
        triples |= {(ex(cell), RDF.first, ex(cell)) for cell in cells if cell != "nil"}
    triples |= set(more)
    cut = len(triples) // 2  # what is said in two files is one list
    halves = sorted(triples, key=str)[:cut], sorted(triples, key=str)[cut:]
    return [finding.message for finding in list_findings([graph_of(half, None, key=5) for half in halves])]


@pytest.mark.parametrize("chains", [(), ("a nil",), ("a b c d e f g h nil", "i j nil"), ("nil",)])
def test_lists_that_are_lists(chains):
    assert findings(*chains) == []


@pytest.mark.parametrize("chain", ["a a", "a b a", "a b c d e b", "a b c d e f g h i j k l m n o a"])
def test_a_list_that_loops(chain):
    [message] = findings(chain, "x y nil")
    assert message.startswith("the list at <http://e/")
    assert message.endswith("(used in <http://e/C> <http://e/of>) loops: it never reaches rdf:nil")
    node = message.partition("http://e/")[2].partition(">")[0]
    assert node in chain.split() and (node != "a" or chain.split()[-1] == "a")


def test_each_loop_is_told_once():
    assert len(findings("a b c a", "d e d", "f f", "g h nil")) == 3


def test_two_heads():
    [message] = findings("a b c nil", "x b")
    assert message.startswith("the list at <http://e/b> (used in")
    assert message.endswith("has several heads: it is the rdf:rest of several cells")


def test_two_firsts_and_two_rests():
    [message] = findings("a b nil", more=[(ex("a"), RDF.first, ex("other"))])
    assert "cell <http://e/a> (used in" in message and message.endswith("has several rdf:first")
    messages = findings("a b nil", more=[(ex("a"), RDF.rest, RDF.nil)])
    assert [m for m in messages if "cell <http://e/a>" in m and m.endswith("has several rdf:rest")]


def test_a_list_that_breaks_off():
    [message] = findings("a b c")
    assert "breaks off at <http://e/c>" in message


def test_of_many_only_some_are_told():
    messages = findings(*(f"n{i} n{i}" for i in range(9)))
    assert len(messages) == 6 and messages[-1].startswith("so it is with 4 more: the list at … loops")


def test_long_lists_take_no_step_for_each_cell():
    chain = [f"c{i}" for i in range(5000)]
    assert findings(" ".join([*chain, "nil"])) == []
    assert len(findings(" ".join([*chain, "c4999"]))) == 1
