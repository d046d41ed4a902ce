"""Tables: Parquet and CSV files, and lines of plain JSON.

Either their rows are triples (`TripleRows`: the columns s, p, o, start, and maybe end and graph, with
terms in N-Triples notation or as bare absolute IRIs), or a map says what the columns stand for
(`mapping.rows`). Rows of triples are written as canonical lines and go through the scanner.
"""

from __future__ import annotations

import codecs
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyoxigraph import RdfFormat, parse

from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.assign_times import WrittenLines
from penstock.decode.canonical import Unusable, canonical_line
from penstock.decode.csv_rows import PIECE as CSV_PIECE
from penstock.decode.csv_rows import CsvRows
from penstock.decode.element_decoder import ElementDecoder
from penstock.decode.elements import Elements
from penstock.decode.formats import FILE, LINE, ROW, Format
from penstock.decode.json_rows import read_lines
from penstock.decode.limits import InputLimits
from penstock.decode.lines import shown, strict_error, syntax_reason
from penstock.decode.mapping.cells import is_text, plain
from penstock.decode.mapping.clock import Clock, instants_in
from penstock.decode.mapping.document import Dialect, TableMap, read_map
from penstock.decode.mapping.rows import MappedRows, Table
from penstock.decode.mapping.templates import buffers_of
from penstock.decode.nquads import ODD, STATED, scan
from penstock.decode.occurrences import Occurrences, Reject, concat, empty, merge_terms
from penstock.decode.portions import LONG, long_texts, portions, room_for_long_texts, rows_at_a_time
from penstock.decode.times import TimePredicates
from penstock.errors import InputError
from penstock.timeline import NEVER

COLUMNS = ("s", "p", "o", "start", "end", "graph")
_GRAPH = "<x:row>"  # every row needs a graph to be a quad; its time stands in columns
_OPTIONAL = ("end", "graph")
ROWS_AT_ONCE = 1 << 17
HEADER = 1 << 20  # bytes of a CSV file that have its header
CELLS_IN_A_ROW = 4  # as long as a cell may be


def _terms(column: pa.Array) -> pa.Array:
    """The texts of a column of terms, bare IRIs in angle brackets; null stays null."""
    texts = column.cast(pa.large_string())
    first = pc.utf8_slice_codeunits(texts, 0, 1)
    written = pc.is_in(first, value_set=pa.array(["<", '"', "_"], pa.large_string()))
    bracketed = pc.binary_join_element_wise(_large("<"), texts, _large(">"), _large(""))
    return pc.if_else(written, texts, bracketed)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


class TripleRows(ElementDecoder):
    """Turns rows that are triples into occurrences: the columns s, p, o, start, end, graph."""

    unit = LINE

    def __init__(self, source: str, times: TimePredicates, **options: Any) -> None:
        super().__init__(source, times, **options)
        self._last: tuple[str, int, int, int] | None = None  # graph, start, end and number of the last row

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Which of a table's columns are read."""
        missing = [name for name in COLUMNS if name not in names and name not in _OPTIONAL]
        if missing:
            raise InputError(
                f"the table has no column {', '.join(missing)}; it has " + ", ".join(names)[:500],
                origin=self.source,
                hint="a stream in columns has s, p, o, start, and maybe end and graph; for any other table,"
                " --map FILE (map= in Python) says what its columns mean, and `penstock map` suggests one",
            )
        return [name for name in COLUMNS if name in names]

    def clocks(self, names: Sequence[str]) -> list[Clock]:
        """The columns of the time, each with its formats and zone."""
        return [(name, (None,), None) for name in ("start", "end") if name in names]

    def batch(self, table: pa.Table | pa.RecordBatch, lines: np.ndarray, numbers: np.ndarray) -> Occurrences:
        """The occurrences of some rows, which stand on these lines (or have these numbers).

        Rows of one graph and one time that stand together are an element, with its first row's number.
        """
        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        columns = self._columns(table.combine_chunks())
        if not len(table):
            return empty()
        long = self._leave_out_long(columns)
        start, faults, _ = instants_in(columns["start"], "start")
        faults = long | faults
        end = start
        if "end" in columns:
            end, more, _ = instants_in(columns["end"], "end")
            faults |= more
            absent = columns["end"].is_null().to_numpy(zero_copy_only=False)
            end = np.where(absent, start, end)
        terms = [_terms(columns[name]) for name in ("s", "p", "o")]
        for name, column in zip(("s", "p", "o"), terms, strict=True):
            self._note(faults, pc.invert(column.is_valid()), f"the row has no {name}")
            self._note(faults, pc.match_substring(column, "\n"), f"{name} has a line break in it")
        self._note(faults, pa.array(start == NEVER), "the row has no time in the column start")
        self._note(faults, pa.array(end < start), "the element ends before it starts")
        good = np.ones(len(table), np.bool_)
        good[list(faults)] = False

        written = pc.binary_join_element_wise(*terms, _large(f"{_GRAPH} .\n"), _large(" "))
        written = pc.if_else(pa.array(good), written, _large(""))
        offsets, data = buffers_of(written)
        rows = scan(
            data[offsets[0] : offsets[-1]],
            keep=self.keep,
            stated=self.stated,
            key=self.key,
            salt=self.label.suffix,
        )
        begins = offsets[:-1] - offsets[0]
        row_of = np.searchsorted(begins, rows.offset, side="right") - 1
        odd = rows.kind == ODD
        written = self._parse_odd(terms, row_of[odd], faults)
        more = scan(b"".join(written.lines), keep=self.keep, stated=self.stated, key=self.key, trusted=True)
        more_row = np.array(written.origins, np.int64)[written.index_of(more.offset)]
        kept, more_kept = rows.kind == STATED, more.kind == STATED
        index = np.concatenate([row_of[kept], more_row[more_kept]])
        valid = np.ones(len(table), np.bool_)
        valid[list(faults)] = False
        rejects = [
            Reject(self.source, int(lines[row]), faults[row], self._shown(table, row), self.unit)
            for row in sorted(faults)
        ]
        if self.strict and rejects:
            raise strict_error(rejects[0])
        subject, predicate, object_ = (
            np.concatenate([a[kept], b[more_kept]])
            for a, b in zip(rows.columns[:3], more.columns[:3], strict=True)
        )
        names, texts = np.empty(0, np.int64), TermChunk()
        if self.named:
            names, texts = self._names(columns.get("graph"), index)
        element, begun = self._elements(columns.get("graph"), start, end, valid, numbers)
        return Occurrences(
            subject,
            predicate,
            object_,
            start[index],
            end[index],
            sorted_unique(end[valid]),
            merge_terms([rows.terms, more.terms, texts]),
            begun,
            rejects,
            names,
            element[index],
        )

    def _columns(self, table: pa.Table) -> dict[str, pa.Array]:
        self.wanted(table.column_names)
        columns = {}
        for name in COLUMNS:
            if name in table.column_names:
                column = plain(table.column(name))
                if is_text(column.type):  # an empty cell says nothing
                    nothing = pa.scalar(None, pa.large_string())
                    column = pc.if_else(pc.equal(column, ""), nothing, column)
                columns[name] = column
        return columns

    def _leave_out_long(self, columns: dict[str, pa.Array]) -> dict[int, str]:
        """Puts nothing in place of the cells over the limit; which rows had any, and why."""
        faults: dict[int, str] = {}
        for name, column in columns.items():
            if not is_text(column.type):
                continue
            long = pc.fill_null(pc.greater(pc.binary_length(column), self.limits.line), False)
            if pc.any(long).as_py():
                columns[name] = pc.if_else(long, pa.scalar(None, column.type), column)
                self._note(faults, long, self.limits.line_reason(f"the cell {name}"))
        return faults

    @staticmethod
    def _note(faults: dict[int, str], where: pa.Array, reason: str) -> None:
        for row in np.flatnonzero(pc.fill_null(where, False).to_numpy(zero_copy_only=False)):
            faults.setdefault(int(row), reason)

    def _parse_odd(self, terms: list[pa.Array], rows: np.ndarray, faults: dict[int, str]) -> WrittenLines:
        """The rows that the scanner left alone; each cell must be one term on its own."""
        written = WrittenLines()
        for row in rows.tolist():
            cells = [column[row].as_py() for column in terms]
            try:
                parsed = [
                    self._parse(f"{cells[0]} <x:p> <x:o> .").subject,
                    self._parse(f"<x:s> {cells[1]} <x:o> .").predicate,
                    self._parse(f"<x:s> <x:p> {cells[2]} .").object,
                ]
                line = f"{_text(parsed[0])} {_text(parsed[1])} {_text(parsed[2])} {_GRAPH} ."
                written.add(canonical_line(self._parse(line), self.label, self.times), row)
            except SyntaxError as problem:
                faults[row] = syntax_reason(problem)
            except Unusable as problem:
                faults[row] = str(problem)
        return written

    @staticmethod
    def _parse(line: str):
        quads = list(parse(line.encode(), RdfFormat.N_QUADS))
        if len(quads) != 1:
            raise Unusable("a cell is not one term")
        return quads[0]

    def _elements(
        self,
        graph: pa.Array | None,
        start: np.ndarray,
        end: np.ndarray,
        valid: np.ndarray,
        numbers: np.ndarray,
    ) -> tuple[np.ndarray, int]:
        """The number of each row's element, and how many begin here; rejected rows interrupt none."""
        if graph is None or not valid.any():
            return numbers, int(valid.sum())
        rows = np.flatnonzero(valid)
        codes = graph.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        begins = codes[rows] < 0  # without a name, a row is an element of its own
        for column in (codes[rows], start[rows], end[rows]):
            begins[1:] |= column[1:] != column[:-1]
        first, last = rows[0], rows[-1]
        same = self._last is not None and self._last[:3] == (graph[first].as_py(), start[first], end[first])
        begins[0] = not same
        element = numbers.copy()
        element[rows] = numbers[rows[np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))]]
        if same:  # it began in the rows before these
            element[rows[: np.argmax(begins) if begins.any() else len(rows)]] = self._last[3]
        name = graph[last].as_py()
        self._last = None if name is None else (name, start[last], end[last], element[last])
        return element, int(begins.sum())

    def _names(self, graph: pa.Array | None, index: np.ndarray) -> tuple[np.ndarray, TermChunk]:
        """The graph's name in each of the rows `index` (0: none), and the texts of the names."""
        if graph is None:
            return np.zeros(len(index), np.int64), TermChunk()
        written = _terms(graph).take(pa.array(index)).dictionary_encode()
        table = TermTable(key=self.key)
        ids = [table.add_text(text.encode()) for text in written.dictionary.to_pylist()]
        codes = written.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.array([*ids, 0], np.int64)[codes], table.chunk()

    @staticmethod
    def _shown(table: pa.Table, row: int) -> str:
        values = table.slice(row, 1).to_pylist()[0]
        return shown(", ".join(f"{k}={v}" for k, v in values.items()))


class TableRows(Protocol):
    """What becomes of rows: `TripleRows`, or `MappedRows` by a map."""

    source: str
    strict: bool
    unit: str
    limits: InputLimits
    elements: Elements

    def wanted(self, names: Sequence[str]) -> list[str]: ...

    def clocks(self, names: Sequence[str]) -> list[Clock]: ...

    def batch(
        self, table: pa.Table | pa.RecordBatch, lines: np.ndarray, numbers: np.ndarray
    ) -> Occurrences: ...


class TableDecoder(ABC):
    """Reads tables, and gives their rows to `rows`."""

    def __init__(self, rows: TableRows) -> None:
        self.rows = rows

    def lost(self, row: int, problem: Exception) -> Occurrences:
        """The reject for a table that cannot be read any further."""
        reason = f"{str(problem).split(chr(10), 1)[0]}; the rest is lost"
        return self.rejected([Reject(self.rows.source, row, reason, "", FILE)])

    def rejected(self, rejects: list[Reject]) -> Occurrences:
        if self.rows.strict and rejects:
            raise strict_error(rejects[0])
        return Occurrences(rejects=rejects)

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a whole file; tables cannot be decoded in parts."""
        if not final:
            return empty(), 0, 0
        return concat(self.pieces(io.BytesIO(data))), len(data), 0

    @abstractmethod
    def pieces(self, file: BinaryIO, piece: int | None = None) -> Iterator[Occurrences]:
        """The occurrences of a file, piece by piece; a piece has about so many bytes."""


class ParquetDecoder(TableDecoder):
    """Decodes Parquet files; rows count from 1."""

    def __init__(self, rows: TableRows) -> None:
        super().__init__(rows)
        rows.unit = ROW

    def pieces(self, file: BinaryIO, piece: int | None = None) -> Iterator[Occurrences]:
        row = 1
        size = ROWS_AT_ONCE if piece is None else max(1, min(ROWS_AT_ONCE, piece // 64))
        try:
            parquet = pq.ParquetFile(file)
            schema = parquet.schema_arrow
            for name in (names := self.rows.wanted([path for each in schema for path in _paths(each)])):
                if schema.names.count(name.split(".", 1)[0]) > 1:
                    raise InputError(f"the table has two columns called {name!r}", origin=self.rows.source)
            wanted = [
                each.name for each in schema if any(path in names for path in _paths(each))
            ]  # a struct as a whole
            texts = [name for name in wanted if is_text(schema.field(name).type)]
            parquet = pq.ParquetFile(file, read_dictionary=texts)
            size = min(size, rows_at_a_time(parquet))
            left = room_for_long_texts(parquet, self.rows.limits.document)
            for some in parquet.iter_batches(size, columns=wanted, use_threads=False):
                long = long_texts(some)
                reached = np.cumsum(long)
                over = (long > 0) & (reached > left)
                left -= int(reached[-1]) if len(reached) else 0
                numbers = np.arange(row, row + len(some))
                if over.any():
                    yield self._repeated(numbers[over])
                    some, numbers = some.filter(pa.array(~over)), numbers[~over]
                for batch in portions(some):
                    here, numbers = numbers[: len(batch)], numbers[len(batch) :]
                    yield self.rows.batch(batch, here, self.rows.elements.numbered(here))
                row += len(long)
        except (pa.ArrowException, OSError) as problem:
            yield self.lost(row, problem)

    def _repeated(self, rows: np.ndarray) -> Occurrences:
        """The rejects for rows whose long texts a dictionary repeats too often."""
        reason = self.rows.limits.repeated_reason(LONG)
        return self.rejected([Reject(self.rows.source, row, reason, "", ROW) for row in rows.tolist()])


def check_table(path: str, form: Format, map_: TableMap | None) -> None:
    """Refuses a CSV or Parquet file by its columns, as its header has them; without one yet it is let be."""
    rows = _rows_of(map_, path)
    if form is Format.PARQUET:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError):
            return  # which is told when it is read
        _check_schema(rows, schema)
    elif map_ is None or map_.dialect.header:
        with open(path, "rb") as file:
            head = file.read(HEADER)
        names, _ = CsvRows(map_.dialect if map_ else Dialect()).header(head, None)
        if names is not None and b"\n" in head:
            rows.wanted(names)


def check_columns(document: Mapping | None, schema: pa.Schema) -> None:
    """Refuses a DataFrame without the columns that its map speaks of, or those of triples."""
    map_ = read_map(document) if document is not None else None
    _check_schema(_rows_of(map_, "the DataFrame"), schema)


def _rows_of(map_: TableMap | None, source: str) -> TableRows:
    return TripleRows(source, TimePredicates()) if map_ is None else MappedRows(map_, source)


def _check_schema(rows: TableRows, schema: pa.Schema) -> None:
    """Refuses a table that lacks columns, or has no times in those of the time."""
    types = {path: kind for each in schema for path, kind in _leaves(each)}
    rows.wanted(list(types))
    for name, formats, zone in rows.clocks(list(types)):
        if not pa.types.is_null(types[name]):  # without a value nobody knows what it would be
            instants_in(plain(pa.nulls(0, types[name])), name, formats, zone)


def _leaves(field: pa.Field, before: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The dotted names of a column's fields, and their types."""
    if pa.types.is_struct(field.type):
        for each in field.type:
            yield from _leaves(each, f"{before}{field.name}.")
    else:
        yield before + field.name, field.type


def _paths(field: pa.Field) -> Iterator[str]:
    return (path for path, _ in _leaves(field))


class CsvDecoder(TableDecoder):
    """Decodes CSV files; with a header line unless the dialect says otherwise."""

    def __init__(
        self,
        rows: TableRows,
        dialect: Dialect | None = None,
        names: list[str] | None = None,
    ) -> None:
        super().__init__(rows)
        self.dialect = dialect or Dialect()
        self.names = None if self.dialect.header else names
        self.line = 1

    def follow(self, before: bytes) -> int:
        """Reads a part of a file that begins so; how many bytes its header takes."""
        self.names, behind = CsvRows(self.dialect).header(before, self.names)
        skip = 0 if self.names is not None else max(0, self.dialect.skip_rows - before.count(b"\n"))
        self.dialect = replace(self.dialect, skip_rows=skip)
        return behind

    def pieces(self, file: BinaryIO, piece: int | None = None) -> Iterator[Occurrences]:
        reader = CsvRows(self.dialect, CELLS_IN_A_ROW * self.rows.limits.line)
        size = CSV_PIECE if piece is None else min(piece, CSV_PIECE)
        line = self.line
        try:
            for table, lines, places in reader.tables(file, self.rows.wanted, self.names, size, line):
                found = []
                if len(lines):
                    found.append(self.rows.batch(table, lines, self.rows.elements.at(places)))
                yield _by_line([*found, *self._faulty(reader)])
                line = int(lines[-1]) + 1 if len(lines) else line
        except pa.ArrowException as problem:
            yield self.lost(line, problem)

    def _faulty(self, reader: CsvRows) -> Iterator[Occurrences]:
        """The rows that are no rows of this table."""
        faulty, reader.rejected = reader.rejected, []
        if faulty:
            source = self.rows.source
            yield self.rejected([Reject(source, line, why, shown(text)) for line, why, text in faulty])


def _by_line(parts: list[Occurrences]) -> Occurrences:
    """Parts of one piece of a file as one, with the rejects in their order."""
    found = concat(parts)
    return replace(found, rejects=sorted(found.rejects, key=lambda reject: reject.line))


class JsonRowsDecoder(TableDecoder):
    """Decodes lines of plain JSON objects by a map."""

    rows: MappedRows

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a piece, and how many of its bytes and lines they took."""
        data = bytes(data)
        limit = len(data) if final else data.rfind(b"\n") + 1
        array = np.frombuffer(data, np.uint8)[:limit]
        ends = np.flatnonzero(array == 0x0A)
        lines = len(ends)
        if limit and data[limit - 1] != 0x0A:
            ends = np.append(ends, limit)
        begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        if first_line == 1 and data.startswith(codecs.BOM_UTF8):
            begins[:1] = 3
        numbers = first_line + np.arange(len(begins))
        filled = ends - begins > 1
        filled |= (ends > begins) & (array[np.minimum(begins, max(limit - 1, 0))] > 32) if limit else False
        begins, ends, numbers = begins[filled], ends[filled], numbers[filled]
        columns, faults = read_lines(data, begins, ends, self.rows.spoken())
        rejects = [
            Reject(self.rows.source, int(numbers[row]), reason, shown(data[begins[row] : ends[row]]))
            for row, reason in sorted(faults.items())
        ]
        parts = [self.rejected(rejects)] if rejects else []
        good = np.ones(len(numbers), np.bool_)
        good[list(faults)] = False
        if rejects:
            place = np.cumsum(good) - 1
            for name, cells in columns.items():
                kept = cells.some(good[cells.rows])
                columns[name] = replace(kept, rows=place[kept.rows])
        places = self.rows.elements.at(begins[good])
        parts.append(self.rows.batch(Table(columns, numbers[good]), numbers[good], places))
        return _by_line(parts), limit, lines

    def pieces(self, file: BinaryIO, piece: int | None = None) -> Iterator[Occurrences]:
        yield self.decode(file.read())[0]


def _text(term) -> str:
    return str(term)
