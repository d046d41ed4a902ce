"""RDF in the columns of Parquet and CSV files: s, p, o, start, and maybe end and graph.

Terms are in N-Triples notation, or bare absolute IRIs. Rows are written as canonical lines
and go through the scanner; start and end are columns of instants already.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from pyoxigraph import RdfFormat, parse

from penstock.columns.interning import frozen
from penstock.columns.memory import address_of
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.canonical import SaltedLabels, Unusable, canonical_line
from penstock.decode.lexical import read_instant
from penstock.decode.limits import LIMITS, Limits
from penstock.decode.lines import shown, strict_error, syntax_reason
from penstock.decode.nquads import ODD, STATED, keep_table, scan
from penstock.decode.occurrences import Occurrences, Reject, concat, empty, merge_terms
from penstock.decode.settle import Written, sorted_unique
from penstock.decode.times import TimePredicates
from penstock.errors import InputError
from penstock.jit import njit
from penstock.timeline import EARLIEST, LATEST, NEVER, SECOND, parse_instant

COLUMNS = ("s", "p", "o", "start", "end", "graph")
_GRAPH = "<x:row>"  # every row needs a graph to be a quad; its time stands in columns
_OPTIONAL = ("end", "graph")


@njit(cache=True)
def _read_instants(data, offsets, instants):
    base = address_of(data)
    for i in range(len(instants)):
        instant, at, _ = read_instant(base, offsets[i], offsets[i + 1])
        instants[i] = instant if at == offsets[i + 1] else NEVER


def instants_of(column: pa.Array, name: str) -> tuple[np.ndarray, dict[int, str]]:
    """A column of times as int64 microseconds, and what is wrong in which row.

    Null and faulty values are NEVER.
    """
    if pa.types.is_timestamp(column.type):
        if column.type.tz is None:
            raise InputError(
                f"the column {name!r} has timestamps without a time zone",
                hint="give the column a zone, such as timestamp[us, tz=UTC]",
            )
        return _micros_of(column, name)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError(
            f"the column {name!r} has the type {column.type}, which is no time",
            hint="use timestamps with a zone, or text such as 2026-01-31T12:00:00.000Z",
        )
    texts = pc.fill_null(column.cast(pa.large_string()), "")
    instants = np.empty(len(texts), np.int64)
    offsets, data = _buffers(texts)
    _read_instants(frozen(data), frozen(offsets), instants)
    faults = {}
    for row in np.flatnonzero(instants == NEVER).tolist():
        text = texts[row].as_py()
        if not text:
            continue
        try:
            instants[row] = parse_instant(text)
        except InputError as problem:
            faults[row] = f"{name}: {problem.message}; {problem.hint or 'write it with a zone'}"
    return instants, faults


def _micros_of(column: pa.Array, name: str) -> tuple[np.ndarray, dict[int, str]]:
    """Timestamps of any unit as microseconds; those beyond the years 1 to 9999 are faults."""
    units = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[column.type.unit]  # in a second
    count = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    earliest, latest = EARLIEST * units // SECOND, (LATEST + 1) * units // SECOND - 1
    inside = (count >= max(earliest, np.iinfo(np.int64).min)) & (count <= min(latest, np.iinfo(np.int64).max))
    count = np.where(inside, count, 0)
    micros = count // (units // SECOND) if units > SECOND else count * (SECOND // units)
    absent = column.is_null().to_numpy(zero_copy_only=False)
    faults = dict.fromkeys(
        np.flatnonzero(~inside & ~absent).tolist(), f"{name} lies outside the years 1 to 9999 in UTC"
    )
    return np.where(inside & ~absent, micros, NEVER), faults


def _buffers(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and bytes of a large_string or large_binary array."""
    _, offsets, data = texts.buffers()
    offsets = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return offsets, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)


def _terms(column: pa.Array) -> pa.Array:
    """The texts of a column of terms, bare IRIs in angle brackets; null stays null."""
    texts = column.cast(pa.large_string())
    first = pc.utf8_slice_codeunits(texts, 0, 1)
    written = pc.is_in(first, value_set=pa.array(["<", '"', "_"], pa.large_string()))
    bracketed = pc.binary_join_element_wise(_large("<"), texts, _large(">"), _large(""))
    return pc.if_else(written, texts, bracketed)


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


class TableDecoder(ABC):
    """Decodes tables of triples, a batch of rows at a time."""

    def __init__(
        self,
        source: str,
        times: TimePredicates,
        *,
        strict: bool = False,
        keep_predicates: np.ndarray | None = None,
        named: bool = False,
        base: str | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.source = source
        self.limits = limits
        self.times = times
        self.strict = strict
        self.keep = keep_table(None if named else keep_predicates)
        self.named = named
        self.stated = times.ids()
        self.label = SaltedLabels(source)

    def batch(self, table: pa.Table | pa.RecordBatch, first_row: int) -> Occurrences:
        """The occurrences of some rows; `first_row` is the first one's number in its file."""
        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        columns = self._columns(table.combine_chunks())
        if not len(table):
            return empty()
        long = self._leave_out_long(columns)
        start, faults = instants_of(columns["start"], "start")
        faults = long | faults
        end = start
        if "end" in columns:
            end, more = instants_of(columns["end"], "end")
            faults |= more
            absent = columns["end"].is_null().to_numpy(zero_copy_only=False)
            if not pa.types.is_timestamp(columns["end"].type):
                absent |= pc.equal(columns["end"], "").fill_null(True).to_numpy(False)
            end = np.where(absent, start, end)
        terms = [_terms(columns[name]) for name in ("s", "p", "o")]
        for name, column in zip(("s", "p", "o"), terms, strict=True):
            self._note(faults, pc.invert(column.is_valid()), f"the row has no {name}")
            self._note(faults, pc.match_substring(column, "\n"), f"{name} has a line break in it")
        self._note(faults, pa.array(start == NEVER), "the row has no time in the column start")
        self._note(faults, pa.array(end < start), "the element ends before it starts")
        good = np.ones(len(table), np.bool_)
        good[list(faults)] = False

        lines = pc.binary_join_element_wise(*terms, _large(f"{_GRAPH} .\n"), _large(" "))
        lines = pc.if_else(pa.array(good), lines, _large(""))
        offsets, data = _buffers(lines)
        rows = scan(
            data[offsets[0] : offsets[-1]],
            keep=self.keep,
            stated=self.stated,
            salt=self.label.suffix,
        )
        begins = offsets[:-1] - offsets[0]
        row_of = np.searchsorted(begins, rows.offset, side="right") - 1
        odd = rows.kind == ODD
        written = self._parse_odd(terms, row_of[odd], faults)
        more = scan(b"".join(written.lines), keep=self.keep, stated=self.stated, trusted=True)
        more_row = np.array(written.origins, np.int64)[written.index_of(more.offset)]
        kept, more_kept = rows.kind == STATED, more.kind == STATED
        index = np.concatenate([row_of[kept], more_row[more_kept]])
        valid = np.ones(len(table), np.bool_)
        valid[list(faults)] = False
        rejects = [
            Reject(self.source, first_row + row, faults[row], self._shown(table, row))
            for row in sorted(faults)
        ]
        if self.strict and rejects:
            raise strict_error(rejects[0])
        ids = [
            np.concatenate([a[kept], b[more_kept]])
            for a, b in zip(rows.columns[:3], more.columns[:3], strict=True)
        ]
        names, texts = np.empty(0, np.int64), TermChunk()
        if self.named:
            names, texts = self._names(columns.get("graph"), index)
        return Occurrences(
            *ids,
            start[index],
            end[index],
            sorted_unique(end[valid]),
            merge_terms([rows.terms, more.terms, texts]),
            self._elements(columns.get("graph"), start, end, valid),
            rejects,
            names,
        )

    def _columns(self, table: pa.Table) -> dict[str, pa.Array]:
        missing = [n for n in COLUMNS if n not in table.column_names and n not in _OPTIONAL]
        if missing:
            raise InputError(
                f"the table has no column {', '.join(missing)}; it has " + ", ".join(table.column_names),
                origin=self.source,
                hint="a stream in columns has s, p, o, start, and maybe end and graph",
            )
        columns = {}
        for name in COLUMNS:
            if name in table.column_names:
                chunks = table.column(name).chunks
                columns[name] = (
                    chunks[0]
                    if len(chunks) == 1
                    else pa.concat_arrays(chunks)
                    if chunks
                    else pa.array([], table.column(name).type)
                )
        return columns

    def _leave_out_long(self, columns: dict[str, pa.Array]) -> dict[int, str]:
        """Puts nothing in place of the cells over the limit; which rows had any, and why."""
        faults: dict[int, str] = {}
        for name, column in columns.items():
            if not (_is_text(column.type)):
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

    def _parse_odd(self, terms: list[pa.Array], rows: np.ndarray, faults: dict[int, str]) -> Written:
        """The rows that the scanner left alone; each cell must be one term on its own."""
        written = Written()
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

    @staticmethod
    def _elements(graph: pa.Array | None, start, end, valid: np.ndarray) -> int:
        if graph is None:
            return int(valid.sum())
        codes = graph.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        changed = (codes[1:] != codes[:-1]) | (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        begins = np.concatenate([[True], changed]) | np.concatenate([[True], ~valid[:-1]])
        begins |= codes < 0  # without a name, a row is an element of its own
        return int((begins & valid).sum())

    @staticmethod
    def _names(graph: pa.Array | None, index: np.ndarray) -> tuple[np.ndarray, TermChunk]:
        """The graph's name in each of the rows `index` (0: none), and the texts of the names."""
        if graph is None:
            return np.zeros(len(index), np.int64), TermChunk()
        written = _terms(graph).take(pa.array(index)).dictionary_encode()
        table = TermTable()
        ids = [table.add_text(text.encode()) for text in written.dictionary.to_pylist()]
        codes = written.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.array([*ids, 0], np.int64)[codes], table.chunk()

    @staticmethod
    def _shown(table: pa.Table, row: int) -> str:
        values = table.slice(row, 1).to_pylist()[0]
        return shown(", ".join(f"{k}={v}" for k, v in values.items()))

    def lost(self, row: int, problem: Exception) -> Occurrences:
        """The reject for a table that cannot be read any further."""
        reject = Reject(self.source, row, f"{_first_line(problem)}; the rest is lost", "")
        if self.strict:
            raise strict_error(reject)
        return Occurrences(rejects=[reject])

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a whole file; tables cannot be decoded in parts."""
        if not final:
            return empty(), 0, 0
        return concat(self.pieces(io.BytesIO(data))), len(data), 0

    @abstractmethod
    def pieces(self, file) -> Iterator[Occurrences]:
        """The occurrences of a file, piece by piece."""


class ParquetDecoder(TableDecoder):
    """Decodes Parquet files; rows count from 1."""

    def pieces(self, file, row_groups: list[int] | None = None) -> Iterator[Occurrences]:
        row = 1
        try:
            parquet = pq.ParquetFile(file)
            wanted = [name for name in COLUMNS if name in parquet.schema_arrow.names]
            if row_groups:
                before = range(row_groups[0])
                row += sum(parquet.metadata.row_group(i).num_rows for i in before)
            batches = parquet.iter_batches(1 << 17, row_groups=row_groups, columns=wanted)
            for batch in batches:
                yield self.batch(batch, row)
                row += len(batch)
        except (pa.ArrowInvalid, OSError) as problem:
            yield self.lost(row, problem)


class CsvDecoder(TableDecoder):
    """Decodes CSV files with a header line; the line of a row assumes one line per row."""

    def pieces(self, file) -> Iterator[Occurrences]:
        line = 2
        try:
            reader = pa.csv.open_csv(
                file,
                pa.csv.ReadOptions(block_size=1 << 23),
                pa.csv.ParseOptions(newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(COLUMNS, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=[""],
                ),
            )
            for batch in reader:
                yield self.batch(batch, line)
                line += len(batch)
        except pa.ArrowInvalid as problem:
            if "Empty CSV" in str(problem):
                return
            yield self.lost(line, problem)


def _text(term) -> str:
    return str(term)


def _first_line(problem: Exception) -> str:
    return str(problem).split("\n", 1)[0]
