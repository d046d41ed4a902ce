"""Static graphs from files: Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD and tables, as columns of ids.

N-Triples and N-Quads go through a compiled scanner, piece by piece. The other formats (and lines that
are not canonical) go through pyoxigraph; its quads are written as canonical lines, a portion at a
time, which the scanner takes on trust. Tables have a map, and are read as those of streams, but for the time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyoxigraph import DefaultGraph, Quad, RdfFormat, parse

from penstock.decode.canonical import NumberedLabels, SaltedLabels
from penstock.decode.compression import CompressedReader, PlainReader, open_reader, read_whole
from penstock.decode.decoder import Decoder, decode_file
from penstock.decode.formats import TABLES, Format, split_suffixes
from penstock.decode.jsonld import refusal, vanished
from penstock.decode.lines import syntax_reason
from penstock.decode.mapping.document import TableMap
from penstock.decode.mapping.rows import LEFT_OUT
from penstock.decode.occurrences import Occurrences, Reject
from penstock.decode.triples import Triples, scan_triples
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
PIECE = 16 << 20
"""Bytes that are scanned at a time."""
PORTION = 50_000
"""Quads that are Python objects at a time."""

Labels = Callable[[BlankNode], str]
_NESTED = "triple terms (RDF 1.2) are not supported"


def read_graph(
    path: str | os.PathLike,
    *,
    base: str | None = None,
    key: int = 0,
    piece: int = PIECE,
    portion: int = PORTION,
    map: TableMap | None = None,
) -> Iterator[Triples]:
    """The quads of a file, plain or compressed, in portions; what is wrong with it is an `InputError`.

    Of a table, `map` says what it states.

    Blank nodes get names that depend on the file and their labels or order in it only, so nodes of
    different files differ and every run sees the same ones. Relative IRIs are resolved
    against `base`, by default the file's own address.
    """
    name = os.fspath(path)
    suffix, compression = split_suffixes(name)
    if suffix in TABLES and map is not None:
        yield from _of_rows(decode_file(name, map=map, key=key), name)
        return
    if suffix in TABLES:
        raise UsageError(
            f"the graph {name} is a table, and no map says what its columns mean",
            hint="--map FILE (map= of add_graph) does, in run, try, check and explain; `penstock map --static"
            f" {name}` suggests one",
        )
    if map is not None:
        raise UsageError(
            f"a map is for tables, and the ending of the graph {name} is none of theirs",
            hint="tables end in " + " ".join(TABLES) + " (also with .gz or .zst); RDF needs no map",
        )
    if suffix not in FORMATS:
        raise UsageError(
            f"the format of the graph {name} is not known from its name",
            hint="use one of the endings " + " ".join([*FORMATS, *TABLES]) + " (also with .gz or .zst)",
        )
    form = FORMATS[suffix]
    try:
        with Path(path).open("rb") as file:
            reader = open_reader(file, compression)
            if form in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
                yield from _Lines(name, form, key, portion).read(reader, piece)
            else:
                data = bytes(read_whole(reader))
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror}") from None
    if reader.damage:
        raise InputError(reader.damage, origin=name)
    if form not in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
        quads = _document(data, form, base or Path(path).absolute().as_uri(), name)
        try:
            yield from columns_of(quads, NumberedLabels(name), key, portion)
        except InputError as problem:
            raise problem.located("", name) from None


def read_frame(frame: pa.Table, map: TableMap, *, name: str, key: int = 0) -> Iterator[Triples]:
    """What a table in memory states, which the name tells from others: read as the Parquet file of it."""
    file = io.BytesIO()
    pq.write_table(frame, file, version="2.6")
    decoder = Decoder(Format.PARQUET, source=name, map=map, key=key)
    return _of_rows(decoder.pieces(file), name)


def _of_rows(pieces: Iterable[Occurrences], name: str) -> Iterator[Triples]:
    """What the rows of a table state; knowledge with a gap in it is none, so every row must be right."""
    rejects: list[Reject] = []
    for found in pieces:
        rejects += found.rejects
        columns = (found.subject, found.predicate, found.object, np.zeros(len(found), np.int64))
        yield Triples(np.stack(columns), found.terms, np.empty((2, 0), np.int64))
    if rejects:
        first, rows = rejects[0], len({reject.line for reject in rejects})
        others = f" (the first of {rows:,} rows)" if rows > 1 else ""
        raise InputError(
            f"line {first.line}: {first.reason.removesuffix(LEFT_OUT)}{others}\n  | {first.text}",
            origin=name,
            hint='correct it, or let the map take it for nothing ("null": ["", "n/a"]): of static knowledge'
            " every row must be right",
        )


def _document(data: bytes, form: RdfFormat, base: str, origin: str) -> Iterator[Quad]:
    """The quads of a document."""
    if form is RdfFormat.JSON_LD and (reason := refusal(data)):
        raise InputError(reason, origin=origin)
    try:
        yield from parse(data, form, base_iri=base)
        if form is RdfFormat.JSON_LD and (reason := vanished(data, base)):
            raise InputError(reason, origin=origin)
    except MemoryError:
        raise _too_long(origin) from None
    except SyntaxError as problem:
        raise _located(problem, data, 0, origin) from None


def _too_long(origin: str) -> InputError:
    """What a MemoryError means: it is the parser's way to say that a term does not fit into its buffer."""
    return InputError("a term is longer than 16 MiB", origin=origin)


def _located(problem: SyntaxError, data: bytes, lines: int, origin: str) -> InputError:
    """What is wrong with a text, and where, if it stands after some lines."""
    span, text = None, None
    if problem.lineno:
        length = max(1, (problem.end_offset or 0) - (problem.offset or 0))
        span = Span(lines + problem.lineno, problem.offset or 1, length)
        text = "\n" * lines + data.decode(errors="replace")  # the line has to stand where it stands
    reason, hint = syntax_reason(problem), None
    if "LoadDocumentCallback" in reason:
        reason = "remote JSON-LD contexts are not loaded"
        hint = "write the context into the document"
    return InputError(reason, span=span, text=text, origin=origin, hint=hint)


class _Lines:
    """N-Triples or N-Quads, piece by piece."""

    def __init__(self, name: str, form: RdfFormat, key: int, portion: int) -> None:
        self.name = name
        self.form = form
        self.key = key
        self.portion = portion
        self.labels = SaltedLabels(name)
        self.line = 0  # lines before the piece

    def read(self, reader: PlainReader | CompressedReader, piece: int) -> Iterator[Triples]:
        room, rest = bytearray(piece), b""
        while size := reader.read_into(memoryview(room)):
            data = rest + room[:size]
            cut = data.rfind(b"\n") + 1
            data, rest = data[:cut], data[cut:]
            yield from self._scanned(data)
        if not reader.damage:
            yield from self._scanned(rest)

    def _scanned(self, data: bytes) -> Iterator[Triples]:
        quads = self.form is RdfFormat.N_QUADS
        found = scan_triples(data, key=self.key, quads=quads, salt=self.labels.suffix)
        yield found
        yield from columns_of(self._parsed(data, found.odd), self.labels, self.key, self.portion)
        self.line += data.count(b"\n")

    def _parsed(self, data: bytes, odd: np.ndarray) -> Iterator[Quad]:
        """The quads of odd lines: many at a time if each has one, otherwise line by line."""
        lines = ((begin, data[begin:end]) for begin, end in odd.T.tolist())
        statements = ((begin, line) for begin, line in lines if not line.lstrip().startswith(b"#"))
        while some := list(islice(statements, self.portion)):
            try:
                quads = list(parse(b"".join(line for _, line in some), self.form))
            except (SyntaxError, MemoryError):
                quads = []
            if len(quads) != len(some) or any(isinstance(quad.object, Triple) for quad in quads):
                quads = [quad for begin, line in some for quad in self._parsed_line(data, begin, line)]
            yield from quads

    def _parsed_line(self, data: bytes, begin: int, line: bytes) -> list[Quad]:
        before = self.line + data.count(b"\n", 0, begin)
        try:
            quads = list(parse(line, self.form))
            if any(isinstance(quad.object, Triple) for quad in quads):
                text = "\n" * before + line.decode(errors="replace")
                raise InputError(_NESTED, span=Span(before + 1, 1), text=text, origin=self.name)
            return quads
        except SyntaxError as problem:
            if problem.lineno and problem.lineno > 1:  # what it misses in the next line is missing here
                problem.lineno, problem.offset = 1, len(line.rstrip()) + 1
            raise _located(problem, line, before, self.name) from None
        except MemoryError:
            raise _too_long(self.name) from None


def columns_of(quads: Iterable[Quad], labels: Labels, key: int, portion: int = PORTION) -> Iterator[Triples]:
    """Quads as columns, a portion at a time; blank nodes are named by `labels`."""
    lines = (" ".join(_texts(quad, labels)) for quad in quads)
    while some := list(islice(lines, portion)):
        yield scan_triples((" .\n".join(some) + " .\n").encode(), key=key, trusted=True)


def _texts(quad: Quad, labels: Labels) -> Iterator[str]:
    for term in quad:
        if isinstance(term, BlankNode):
            yield labels(term)
        elif isinstance(term, Triple):
            raise InputError(_NESTED)
        elif not isinstance(term, DefaultGraph):
            yield str(term)
