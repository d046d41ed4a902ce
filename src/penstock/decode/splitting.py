"""Big files in byte ranges: where a piece may begin so that no line and no element is cut."""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
_FAR = 1 << 16
"""How far to look for the beginning of a compact element; a longer one is cut between lines."""


@dataclass(frozen=True)
class _Context:
    """What is a time statement, and which lines are too long to be read."""

    statements: frozenset[bytes]
    longest: int


def _about(data: bytes | mmap.mmap, begin: int, end: int, context: _Context) -> bytes | None:
    """The name of the element that a line belongs to, or None if it is neutral."""
    if end - begin > context.longest:
        return None  # which is left out later
    match = STATEMENT.match(data[begin:end])
    if match is None:
        return None
    subject, predicate, graph = match.groups()
    if graph is None:
        return subject if predicate in context.statements else None
    return graph


def is_compact(name: bytes | None) -> bool:
    """Whether a graph name tells its time itself."""
    return name is not None and _COMPACT in name


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
    times = times or TimePredicates()
    statements = frozenset(str(p).encode() for p in (times.at, times.started, times.ended))
    context = _Context(statements, limits.line + 1)  # with its line break
    last, after = None, at
    # Neutral lines belong to what stands before them.
    while last is None and after > begin and at - after <= limits.document:
        before = data.rfind(b"\n", begin, after - 1) + 1 or begin
        last, after = _about(data, before, after, context), before
    element = None if is_compact(last) else last
    line = at
    while at < end:
        after = data.find(b"\n", at, end) + 1 or end
        if at - line > limits.document:
            return at
        name = _about(data, at, after, context)
        if is_compact(name):
            if is_compact(last):  # inside a block of stated times a compact line stands alone
                if name != last:
                    return at
                if element is None and at - line > _FAR:
                    return line
        elif name is not None:
            if element is not None and name != element:
                return at
            element = name
        last = name if name is not None else last
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
        while offset > max(0, least):
            before = data.rfind(b"\n", 0, offset - 1) + 1
            if offset - before <= limits.line + 1:
                match = STATEMENT.match(data[before:offset])
                if match is not None and match[3] is not None:
                    return match[3]
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
