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
from penstock.knowledge.graphs import graph_of
from penstock.reason.closing import Closure
from penstock.rules import library
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


def comparable(regime: str, seed: int) -> list[Triple] | None:
    """A random ontology with data in which owlrl's deviations do not show; None if they would."""
    random = Random(f"owlrl {seed}")
    triples = knowledge(random, random.randint(1, 6), random.randint(0, 10), SOME_LITERALS)
    if regime == "owl2-rl" and not _lists_are_plain(triples):
        return None
    triples += [(each, RDF.type, RDFS.Datatype) for each in MORE_DATATYPES[regime]]
    if regime == "owl2-rl":
        # owlrl leaves out what it takes to be trivial, C ⊑ C from a cycle of subclasses, say. All that is
        # declared a class and a property has it anyway.
        named = dict.fromkeys(term for triple in triples for term in triple if not isinstance(term, Literal))
        triples += [(term, RDF.type, kind) for term in named for kind in (OWL.Class, OWL.ObjectProperty)]
    return list(dict.fromkeys(triples))


def closed_by_engine(regime: str, triples: Iterable[Triple]) -> frozenset[Triple]:
    """What the engine makes of them, without the rules that owlrl has not."""
    rules = [rule for rule in library.regime(regime) if rule.name not in LEFT_OUT[regime]]
    made = Closure(rules)
    added = graph_of(triples, None)
    made.add(added.triples, added.terms)
    return frozenset(tuple(map(made.terms.term, ids)) for ids in made.triples.T.tolist())


def _lists_are_plain(triples: Iterable[Triple]) -> bool:
    """owlrl stops at a list that loops, skips cells without a head, and of two heads or tails sees one."""
    heads = [s for s, p, _ in triples if p == RDF.first]
    tails = [s for s, p, _ in triples if p == RDF.rest]
    return len(heads) == len(tails) == len(set(heads)) and set(heads) == set(tails)


def closed_by_owlrl(regime: str, triples: Iterable[Triple]) -> frozenset[Triple] | None:
    """What owlrl makes of them, without what is no RDF; None if it went on from what is none."""
    logging.getLogger("rdflib.term").setLevel(logging.CRITICAL)
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(tuple(map(_to_rdflib, triple)))
    if regime == "rdfs":
        RDFS_Semantics(graph, axioms=True, daxioms=False).closure()
    else:
        OWLRL_Semantics(graph, axioms=False, daxioms=False).closure()
    if any(isinstance(s, rdflib.Literal) and s != o for s, o in graph.subject_objects(_SAME)):
        return None  # a literal is the same as something else: owlrl has it as a subject, RDF has not
    if any(isinstance(s, rdflib.Literal) and len(_inverses(graph, p)) > 1 for s, p, _ in graph):
        return None  # by one inverse a literal became a subject, by another an object again
    errors = {s for s, _, o in graph if str(o).endswith("#ErrorMessage")}
    return frozenset(
        tuple(map(_from_rdflib, triple))
        for triple in graph
        if not isinstance(triple[0], rdflib.Literal) and triple[0] not in errors
    )


_SAME = rdflib.OWL.sameAs


def _inverses(graph: rdflib.Graph, predicate) -> set:
    inverse = rdflib.OWL.inverseOf
    return {*graph.objects(predicate, inverse), *graph.subjects(inverse, predicate)}


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
