"""The log of segments: which bytes of which files make up a stream, in order, for good.

A segment is a range of bytes that is complete and will not change. New files and the
growth of known ones are appended as new segments, so a position in a stream is only two
numbers (segment, byte), and a restart reads exactly the same bytes again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.decode.formats import Format, is_stream_file
from penstock.errors import InputError, UsageError
from penstock.sources.streams import STANDARD_INPUT, StreamSpec

SETTLED = 1.0
"""Seconds that a file which is read in one piece must have been left alone in follow mode."""
_TAIL = 1 << 16


@dataclass(frozen=True)
class Segment:
    """The bytes [start, end) of a file; `whole` if they can only be read in one piece."""

    path: str
    start: int
    end: int
    whole: bool

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Range:
    """The part [start, end) of a segment that one batch reads."""

    segment: Segment
    start: int
    end: int


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


def end_of_last_element(path: str, start: int, end: int) -> int:
    """Where the last element ends that will not go on, of the complete lines in [start, end).

    An element whose graph name tells its time is complete in every line. One whose time is
    stated may go on in the next line, so its block of lines is left for the next look.
    """
    if end <= start:
        return start
    begin = max(start, end - _TAIL)
    with open(path, "rb") as file:
        file.seek(begin)
        tail = file.read(end - begin)
    if b"#t=" in tail[tail.rfind(b"\n", 0, -1) + 1 :]:
        return end
    from penstock.decode.splitting import align  # brings in the compiled code of decoding

    last = at = 0 if begin == start else align(tail, 1)
    while at < len(tail):
        last, at = at, align(tail, at + 1)
    return begin + last if last < len(tail) else start


class SegmentLog:
    """The segments of one stream, kept in a file of JSON lines that is only appended to."""

    def __init__(self, spec: StreamSpec, log: Path, spool: Path) -> None:
        self.spec = spec
        self.log = log
        self.spool = spool  # where standard input is kept, see `spool.py`
        self.segments: list[Segment] = []
        self._until: list[int] = [0]  # bytes in the first n segments
        self._known: dict[str, int] = {}  # path → bytes that are in segments
        self._closed: set[str] = set()  # files read in one piece
        for line in self._stored_lines():
            self._add(Segment(*json.loads(line)))

    def _stored_lines(self) -> list[bytes]:
        try:
            data = self.log.read_bytes()
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):  # the machine stopped while a line was written
            os.truncate(self.log, len(complete))
        return complete.splitlines()

    def _add(self, segment: Segment) -> None:
        self.segments.append(segment)
        self._until.append(self._until[-1] + len(segment))
        self._known[segment.path] = segment.end
        if segment.whole:
            self._closed.add(segment.path)

    def discover(self, *, follow: bool) -> int:
        """Append what has come since the last call; how many segments that were."""
        found = [segment for path in self._files() if (segment := self._news(path, follow)) is not None]
        if found:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with open(self.log, "a") as out:
                for segment in found:
                    fields = [segment.path, segment.start, segment.end, segment.whole]
                    out.write(json.dumps(fields) + "\n")
                out.flush()
                os.fsync(out.fileno())
            for segment in found:
                self._add(segment)
        return len(found)

    def _files(self) -> Iterator[str]:
        for path in self.spec.paths:
            if path == STANDARD_INPUT:
                yield from files_below(self.spool, None)
            elif os.path.isdir(path):
                yield from files_below(Path(path), self.spec.format)
            elif os.path.exists(path):
                yield path
            elif path not in self._known:
                raise UsageError(f"there is no file or directory {path}")

    def _news(self, path: str, follow: bool) -> Segment | None:
        if path in self._closed:
            return None
        known = self._known.get(path, 0)
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None  # a file that was read and has been tidied away
        if not self.spec.cut_by_lines(path):
            if follow and time.time() - status.st_mtime < SETTLED:
                return None
            return Segment(path, 0, status.st_size, True)
        if status.st_size < known:
            raise InputError(
                f"{path} has shrunk from {known} to {status.st_size} bytes while it was read",
                hint="a stream's file may only grow; write new data to a new file",
            )
        end = status.st_size
        if end > known and (follow or not self._is_over(path)):
            end = end_of_last_line(path, known, end)
            settled = time.time() - status.st_mtime >= SETTLED
            if self.spec.format_for(path) is Format.NQUADS and not settled:
                end = end_of_last_element(path, known, end)
        return Segment(path, known, end, False) if end > known else None

    def _is_over(self, path: str) -> bool:
        """Whether a file has all that it will ever have, in a run that does not follow."""
        return Path(path).parent != self.spool or (self.spool / ENDED).exists()

    @property
    def finished(self) -> bool:
        """Whether nothing more can come if the run does not follow its files."""
        return not self.spec.from_standard_input or (self.spool / ENDED).exists()

    def remaining(self, position: tuple[int, int]) -> int:
        """How many bytes lie behind a position."""
        segment, byte = position
        rest = self._until[-1] - self._until[segment]
        if segment < len(self.segments):
            rest -= max(0, byte - self.segments[segment].start)
        return rest

    def ranges(self, start: tuple[int, int], end: tuple[int, int]) -> Iterator[Range]:
        """The ranges of bytes between two positions."""
        segment, byte = start
        while (segment, byte) < tuple(end) and segment < len(self.segments):
            whole = self.segments[segment]
            stop = whole.end if segment < end[0] else end[1]
            byte = max(byte, whole.start)
            if stop > byte:
                yield Range(whole, byte, stop)
            segment, byte = segment + 1, 0

    def advance(self, start: tuple[int, int], budget: int) -> tuple[int, int]:
        """The position some `budget` bytes further; what is read in one piece is not cut."""
        segment, byte = start
        while segment < len(self.segments) and budget > 0:
            whole = self.segments[segment]
            byte = max(byte, whole.start)
            take = whole.end - byte if whole.whole else min(budget, whole.end - byte)
            budget -= take
            byte += take
            if byte >= whole.end:
                segment, byte = segment + 1, 0
        return segment, byte


ENDED = ".ended"
"""The name of the mark in a spool directory that says that standard input has ended."""


def files_below(directory: Path, stated_format: str | None) -> list[str]:
    """The data files under a directory by name; hidden ones and ones of other kinds left out."""
    found: list[str] = []
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [
            os.path.join(folder, name)
            for name in names
            if name[0] not in "._" and (stated_format or is_stream_file(name))
        ]
    return sorted(found)
