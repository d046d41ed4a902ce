"""Reading the manifests of the W3C SPARQL 1.1 query suites.

A manifest is a Turtle file that lists its tests: what kind each is, its query, its data, and
the file with the results that are expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import BlankNode, NamedNode, RdfFormat, parse

from penstock.terms import RDF, Namespace, Term

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
SD = Namespace("http://www.w3.org/ns/sparql-service-description#")

# The address the suites are published under: relative IRIs in them are relative to it.
PUBLISHED = "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/"

EVALUATION, POSITIVE_SYNTAX, NEGATIVE_SYNTAX = "evaluation", "positive syntax", "negative syntax"
KINDS = {
    MF.QueryEvaluationTest: EVALUATION,
    MF.CSVResultFormatTest: EVALUATION,
    MF.PositiveSyntaxTest11: POSITIVE_SYNTAX,
    MF.NegativeSyntaxTest11: NEGATIVE_SYNTAX,
}


@dataclass(frozen=True)
class ConformanceTest:
    """One entry of a manifest, with its files found."""

    suite: str
    name: str  # the local name of its IRI
    title: str
    kind: str
    query: Path
    base: str  # the IRI of the query's file
    data: Path | None = None
    named: tuple[tuple[str, Path], ...] = ()
    result: Path | None = None
    regimes: tuple[str, ...] = ()  # of entailment, under each of which this is the result

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.name}"

    def iri(self, path: Path) -> str:
        """The IRI that a file of this suite is published under."""
        return f"{PUBLISHED}{self.suite}/{path.name}"


class Description:
    """A small graph that answers: the objects of a subject and predicate, the items of a list."""

    def __init__(self, path: Path, base: str) -> None:
        self.objects_of: dict[tuple[Term, Term], list[Term]] = {}
        kind = RdfFormat.RDF_XML if path.suffix == ".rdf" else RdfFormat.TURTLE
        self.triples = [quad.triple for quad in parse(path=path, format=kind, base_iri=base)]
        for triple in self.triples:
            self.objects_of.setdefault((triple.subject, triple.predicate), []).append(triple.object)

    def all(self, subject: Term, predicate: NamedNode) -> list[Term]:
        return self.objects_of.get((subject, predicate), [])

    def one(self, subject: Term, predicate: NamedNode) -> Term | None:
        objects = self.all(subject, predicate)
        return objects[0] if objects else None

    def one_or_items(self, subject: Term, predicate: NamedNode) -> list[Term]:
        """The objects, or the items if they are in a list."""
        found = self.all(subject, predicate)
        return list(self.items(found[0])) if any(isinstance(each, BlankNode) for each in found) else found

    def items(self, head: Term | None) -> Iterator[Term]:
        while head is not None and head != RDF.nil:
            yield self.one(head, RDF.first)
            head = self.one(head, RDF.rest)


def suites(root: Path, index: str) -> list[str]:
    """The suites (folders) that an index manifest includes, in its order."""
    description = Description(root / index, PUBLISHED + index)
    head = description.one(NamedNode(PUBLISHED + index), MF.include)
    return [item.value[len(PUBLISHED) :].split("/")[0] for item in description.items(head)]


def tests_of(root: Path, suite: str) -> list[ConformanceTest]:
    """The tests of one suite, in the order of its manifest."""
    base = f"{PUBLISHED}{suite}/manifest.ttl"
    description = Description(root / suite / "manifest.ttl", base)
    (head,) = (t.object for t in description.triples if t.predicate == MF.entries)

    def file(iri: Term | None) -> Path | None:
        return None if iri is None else root / iri.value.removeprefix(PUBLISHED)

    tests = []
    for entry in description.items(head):
        kind = next((KINDS[k] for k in description.all(entry, RDF.type) if k in KINDS), None)
        if kind is None:
            raise ValueError(f"{entry} is a kind of test that is not known")
        action = description.one(entry, MF.action)
        query = action
        if isinstance(action, BlankNode):
            query = description.one(action, QT.query)
        graphs = [graph.value for graph in description.all(action, QT.graphData)]
        tests.append(
            ConformanceTest(
                suite=suite,
                name=entry.value.rpartition("#")[2],
                title=description.one(entry, MF.name).value,
                kind=kind,
                query=file(query),
                base=query.value,
                data=file(description.one(action, QT.data)),
                named=tuple((iri, root / iri.removeprefix(PUBLISHED)) for iri in sorted(graphs)),
                result=file(description.one(entry, MF.result)),
                regimes=tuple(
                    regime.value.rpartition("/")[2]
                    for regime in description.one_or_items(action, SD.entailmentRegime)
                ),
            )
        )
    return tests
