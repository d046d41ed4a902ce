"""A short notation for hand-made streams and their answers, for tests that read as a table.

    shown("SELECT ?x { { ?x :p 1 } SEQ { ?x :q 2 } }", {"1": ":a :p 1", "2-3": ":a :q 2"})
    == ["x=:a @1-3"]

Instants are small numbers of seconds after `EPOCH`. A timeless answer has no `@`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import RdfFormat
from pyoxigraph import parse as parse_rdf

from oracle.cases import Element
from oracle.closure import closure
from oracle.model import StaticGraph, Stream, TimedDataset, Triple, stream_of
from oracle.queries import evaluate_query
from oracle.vocabulary import BASE, EPOCH, PROLOGUE, TICK, iri
from penstock.algebra import Construct
from penstock.languages import parse_query
from penstock.terms import XSD, BlankNode, Literal, NamedNode, Term

Written = Mapping[str, str]
"""Turtle by time: `"2"` is an instant, `"2-3"` an interval, `"2 again"` another element at 2."""


def triples(turtle: str) -> tuple[Triple, ...]:
    """The triples of a Turtle text, with the prefixes of PROLOGUE; the last dot may be missing."""
    text = turtle.strip()
    if text and not text.endswith("."):
        text += " ."
    quads = parse_rdf(f"{PROLOGUE}{text}".encode(), format=RdfFormat.TURTLE)
    return tuple((quad.subject, quad.predicate, quad.object) for quad in quads)


def elements(written: Written) -> list[Element]:
    result = []
    for time, turtle in written.items():
        start, _, end = time.split(" ")[0].partition("-")
        first, last = (EPOCH + int(each) * TICK for each in (start, end or start))
        result.append(Element(triples(turtle), first, last))
    return result


def stream(written: Written) -> Stream:
    return stream_of((e.triples, e.start, e.end) for e in elements(written))


def graph(turtle: str) -> StaticGraph:
    return StaticGraph(frozenset(triples(turtle)))


def shown(
    query: str,
    written: Written | Iterable[Written] | None = None,
    *,
    static: str = "",
    rules: Iterable[str] = (),
    named: Mapping[str, StaticGraph | Stream] | None = None,
) -> list[str]:
    """The oracle's answers, sorted, one text each: `x=:a n=2 @1-3`."""
    written = [] if written is None else [written] if isinstance(written, Mapping) else written
    sources = [stream(each) for each in written] + ([graph(static)] if static else [])
    names = {iri(name): (source,) for name, source in (named or {}).items()}
    dataset = TimedDataset(tuple(sources), names)
    queries = [parse_query(PROLOGUE + text).query for text in (*rules, query)]
    dataset = closure([q for q in queries if isinstance(q, Construct)], dataset)
    answers = evaluate_query(queries[-1], dataset)
    return sorted(
        " ".join(
            [f"{n}={short(row.value(n))}" for n in answers.columns if row.value(n) is not None]
            + _interval(row.start, row.end)
        )
        for row in answers.rows
    )


def _interval(start: int | None, end: int | None) -> list[str]:
    if start is None or end is None:
        return []
    first, last = ((each - EPOCH) // TICK for each in (start, end))
    return [f"@{first}" if first == last else f"@{first}-{last}"]


def short(term: Term) -> str:
    """A term as PROLOGUE abbreviates it; numbers and booleans without their datatype."""
    if isinstance(term, NamedNode) and term.value.startswith(BASE):
        return ":" + term.value.removeprefix(BASE)
    if isinstance(term, BlankNode):
        return "_"
    if isinstance(term, Literal) and term.datatype in (XSD.integer, XSD.decimal, XSD.boolean):
        return term.value
    return str(term)
