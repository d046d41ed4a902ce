"""CSV bytes cut into rows: one compiled pass finds where rows begin, on which line, with how many cells.

Arrow splits the cells afterwards. It gets whole rows of the right width only, so that a ragged row
or an open quote costs itself and not the file, and every row knows its line.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from penstock.columns.interning import frozen
from penstock.decode.limits import LIMITS, in_bytes
from penstock.decode.mapping.document import Dialect
from penstock.errors import InputError
from penstock.jit import njit

PIECE = 8 * 1024 * 1024
_CLOSED, _OPEN, _TOO_LONG = 0, 1, 2
_NEWLINE, _RETURN = 10, 13


@njit(cache=True)
def _rows(data, at, final, delimiter, quote, escape, comment, longest, found):
    """Finds rows from `at` on: (rows, place after the last whole one, lines before it).

    `found` has the rows begin, end (before the line break), cells, line and state; blank lines and
    comments are left out. Signs that do not exist are -1.
    """
    limit = len(data)
    rows = 0
    line = 0
    while at < limit and rows < found.shape[1]:
        if data[at] == _NEWLINE:
            at += 1
            line += 1
            continue
        if data[at] == _RETURN:
            if at + 1 >= limit and not final:
                break
            at += 2 if at + 1 < limit and data[at + 1] == _NEWLINE else 1
            line += 1
            continue
        begin = at
        inside = False
        cell_begins = True
        cells = 1
        breaks = 0
        first_break = -1
        skipped = data[at] == comment
        done = False
        while at < limit:
            byte = data[at]
            if inside:
                if byte == escape:
                    at += 1
                elif byte == quote:
                    if at + 1 < limit and data[at + 1] == quote and escape < 0:
                        at += 1
                    else:
                        inside = False
                elif byte == _NEWLINE:
                    breaks += 1
                    if first_break < 0:
                        first_break = at
                at += 1
                cell_begins = False
                continue
            if byte == _NEWLINE or byte == _RETURN:
                done = True
                break
            if byte == quote and cell_begins and not skipped:
                inside = True
            elif byte == delimiter:
                cells += 1
                cell_begins = True
                at += 1
                continue
            cell_begins = False
            at += 1
        at = min(at, limit)
        end = at
        if done and data[at] == _RETURN and at + 1 >= limit and not final:
            done = False  # its second half may come with the next piece
        if done:
            at += 2 if data[at] == _RETURN and at + 1 < limit and data[at + 1] == _NEWLINE else 1
            breaks += 1
        elif not final and end - begin <= longest:
            at = begin
            break
        state = _CLOSED
        if inside or end - begin > longest:
            # The quote or the line is at fault: go on behind the first line break.
            state = _OPEN if end - begin <= longest else _TOO_LONG
            if first_break >= 0:
                end, at, breaks = first_break, first_break + 1, 1
        if not skipped:
            found[0, rows] = begin
            found[1, rows] = end
            found[2, rows] = cells
            found[3, rows] = line
            found[4, rows] = state
            rows += 1
        line += breaks
    return rows, at, line


def _sign(text: str | None) -> int:
    return -1 if text is None else ord(text)


class CsvRows:
    """Reads a CSV file piece by piece: tables of texts with the lines of their rows."""

    def __init__(self, dialect: Dialect, longest: int = 4 * LIMITS.line) -> None:
        self.dialect = dialect
        self.longest = longest
        self.escape = None if dialect.double_quote or dialect.quote is None else "\\"
        self.names: list[str] | None = None
        self.columns: list[str] = []
        self.rejected: list[tuple[int, str, bytes]] = []  # line, reason, text; for the caller to take
        self.behind = 0  # how many bytes the header takes, with all before it
        self._skip = dialect.skip_rows
        self._decode = None
        if codecs.lookup(dialect.encoding).name != "utf-8":
            self._decode = codecs.getincrementaldecoder(dialect.encoding)(errors="replace")

    def tables(
        self,
        file: BinaryIO,
        wanted: Callable[[list[str]], list[str]],
        names: list[str] | None = None,
        piece: int = PIECE,
        line: int = 1,
    ) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray]]:
        """The rows of a file, their lines and their places; `wanted` picks the columns that are read.

        With `names`, there is no header: what is read is a part of a file, from a line on.
        """
        rest, fresh, final, place = b"", True, False, 0
        if names is not None:
            self._name(names, wanted)
        while not final:
            data = file.read(piece)
            final = not data
            if self._decode is not None:
                data = self._decode.decode(data, final).encode()
            rest += data
            if final and getattr(file, "damage", None):  # an archive that breaks off in this row
                rest = rest[: rest.rfind(b"\n") + 1]
            if fresh and len(rest) < 3 and not final:
                continue
            if fresh:
                fresh = False
                if rest.startswith(codecs.BOM_UTF8):
                    rest, self.behind = rest[len(codecs.BOM_UTF8) :], len(codecs.BOM_UTF8)
                    place = len(codecs.BOM_UTF8)
            while self._skip and (after := rest.find(b"\n") + 1):
                rest, line, self._skip = rest[after:], line + 1, self._skip - 1
                self.behind += after
                place += after
            while rest and not self._skip:
                found, taken, passed = self._find(rest, final)
                if self.names is None:
                    self.behind += taken
                    if found.shape[1]:
                        self._name(self._header(rest, found), wanted)
                elif found.shape[1]:
                    found[3] += line
                    table, lines, begins = self._table(rest, found)
                    yield table, lines, begins + place
                rest, line, place = rest[taken:], line + passed, place + taken
                if not taken:
                    break

    def header(self, text: bytes, names: list[str] | None) -> tuple[list[str] | None, int]:
        """The names in the header of a file that begins with this text, and how many bytes it takes.

        With `names`, there is only what is skipped; without them and without a header, None.
        """
        next(self.tables(io.BytesIO(text), lambda names: [], names), None)
        return self.names, self.behind

    def _find(self, data: bytes, final: bool) -> tuple[np.ndarray, int, int]:
        """The rows at the head of the data (of the header only itself), and the bytes and lines taken."""
        dialect = self.dialect
        found = np.empty((5, 1 if self.names is None else len(data) // 4 + 16), np.int64)
        rows, taken, passed = _rows(
            frozen(np.frombuffer(data, np.uint8)), 0, final, ord(dialect.delimiter), _sign(dialect.quote),
            _sign(self.escape), _sign(dialect.comment), self.longest, found,
        )  # fmt: skip
        return found[:, :rows], taken, passed

    def _header(self, data: bytes, found: np.ndarray) -> list[str]:
        begin, end = found[:2, 0].tolist()
        text = data[begin:end].decode(errors="replace")
        if self.dialect.quote is None:
            return text.split(self.dialect.delimiter)
        options: dict[str, Any] = {"delimiter": self.dialect.delimiter, "quotechar": self.dialect.quote}
        options |= {"doublequote": self.escape is None, "escapechar": self.escape}
        return next(csv.reader(io.StringIO(text, newline=""), **options))

    def _name(self, names: list[str], wanted: Callable[[list[str]], list[str]]) -> None:
        self.names = [name.strip() for name in names]
        self.columns = wanted(self.names)
        for name in self.columns:
            if self.names.count(name) > 1:
                raise InputError(f"the table has two columns called {name!r}", hint="rename one of them")

    def _table(self, data: bytes, found: np.ndarray) -> tuple[pa.Table, np.ndarray, np.ndarray]:
        """The wanted columns of some rows as text, the lines of the rows, and where they begin."""
        assert self.names is not None
        good = (found[4] == _CLOSED) & (found[2] == len(self.names))
        for row in np.flatnonzero(~good).tolist():
            begin, end, cells, line, state = found[:, row].tolist()
            reason = f"the row has {cells} cells, and the table {len(self.names)} columns"
            if state == _OPEN:
                reason = "a quoted cell of the row is never closed"
            elif state == _TOO_LONG:
                reason = f"the row has more than {in_bytes(self.longest)}, or a quote is not closed"
            self.rejected.append((line, reason, data[begin : min(end, begin + 2000)]))
        found = found[:, good]
        table = self._cells(data, found)
        broken = _not_utf8(table)
        if broken:
            for row in sorted(broken):
                begin, end, _, line, _ = found[:, row].tolist()
                self.rejected.append(
                    (line, "the row is not UTF-8 text", data[begin : min(end, begin + 2000)])
                )
            kept = np.ones(table.num_rows, np.bool_)
            kept[list(broken)] = False
            table, found = table.filter(pa.array(kept)), found[:, kept]
        return table, found[3], found[0]

    def _cells(self, data: bytes, found: np.ndarray) -> pa.Table:
        assert self.names is not None
        places = {name: self.names.index(name) for name in self.columns}
        if not found.shape[1] or not places:
            return pa.table({name: pa.array([], pa.string()) for name in places})
        begins, ends = found[0], found[1]
        gaps = np.flatnonzero(begins[1:] - ends[:-1] > 2)  # blank lines, comments and faulty rows
        firsts = np.concatenate([[0], gaps + 1])
        lasts = np.concatenate([gaps, [len(begins) - 1]])
        data = b"\n".join(data[begins[a] : ends[b]] for a, b in zip(firsts, lasts, strict=True))
        numbered = [str(i) for i in range(len(self.names))]
        read = pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(column_names=numbered, use_threads=False, block_size=len(data) + 16),
            pa.csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char=self.dialect.quote or False,
                double_quote=self.escape is None,
                escape_char=self.escape or False,
                newlines_in_values=True,
            ),
            pa.csv.ConvertOptions(
                include_columns=[str(at) for at in places.values()],
                column_types=dict.fromkeys(numbered, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        if read.num_rows != len(begins):
            raise RuntimeError(f"Arrow finds {read.num_rows} rows, and not {len(begins)}")
        return read.rename_columns(list(places))


def _not_utf8(table: pa.Table) -> set[int]:
    """The rows with a text that is not UTF-8."""
    broken: set[int] = set()
    for column in table.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            for row, value in enumerate(column.cast(pa.binary()).to_pylist()):
                try:
                    value.decode()
                except UnicodeDecodeError:
                    broken.add(row)
    return broken
