"""Bytes of any stream format to occurrences: piece by piece, or a whole file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from penstock.columns.terms import TermTable
from penstock.decode.compression import CompressedReader, PlainReader, open_reader
from penstock.decode.documents import JsonLdDecoder, TrigDecoder
from penstock.decode.formats import Compression, Format, format_named, format_of
from penstock.decode.lines import LineDecoder, last_newline, strict_error
from penstock.decode.occurrences import Occurrences, Reject
from penstock.decode.splitting import align, aligned_range, lines_before, name_before
from penstock.decode.tables import CsvDecoder, ParquetDecoder, TableDecoder
from penstock.decode.times import TimePredicates
from penstock.errors import UsageError

PIECE = 16 * 1024 * 1024
"""Bytes decoded at a time: large enough to amortise, small enough for the caches."""

_DECODERS = {
    Format.NQUADS: LineDecoder,
    Format.TRIG: TrigDecoder,
    Format.JSONLD: JsonLdDecoder,
    Format.PARQUET: ParquetDecoder,
    Format.CSV: CsvDecoder,
}


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
    ) -> None:
        self.format = format_named(format) if isinstance(format, str) else format
        self.times = times or TimePredicates()
        self.source = source
        self.strict = strict
        self.line = 1  # where the next piece begins
        self._decoder = _DECODERS[self.format](
            source, self.times, strict=strict, keep_predicates=keep_predicates, named=named
        )

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
        return found, taken

    def follows(self, name: bytes | None) -> None:
        """Tells a decoder of N-Quads the graph name that stands before the next piece."""
        self._decoder.last = name

    def align(self, data: bytes, offset: int) -> int:
        """The first place at or after `offset` where a piece may begin."""
        return align(data, offset, self.format, self.times)

    def pieces(self, file: BinaryIO) -> Iterator[Occurrences]:
        """The occurrences of a table file (Parquet, CSV), a batch of rows at a time."""
        if not isinstance(self._decoder, TableDecoder):
            raise TypeError(f"{self.format.value} has no rows")
        return self._decoder.pieces(file)


def decode_pieces(
    decoder: Decoder, reader: PlainReader | CompressedReader, piece_bytes: int = PIECE
) -> Iterator[Occurrences]:
    """Decodes what a reader gives, to its end or to where it breaks off."""
    if decoder.format is Format.CSV:
        yield from decoder.pieces(_Readable(reader))
    elif decoder.format in (Format.PARQUET, Format.TRIG):  # only as a whole
        data = b"".join(iter(lambda: reader.read(piece_bytes), b""))
        if data:
            yield decoder.decode(data)[0]
    elif isinstance(reader, PlainReader):
        yield from _decode_plain(decoder, reader, piece_bytes)
    else:
        rest = b""
        while data := reader.read(piece_bytes):
            data = rest + data
            found, taken = decoder.decode(data, final=False)
            rest = data[taken:]
            yield found
        if reader.damage:
            rest = rest[: last_newline(rest)]  # the line in which the stream breaks off
        if rest:
            yield decoder.decode(rest)[0]
    if reader.damage:
        lines = decoder.line - 1
        where = f" after {lines} lines" if lines else ""
        yield Occurrences(rejects=[Reject(decoder.source, decoder.line, reader.damage + where, "")])


def _decode_plain(decoder: Decoder, reader: PlainReader, piece_bytes: int) -> Iterator[Occurrences]:
    """Decodes in one buffer that is used again for every piece: fresh memory costs time."""
    if reader.left is not None:
        piece_bytes = max(1, min(piece_bytes, reader.left))
    buffer = memoryview(bytearray(piece_bytes))
    kept = 0
    while size := reader.read_into(buffer[kept:]):
        found, taken = decoder.decode(buffer[: kept + size], final=reader.left == 0)
        rest = bytes(buffer[taken : kept + size])
        if 2 * len(rest) > len(buffer):  # an element larger than the buffer
            buffer = memoryview(bytearray(2 * len(buffer)))
        kept = len(rest)
        buffer[:kept] = rest
        yield found
    if kept:
        yield decoder.decode(buffer[:kept])[0]


def decode_file(
    path: str | os.PathLike,
    *,
    format: Format | str | None = None,
    times: TimePredicates | None = None,
    source: str | None = None,
    strict: bool = False,
    keep_predicates: np.ndarray | None = None,
    named: bool = False,
    begin: int = 0,
    end: int | None = None,
    within: tuple[int, int] | None = None,
    piece_bytes: int = PIECE,
) -> Iterator[Occurrences]:
    """Decodes a file piece by piece.

    Of uncompressed N-Quads and JSON lines, only the elements that begin in the bytes
    begin…end, so that a file can be cut anywhere; `within` are the bytes that count at all.
    `source` names the file in rejects and in the names of blank nodes (its path if not given).
    `named` gives every triple with its element's name, whatever `keep_predicates` says.
    """
    name = os.fspath(path)
    format_, compression = format_of(name, format)
    decoder = Decoder(format_, times, source or name, False, keep_predicates, named)
    try:
        size = os.stat(path).st_size
        file = Path(path).open("rb")
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror}") from None
    with file:
        if compression is Compression.NONE and format_ is Format.PARQUET:
            pieces = decoder.pieces(file)
        else:
            length = None
            if compression is Compression.NONE and format_ in (Format.NQUADS, Format.JSONLD):
                end = size if end is None else end
                begin, end = aligned_range(path, begin, end, format_, times, within=within)
                if format_ is Format.NQUADS and 0 < begin < end:
                    decoder.follows(name_before(path, begin))
                file.seek(begin)
                length = end - begin
            pieces = decode_pieces(decoder, open_reader(file, compression, length), piece_bytes)
        skipped: int | None = None
        for found in pieces:
            if found.rejects and begin:
                if skipped is None:  # counted only if somebody wants to know
                    skipped = lines_before(path, begin)
                rejects = [replace(r, line=r.line + skipped) for r in found.rejects]
                found = replace(found, rejects=rejects)
            if strict and found.rejects:
                raise strict_error(found.rejects[0])
            if len(found) or len(found.instants) or found.rejects:
                yield found


class _Readable(io.RawIOBase):
    """A reader as a file that Arrow can read."""

    def __init__(self, reader: PlainReader | CompressedReader) -> None:
        self._reader = reader
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            data = self._reader.read(PIECE if size < 0 else size - len(self._rest))
            if not data:
                break
            self._rest += data
        size = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


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
