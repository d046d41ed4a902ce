"""Which lines belong to one compact element, so that each is counted once.

An element is a run of lines with one graph name. The scanner counts those among the lines that
it reads itself; lines of the full parser in between, and the borders of pieces, cut runs in two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.decode.splitting import STATEMENT, is_compact

_WINDOW = 4096

Odd = Mapping[int, bytes | None]
"""Where lines of the full parser begin, and their canonical form (None: not usable)."""


def graph_name(line: bytes) -> bytes | None:
    """The graph name of a line as it is written; None if it has none or is no statement."""
    match = STATEMENT.match(line)
    return match[3] if match else None


def _lines_from(data: memoryview, at: int, limit: int) -> Iterator[tuple[int, int]]:
    """Where the lines from an offset on begin and end."""
    while at < limit:
        end, size = -1, _WINDOW
        while end < 0:
            end = bytes(data[at : min(at + size, limit)]).find(b"\n") + 1 or -1
            if at + size >= limit and end < 0:
                end = limit - at
            size *= 4
        yield at, at + end
        at += end


def _lines_back(data: memoryview, end: int) -> Iterator[tuple[int, int]]:
    """Where the lines before an offset begin and end, the last one first."""
    while end > 0:
        begin, size = -1, _WINDOW
        while begin < 0:
            window = max(0, end - size)
            found = bytes(data[window : end - 1]).rfind(b"\n")
            if found >= 0 or window == 0:
                begin = window + found + 1
            size *= 4
        yield begin, end
        end = begin


def _name(data: memoryview, begin: int, end: int, odd: Odd) -> bytes | None:
    line = odd[begin] if begin in odd else bytes(data[begin:end])
    return None if line is None else graph_name(line)


def first_name(data: memoryview, limit: int, odd: Odd) -> bytes | None:
    """The first graph name in a piece."""
    names = (_name(data, *line, odd) for line in _lines_from(data, 0, limit))
    return next((name for name in names if name is not None), None)


def last_name(data: memoryview, limit: int, odd: Odd) -> bytes | None:
    """The last graph name that stands before an offset."""
    names = (_name(data, *line, odd) for line in _lines_back(data, limit))
    return next((name for name in names if name is not None), None)


def runs_with_odd(data: memoryview, limit: int, odd: Odd) -> int:
    """How many more compact elements there are than the scanner counts, to which odd lines are air."""
    unseen: Odd = dict.fromkeys(odd)
    usable = sorted(begin for begin, line in odd.items() if line is not None)
    more, reached = 0, 0
    for first in usable:
        if first < reached:
            continue
        scanned = previous = last_name(data, first, unseen)
        for begin, end in _lines_from(data, first, limit):
            reached = end
            name = _name(data, begin, end, odd)
            if name is None:
                continue
            more += is_compact(name) and name != previous
            if begin not in odd:
                more -= is_compact(name) and name != scanned  # what the scanner took it for
                break
            previous = name
    return more
