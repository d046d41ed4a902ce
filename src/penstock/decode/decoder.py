"""Bytes of any stream format to occurrences: piece by piece, or a whole file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from penstock.columns.ids import hash_text
from penstock.columns.terms import TermTable
from penstock.decode.compression import CompressedReader, PlainReader, open_reader, read_whole
from penstock.decode.documents import JsonLdDecoder, TrigDecoder
from penstock.decode.elements import Elements
from penstock.decode.formats import FILE, LINE, Compression, Format, format_named, format_of
from penstock.decode.limits import LIMITS, InputLimits
from penstock.decode.lines import LineDecoder, last_newline, strict_error
from penstock.decode.mapping.document import TableMap
from penstock.decode.mapping.rows import MappedRows
from penstock.decode.occurrences import Occurrences, Reject
from penstock.decode.pieces import LinePieces
from penstock.decode.splitting import align, aligned_range, element_before, lines_before
from penstock.decode.tables import CsvDecoder, JsonRowsDecoder, ParquetDecoder, TableDecoder, TripleRows
from penstock.decode.times import TimePredicates
from penstock.decode.turtle import declarations
from penstock.errors import UsageError

PIECE = 16 * 1024 * 1024
"""Bytes decoded at a time: large enough to amortise, small enough for the caches."""

_HEADER = 1 << 20  # bytes of a CSV file that have its header
_DECODERS = {Format.NQUADS: LineDecoder, Format.TRIG: TrigDecoder, Format.JSONLD: JsonLdDecoder}


class Decoder:
    """Decodes the pieces of one file or pipe, in their order."""

    def __init__(
        self,
        format: Format | str,
        times: TimePredicates | None = None,
        source: str = "-",
        strict: bool = False,
        keep_predicates: np.ndarray | None = None,
        named: bool = False,
        base: str | None = None,
        limits: InputLimits = LIMITS,
        map: TableMap | None = None,
        key: int = 0,
        identity: str | None = None,
    ) -> None:
        self.limits = limits
        self.key = key
        static = (
            map is not None and map.times is None
        )  # the nodes of its rows have the same names in every run
        self.elements = Elements(identity or source, 0 if static else key)
        self.format = format_named(format) if isinstance(format, str) else format
        self.times = times or TimePredicates()
        self.source = source
        self.strict = strict
        self.line = 1  # where the next piece begins
        self.head = b""  # what a part of a file needs from before it: declarations
        self._decoder: Any  # by format: what it needs to know of a part's beginning differs
        options = {
            "strict": strict,
            "keep_predicates": keep_predicates,
            "named": named,
            "limits": limits,
            "key": key,
            "elements": self.elements,
        }
        if map is not None:
            self._decoder = _mapped(self.format, map, source, options)
        elif self.format in _DECODERS:
            self._decoder = _DECODERS[self.format](source, self.times, base=base, **options)
        else:
            rows = TripleRows(source, self.times, **options)
            self._decoder = ParquetDecoder(rows) if self.format is Format.PARQUET else CsvDecoder(rows)

    def decode(
        self, data: bytes | memoryview, first_line: int | None = None, final: bool = True
    ) -> tuple[Occurrences, int]:
        """The occurrences of the next piece, and how many of its bytes they took.

        The bytes that were not taken must come again at the head of the next piece: an
        incomplete line, or a block of stated times that may go on. A final piece is taken
        whole. Without `first_line`, lines are counted on from the last call.
        """
        first_line = self.line if first_line is None else first_line
        found, taken, lines = self._decoder.decode(data, first_line=first_line, final=final)
        self.line = first_line + lines
        self.elements.passed(taken)
        return found, taken

    def rejected(self, line: int, reason: str, text: str = "", unit: str = FILE) -> Occurrences:
        """A piece of input that is not even decoded: a line, or all from it on."""
        return Occurrences(rejects=[Reject(self.source, line, reason, text, unit)])

    def goes_on(self, name: bytes, begin: int) -> None:
        """Tells a decoder of N-Quads which element its first lines belong to: its name and place."""
        number = self.elements.numbered(np.array([begin], np.int64))[0]
        self._decoder.carried = hash_text(name, self.key), int(number)

    def continues(self, before: bytes, begin: int) -> int:
        """Tells the decoder of a part of a file what stands before it, to the byte `begin`.

        Where the part begins: of a CSV file, not in the header.
        """
        if self.format is Format.TRIG:
            self.head = declarations(before) + b" "
            self._decoder.part = begin
            self._decoder.lines_before = before.count(b"\n")
        elif self.format is Format.CSV:
            return max(begin, self._decoder.follow(before))
        return begin

    def begin_on(self, line: int) -> None:
        """Tells the decoder of a table on which line of its file it begins."""
        self.line = line
        if isinstance(self._decoder, CsvDecoder):
            self._decoder.line = line

    def align(self, data: bytes, offset: int) -> int:
        """The first place at or after `offset` where a piece may begin."""
        return align(data, offset, self.format, self.times)

    def pieces(self, file: BinaryIO, piece: int | None = None) -> Iterator[Occurrences]:
        """The occurrences of a table file (Parquet, CSV), a batch of rows at a time."""
        if not isinstance(self._decoder, TableDecoder):
            raise TypeError(f"{self.format.value} has no rows")
        return self._decoder.pieces(file, piece)


def _mapped(format: Format, map: TableMap, source: str, options: dict) -> TableDecoder:
    """The decoder of a table by a map."""
    rows = MappedRows(map, source, **options)
    if format is Format.CSV:
        return CsvDecoder(rows, map.dialect, [column.name for column in map.columns if not column.virtual])
    if format is Format.PARQUET:
        return ParquetDecoder(rows)
    if format is Format.JSONLD:
        return JsonRowsDecoder(rows)
    raise UsageError(
        f"{source} is {format.value}, and a map is for tables",
        hint="a map fits CSV, Parquet, JSON lines and DataFrames; RDF needs none",
    )


def decode_pieces(
    decoder: Decoder, reader: PlainReader | CompressedReader, piece_bytes: int = PIECE
) -> Iterator[Occurrences]:
    """Decodes what a reader gives, to its end or to where it breaks off."""
    if decoder.format is Format.CSV:
        yield from decoder.pieces(_Readable(reader), piece_bytes)
    elif decoder.format in (Format.PARQUET, Format.TRIG):  # only as a whole
        data = read_whole(reader, decoder.limits.document)
        if data is None:
            yield decoder.rejected(1, decoder.limits.document_reason())
            return
        if data:
            yield decoder.decode(decoder.head + data)[0]
    else:
        yield from _decode_lines(decoder, reader, piece_bytes)
    if reader.damage:
        lines = decoder.line - 1
        where = f" after {lines} lines" if lines else ""
        yield decoder.rejected(decoder.line, reader.damage + where)


def _decode_lines(
    decoder: Decoder, reader: PlainReader | CompressedReader, piece_bytes: int
) -> Iterator[Occurrences]:
    if reader.left is not None:
        piece_bytes = min(piece_bytes, reader.left)
    pieces = LinePieces(reader, decoder.limits, piece_bytes)
    for piece in pieces:
        decoder.elements.gaps += pieces.gaps
        for lines, text in pieces.long_lines:
            yield decoder.rejected(decoder.line + lines, decoder.limits.line_reason(), text, LINE)
        found, taken = decoder.decode(piece, final=reader.left == 0)
        yield found
        if len(piece) - taken > decoder.limits.document:
            if decoder.format is Format.JSONLD:  # one document over many lines
                yield decoder.rejected(decoder.line, decoder.limits.document_reason())
                return
            # A block of lines about one element: what has no time up to here is rejected.
            found, more = decoder.decode(piece[taken : last_newline(piece)])
            yield found
            taken += more
        pieces.keep(taken)
    if reader.damage:
        pieces.drop_broken()
    if pieces.rest:
        yield decoder.decode(pieces.rest)[0]


def decode_file(
    path: str | os.PathLike,
    *,
    format: Format | str | None = None,
    times: TimePredicates | None = None,
    source: str | None = None,
    strict: bool = False,
    keep_predicates: np.ndarray | None = None,
    named: bool = False,
    map: TableMap | None = None,
    begin: int = 0,
    end: int | None = None,
    within: tuple[int, int] | None = None,
    base: str | None = None,
    limits: InputLimits = LIMITS,
    piece_bytes: int = PIECE,
    called: str | None = None,
    key: int = 0,
    identity: str | None = None,
) -> Iterator[Occurrences]:
    """Decodes a file piece by piece.

    Of uncompressed N-Quads and JSON lines, only the elements that begin in the bytes
    begin…end, so that a file can be cut anywhere; `within` are the bytes that count at all. Of
    other formats, begin…end are a part that is complete in itself (`sources/growth.py`). `called`
    is the name that tells the format, if the file has been renamed.
    `source` names the file in rejects and in the names of blank nodes (its path if not given), and
    `identity` (`source` if not given) in the numbers of elements: it is the same only for the same file.
    `named` gives every triple with its element's name, whatever `keep_predicates` says.
    Relative IRIs are resolved against `base`; without it, elements that have one are rejected.
    `map` says what the columns of a table mean. `key` is that of the run, for the ids of terms.
    """
    name = os.fspath(path)
    format_, compression = format_of(called or name, format)
    decoder = Decoder(
        format_, times, source or name, False, keep_predicates, named, base, limits, map, key, identity
    )
    try:
        size = os.stat(path).st_size
        file = Path(path).open("rb")
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror}") from None
    with file:
        if compression is Compression.NONE and format_ is Format.PARQUET:
            pieces = decoder.pieces(file, piece_bytes)
        else:
            length = None
            rows = format_ is Format.CSV and map is not None and map.dialect.lines_are_rows
            if compression is Compression.NONE and (format_ in (Format.NQUADS, Format.JSONLD) or rows):
                end = size if end is None else end
                begin, end = aligned_range(path, begin, end, format_, times, within=within, limits=limits)
                if format_ is Format.NQUADS and 0 < begin < end and begin == (within or (0, 0))[0]:
                    if before := element_before(path, begin, times, limits):
                        decoder.goes_on(*before)
            if begin and format_ in (Format.TRIG, Format.CSV):  # a part of a file that has grown
                known = begin
                if format_ is Format.CSV and compression is Compression.NONE:
                    known = _HEADER if rows else min(begin, _HEADER)
                begin = decoder.continues(_text_before(path, compression, known), begin)
                end = end if end is None else max(begin, end)
            if map is not None and named and begin:  # rows are named by their lines
                decoder.begin_on(1 + _lines_before(path, compression, begin))
            if begin or end is not None:
                end = size if end is None else end
                file.seek(begin)
                length = end - begin
            reader = open_reader(file, compression, length)
            decoder.elements.begin = begin
            if compression is not Compression.NONE:
                decoder.elements.begin, decoder.elements.members = 0, reader.members
                reader.begin = begin
            pieces = decode_pieces(decoder, reader, piece_bytes)
        skipped: int | None = None
        for found in pieces:
            if found.rejects and begin:
                if skipped is None:  # counted only if somebody wants to know
                    skipped = _lines_before(path, compression, begin)
                rejects = [replace(r, line=r.line + skipped) for r in found.rejects]
                found = replace(found, rejects=rejects)
            if strict and found.rejects:
                raise strict_error(found.rejects[0])
            if len(found) or len(found.instants) or found.rejects:
                yield found


def _text_before(path: str | os.PathLike, compression: Compression, begin: int) -> bytes:
    """The text of the first bytes of a file."""
    with Path(path).open("rb") as file:
        return bytes(read_whole(open_reader(file, compression, begin)) or b"")


def _lines_before(path: str | os.PathLike, compression: Compression, begin: int) -> int:
    """How many lines the text of the first bytes of a file has."""
    if compression is Compression.NONE:
        return lines_before(path, begin)
    room, lines = memoryview(bytearray(1 << 20)), 0
    with Path(path).open("rb") as file:
        reader = open_reader(file, compression, begin)
        while size := reader.read_into(room):
            lines += bytes(room[:size]).count(b"\n")
    return lines


class _Readable(io.RawIOBase):
    """A reader as a file that Arrow can read."""

    def __init__(self, reader: PlainReader | CompressedReader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    @property
    def damage(self) -> str | None:
        return self._reader.damage

    def readinto(self, room) -> int:
        return self._reader.read_into(memoryview(room))


def warm_up() -> None:
    """Compiles what decoding uses, or loads it from the cache of an earlier run.

    Without a cache this takes seconds; afterwards the first piece of a stream costs no more
    than the others. Set-up may call it, and so may worker processes when they start.
    """
    sample = (
        b"<x:s> <x:p> <x:o> <x:g#t=2026-01-01T00:00:00Z> .\n"
        b'_:s <x:p> "1" <x:g> . # an odd line\n'
        b'<x:g> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:00Z" .\n'
    )
    found, _ = Decoder(Format.NQUADS, keep_predicates=np.array([1])).decode(sample)
    found, _ = Decoder(Format.NQUADS).decode(sample)
    table = TermTable(found.terms)
    table.texts(table.subset(found.subject).ids)
    table.retain(found.object)
