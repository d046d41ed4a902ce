"""Lines in pieces that fit into a buffer; lines over the limit are left out and reported."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.decode.compression import CompressedReader, PlainReader
from penstock.decode.limits import InputLimits
from penstock.decode.lines import last_newline, shown

_SHOWN = 2048


class LinePieces:
    """A buffer over a reader that holds whole lines, none of them longer than the limit.

    In place of a longer line there is an empty one, so that line numbers stay true. The one
    buffer is used again for every piece: fresh memory costs time, and nothing that is decoded
    keeps a view of it.
    """

    def __init__(self, reader: PlainReader | CompressedReader, limits: InputLimits, piece_bytes: int) -> None:
        self._reader = reader
        self._limit = limits.line
        self._buffer = bytearray(max(1, piece_bytes))
        self._size = 0  # bytes in the buffer
        self._skipping = False  # inside a line that is left out
        self.long_lines: list[tuple[int, str]] = []
        """How many lines of the piece stand before one that was left out, and how that begins."""
        self.gaps: list[tuple[int, int]] = []
        """Where in the piece bytes were left out, and how many."""

    def __iter__(self) -> Iterator[memoryview]:
        """The pieces; `keep` says after each what the next one must begin with."""
        while self._fill():
            yield memoryview(self._buffer)[: self._size]

    @property
    def rest(self) -> memoryview:
        """What is left when nothing more comes."""
        return memoryview(self._buffer)[: self._size]

    def keep(self, taken: int) -> None:
        """Forgets the bytes that were taken."""
        self._move(taken, 0)

    def _move(self, begin: int, to: int) -> None:
        left = bytes(memoryview(self._buffer)[begin : self._size])
        self._buffer[to : to + len(left)] = left
        self._size = to + len(left)

    def _fill(self) -> bool:
        """Reads on until there is something new; whether there is."""
        self.long_lines, self.gaps = [], []
        while True:
            if 2 * self._size > len(self._buffer):  # an element larger than the buffer
                larger = bytearray(2 * len(self._buffer))
                larger[: self._size] = memoryview(self._buffer)[: self._size]
                self._buffer = larger
            old = self._size
            more = self._reader.read_into(memoryview(self._buffer)[old:])
            if not more:
                return False
            self._size = old + more
            if self._skipping:
                newline = self._buffer.find(b"\n", old, self._size)
                self.gaps.append((old, (newline if newline >= 0 else self._size) - old))
                if newline < 0:
                    self._size = old
                    continue
                self._skipping = False
                self._move(newline, old)
            self._leave_out(old)
            return True

    def _leave_out(self, old: int) -> None:
        """Leaves out the lines over the limit that reach into what came after `old`."""
        begin = self._buffer.rfind(b"\n", 0, old) + 1
        while (inside := self._long_stretch(begin)) >= 0:
            first = self._buffer.rfind(b"\n", begin, inside) + 1 or begin
            end = self._buffer.find(b"\n", inside, self._size)
            whole = end >= 0
            end = end if whole else self._size
            if end - first > self._limit:
                lines = self._buffer.count(b"\n", 0, first)
                text = shown(bytes(memoryview(self._buffer)[first : first + _SHOWN]))
                self.long_lines.append((lines, text))
                self.gaps.append((first, end - first))
                self._skipping = not whole
                self._move(end, first)
                end = first
            begin = end + 1

    def _long_stretch(self, begin: int) -> int:
        """A place in a line that may be over the limit, or -1: such a line fills half of it somewhere."""
        half = max(1, self._limit // 2)
        for at in range(begin, self._size - half + 1, half):
            if self._buffer.find(b"\n", at, at + half) < 0:
                return at
        return -1

    def drop_broken(self) -> None:
        """Leaves out the line in which a damaged stream breaks off."""
        self._size = last_newline(self.rest)
