"""What ontologies import: it is read if it was given, and never fetched."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.errors import Finding
from penstock.knowledge.graphs import StaticGraph
from penstock.terms import OWL, RDF, RDFS, NamedNode

_KINDS = (
    *(OWL[name] for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    RDFS.Class,
    RDF.Property,
)


def import_findings(graphs: Sequence[StaticGraph], given: Collection[str] = ()) -> list[Finding]:
    """owl:imports of what is not there; `given` are the addresses of files that were read.

    An ontology is there if a file or graph has its IRI, or says that it is it (or a version of it), or
    declares classes or properties in its namespace.
    """
    wanted: dict[str, None] = {}
    there = set(given)
    for graph in graphs:
        there |= {graph.iri} if graph.iri is not None else set()
        subject, predicate, object_ = graph.triples
        imports, ontology, version, type_ = (
            id_of(term, graph.key) for term in (OWL.imports, OWL.Ontology, OWL.versionIRI, RDF.type)
        )
        is_ontology = (predicate == type_) & (object_ == ontology)
        wanted.update(dict.fromkeys(_iris(graph, object_[predicate == imports])))
        there.update(_iris(graph, subject[is_ontology]), _iris(graph, object_[predicate == version]))
    known = {iri.rstrip("#") for iri in there}
    if missing := [iri for iri in wanted if iri.rstrip("#") not in known]:
        declared = [iri for graph in graphs for iri in _declared(graph)]
        missing = [iri for iri in missing if not any(each.startswith(_within(iri)) for each in declared)]
    return [
        Finding(
            "unread-import",
            f"<{iri}> is imported, and was not given",
            hint="give its file with --ontology, too; nothing is fetched from the network",
        )
        for iri in missing
    ]


def _within(iri: str) -> tuple[str, ...]:
    """How IRIs in the namespace of an ontology begin."""
    return (iri,) if iri.endswith(("#", "/")) else (f"{iri}#", f"{iri}/")


def _declared(graph: StaticGraph) -> list[str]:
    """The classes and properties that a graph says are such."""
    subject, predicate, object_ = graph.triples
    kinds = [id_of(kind, graph.key) for kind in _KINDS]
    return _iris(graph, subject[(predicate == id_of(RDF.type, graph.key)) & np.isin(object_, kinds)])


def _iris(graph: StaticGraph, ids: np.ndarray) -> list[str]:
    table = TermTable(graph.terms.subset(ids))
    terms = map(table.term, np.unique(ids).tolist())
    return [term.value for term in terms if isinstance(term, NamedNode)]
