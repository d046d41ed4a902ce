"""Imports that were not given are named."""

from __future__ import annotations

from penstock.knowledge.graphs import graph_of
from penstock.knowledge.imports import import_findings
from penstock.terms import OWL, RDF, BlankNode, NamedNode


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://e/{name}")


def wanted(*graphs, given=()) -> list[str]:
    found = import_findings([graph_of(triples, iri, key=3) for iri, triples in graphs], given)
    assert all(finding.code == "unread-import" for finding in found)
    return [finding.message.partition(">")[0].removeprefix("<http://e/") for finding in found]


def test_what_was_not_given():
    asking = (None, [(ex("onto"), OWL.imports, ex("other")), (ex("onto"), OWL.imports, ex("third"))])
    assert sorted(wanted(asking)) == ["other", "third"]
    assert wanted(asking, asking, given=["http://e/third"]) == ["other"]
    assert wanted(asking, ("http://e/other", []), (None, [(ex("third"), RDF.type, OWL.Ontology)])) == []


def test_a_version_of_it_will_do_and_a_number_sign_does_not_matter():
    asking = (None, [(ex("onto"), OWL.imports, ex("v1")), (ex("onto"), OWL.imports, ex("x#"))])
    assert (
        wanted(asking, (None, [(ex("o"), OWL.versionIRI, ex("v1")), (ex("x"), RDF.type, OWL.Ontology)])) == []
    )


def test_an_ontology_that_calls_itself_otherwise_is_known_by_what_it_declares():
    asking = (
        None,
        [(ex("data"), OWL.imports, ex("univ.owl")), (ex("univ.owl#x"), RDF.type, ex("univ.owl#C"))],
    )
    assert wanted(asking) == ["univ.owl"]
    assert wanted(asking, (None, [(ex("univ.owl#C"), RDF.type, OWL.Class)])) == []
    assert wanted(asking, (None, [(ex("univ.owlish#C"), RDF.type, OWL.Class)])) == ["univ.owl"]


def test_only_iris_can_be_imported():
    assert wanted((None, [(ex("onto"), OWL.imports, BlankNode("b"))])) == []
