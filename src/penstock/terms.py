"""RDF terms and the vocabularies Penstock knows.

Terms are pyoxigraph's: `NamedNode`, `BlankNode`, `Literal`. A variable of a query is a
`Variable`. Everything that crosses the public interface also accepts rdflib's terms.
"""

from __future__ import annotations

from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple, Variable

from penstock.errors import InputError

Term = NamedNode | BlankNode | Literal

__all__ = [
    "BlankNode",
    "Literal",
    "NamedNode",
    "Term",
    "Triple",
    "Variable",
    "XSD",
    "RDF",
    "PROV",
    "RDFS",
    "OWL",
]


class Namespace:
    """A namespace: `XSD.integer` is the NamedNode, `XSD["int"]` too."""

    def __init__(self, base: str) -> None:
        self.base = base

    def __getattr__(self, name: str) -> NamedNode:
        if name.startswith("__"):
            raise AttributeError(name)
        node = NamedNode(self.base + name)
        setattr(self, name, node)
        return node

    def __getitem__(self, name: str) -> NamedNode:
        return getattr(self, name)


XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
PROV = Namespace("http://www.w3.org/ns/prov#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
OWL = Namespace("http://www.w3.org/2002/07/owl#")


def from_rdflib(term: Any) -> Term:
    """An rdflib term (or one of ours, unchanged) as ours."""
    if isinstance(term, (NamedNode, BlankNode, Literal)):
        return term
    kind = type(term).__name__
    if kind == "URIRef":
        try:
            return NamedNode(str(term))
        except ValueError as problem:
            raise InputError(f"<{term}> is not an IRI: {problem}") from None
    if kind == "BNode":
        return BlankNode(str(term))
    if kind == "Literal":
        if term.language:
            return Literal(str(term), language=term.language)
        if term.datatype is not None:
            return Literal(str(term), datatype=NamedNode(str(term.datatype)))
        return Literal(str(term))
    what = "a plain text" if isinstance(term, str) else f"a {kind}"
    raise InputError(f"{term!r} is {what} and not an RDF term", hint=f"write {_EXAMPLE}")


_EXAMPLE = (
    'Triple(NamedNode("http://example.org/pump1"), NamedNode("http://example.org/pressure"), Literal(4.2))'
    " with the names of pyoxigraph, or a tuple of rdflib's URIRef and Literal"
)


def triple_of(triple: Any) -> tuple[Term, Term, Term]:
    """A triple of pyoxigraph's or rdflib's; what is none is told with an example."""
    try:
        parts = () if isinstance(triple, (str, bytes)) else tuple(triple)
    except TypeError:
        parts = ()
    if len(parts) != 3:
        raise InputError(f"{triple!r} is not a triple: those have three terms", hint=f"write {_EXAMPLE}")
    subject, predicate, object_ = map(from_rdflib, parts)
    if isinstance(subject, Literal) or not isinstance(predicate, NamedNode):
        raise InputError(
            f"{subject} {predicate} {object_} is not a triple",
            hint="the subject is an IRI or a blank node, the predicate an IRI",
        )
    return subject, predicate, object_


def to_rdflib(term: Term) -> Any:
    """One of our terms as rdflib's (rdflib must be installed)."""
    import rdflib

    if isinstance(term, NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    datatype = term.datatype.value
    return rdflib.Literal(
        term.value, datatype=None if datatype == XSD.string.value else rdflib.URIRef(datatype)
    )
