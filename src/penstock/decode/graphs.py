"""Static graphs from files: Turtle, N-Triples, N-Quads, TriG, RDF/XML and JSON-LD."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import Quad, RdfFormat, parse

from penstock.decode.canonical import NumberedLabels
from penstock.decode.compression import open_reader, read_whole
from penstock.decode.formats import split_suffixes
from penstock.decode.jsonld import refusal, vanished
from penstock.decode.lines import syntax_reason
from penstock.errors import InputError, Span, UsageError
from penstock.terms import BlankNode, Triple

FORMATS = {
    ".ttl": RdfFormat.TURTLE,
    ".turtle": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
    ".json": RdfFormat.JSON_LD,
}


def read_graph(path: str | os.PathLike, *, base: str | None = None) -> Iterator[Quad]:
    """The quads of a file, plain or compressed; what is wrong with it is an `InputError`.

    Blank nodes get names that depend on the file and their order in it only, so nodes of
    different files differ and every run sees the same ones. Relative IRIs are resolved
    against `base`, by default the file's own address.
    """
    name = os.fspath(path)
    suffix, compression = split_suffixes(name)
    if suffix not in FORMATS:
        raise UsageError(
            f"the format of the graph {name} is not known from its name",
            hint="use one of the endings " + " ".join(FORMATS) + " (also with .gz or .zst)",
        )
    labels = NumberedLabels(name)
    try:
        with Path(path).open("rb") as file:
            reader = open_reader(file, compression)
            data = bytes(read_whole(reader))
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror}") from None
    if reader.damage:
        raise InputError(reader.damage, origin=name)
    form, base = FORMATS[suffix], base or Path(path).absolute().as_uri()
    if form is RdfFormat.JSON_LD and (reason := refusal(data)):
        raise InputError(reason, origin=name)
    try:
        for quad in parse(data, form, base_iri=base):
            yield _named(quad, labels)
        if form is RdfFormat.JSON_LD and (reason := vanished(data, base)):
            raise InputError(reason, origin=name)
    except MemoryError:  # the parser's way to say that a term does not fit into its buffer
        raise InputError("a term is longer than 16 MiB", origin=name) from None
    except SyntaxError as problem:
        span = None
        if problem.lineno:
            length = max(1, (problem.end_offset or 0) - (problem.offset or 0))
            span = Span(problem.lineno, problem.offset or 1, length)
        reason = syntax_reason(problem)
        hint = None
        if "LoadDocumentCallback" in reason:
            reason = "remote JSON-LD contexts are not loaded"
            hint = "write the context into the document"
        text = data.decode(errors="replace") if span else None
        raise InputError(reason, span=span, text=text, origin=name, hint=hint) from None


def _named(quad: Quad, labels: NumberedLabels) -> Quad:
    """The quad with stable names for its blank nodes."""

    def rename(term):
        if isinstance(term, BlankNode):
            return BlankNode(labels(term)[2:])
        if isinstance(term, Triple):
            return Triple(*(rename(part) for part in term))
        return term

    terms = tuple(quad)
    if not any(isinstance(term, (BlankNode, Triple)) for term in terms):
        return quad
    return Quad(*(rename(term) for term in terms))
