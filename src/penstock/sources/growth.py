"""How much of a file that is being written is complete: lines, statements, members, documents.

What is taken of a file ends where its format allows it to end; the rest waits until more is
there. Nothing is closed for good: what is appended later is taken later.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.decode.formats import Compression, Format
from penstock.decode.turtle import end_of_statements

if TYPE_CHECKING:
    from penstock.decode.limits import InputLimits
    from penstock.decode.times import TimePredicates

_CHUNK = 1 << 20
_TAIL = 1 << 16
_STEP = 1024  # compressed bytes at a time: each four may stand for 128 KiB

Ends = Callable[[bytes], int]
"""How many bytes of a text are complete."""


def end_of_quads(text: bytes) -> int:
    """Where the last line of N-Quads ends; the last one of a file may lack its line break."""
    from penstock.decode.splitting import STATEMENT  # brings in the compiled code of decoding

    end = text.rfind(b"\n") + 1
    last = STATEMENT.match(text, end)
    return len(text) if last is not None and not text[last.end() :].strip() else end


def end_of_json_lines(text: bytes) -> int:
    end = text.rfind(b"\n") + 1
    return len(text) if end_of_document(text[end:]) else end


def end_of_rows(text: bytes, quote: bytes | None = b'"') -> int:
    """Where the last row of CSV ends: a line break between quotes ends none."""
    if quote is None:
        return text.rfind(b"\n") + 1
    end = len(text)
    quotes = text.count(quote)
    while (at := text.rfind(b"\n", 0, end)) >= 0:
        quotes -= text.count(quote, at, end)
        if quotes % 2 == 0:
            return at + 1
        end = at
    return 0


def end_of_document(text: bytes) -> int:
    try:
        json.loads(text)
    except ValueError:
        return 0
    return len(text)


def ends_of(form: Format, compression: Compression, quote: bytes | None = b'"') -> Ends:
    """How texts of a format end; plain N-Quads and JSON lines need no such look."""
    if form is Format.CSV:
        return partial(end_of_rows, quote=quote)
    if form is Format.JSONLD:
        return end_of_document if compression is Compression.NONE else end_of_json_lines
    return {Format.TRIG: end_of_statements, Format.NQUADS: end_of_quads}.get(form, len)


def end_of_last_line(path: str, start: int, size: int) -> int:
    """Where the last complete line of [start, size) ends; `start` if there is none."""
    with open(path, "rb") as file:
        at = size
        while at > start:
            begin = max(start, at - _TAIL)
            file.seek(begin)
            found = file.read(at - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            at = begin
    return start


class LastElement:
    """Where the last element of a growing N-Quads file begins; each line is looked at about once.

    Everything before it is complete, because another element has begun.
    """

    def __init__(self, start: int, times: TimePredicates, limits: InputLimits) -> None:
        from penstock.decode.splitting import LineElements  # brings in the compiled code of decoding

        self.at = start  # looked at up to here
        self.begin = start
        self.name: bytes | None = None
        self._names = LineElements(times, limits)

    @property
    def tells_its_time(self) -> bool:
        from penstock.decode.splitting import is_compact

        return is_compact(self.name)

    def look(self, path: str, end: int) -> None:
        """Take in the complete lines up to `end`."""
        from penstock.decode.splitting import last_element

        window = _TAIL
        with open(path, "rb") as file:
            while self.at < end:
                begin = max(self.at, end - window)
                file.seek(begin)
                text = file.read(end - begin)
                least = 0 if begin == self.at else text.find(b"\n") + 1
                name, place, border = last_element(self._names, text, len(text), least)
                if border or (begin == self.at and name not in (None, self.name)):
                    self.name, self.begin = name, begin + place
                elif begin > self.at:  # it began before
                    window *= 8
                    continue
                self.at = end


def is_whole_parquet(path: str, size: int) -> bool:
    """Whether a Parquet file has its end, which is written last."""
    if size < 12:
        return False
    with open(path, "rb") as file:
        file.seek(size - 8)
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != b"PAR1" or length > size - 12:
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_metadata(path)
    except (pa.ArrowInvalid, OSError):
        return False
    return True


class Members:
    """The members (frames) of a compressed file that grows; each byte is looked at once.

    A file may be read up to the end of a member, if the text so far ends there, too.
    """

    def __init__(self, compression: Compression, start: int, ends: Ends, longest: int) -> None:
        self.compression = compression
        self.longest = longest  # bytes that are kept to find the end of a text; decoding rejects more
        self.at = self.safe = start  # looked at up to here; complete up to here
        self.ends = ends
        self._stream: Any = None  # the decompressor inside a member
        self._text = bytearray()  # since `safe`; of lines only the last one matters
        self.broken = False

    def look(self, path: str, size: int) -> int:
        """Where the complete members end in the first `size` bytes."""
        with open(path, "rb") as file:
            file.seek(self.at)
            while self.at < size and not self.broken:
                self._take(file.read(min(_CHUNK, size - self.at)))
        return size if self.broken else self.safe

    def _take(self, data: bytes) -> None:
        if not data:
            self.broken = True
        while data and not self.broken:
            if self._stream is None:
                if not data.strip(b"\0"):  # padding after the last member
                    self.at += len(data)
                    return
                self._stream = self._open()
            step = data[:_STEP]
            try:
                self._unpack(step)
            except Exception as problem:  # noqa: BLE001 — two libraries' errors
                if not isinstance(problem, zlib.error) and type(problem).__name__ != "ZstdError":
                    raise
                self.broken = True  # decoding says what is wrong with it
                return
            used = len(step) - (len(self._stream.unused_data) if self._stream.eof else 0)
            self.at += used
            data = data[used:]
            if self._stream.eof:
                self._stream = None
                if len(self._text) > self.longest or self.ends(bytes(self._text)) == len(self._text):
                    self.safe = self.at
                    self._text.clear()

    def _unpack(self, data: bytes) -> None:
        """However much some bytes unpack to, only a part of it is held at a time."""
        if self.compression is not Compression.GZIP:
            self._keep(self._stream.decompress(data))
            return
        while True:
            text = self._stream.decompress(data, _CHUNK)
            self._keep(text)
            data = self._stream.unconsumed_tail
            if self._stream.eof or (not data and len(text) < _CHUNK):
                return

    def _keep(self, text: bytes) -> None:
        if self.ends in (end_of_quads, end_of_json_lines) and b"\n" in text:
            self._text.clear()
            text = text[text.rfind(b"\n") + 1 :]
        if self.ends is not len and len(self._text) <= self.longest:
            self._text += text

    def _open(self):
        if self.compression is Compression.GZIP:
            return zlib.decompressobj(wbits=31)
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj()


class Rest:
    """How much of a growing file has been there for a moment, so that its writer means it.

    The last element of a file has no end that can be seen: what is written without a pause belongs
    together.
    """

    def __init__(self, moment: float) -> None:
        self.moment = moment
        self._seen: dict[int, list[tuple[float, int]]] = {}  # inode → when it first had which size

    def size(self, status: os.stat_result, now: float) -> int:
        """How much of a file is older than the moment."""
        moment = self.moment
        seen = self._seen.setdefault(status.st_ino, [])
        if seen and seen[-1][1] > status.st_size:
            seen.clear()
        if not seen or seen[-1][1] < status.st_size:
            seen.append((now, status.st_size))
        if now - status.st_mtime >= moment:
            seen[:] = [(now - moment, status.st_size)]
        while len(seen) > 1 and now - seen[1][0] >= moment:
            seen.pop(0)
        when, size = seen[0]
        return size if now - when >= moment else 0
