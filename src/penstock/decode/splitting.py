"""Big files in byte ranges: where a piece may begin so that no line and no element is cut."""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path

import numpy as np
from pyoxigraph import RdfFormat, parse

from penstock.decode.canonical import SaltedLabels, Unusable, canonical_line
from penstock.decode.formats import Format
from penstock.decode.limits import LIMITS, InputLimits
from penstock.decode.times import TimePredicates

# No part is tried twice (`*+`, bounds): on hostile lines going back would take hours, or gigabytes.
STATEMENT = re.compile(
    rb"\s*+(<[^>]*+>|_:[^\s<]{1,512})\s*+(<[^>]*+>)"
    rb'\s*+(?:<[^>]*+>|_:[^\s<]{1,512}|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:@[\w-]++|\^\^<[^>]*+>)?+)'
    rb"\s*+(<[^>]*+>|_:[^\s.<]{1,512})?+\s*+\."
)
_COMPACT = b"#t="


class LineElements:
    """Which elements lines belong to, as the decoder sees it: lines that it rejects belong to none."""

    def __init__(self, times: TimePredicates | None = None, limits: InputLimits = LIMITS) -> None:
        self._times = times or TimePredicates()
        predicates = (self._times.at, self._times.started, self._times.ended)
        self._statements = frozenset(str(p).encode() for p in predicates)
        self._longest = limits.line + 1  # with its line break
        self._label = SaltedLabels("")
        self._known: tuple[bytes | None, bytes | None] = (None, None)  # as last written, and its name

    def of(self, data: bytes | mmap.mmap, begin: int, end: int) -> list[bytes]:
        """The names of the elements that a line belongs to: one, or none if it is neutral.

        (A carriage return inside of a line ends a statement, too: such a line may have several.)
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
        return subject if predicate in self._statements else None


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
    enough: int | None = None,
    limits: InputLimits = LIMITS,
) -> int:
    """The first place at or after `offset` where a piece may begin.

    For N-Quads that is the beginning of an element, otherwise of a line. Only the bytes begin…end
    count; both ends are such places. Behind `enough` nobody wants to know: the place is then some line.
    """
    end = len(data) if end is None else min(end, len(data))
    enough = end if enough is None else min(enough, end)
    if offset <= begin:
        return begin
    if offset >= end:
        return end
    at = data.find(b"\n", offset - 1, end) + 1
    if at == 0:
        return end
    if format is not Format.NQUADS:
        return at
    names = LineElements(times, limits)
    last = last_names(names, data, at, begin)
    while at < enough:
        after = data.find(b"\n", at, end) + 1 or end
        here = names.of(data, at, after)
        if here:
            if last and here[0] != last[-1]:
                return at
            last = here
        at = after
    return at


def last_names(names: LineElements, data: bytes | mmap.mmap, at: int, begin: int = 0) -> list[bytes]:
    """The names of the last line before a place that has any: neutral lines belong to what stands before."""
    while at > begin:
        before = data.rfind(b"\n", begin, at - 1) + 1 or begin
        if found := names.of(data, before, at):
            return found
        at = before
    return []


def last_element(
    names: LineElements, data: bytes | mmap.mmap, at: int, begin: int = 0
) -> tuple[bytes | None, int, bool]:
    """The last element before a place, of what stands behind `begin`: (name, place, border).

    The place is where its first line begins. There is no border if no other element stands before it.
    """
    name, place = None, at
    while at > begin:
        before = data.rfind(b"\n", begin, at - 1) + 1 or begin
        here = names.of(data, before, at)
        if here and name is None:
            name = here[-1]
        if here and here[-1] != name:
            return name, place, True
        if here:
            place = before
            if here[0] != name:
                return name, place, True
        at = before
    return name, place, False


def aligned_range(
    path: str | os.PathLike,
    begin: int,
    end: int,
    format: Format = Format.NQUADS,
    times: TimePredicates | None = None,
    *,
    within: tuple[int, int] | None = None,
    limits: InputLimits = LIMITS,
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
            first = align(data, begin, format, times, begin=lower, end=upper, enough=end, limits=limits)
            if first >= end:  # nothing begins here
                return end, end
            after = align(data, end, format, times, begin=lower, end=upper, limits=limits)
    return first, max(first, after)


def element_before(
    path: str | os.PathLike, offset: int, times: TimePredicates | None = None, limits: InputLimits = LIMITS
) -> tuple[bytes, int] | None:
    """The compact element of an N-Quads file that goes on at an offset: its name, and where it begins.

    That is so only if a writer paused in the middle of it. What begins further before than a document
    may be long is not looked for.
    """
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        names = LineElements(times, limits)
        least = max(0, offset - limits.document)
        before = last_names(names, data, offset, least)
        if not before or not is_compact(before[-1]):
            return None
        here: list[bytes] = []
        at = offset
        while not here and at < len(data):
            after = data.find(b"\n", at) + 1 or len(data)
            here, at = names.of(data, at, after), after
        if not here or here[0] != before[-1]:
            return None
        return before[-1], last_element(names, data, offset, least)[1]


def lines_before(path: str | os.PathLike, offset: int) -> int:
    """How many lines of a file lie before an offset."""
    lines = 0
    with Path(path).open("rb") as file:
        while offset > 0 and (data := file.read(min(offset, 1 << 22))):
            lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == 0x0A))
            offset -= len(data)
    return lines
