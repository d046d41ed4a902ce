"""Compressed files read in pieces; a stream that breaks off yields what came before."""

from __future__ import annotations

import zlib
from typing import Any, BinaryIO

import zstandard

from penstock.decode.formats import Compression

_CHUNK = 256 * 1024
_BURST = 16 * 1024 * 1024  # decompressed bytes at a time, about
_ZSTD_STEP = 1024  # compressed bytes at a time: each four may stand for 128 KiB


class PlainReader:
    """An uncompressed file, with the interface of `CompressedReader`; may end at `length`."""

    damage: str | None = None

    def __init__(self, file: Any, length: int | None = None) -> None:
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
        """The next bytes, as of a file."""
        if self._left is not None:
            size = min(size, self._left)
            self._left -= size
        return self._file.read(size)


class CompressedReader:
    """A gzip or zstd stream; `damage` tells after the last piece what broke it, if anything did.

    However much a few bytes unpack to, only some megabytes of it are held at a time.
    """

    left = None

    def __init__(self, file: BinaryIO | PlainReader, compression: Compression) -> None:
        self._file = file
        self._compression = compression
        self._stream: Any = None  # the decompressor inside a member or frame
        self._rest = memoryview(b"")  # compressed bytes that are not used yet
        self._data = memoryview(b"")  # decompressed bytes that are not given yet
        self._ended = False
        self._full = False  # there may be more to come from bytes that were used already
        self._any = False
        self.damage: str | None = None
        self.begin = 0  # where in the file this begins
        self.members: list[tuple[int, int]] = []
        """Where members begin: in the text that was given so far, and in the file."""
        self._read = self._given = 0  # bytes, compressed and not

    def _open(self) -> Any:
        if self._compression is Compression.GZIP:
            return zlib.decompressobj(wbits=31)
        return zstandard.ZstdDecompressor().decompressobj()

    def _advance(self) -> bytes:
        """The next decompressed bytes; sets `_ended` at the end."""
        chunk, self._rest = self._rest, memoryview(b"")
        if not chunk and not self._full:
            chunk = memoryview(self._file.read(_CHUNK))
            self._read += len(chunk)
        name = self._compression.value
        if not chunk and not self._full:
            self._ended = True
            if self._stream is not None:
                self.damage = f"the {name} stream is cut off"
            return b""
        if self._stream is None:
            if self._any and not bytes(chunk).strip(b"\0"):
                return b""  # zeros after the last member are padding
            self._stream = self._open()
            self.members.append((self._given, self.begin + self._read - len(chunk)))
        try:
            if self._compression is Compression.GZIP:
                data, after = self._stream.decompress(chunk, _BURST), b""
                self._full = len(data) == _BURST and not self._stream.eof
                self._rest = memoryview(self._stream.unconsumed_tail)
            else:
                data, after = self._stream.decompress(chunk[:_ZSTD_STEP]), chunk[_ZSTD_STEP:]
                self._rest = memoryview(after)
        except (zlib.error, zstandard.ZstdError):
            self._ended = True
            self.damage = f"the {name} stream is damaged" if self._any else f"this is no {name} file"
            return b""
        self._any = True
        self._given += len(data)
        if self._stream.eof:
            self._rest = memoryview(self._stream.unused_data + bytes(after))
            self._stream = None
        return data

    def read_into(self, room: memoryview) -> int:
        """Fills the room as far as the stream goes; how many bytes that were."""
        size = 0
        while size < len(room):
            while not self._data and not self._ended:
                self._data = memoryview(self._advance())
            if not self._data:
                break
            some = self._data[: len(room) - size]
            room[size : size + len(some)] = some
            self._data = self._data[len(some) :]
            size += len(some)
        return size


def read_whole(reader: PlainReader | CompressedReader, limit: int | None = None) -> bytearray | None:
    """All that a reader gives, or None if that is more than the limit."""
    data, size = bytearray(_CHUNK), 0
    while more := reader.read_into(memoryview(data)[size:]):
        size += more
        if limit is not None and size > limit:
            return None
        if size == len(data):
            data += bytes(min(len(data), _BURST))
    del data[size:]
    return data


def open_reader(
    file: BinaryIO, compression: Compression, length: int | None = None
) -> PlainReader | CompressedReader:
    if compression is Compression.NONE:
        return PlainReader(file, length)
    return CompressedReader(file if length is None else PlainReader(file, length), compression)
