"""Which atoms of rules are about ontologies: they are written in the vocabulary of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from penstock.reason.clauses import INTERNAL, Atom, Clause
from penstock.terms import RDF, NamedNode

OF_ONTOLOGIES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
"""The vocabularies in which ontologies are written."""
OF_EVERYTHING = frozenset(
    NamedNode(iri)
    for iri in ("http://www.w3.org/2002/07/owl#Thing", "http://www.w3.org/2000/01/rdf-schema#Resource")
)
"""Classes that say nothing about an ontology."""


def about_ontologies(atom: Atom) -> bool:
    """Whether an atom is written in the vocabulary of ontologies."""
    if atom.graph is not None or not isinstance(atom.predicate, NamedNode):
        return False
    if atom.predicate == RDF.type:
        return (
            isinstance(atom.object, NamedNode)
            and atom.object.value.startswith(OF_ONTOLOGIES)
            and atom.object not in OF_EVERYTHING
        )
    return atom.predicate.value.startswith(OF_ONTOLOGIES)


def of_ontologies_alone(clauses: Sequence[Clause]) -> frozenset[NamedNode]:
    """The auxiliary relations that are closed over ontologies only."""
    made: dict[NamedNode, list[Clause]] = defaultdict(list)
    for clause in clauses:
        for atom in clause.head:
            if atom.graph == INTERNAL:
                made[atom.predicate].append(clause)
    alone = set(made)
    while True:
        fit = {
            predicate
            for predicate in alone
            if all(
                about_ontologies(atom) or (atom.graph == INTERNAL and atom.predicate in alone)
                for clause in made[predicate]
                for atom in clause.body
            )
        }
        if fit == alone:
            return frozenset(alone)
        alone = fit
