"""The closures of RDFS and of OWL 2 RL against owlrl, another implementation of the same specifications.

Where owlrl says something else than the specifications, `comparable` makes cases in which that does not show;
each deviation is listed there with its reason.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from random import Random

import rdflib
from owlrl.OWLRL import OWLRL_Semantics
from owlrl.RDFSClosure import RDFS_Semantics

from oracle.model import Triple
from oracle.ontologies import LITERALS, OWL, RDFS, knowledge
from penstock.terms import RDF, XSD, BlankNode, Literal, NamedNode, Term, from_rdflib

REGIMES = ("rdfs", "owl2-rl")

LEFT_OUT = {
    "rdfs": {
        # owlrl types the literals themselves, as subjects, which is no RDF; we invent nodes for them
        "rdfD1": "what is said of literals",
        # RDF 1.1 recognises datatypes by agreement; owlrl has none of its own but rdf:XMLLiteral
        "rdfs1": "which datatypes are recognised",
    },
    "owl2-rl": {
        # "skipped on purpose at the moment", as its source says
        "dt-eq": "literals with equal values",
        # owlrl types the literals themselves, and goes on from these as subjects (see SOME_LITERALS)
        "dt-type2": "which value spaces a literal is in",
    },
}
"""Rules that owlrl does not have, or not so that RDF could say it."""

MORE_DATATYPES = {
    # RDF 1.0 had it as an axiom, RDF 1.1 has no datatype but those that are recognised
    "rdfs": (RDF.XMLLiteral,),
    # newer than the list of section 4.2 of the OWL 2 profiles
    "owl2-rl": (RDF.langString, RDF.HTML, XSD.date, XSD.time),
}
"""Datatypes that owlrl knows without being told."""

SOME_LITERALS = tuple(
    literal
    for literal in LITERALS
    # Values are Python's to owlrl, 1 == 1.0 == True and "one" == "one"@en, and it mixes up equal ones
    if literal in (Literal("1", datatype=XSD.integer), Literal("2.5", datatype=XSD.decimal), Literal("one"))
)


def comparable(regime: str, seed: int) -> list[Triple]:
    """A random ontology with data in which owlrl's deviations do not show."""
    random = Random(f"owlrl {seed}")
    triples = knowledge(random, random.randint(1, 6), random.randint(0, 10), SOME_LITERALS)
    triples += [(each, RDF.type, RDFS.Datatype) for each in MORE_DATATYPES[regime]]
    if regime == "owl2-rl":
        # owlrl leaves out what it takes to be trivial, C ⊑ C from a cycle of subclasses, say. All that is
        # declared a class and a property has it anyway.
        named = dict.fromkeys(term for triple in triples for term in triple if not isinstance(term, Literal))
        triples += [(term, RDF.type, kind) for term in named for kind in (OWL.Class, OWL.ObjectProperty)]
    return list(dict.fromkeys(triples))


def closed_by_owlrl(regime: str, triples: Iterable[Triple]) -> frozenset[Triple]:
    """What owlrl makes of them, without what is no RDF."""
    logging.getLogger("rdflib.term").setLevel(logging.CRITICAL)
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(tuple(map(_to_rdflib, triple)))
    if regime == "rdfs":
        RDFS_Semantics(graph, axioms=True, daxioms=False).closure()
    else:
        OWLRL_Semantics(graph, axioms=False, daxioms=False).closure()
    errors = {s for s, _, o in graph if str(o).endswith("#ErrorMessage")}
    return frozenset(
        tuple(map(_from_rdflib, triple))
        for triple in graph
        if not isinstance(triple[0], rdflib.Literal) and triple[0] not in errors
    )


def _to_rdflib(term: Term):
    if isinstance(term, NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    datatype = None if term.datatype == XSD.string else rdflib.URIRef(term.datatype.value)
    return rdflib.Literal(term.value, datatype=datatype, normalize=False)


def _from_rdflib(term) -> Term:
    return from_rdflib(term)
