"""Rows of a table to occurrences: one row is one element, with a triple for each cell.

Columns are handled one by one and whole. The texts of a column (or only its distinct values,
where there are few) become terms in N-Triples notation and go through the scanner, which knows
what a term may be and computes its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import RdfFormat, parse

from penstock.columns.ids import id_of
from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.canonical import Unusable, canonical_line
from penstock.decode.element_decoder import ElementDecoder
from penstock.decode.formats import LINE
from penstock.decode.lines import shown, strict_error, syntax_reason
from penstock.decode.mapping.cells import Cells, default_of_kind, is_text, lexical, literals, plain, present
from penstock.decode.mapping.clock import Clock, Instants, instants_in
from penstock.decode.mapping.document import Column, TableMap, did_you_mean
from penstock.decode.mapping.templates import Template, buffers_of
from penstock.decode.nquads import ODD, scan
from penstock.decode.occurrences import Occurrences, Reject, merge_terms
from penstock.decode.times import TimePredicates
from penstock.errors import InputError
from penstock.terms import NamedNode
from penstock.timeline import NEVER

_BEFORE, _AFTER = "<x:s> <x:p> ", " <x:g> .\n"
LEFT_OUT = "; the cell is left out"
_LOOK = 2048  # rows of a column that tell whether its values repeat


@dataclass
class Table:
    """Some rows as a reader gives them: columns by name, and the line (or number) of each row."""

    columns: dict[str, Cells]
    lines: np.ndarray

    @staticmethod
    def of(batch: pa.RecordBatch | pa.Table, lines: np.ndarray) -> Table:
        """An Arrow table; the fields of structs by dotted names."""
        rows = np.arange(batch.num_rows)
        columns = {}
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            for path, array in _flat(name, plain(values)):
                columns[path] = Cells(rows, array)
        return Table(columns, lines)


def _flat(name: str, values: pa.Array):
    if not pa.types.is_struct(values.type):
        yield name, values
        return
    for index, each in enumerate(values.type):
        child = pc.struct_field(values, [index])  # null where the struct is
        yield from _flat(f"{name}.{each.name}", plain(child))


@dataclass
class _Found:
    """Columns of ids that grow triple by triple, the texts of their terms, and what was wrong."""

    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    terms: list[TermChunk] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)  # row, reason


class MappedRows(ElementDecoder):
    """Turns rows into occurrences by a map."""

    unit = LINE

    def __init__(
        self, map_: TableMap, source: str, *, keep_predicates: np.ndarray | None = None, **options: Any
    ) -> None:
        super().__init__(source, TimePredicates(), **options)
        self.map = map_
        kept = None if self.named or keep_predicates is None else set(np.asarray(keep_predicates).tolist())
        self.columns = [
            column
            for column in map_.columns
            if column.property and (kept is None or id_of(NamedNode(column.property), self.key) in kept)
        ]

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Which of a table's columns are read at all; a column that is missing is refused."""
        used = [self.header(column, names) for column in self.map.columns if not column.virtual]
        used += [self.resolve(name, names) for name in self._timed()]
        for column in self.map.columns:
            for template in (column.about, column.value):
                used += [self.resolve(name, names) for name in (template.variables if template else ())]
        return list(dict.fromkeys(used))

    def clocks(self, names: Sequence[str]) -> list[Clock]:
        """The columns of the time, each with its formats and zone."""
        times = self.map.times
        return [(self.resolve(name, names), times.formats, times.zone) for name in self._timed()]

    def _timed(self) -> list[str]:
        """What the map calls the columns of the time; static knowledge has none."""
        times = self.map.times
        return [] if times is None else [name for name in (times.start, times.end) if name]

    def spoken(self) -> list[str]:
        """All names that the map speaks of, for tables that have no header."""
        own = {column.name for column in self.map.columns}
        names = [name for column in self.map.columns if not column.virtual for name in column.headers()]
        names += [name for name in self._timed() if name not in own]
        for column in self.map.columns:
            for template in (column.about, column.value):
                names += [name for name in (template.variables if template else ()) if name not in own]
        return list(dict.fromkeys(names))

    def header(self, column: Column, names: Sequence[str]) -> str:
        found = [name for name in column.headers() if name in names]
        if not found:
            raise self._missing(column.headers()[0], names)
        return found[0]

    def resolve(self, name: str, names: Sequence[str]) -> str:
        """The table's column that a template or the time means: by the map's name, or its own."""
        for column in self.map.columns:
            if column.name == name and not column.virtual:
                return self.header(column, names)
        if name not in names:
            raise self._missing(name, names)
        return name

    def _missing(self, name: str, names: Sequence[str]) -> InputError:
        return InputError(
            f"the table has no column {name!r}, which the map speaks of",
            origin=self.source,
            hint=did_you_mean(name, names) or "its columns are " + ", ".join(names)[:500],
        )

    def batch(
        self, table: Table | pa.Table | pa.RecordBatch, lines: np.ndarray, numbers: np.ndarray
    ) -> Occurrences:
        """The occurrences of some rows, which stand on these lines (or have these numbers).

        A row is an element, with its number among `numbers`.
        """
        if not isinstance(table, Table):
            table = Table.of(table, lines)
        size = len(table.lines)
        if not size:
            return Occurrences()
        names = list(table.columns)
        self.wanted(names)
        long = self._leave_out_long(table)
        start, end, faults, ambiguous = self._intervals(table, names)
        found = _Found(faults=[*long, *((row, why) for row, why in faults.items())])
        good = np.ones(size, np.bool_)
        good[list(faults)] = False
        columns = _Texts(self, table)
        subjects: dict[Template | None, np.ndarray] = {}
        for column in self.columns:
            self._triples(column, columns, good, subjects, numbers, found)
        found.faults.sort(key=lambda fault: fault[0])
        rejects = [
            Reject(self.source, int(table.lines[row]), reason, columns.shown(row), self.unit)
            for row, reason in found.faults
        ]
        if self.strict and rejects:
            raise strict_error(rejects[0])
        ids = [np.concatenate(part) for part in zip(*found.parts, strict=True)]
        subject, predicate, object_, row = ids or [np.empty(0, np.int64)] * 4
        order = np.argsort(row, kind="stable")
        row = row[order]
        graph = np.empty(0, np.int64)
        if self.named:
            graph, chunk = self._names(table.lines)
            found.terms.append(chunk)
            bare = np.flatnonzero(good & (np.bincount(row, minlength=size) == 0))
            nothing = np.zeros(len(bare), np.int64)
            subject, predicate, object_ = (
                np.concatenate([column[order], nothing]) for column in (subject, predicate, object_)
            )
            row = np.concatenate([row, bare])
            graph = graph[row]
        else:
            subject, predicate, object_ = subject[order], predicate[order], object_[order]
        return Occurrences(
            subject,
            predicate,
            object_,
            start[row],
            end[row],
            sorted_unique(end[good]),
            merge_terms(found.terms),
            int(good.sum()),
            rejects,
            graph,
            numbers[row],
            ambiguous=ambiguous,
        )

    def _leave_out_long(self, table: Table) -> list[tuple[int, str]]:
        """Leaves out the cells over the limit; which rows had any, and why."""
        faults = []
        for name, cells in table.columns.items():
            if is_text(cells.values.type) and len(cells):
                long = pc.fill_null(pc.greater(pc.binary_length(cells.values), self.limits.line), False)
                if pc.any(long).as_py():
                    long = long.to_numpy(zero_copy_only=False)
                    reason = self.limits.line_reason(f"the cell {name}")
                    faults += [(int(row), reason) for row in cells.rows[long]]
                    table.columns[name] = cells.some(~long)
        return faults

    def _intervals(
        self, table: Table, names: list[str]
    ) -> tuple[np.ndarray, np.ndarray, dict[int, str], int]:
        times = self.map.times
        if times is None:  # nobody asks for the time of static knowledge
            return (whenever := np.zeros(len(table.lines), np.int64)), whenever, {}, 0
        start, faults, ambiguous = self._instants(table, self.resolve(times.start, names))
        end = start
        if times.end is not None:
            end, more, twice = self._instants(table, self.resolve(times.end, names))
            faults = more | faults
            ambiguous += twice
            end = np.where((end == NEVER), start, end)
            for row in np.flatnonzero((end < start) & (end != NEVER)).tolist():
                faults.setdefault(row, "the row ends before it starts")
        for row in np.flatnonzero(start == NEVER).tolist():
            faults.setdefault(row, f"the row has no time in the column {times.start!r}")
        return start, end, faults, ambiguous

    def _instants(self, table: Table, name: str) -> Instants:
        values = whole(table.columns[name], len(table.lines))
        if is_text(values.type):
            values = pc.utf8_trim_whitespace(values)
            nothing = pc.is_in(values, value_set=pa.array(self.map.null, pa.large_string()))
            values = pc.if_else(nothing, pa.scalar(None, pa.large_string()), values)
        times = self.map.times
        return instants_in(values, name, times.formats, times.zone, times.ambiguous)

    def _triples(
        self,
        column: Column,
        columns: _Texts,
        good: np.ndarray,
        subjects: dict[Template | None, np.ndarray],
        numbers: np.ndarray,
        found: _Found,
    ) -> None:
        """The triples that one column makes."""
        cells = columns.cells(column)
        if column.required:
            missing = good.copy()
            missing[cells.rows] = False
            found.faults += [
                (row, f"the column {column.name!r} is empty, and it is required")
                for row in np.flatnonzero(missing).tolist()
            ]
        if not good.all():
            cells = cells.some(good[cells.rows])
        if column.value is not None:
            objects, bad = self._expanded(column.value, columns, cells, column, found)
        else:
            objects, bad = self._literals(column, cells, found)
        assert column.property is not None
        if column.about not in subjects:
            subjects[column.about] = self._subjects(column.about, columns, good, numbers, found)
        subject = subjects[column.about][cells.rows]
        found.faults += [(int(cells.rows[at]), reason) for at, reason in bad.items()]
        kept = (objects != 0) & (subject != 0)
        predicate = NamedNode(column.property)
        table = TermTable(key=self.key)
        id_ = table.add(predicate)
        found.terms.append(table.chunk())
        rows = cells.rows[kept]
        found.parts.append((subject[kept], np.full(len(rows), id_), objects[kept], rows))

    def _subjects(
        self, about: Template | None, columns: _Texts, good: np.ndarray, numbers: np.ndarray, found: _Found
    ) -> np.ndarray:
        """The subject of each row, 0 where it has none; without a template a blank node of the row's own."""
        if about is None:
            labels = pa.array(numbers.view(np.uint64)).cast(pa.large_string())
            return self._ids(pc.binary_join_element_wise(_large("_:row"), labels, _large("")), found)[0]
        rows = np.arange(len(good))
        everything = Cells(rows, pa.nulls(len(rows), pa.large_string()))
        ids, wrong = self._expanded(about, columns, everything, None, found)
        found.faults += [(row, reason) for row, reason in wrong.items() if good[row]]
        empty = good & (ids == 0) & ~np.isin(rows, list(wrong))
        found.faults += [
            (row, f"the row has no subject: {', '.join(about.variables)} is empty")
            for row in np.flatnonzero(empty).tolist()
        ]
        return ids

    def _literals(self, column: Column, cells: Cells, found: _Found) -> tuple[np.ndarray, dict[int, str]]:
        """The ids of a column's literals (0: none), and what is wrong with which cell."""
        ids = np.zeros(len(cells), np.int64)
        bad: dict[int, str] = {}
        kinds = [None] if cells.kinds is None or column.datatype else np.unique(cells.kinds).tolist()
        for kind in kinds:
            chosen = np.arange(len(cells)) if kind is None else np.flatnonzero(cells.kinds == kind)
            values = cells.values if kind is None else cells.values.take(pa.array(chosen))
            datatype = column.datatype if kind is None else default_of_kind(kind)
            values, codes = distinct(values)
            texts, used, wrong = lexical(values, datatype)
            if wrong is None:
                made, faults = self._ids(literals(texts, used, column.lang), found)
            else:
                right = np.flatnonzero(~wrong)
                made = np.zeros(len(values), np.int64)
                some, more = self._ids(literals(texts.take(pa.array(right)), used, column.lang), found)
                made[right] = some
                faults = {int(right[at]): reason for at, reason in more.items()}
                name = used.iri.rsplit("#", 1)[-1]
                article = "an" if name[0] in "aeiou" else "a"
                form = f" written as {used.format}" if used.format else ""
                for at in np.flatnonzero(wrong).tolist():
                    faults[at] = f"{str(texts[at].as_py())[:80]!r} is not {article} {name}{form}"
            ids[chosen] = made if codes is None else made[codes]
            for at, reason in _spread(faults, codes).items():
                bad[int(chosen[at])] = f"column {column.name!r}: {reason}{LEFT_OUT}"
        return ids, bad

    def _expanded(
        self, template: Template, columns: _Texts, cells: Cells, own: Column | None, found: _Found
    ) -> tuple[np.ndarray, dict[int, str]]:
        """The ids of a template's IRIs for some cells (0 where a column is empty), and what is wrong."""
        if template.constant is not None:
            ids, faults = self._ids(pa.array([f"<{template.constant}>"], pa.large_string()), found)
            return np.repeat(ids, len(cells)), _spread(faults, np.zeros(len(cells), np.int64))
        variables = list(dict.fromkeys(template.variables))
        codes: np.ndarray | None = None
        if own is not None and variables == [own.name]:
            values = columns.as_text(cells.values)
        elif len(variables) == 1:
            values = columns.of(variables[0]).take(pa.array(cells.rows))
        else:
            values = None
        if values is not None:  # one column: its distinct values are enough
            values, codes = distinct(values)
            texts = template.texts({variables[0]: values})
        else:
            rows = pa.array(cells.rows)
            of_own = {own.name: columns.as_text(cells.values)} if own is not None and not own.virtual else {}
            texts = template.texts(
                {name: of_own[name] if name in of_own else columns.of(name).take(rows) for name in variables}
            )
        there = texts.is_valid().to_numpy(zero_copy_only=False)
        ids = np.zeros(len(texts), np.int64)
        some, faults = self._ids(texts.drop_null(), found)
        ids[there] = some
        places = np.flatnonzero(there)
        faults = {int(places[at]): reason for at, reason in faults.items()}
        return (ids if codes is None else ids[codes]), _spread(faults, codes)

    def _ids(self, terms: pa.Array, found: _Found) -> tuple[np.ndarray, dict[int, str]]:
        """The ids of terms in N-Triples notation (0 where it is none), and what is wrong with which."""
        if not len(terms):
            return np.empty(0, np.int64), {}
        lines = pc.binary_join_element_wise(_large(_BEFORE), terms, _large(_AFTER), _large(""))
        offsets, data = buffers_of(lines)
        rows = scan(data[offsets[0] : offsets[-1]], keep=self.keep, stated=self.stated, key=self.key)
        found.terms.append(rows.terms)
        ids = rows.object.copy()
        faults: dict[int, str] = {}
        for at in np.flatnonzero(rows.kind == ODD).tolist():
            ids[at] = 0
            try:
                quads = list(parse(lines[at].as_py().encode(), RdfFormat.N_QUADS))
                line = canonical_line(quads[0], self.label, self.times)
                one = scan(line, keep=self.keep, stated=self.stated, key=self.key, trusted=True)
            except SyntaxError as problem:
                faults[at] = f"{terms[at].as_py()[:80]} is no term: {syntax_reason(problem)}"
            except Unusable as problem:
                faults[at] = str(problem)
            else:
                ids[at] = one.object[0]
                found.terms.append(one.terms)
        return ids, faults

    def _names(self, lines: np.ndarray) -> tuple[np.ndarray, TermChunk]:
        """A name for each row, for the report of what came too late: the file and the line."""
        found = _Found()
        numbers = pa.array(lines).cast(pa.large_string())
        begin = f"<urn:penstock:row:{quote(self.source.rsplit('/', 1)[-1], safe='')}:"
        names = pc.binary_join_element_wise(_large(begin), numbers, _large(">"), _large(""))
        return self._ids(names, found)[0], merge_terms(found.terms)


class _Texts:
    """The columns of some rows as cells and as texts, made when they are needed."""

    def __init__(self, rows: MappedRows, table: Table) -> None:
        self.rows = rows
        self.table = table
        self.names = list(table.columns)
        self.size = len(table.lines)
        self._texts: dict[str, pa.Array] = {}

    def cells(self, column: Column) -> Cells:
        """The cells of a column that say something; a virtual column says the same in every row."""
        if column.virtual:
            rows = np.arange(self.size)
            text = pa.scalar(column.default, pa.large_string())
            return Cells(rows, pa.repeat(text, len(rows)))
        return present(self.table.columns[self.rows.header(column, self.names)], column)

    def of(self, name: str) -> pa.Array:
        """A column as one text for each row, null where there is none."""
        if name not in self._texts:
            header = self.rows.resolve(name, self.names)
            column = next((c for c in self.rows.map.columns if c.name == name), None)
            cells = self.table.columns[header]
            if column is not None:
                cells = present(cells, column)
            values = self.as_text(whole(cells, self.size))
            nothing = pc.is_in(values, value_set=pa.array(self.rows.map.null, pa.large_string()))
            self._texts[name] = pc.if_else(nothing, pa.scalar(None, pa.large_string()), values)
        return self._texts[name]

    @staticmethod
    def as_text(values: pa.Array) -> pa.Array:
        if is_text(values.type):
            return values
        if values.null_count == len(values):
            return pa.nulls(len(values), pa.large_string())
        there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        texts = lexical(values.drop_null(), None)[0]
        back = np.full(len(values), -1, np.int64)
        back[there] = np.arange(len(there))
        return texts.take(pa.array(back, mask=back < 0)) if len(there) < len(values) else texts

    def shown(self, row: int) -> str:
        """A row as a reject shows it."""
        said = []
        for name, cells in self.table.columns.items():
            for at in range(*np.searchsorted(cells.rows, [row, row + 1])):
                said.append(f"{name}={str(cells.values[at].as_py())[:200]}")
        return shown(", ".join(said))


def whole(cells: Cells, size: int) -> pa.Array:
    """One value for each row: null where there is none, or where there are several."""
    if len(cells.rows) == size and bool((cells.rows == np.arange(size)).all()):
        return cells.values
    counts = np.bincount(cells.rows, minlength=size)
    at = np.full(size, -1, np.int64)
    single = counts[cells.rows] == 1
    at[cells.rows[single]] = np.flatnonzero(single)
    return cells.values.take(pa.array(at, mask=at < 0))


def distinct(values: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
    """The distinct values of a column and which one each is; the column itself if few repeat."""
    if len(values) < 64 or pa.types.is_nested(values.type):
        return values, None
    step = max(1, len(values) // _LOOK)
    sample = values.take(pa.array(np.arange(0, len(values), step)))
    if pc.count_distinct(sample).as_py() * 2 > len(sample):
        return values, None
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def _spread(faults: dict[int, str], codes: np.ndarray | None) -> dict[int, str]:
    """What is wrong with distinct values, said of every place where they stand."""
    if not faults or codes is None:
        return faults
    at = np.flatnonzero(np.isin(codes, list(faults)))
    return {int(i): faults[int(codes[i])] for i in at}


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
