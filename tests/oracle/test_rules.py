"""The oracle for rules: small cases whose closure can be said by hand."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from oracle.model import StaticGraph, TimedDataset, stream_of
from oracle.notation import triples
from oracle.rules import (
    NoFixpoint,
    closed,
    contradictions,
    fixpoint,
    kept,
    meaning_by_element,
    meaning_by_stream,
    operations,
)
from oracle.vocabulary import PROLOGUE, iri
from penstock.terms import XSD

PREFIXES = PROLOGUE + "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n"
PREFIXES += "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
SUBCLASS = PREFIXES + "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }"
DISJOINT = PREFIXES + "# contradiction: # {\nSELECT ?x { ?x a :c, :e }"


def said(turtle: str) -> frozenset:
    prefixes = PREFIXES.removeprefix(PROLOGUE)
    return frozenset(triples(prefixes + turtle))


def test_a_text_is_split_into_its_statements():
    text = PREFIXES + (
        '# name: two; { \nINSERT { ?x :p ";{}" ; :q <urn:a#b;c> } WHERE { ?x :q ?y ; :p "#}" } ;\n'
        "INSERT DATA { :a :p [] }  # the end\n"
    )
    first, second = operations(text)
    assert first.text == 'INSERT { ?x :p ";{}" ; :q <urn:a#b;c> } WHERE { ?x :q ?y ; :p "#}" }'
    assert (first.template.strip(), first.where[:5]) == ('?x :p ";{}" ; :q <urn:a#b;c>', "WHERE")
    assert not first.invents and second.template.strip() == ":a :p []" and second.where == ""
    assert [each.asks for each in operations(DISJOINT)] == [True]


def test_rules_are_applied_until_nothing_is_new():
    found = fixpoint([SUBCLASS], said(":c rdfs:subClassOf :d . :d rdfs:subClassOf :e . :x a :c"))
    assert found == said(":c rdfs:subClassOf :d . :d rdfs:subClassOf :e . :x a :c, :d, :e")


def test_internal_graphs_are_seen_by_graph_only():
    one = PREFIXES + "INSERT { GRAPH ?x { ?x :r ?y } } WHERE { ?x :q ?y }"
    two = PREFIXES + "INSERT { ?x :s ?y } WHERE { GRAPH ?x { ?x :r ?y } }"
    three = PREFIXES + "INSERT { ?x :wrong ?y } WHERE { ?x :r ?y }"
    assert fixpoint([three, two, one], said(":a :q :b")) == said(":a :q :b ; :s :b")


def test_a_literal_is_no_subject():
    rule = PREFIXES + "INSERT { ?y :of ?x } WHERE { ?x :q ?y }"
    assert fixpoint([rule], said(":a :q 1, :b")) == said(":a :q 1, :b . :b :of :a")


def test_the_same_solution_invents_the_same_node():
    rule = PREFIXES + "INSERT { ?x :parent _:y . GRAPH ?x { _:y a :made } } WHERE { ?x :q ?y }"
    found = fixpoint([rule], said(":a :q 1, 2 . :b :q 1"))
    invented = {(s, o) for s, p, o in found if p == iri("parent")}
    assert len(invented) == 3 and all(isinstance(node, BlankNode) for _, node in invented)
    everything = closed([rule], said(":a :q 1, 2 . :b :q 1"))
    assert {quad.subject for quad in everything if quad.graph_name == iri("a")} == {
        node for child, node in invented if child == iri("a")
    }


def test_nodes_without_end():
    rule = PREFIXES + "INSERT { ?x :parent [ a :c ] } WHERE { ?x a :c }"
    with pytest.raises(NoFixpoint):
        fixpoint([rule], said(":a a :c"), most=100)


def test_contradictions():
    texts = [SUBCLASS, DISJOINT]
    store = closed(texts, said(":d rdfs:subClassOf :e . :x a :c, :d . :y a :c"))
    assert contradictions(texts, store) == {(1, frozenset({("x", iri("x"))}))}


def test_an_element_is_closed_on_its_own():
    static = said(":c rdfs:subClassOf :d . :a a :c")
    elements = [
        (said(":x a :c . :a a :d"), 1, 2),
        (said(":d rdfs:subClassOf :e"), 3, 3),
        (said(":x a :e"), 4, 4),
    ]
    found = meaning_by_element([SUBCLASS, DISJOINT], static, elements)
    assert found.static == static | said(":a a :d")
    assert found.elements == (
        (said(":x a :c, :d . :a a :d"), 1, 2),  # what it says itself, also if that is known
        (said(":d rdfs:subClassOf :e . :a a :e"), 3, 3),
        (said(":x a :e"), 4, 4),
    )
    assert [len(each) for each in found.element_conflicts] == [0, 1, 0] and not found.conflicts


def test_premises_from_several_elements_have_a_hull():
    elements = [(said(":x a :c"), 1, 2), (said(":c rdfs:subClassOf :d"), 4, 5)]
    dataset = TimedDataset((stream_of(elements), StaticGraph(said(":d rdfs:subClassOf :e"))))
    (derived, *_) = meaning_by_stream([SUBCLASS], dataset).derived
    assert {(o.triple, o.start, o.end) for o in derived.occurrences} == {
        (triple, 1, 5) for triple in said(":x a :d, :e")
    }


@pytest.mark.parametrize(
    ("text", "datatype", "same"),
    [("1", XSD.integer, True), ("01", XSD.integer, False), ("1", XSD.int, False), ("1.5", XSD.decimal, True)],
)
def test_which_literals_a_store_keeps(text, datatype, same):
    assert kept(Literal(text, datatype=datatype)) is same
    assert kept(NamedNode("urn:a"))
