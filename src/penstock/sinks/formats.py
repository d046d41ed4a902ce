"""Answers as bytes: SPARQL CSV and JSON, N-Quads and TriG.

An encoder writes a document in three parts: a header, any number of batches, a footer. What
it writes for a batch does not depend on the batches before, so that a run can go on where a
crashed one stopped.

In CSV and JSON the interval of an answer is in the columns `start` and `end` (xsd:dateTime,
UTC; empty or missing for timeless answers). Answers of several queries in one document
have the query's name in the column `query`, and the columns of all of them. Where a
variable already has one of these names, ours gets an underscore at its end.

In N-Quads and TriG the triples of one query with one interval are one stream element: a
graph whose name ends in `#t=start,end`, which Penstock can read as a stream again. Timeless
triples are in the default graph.
"""

from __future__ import annotations

import csv
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import RdfFormat, parse, serialize

from penstock.errors import UsageError
from penstock.sinks.answers import (
    INTERVAL_COLUMNS,
    AnswerTables,
    Layout,
    Shape,
    in_portions,
    instant_column,
    joined,
    json_term,
    plain_text,
    split_literal,
    term_column,
    text_bytes,
    text_column,
)
from penstock.sinks.native import DATATYPES
from penstock.terms import XSD
from penstock.timeline import format_instant

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Encoder(ABC):
    """Writes the answers of some queries (by their numbers in the run) in one format."""

    suffix: str
    by_row = True

    def __init__(self, shapes: Mapping[int, Shape]) -> None:
        self.shapes = dict(shapes)

    def laid_out(self) -> dict[str, Any]:
        """What a document that is begun now is bound to: the columns in its header, say."""
        return {}

    def go_on(self, laid_out: dict[str, Any]) -> None:  # noqa: B027 — most are bound to nothing
        """Writes into a document that was begun so, maybe for other queries; refuses what does not fit."""

    def header(self) -> bytes:
        return b""

    @abstractmethod
    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        """The answers of one batch; `first`: nothing but the header was written before."""

    def pieces(self, answers: AnswerTables, *, first: bool) -> Iterator[bytes]:
        """The same in pieces: some rows at a time, if what is written of a row does not depend on others."""
        for part in in_portions(answers) if self.by_row else (answers,):
            if data := self.batch(part, first=first):
                first = False
                yield data

    def footer(self) -> bytes:
        return b""

    def tables(self, answers: AnswerTables) -> Iterator[tuple[int, Shape, pa.Table]]:
        """The tables that are not empty, in the order of the queries."""
        for number, shape in self.shapes.items():
            table = answers.get(number)
            if table is not None and table.num_rows:
                yield number, shape, table


class _Columns(Encoder):
    """What CSV and JSON share: one row of columns for the answers of all queries."""

    def __init__(self, shapes: Mapping[int, Shape]) -> None:
        super().__init__(shapes)
        self.layout = Layout.of(shapes.values())

    def laid_out(self) -> dict[str, Any]:
        return self.layout.to_json()

    def go_on(self, laid_out: dict[str, Any]) -> None:
        self.layout = Layout.from_json(laid_out).gone_on(self.shapes.values())


class Csv(_Columns):
    """SPARQL 1.1 Query Results CSV: bare values, lines end in CR LF."""

    suffix = "csv"

    def header(self) -> bytes:
        return self._lines([self.layout.names])

    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        return b"".join(self._table(shape, table) for _, shape, table in self.tables(answers))

    def _table(self, shape: Shape, table: pa.Table) -> bytes:
        last = table.num_columns - len(INTERVAL_COLUMNS)
        columns = [
            text_column(term_column(table, at), lambda notation: self._field(plain_text(notation)))
            for at in range(last)
        ]
        columns += [instant_column(table.column(at)) for at in range(last, table.num_columns)]
        own = dict(zip(self.layout.columns_of(shape), columns, strict=True))
        cells = [pc.fill_null(own[name], "") if name in own else "" for name in self.layout.names]
        if self.layout.query:
            cells[0] = self._field(shape.name)
        return text_bytes(joined(joined(*cells, by=","), "\r\n"))

    def _field(self, text: str) -> str:
        """A text as it stands before a comma, in quotes if it needs them."""
        return self._lines([[text, None]]).decode()[: -len(",\r\n")]

    def _lines(self, rows: list) -> bytes:
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerows(rows)
        return out.getvalue().encode()


class _JsonObjects(_Columns):
    """One JSON object per line, with a member for each bound variable."""

    suffix = "json"

    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        lines = b"".join(self._table(shape, table) for _, shape, table in self.tables(answers))
        # Each line begins with what ends the one before it.
        return lines[1:] if first else lines

    def _table(self, shape: Shape, table: pa.Table) -> bytes:
        last = table.num_columns - len(INTERVAL_COLUMNS)
        before, after = self.instant("|").split("|")
        members = []
        for at, name in enumerate(self.layout.columns_of(shape)):
            key = _json(name) + ": "
            if at < last:
                members.append(joined(key, text_column(term_column(table, at), self.term)))
            else:
                members.append(joined(key + before, instant_column(table.column(at)), after))
        if self.layout.query:
            members.insert(0, f"{_json(self.layout.query)}: {self.text(shape.name)}")
        return text_bytes(joined(",\n{", joined(*members, by=", ", skip=True), "}"))

    @staticmethod
    @abstractmethod
    def term(notation: str) -> str:
        """A term as JSON."""

    @staticmethod
    @abstractmethod
    def instant(text: str) -> str:
        """An instant as JSON."""

    @staticmethod
    @abstractmethod
    def text(value: str) -> str:
        """A text as JSON."""


class Json(_JsonObjects):
    """SPARQL 1.1 Query Results JSON, one binding per line."""

    def header(self) -> bytes:
        head = json.dumps({"vars": self.layout.names}, ensure_ascii=False)
        return f'{{"head": {head},\n "results": {{"bindings": ['.encode()

    def footer(self) -> bytes:
        return b"\n]}}\n"

    @staticmethod
    def term(notation: str) -> str:
        return _json(json_term(notation))

    @staticmethod
    def instant(text: str) -> str:
        return _json({"type": "literal", "value": text, "datatype": XSD.dateTime.value})

    @staticmethod
    def text(value: str) -> str:
        return _json({"type": "literal", "value": value})


class NativeJson(_JsonObjects):
    """A JSON array with one plain object per line: numbers, Booleans and texts instead of terms.

    Every value is written by itself: a number that JSON can write keeps all its digits; what is not
    a number, a Boolean, an IRI or a string without datatype is the text of its lexical form. Unbound
    variables are missing.
    """

    def header(self) -> bytes:
        return b"["

    def footer(self) -> bytes:
        return b"\n]\n"

    @staticmethod
    def term(notation: str) -> str:
        return native_json(notation)

    @staticmethod
    def instant(text: str) -> str:
        return _json(text)

    @staticmethod
    def text(value: str) -> str:
        return _json(value)


def native_json(notation: str) -> str:
    """A term as a plain JSON value."""
    if not notation.startswith('"'):
        return _json(plain_text(notation))
    value, _, datatype = split_literal(notation)
    kind = DATATYPES.get((datatype or "").removeprefix(XSD.base))
    if kind in ("integer", "decimal", "double") and _JSON_NUMBER.fullmatch(value):
        return value
    if kind == "boolean" and value in ("true", "1", "false", "0"):
        return "true" if value in ("true", "1") else "false"
    return _json(value)


def _json(value: str | dict) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Elements(Encoder):
    """What N-Quads and TriG share: answers that are triples, as elements of a stream."""

    by_row = False  # the triples of an interval are one element

    name: str

    def __init__(self, shapes: Mapping[int, Shape]) -> None:
        super().__init__(shapes)
        for shape in shapes.values():
            if not shape.makes_triples:
                raise UsageError(
                    f"the format {self.name} is for triples, and {shape.name} makes none",
                    hint="use csv, json, table or parquet, or write the query as a CONSTRUCT",
                )

    def quads(self, answers: AnswerTables) -> Iterator[str]:
        """Lines of N-Quads; the lines of an element stand together."""
        for _, shape, table in self.tables(answers):
            elements: dict[tuple[int | None, int | None], list[str]] = {}
            columns = [table.column(at).to_pylist() for at in range(5)]
            for subject, predicate, object_, start, end in zip(*columns, strict=True):
                triples = elements.setdefault((start, end), [])
                triples.append(f"{subject} {predicate} {object_}")
            for (start, end), triples in elements.items():
                graph = element_name(shape.name, start, end)
                yield from (f"{triple}{graph} .\n" for triple in triples)


def element_name(query: str, start: int | None, end: int | None) -> str:
    """The graph name of a query's answers with one interval, as it stands in N-Quads."""
    if start is None or end is None:
        return ""
    time = format_instant(start)
    if end != start:
        time += "," + format_instant(end)
    return f" <urn:penstock:{quote(query, safe='')}#t={time}>"


class NQuads(_Elements):
    """A quad per line."""

    name = "nquads"
    suffix = "nq"

    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        return "".join(self.quads(answers)).encode()


class TriG(_Elements):
    """Graphs in braces, with the prefixes of the queries."""

    name = "trig"
    suffix = "trig"

    def __init__(self, shapes: Mapping[int, Shape]) -> None:
        super().__init__(shapes)
        # A prefix that two queries use for different namespaces keeps its first meaning.
        self.prefixes: dict[str, str] = {}
        for shape in shapes.values():
            for prefix, namespace in shape.prefixes:
                self.prefixes.setdefault(prefix, namespace)

    def laid_out(self) -> dict[str, Any]:
        return {"prefixes": self.prefixes}

    def go_on(self, laid_out: dict[str, Any]) -> None:
        self.prefixes = dict(laid_out["prefixes"])

    def header(self) -> bytes:
        lines = (f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in self.prefixes.items())
        return "".join(lines).encode()

    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        lines = "".join(self.quads(answers)).encode()
        quads = sorted(parse(lines, RdfFormat.N_QUADS), key=lambda quad: str(quad.graph_name))
        document = serialize(quads, format=RdfFormat.TRIG, prefixes=self.prefixes)
        lines = document.splitlines(keepends=True)
        return b"".join(line for line in lines if not line.startswith(b"@prefix "))


ENCODERS: dict[str, type[Encoder]] = {
    "csv": Csv, "json": Json, "native json": NativeJson, "nquads": NQuads, "trig": TriG
}  # fmt: skip
