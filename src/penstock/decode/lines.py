"""N-Quads text to occurrences: the scanner, the full parser for odd lines, stated times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyoxigraph import Quad, RdfFormat, parse

from penstock.decode.assign_times import WrittenLines, assign_times, assign_times_plain
from penstock.decode.canonical import Unusable, canonical_line
from penstock.decode.element_decoder import ElementDecoder
from penstock.decode.nquads import ODD, scan
from penstock.decode.occurrences import Occurrences, Reject
from penstock.decode.times import TimePredicates
from penstock.errors import InputError

_TOGETHER = 256  # odd lines that are parsed in one go
_SHOWN = 500  # characters of a rejected line that a reject carries


def shown(text: bytes | str) -> str:
    """The text of a reject: decoded, without its line break, and not too long."""
    if isinstance(text, bytes):
        text = text[: 4 * _SHOWN].decode(errors="replace")
    text = text.rstrip("\r\n")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def syntax_reason(problem: SyntaxError) -> str:
    """What pyoxigraph found wrong, without the place (which the reject tells itself)."""
    message = str(problem.msg)
    place, colon, reason = message.partition(": ")
    return reason if colon and place.startswith("Parser error ") else message


_TRIG = re.compile(rb"\s*(@?(prefix|base)\s|(graph\s+)?(<[^>]*>|\S+)?\s*\{\s*($|[^\s\"]))", re.IGNORECASE)
_JSON = re.compile(rb"\s*[\[{]\s*($|[\"{\[])")


def other_format(line: bytes) -> str | None:
    """What a line is, if it plainly is of another format than N-Quads."""
    for pattern, name, option in ((_JSON, "JSON-LD", "jsonld"), (_TRIG, "TriG", "trig")):
        if pattern.match(line):
            return (
                f"this is {name}, and the stream is read as N-Quads;"
                f" say so with --stream-format {option} (format=)"
            )
    return None


def strict_error(reject: Reject) -> InputError:
    """The error that strict mode raises instead of a reject."""
    shown = f"\n  | {reject.text}" if reject.text else ""  # of a cut archive there is no line
    return InputError(
        f"{reject.unit} {reject.line}: {reject.reason}{shown}",
        origin=reject.source,
        hint="correct it, or run without --strict to skip and count such input",
    )


def count_newlines(buffer: np.ndarray) -> int:
    return int(np.count_nonzero(buffer == 0x0A))


def line_at(data: bytes | memoryview, offset: int) -> bytes:
    """The line that begins at an offset (at most some kilobytes of it)."""
    return bytes(memoryview(data)[offset : offset + 16_384]).split(b"\n", 1)[0]


def last_newline(data: bytes | memoryview) -> int:
    """The place after the last line break, 0 if there is none."""
    view = memoryview(data)
    end = len(view)
    while end > 0:
        begin = max(0, end - 65_536)
        found = bytes(view[begin:end]).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


class LineDecoder(ElementDecoder):
    """Decodes pieces of one N-Quads file or pipe."""

    def __init__(self, source: str, times: TimePredicates, **options: Any) -> None:
        super().__init__(source, times, **options)
        self.carried = (0, 0)
        """Name and number of the compact element whose lines stand before the next piece, if they do."""
        self._terms = 0

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a piece, and how many of its bytes and lines they took.

        Unless the piece is final, an incomplete last line and a last block with stated times
        are left for the next call, which must get them again.
        """
        buffer = np.frombuffer(data, np.uint8)
        limit = len(buffer) if final else last_newline(data)
        rows = scan(
            buffer[:limit],
            keep=self.keep,
            stated=self.stated,
            key=self.key,
            salt=self.label.suffix,
            named=self.named,
            expected_terms=self._terms,
            carried=self.carried[0],
        )
        self._terms = len(rows.terms) * 9 // 8  # the next piece is probably like this one
        if not rows.kind.any():
            timed = assign_times_plain(rows, self.elements, self.carried, named=self.named)
            self.carried = timed.last
            return timed.occurrences([]), limit, rows.lines

        odd = rows.kind == ODD
        written, bad = self._parse_odd(data, rows.offset[odd], rows.start[odd])
        more = scan(
            b"".join(written.lines),
            keep=self.keep,
            stated=self.stated,
            key=self.key,
            trusted=True,
            named=self.named,
        )
        timed = assign_times(
            rows, more, written, self.elements, self.carried, open_ended=not final, named=self.named
        )
        lines = rows.lines
        if timed.open_offset is not None:
            lines -= count_newlines(buffer[timed.open_offset : limit])
            limit = timed.open_offset
            if timed.mixed:  # rows of what is left for later are among these: scan again
                found, _, _ = self.decode(memoryview(data)[:limit], first_line=first_line)
                return found, limit, lines
        faults = bad + timed.faults(lambda offset: line_at(data, offset))
        rejects, at, line = [], 0, first_line
        for offset, reason in sorted(fault for fault in faults if fault[0] < limit):
            line += count_newlines(buffer[at:offset])
            at = offset
            rejects.append(Reject(self.source, line, reason, shown(line_at(data, offset))))
            if self.strict:
                raise strict_error(rejects[0])
        self.carried = timed.last if timed.open_offset is None else (0, 0)
        return timed.occurrences(rejects), limit, lines

    def _parse_odd(
        self, data: bytes | memoryview, begins: np.ndarray, ends: np.ndarray
    ) -> tuple[WrittenLines, list[tuple[int, str]]]:
        """What pyoxigraph makes of the lines that the scanner left alone."""
        view = memoryview(data)
        written, bad = WrittenLines(), []
        places = list(zip(begins.tolist(), ends.tolist(), strict=True))
        for i in range(0, len(places), _TOGETHER):
            some = places[i : i + _TOGETHER]
            lines = [bytes(view[begin:end]) for begin, end in some]
            for (begin, _), quads in zip(some, _parse_lines(lines), strict=True):
                try:
                    if isinstance(quads, SyntaxError):
                        raise Unusable(other_format(bytes(view[begin : begin + 200])) or syntax_reason(quads))
                    for line in [canonical_line(q, self.label, self.times) for q in quads]:
                        written.add(line, begin)
                except Unusable as problem:
                    bad.append((begin, str(problem)))
        return written, bad


def _parse_lines(lines: list[bytes]) -> Iterator[list[Quad] | SyntaxError]:
    """The quads of each line, or what is wrong with it."""
    if not any(b"\r" in line.rstrip(b"\r\n") for line in lines):
        # Starting a parser costs more than a line does; so all together, if all goes well.
        try:
            quads = list(parse(b"".join(lines), RdfFormat.N_QUADS))
        except (SyntaxError, MemoryError):
            quads = []
        if len(quads) == len(lines):  # a line has one quad at most, so each has one
            yield from ([quad] for quad in quads)
            return
    for line in lines:
        try:
            # To the end of the line: pyoxigraph yields a quad before it misses its dot.
            yield list(parse(line, RdfFormat.N_QUADS))
        except SyntaxError as problem:
            yield problem
        except MemoryError:  # the parser's way to say that a line does not fit into its buffer
            yield SyntaxError("only lines in canonical N-Quads can be longer than 16 MiB")
