"""Big files in byte ranges: where a piece may begin so that no line and no element is cut."""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path

import numpy as np
from pyoxigraph import RdfFormat, parse

from penstock.decode.canonical import SaltedLabels, Unusable, canonical_line
from penstock.decode.formats import Compression, Format, format_of
from penstock.decode.jsonld import is_json
from penstock.decode.limits import LIMITS, Limits
from penstock.decode.times import TimePredicates

# No part is tried twice (`*+`, bounds): on hostile lines going back would take hours, or gigabytes.
STATEMENT = re.compile(
    rb"\s*+(<[^>]*+>|_:[^\s<]{1,512})\s*+(<[^>]*+>)"
    rb'\s*+(?:<[^>]*+>|_:[^\s<]{1,512}|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:@[\w-]++|\^\^<[^>]*+>)?+)'
    rb"\s*+(<[^>]*+>|_:[^\s.<]{1,512})?+\s*+\."
)
_COMPACT = b"#t="
_ABOUT = b"about "  # a time statement, and no quad
_FAR = 1 << 16
"""How far to look for the beginning of a compact element; a longer one is cut between lines."""


class Names:
    """Which elements lines belong to, as the decoder sees it: lines that it rejects belong to none."""

    def __init__(
        self, times: TimePredicates | None = None, limits: Limits = LIMITS, *, only_quads: bool = False
    ) -> None:
        self._times = times or TimePredicates()
        predicates = () if only_quads else (self._times.at, self._times.started, self._times.ended)
        self._statements = frozenset(str(p).encode() for p in predicates)
        self._longest = limits.line + 1  # with its line break
        self._label = SaltedLabels("")
        self._known: tuple[bytes | None, bytes | None] = (None, None)  # as last written, and its name

    def of(self, data: bytes | mmap.mmap, begin: int, end: int) -> list[bytes]:
        """The names of the elements that a line belongs to: one, or none if it is neutral.

        (A carriage return inside of a line ends a statement, too.) Statements about a name are no
        quads of it: they have another name here if it tells its time itself.
        """
        if end - begin > self._longest:
            return []  # which is left out later
        line = data[begin:end]
        several = b"\r" in line[:-2]
        written = None if several else self._written(line)
        if written is not None and written == self._known[0]:
            return [self._known[1]]
        if not line.strip() or line.lstrip()[:1] == b"#":
            return []
        try:
            quads = list(parse(line, RdfFormat.N_QUADS))
            lines = [canonical_line(quad, self._label, self._times) for quad in quads]
            names = [name for name in map(self._written, lines) if name is not None]
        except (SyntaxError, Unusable):
            return []
        except MemoryError:  # too long for this parser, but not for the scanner
            return [] if written is None else [written]
        if written is not None and names:
            self._known = written, names[0]
        return names

    def _written(self, line: bytes) -> bytes | None:
        match = STATEMENT.match(line)
        if match is None:
            return None
        subject, predicate, graph = match.groups()
        if graph is not None:
            return graph
        if predicate not in self._statements:
            return None
        return _ABOUT + subject if is_compact(subject) else subject


def is_compact(name: bytes | None) -> bool:
    """Whether a graph name tells its time itself."""
    return name is not None and _COMPACT in name and not name.startswith(_ABOUT)


def align(
    data: bytes | mmap.mmap,
    offset: int,
    format: Format = Format.NQUADS,
    times: TimePredicates | None = None,
    *,
    begin: int = 0,
    end: int | None = None,
    limits: Limits = LIMITS,
) -> int:
    """The first place at or after `offset` where a piece may begin.

    For N-Quads that is the beginning of a block of lines about one element (if the block is not
    longer than the limit of a document); otherwise, of a line. Only the bytes begin…end count;
    both ends are such places.
    """
    end = len(data) if end is None else min(end, len(data))
    if offset <= begin:
        return begin
    if offset >= end:
        return end
    at = data.find(b"\n", offset - 1, end) + 1
    if at == 0:
        return end
    if format is not Format.NQUADS:
        return at
    names = Names(times, limits)
    last: list[bytes] = []
    after = at
    # Neutral lines belong to what stands before them.
    while not last and after > begin and at - after <= limits.document:
        before = data.rfind(b"\n", begin, after - 1) + 1 or begin
        last, after = names.of(data, before, after), before
    line = at
    while at < end:
        after = data.find(b"\n", at, end) + 1 or end
        if at - line > limits.document:
            return at
        here = names.of(data, at, after)
        if here:
            if last and here[0] != last[-1]:
                return at
            if is_compact(here[0]) and at - line > _FAR:
                return line
            last = here
        at = after
    return end


def aligned_range(
    path: str | os.PathLike,
    begin: int,
    end: int,
    format: Format = Format.NQUADS,
    times: TimePredicates | None = None,
    *,
    within: tuple[int, int] | None = None,
    limits: Limits = LIMITS,
) -> tuple[int, int]:
    """The bytes of the elements that begin in [begin, end) of a file.

    Cutting a range anywhere and aligning the parts gives every element to exactly one part.
    `within` are the bytes of the file that count.
    """
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        lower, upper = within or (0, size)
        if size == 0 or (begin <= lower and end >= upper):
            return max(begin, lower), min(end, upper)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            first = align(data, begin, format, times, begin=lower, end=upper, limits=limits)
            after = align(data, end, format, times, begin=lower, end=upper, limits=limits)
    return first, max(first, after)


def split_plan(
    path: str | os.PathLike,
    target_bytes: int,
    *,
    format: Format | str | None = None,
    times: TimePredicates | None = None,
) -> list[tuple[int, int]]:
    """The pieces (offset, length) in which a file can be decoded on its own.

    Uncompressed N-Quads and JSON lines are cut about every `target_bytes`; everything else is
    one piece. A file without bytes has no piece.
    """
    format_, compression = format_of(os.fspath(path), format)
    size = os.stat(path).st_size
    if size == 0:
        return []
    cuttable = compression is Compression.NONE and format_ in (Format.NQUADS, Format.JSONLD)
    if not cuttable or size < 2 * target_bytes:
        return [(0, size)]
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        if format_ is Format.JSONLD and not _json_lines(data):
            return [(0, size)]
        begins = [0]
        for wanted in range(target_bytes, size - target_bytes // 2, target_bytes):
            if wanted > begins[-1]:
                begin = align(data, wanted, format_, times)
                if begins[-1] < begin < size:
                    begins.append(begin)
    return [(a, b - a) for a, b in zip(begins, [*begins[1:], size], strict=True)]


def _json_lines(data: mmap.mmap) -> bool:
    """Whether the first line is a whole document (and not the first line of one)."""
    end = data.find(b"\n", 0, LIMITS.line + 1)
    return end >= 0 and is_json(data[:end])


def name_before(path: str | os.PathLike, offset: int, limits: Limits = LIMITS) -> bytes | None:
    """The last graph name in an N-Quads file before an offset: a compact element may go on there."""
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        least = offset - limits.document
        names = Names(limits=limits, only_quads=True)
        while offset > max(0, least):
            before = data.rfind(b"\n", 0, offset - 1) + 1
            here = names.of(data, before, offset)
            if here:
                return here[-1]
            offset = before
    return None


def lines_before(path: str | os.PathLike, offset: int) -> int:
    """How many lines of a file lie before an offset."""
    lines = 0
    with Path(path).open("rb") as file:
        while offset > 0 and (data := file.read(min(offset, 1 << 22))):
            lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == 0x0A))
            offset -= len(data)
    return lines
