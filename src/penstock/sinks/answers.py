"""Answers as the sinks get them: one Arrow table per query and batch.

Each variable is a column of terms in N-Triples notation (null: unbound). The last two
columns are the interval, `start` and `end`, in microseconds (null: timeless). CONSTRUCT and
DESCRIBE have the columns subject, predicate, object; ASK has the column answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.naming import distinct
from penstock.algebra.nodes import Ask, Construct, Describe, ParsedQuery, Select
from penstock.errors import UsageError
from penstock.terms import XSD

AnswerTables = Mapping[int, pa.Table]
"""The answers of one batch: the query's number, and its table."""

TRIPLE_COLUMNS = ("subject", "predicate", "object")
ASK_COLUMN = "answer"
INTERVAL_COLUMNS = ("start", "end")

_NUMERIC = frozenset(XSD[name].value for name in ("integer", "decimal", "double", "boolean"))
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LONGEST_LABEL = 12
_LOCAL_NAME = re.compile(r"[A-Za-z0-9_](?:[\w.-]*[\w-])?")


@dataclass(frozen=True)
class Shape:
    """What a sink must know of a query: its name, its columns and its prefixes."""

    name: str
    columns: tuple[str, ...]  # without the interval
    makes_triples: bool
    prefixes: tuple[tuple[str, str], ...] = ()


def shapes_of(queries: Sequence[ParsedQuery | Shape]) -> tuple[Shape, ...]:
    """The shapes of the queries of a run, with distinct names."""
    shapes = [
        query if isinstance(query, Shape) else _shape_of(query, f"query-{number}")
        for number, query in enumerate(queries, start=1)
    ]
    names = distinct(shape.name for shape in shapes)
    return tuple(replace(shape, name=name) for shape, name in zip(shapes, names, strict=True))


def _shape_of(parsed: ParsedQuery, default_name: str) -> Shape:
    name = parsed.name or default_name
    match parsed.query:
        case Select(vars=variables):
            return Shape(name, tuple(v.name for v in variables), False, parsed.prefixes)
        case Ask():
            return Shape(name, (ASK_COLUMN,), False, parsed.prefixes)
        case Construct() | Describe():
            return Shape(name, TRIPLE_COLUMNS, True, parsed.prefixes)
    raise TypeError(f"{parsed.query!r} is not a query")


@dataclass(frozen=True)
class Layout:
    """The columns of an output that holds the answers of some queries.

    The variables of all of them, then the interval; before them, if there are several
    queries, the query's name. A variable keeps its name: where it is called like one of our
    columns, ours gets an underscore at its end.
    """

    variables: tuple[str, ...]
    query: str | None
    start: str
    end: str

    @staticmethod
    def of(shapes: Collection[Shape]) -> Layout:
        variables = tuple(dict.fromkeys(name for shape in shapes for name in shape.columns))
        query = _free_name("query", variables) if len(shapes) > 1 else None
        return Layout(variables, query, _free_name("start", variables), _free_name("end", variables))

    def gone_on(self, shapes: Collection[Shape], *, widened: bool = False) -> Layout:
        """The layout with which an output goes on that has this one, now with the answers of some queries.

        Columns stay as they are, unless they may be `widened`.
        """
        now = Layout.of(shapes)
        new = tuple(name for name in now.variables if name not in self.variables)
        if new and not widened:
            raise _misfit(f"it has no column for {', '.join(f'?{name}' for name in new)}")
        if {self.start, self.end} & set(new):
            raise _misfit("a variable would be called like its columns of times")
        variables = (*self.variables, *new)
        if now.query is None or self.query is not None:
            return replace(self, variables=variables)
        if not widened:
            raise _misfit("it has no column that tells the answers of several queries apart")
        return replace(self, variables=variables, query=_free_name("query", variables))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Layout:
        return Layout(**value | {"variables": tuple(value["variables"])})

    @property
    def names(self) -> list[str]:
        return [*([self.query] if self.query else []), *self.variables, self.start, self.end]

    def columns_of(self, shape: Shape) -> list[str]:
        """The output column of each column of a query's table."""
        return [*shape.columns, self.start, self.end]


class Misfit(UsageError):
    """An output that was begun for some queries has not the columns for others."""


def _misfit(reason: str) -> Misfit:
    return Misfit(
        f"the output cannot take the answers of these queries: {reason}",
        hint="name another output: a directory (--out NAME/) has a folder for each query, with its columns",
    )


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


ROWS_AT_ONCE = 1 << 16
"""Rows that are written at a time: as text they are many times as large."""


def in_portions(answers: AnswerTables) -> Iterator[AnswerTables]:
    """The answers of a batch, those of each query by themselves, some rows at a time."""
    for number in sorted(answers):
        table = answers[number]
        for first in range(0, table.num_rows, ROWS_AT_ONCE):
            part = table.slice(first, ROWS_AT_ONCE) if table.num_rows > ROWS_AT_ONCE else table
            yield {number: part if part is table else _with_own_texts(part)}


def _with_own_texts(part: pa.Table) -> pa.Table:
    """A part of a table without the texts of the rest."""
    columns = [
        each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each
        for each in part.columns
    ]
    return pa.table(columns, names=part.column_names)


# --- terms as text -----------------------------------------------------------------------


def unescape(text: str) -> str:
    """The characters that an N-Triples string stands for."""
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _ESCAPED.get(match[3], match[3])

    return _ESCAPE.sub(character, text)


def split_literal(notation: str) -> tuple[str, str | None, str | None]:
    """Lexical form, language and datatype of a literal in N-Triples notation."""
    match = _LITERAL.fullmatch(notation)
    if match is None:
        raise ValueError(f"{notation!r} is not a literal in N-Triples notation")
    return unescape(match[1]), match[2], match[3]


def plain_text(notation: str) -> str:
    """A term as the SPARQL CSV format writes it: no brackets, no quotes, no datatype."""
    if notation.startswith("<"):
        return unescape(notation[1:-1])
    if notation.startswith('"'):
        return split_literal(notation)[0]
    return notation


def json_term(notation: str) -> dict[str, str]:
    """A term as the SPARQL JSON format writes it."""
    if notation.startswith("<"):
        return {"type": "uri", "value": unescape(notation[1:-1])}
    if notation.startswith('"'):
        value, language, datatype = split_literal(notation)
        term = {"type": "literal", "value": value}
        if language:
            term["xml:lang"] = language
        elif datatype and datatype != XSD.string.value:
            term["datatype"] = datatype
        return term
    return {"type": "bnode", "value": notation.removeprefix("_:")}


def short_text(prefixes: Sequence[tuple[str, str]]) -> Callable[[str], str]:
    """How a person reads a term: IRIs by prefix, numbers bare, strings in quotes.

    Long labels of blank nodes are cut: they only tell one from another.
    """
    longest_first = sorted(prefixes, key=lambda pair: -len(pair[1]))

    def iri(value: str) -> str:
        for prefix, namespace in longest_first:
            if value.startswith(namespace) and _LOCAL_NAME.fullmatch(value[len(namespace) :]):
                return f"{prefix}:{value[len(namespace) :]}"
        return f"<{value}>"

    def term(notation: str) -> str:
        if notation.startswith("<"):
            return iri(unescape(notation[1:-1]))
        if not notation.startswith('"'):
            return notation if len(notation) <= _LONGEST_LABEL else notation[:8] + "…"
        value, language, datatype = split_literal(notation)
        if datatype in _NUMERIC:
            return value
        quoted = '"' + value.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'
        if language:
            return f"{quoted}@{language}"
        if datatype is None or datatype == XSD.string.value:
            return quoted
        if datatype in (XSD.dateTime.value, XSD.duration.value, XSD.dayTimeDuration.value):
            return value
        return f"{quoted}^^{iri(datatype)}"

    return term


# --- columns as text ---------------------------------------------------------------------


def each_once(column: pa.ChunkedArray, render: Callable) -> list:
    """A column's values rendered; equal values are rendered once. Null stays None."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # an empty column has no chunk to combine
        return []
    rendered = [render(value) for value in encoded.dictionary.to_pylist()]
    return [None if at is None else rendered[at] for at in encoded.indices.to_pylist()]


def text_column(column: pa.ChunkedArray, render: Callable[[str], str]) -> pa.ChunkedArray:
    """A column of rendered terms, without a Python object per row; equal terms are rendered once."""
    known: dict[str | None, str | None] = {None: None}
    parts = []
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        for value in encoded.dictionary.to_pylist():
            if value not in known:
                known[value] = render(value)
        texts = pa.array([known[value] for value in encoded.dictionary.to_pylist()], pa.large_string())
        parts.append(texts.take(encoded.indices))
    return pa.chunked_array(parts, pa.large_string())


def instant_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """`format_instant` of a column of µs."""
    thousands = pc.multiply(pc.divide(column, 1000), 1000)
    micros = column.cast(pa.timestamp("us"))
    texts = pc.if_else(
        pc.equal(column, thousands),
        micros.cast(pa.timestamp("ms"), safe=False).cast(pa.large_string()),
        micros.cast(pa.large_string()),
    )
    return joined(pc.utf8_replace_slice(texts, 10, 11, "T"), "Z")


def joined(*parts: pa.ChunkedArray | str, by: str = "", skip: bool = False) -> pa.ChunkedArray:
    """Columns and texts put together row by row; null if one is null, unless it is to be skipped."""
    how = "skip" if skip else "emit_null"
    wide = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*wide, pa.scalar(by, pa.large_string()), null_handling=how)


def text_bytes(column: pa.ChunkedArray) -> bytes:
    """All texts of a column, one after the other."""
    parts = []
    for chunk in column.chunks:
        _, offsets, data = chunk.buffers()
        if len(chunk) and data is not None:
            ends = memoryview(offsets).cast("q")
            begin, end = ends[chunk.offset], ends[chunk.offset + len(chunk)]
            parts.append(data.slice(begin, end - begin))
    return b"".join(parts)


def term_column(table: pa.Table, at: int) -> pa.ChunkedArray:
    """A column of terms; ASK answers may come as Booleans and are terms here too."""
    column = table.column(at)
    if pa.types.is_boolean(column.type):
        yes, no = (f'"{word}"^^<{XSD.boolean.value}>' for word in ("true", "false"))
        return pc.if_else(column, yes, no)
    return column


def rendered_rows(table: pa.Table, render: Callable, instant: Callable) -> list:
    """All rows of a table as tuples of rendered terms, with the rendered interval at the end."""
    last = table.num_columns - len(INTERVAL_COLUMNS)
    columns = [each_once(term_column(table, at), render) for at in range(last)]
    columns += [each_once(table.column(at), instant) for at in range(last, table.num_columns)]
    return list(zip(*columns, strict=True))
