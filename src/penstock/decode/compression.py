"""Compressed files read in pieces; a stream that breaks off yields what came before."""

from __future__ import annotations

import zlib
from typing import BinaryIO

import zstandard

from penstock.decode.formats import Compression

_CHUNK = 256 * 1024


class PlainReader:
    """An uncompressed file, with the interface of `CompressedReader`; may end at `length`."""

    damage: str | None = None

    def __init__(self, file: BinaryIO, length: int | None = None) -> None:
        self._file = file
        self._left = length

    @property
    def left(self) -> int | None:
        """How many bytes are still to come, if that is known."""
        return self._left

    def read_into(self, room: memoryview) -> int:
        """Fills the room as far as the file goes; how many bytes that were."""
        if self._left is not None:
            room = room[: self._left]
        size = 0
        while size < len(room) and (more := self._file.readinto(room[size:])):
            size += more
        if self._left is not None:
            self._left -= size
        return size

    def read(self, size: int) -> bytes:
        if self._left is None:
            return self._file.read(size)
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


class CompressedReader:
    """A gzip or zstd stream; `damage` tells after the last piece what broke it, if anything did."""

    def __init__(self, file: BinaryIO, compression: Compression) -> None:
        self._file = file
        self._compression = compression
        self._stream = None  # the decompressor inside a member or frame
        self._rest = b""  # compressed bytes that are not used yet
        self._pieces: list[bytes] = []
        self._ended = False
        self._any = False
        self.damage: str | None = None

    def _open(self):
        if self._compression is Compression.GZIP:
            return zlib.decompressobj(wbits=31)
        return zstandard.ZstdDecompressor().decompressobj()

    def _advance(self) -> bytes:
        """The next decompressed bytes; sets `_ended` at the end."""
        chunk, self._rest = self._rest or self._file.read(_CHUNK), b""
        name = self._compression.value
        if not chunk:
            self._ended = True
            if self._stream is not None:
                self.damage = f"the {name} stream is cut off"
            return b""
        if self._stream is None:
            if self._any and not chunk.strip(b"\0"):
                return b""  # zeros after the last member are padding
            self._stream = self._open()
        try:
            data = self._stream.decompress(chunk)
        except (zlib.error, zstandard.ZstdError):
            self._ended = True
            self.damage = f"the {name} stream is damaged" if self._any else f"this is no {name} file"
            return b""
        self._any = True
        if self._stream.eof:
            self._rest = self._stream.unused_data
            self._stream = None
        return data

    def read(self, size: int) -> bytes:
        """About `size` bytes, or more; nothing at the end."""
        pieces, total = [], 0
        while total < size and not self._ended:
            data = self._advance()
            pieces.append(data)
            total += len(data)
        return b"".join(pieces)


def open_reader(
    file: BinaryIO, compression: Compression, length: int | None = None
) -> PlainReader | CompressedReader:
    if compression is Compression.NONE:
        return PlainReader(file, length)
    return CompressedReader(file, compression)
