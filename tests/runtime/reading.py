"""Reads the bytes that a split stands for."""

from __future__ import annotations

from penstock.sources.splits import Split

_STEP = 1 << 16


def _after_newline(file, at: int, limit: int) -> int:
    """The place after the first newline at or after `at`, or `limit`."""
    file.seek(at)
    while at < limit:
        data = file.read(min(_STEP, limit - at))
        if not data:
            return limit
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
    return limit


def line_bounds(split: Split, path: str) -> tuple[int, int]:
    """The bytes of the lines that begin in the split: its bounds moved to beginnings of lines."""
    with open(path, "rb", buffering=0) as file:
        # A line that begins exactly at the bound belongs to the right side, so we look for
        # the newline from one byte before.
        begin = split.start
        if begin > split.segment_start:
            begin = _after_newline(file, begin - 1, split.segment_end)
        end = split.end
        if split.segment_start < end < split.segment_end:
            end = _after_newline(file, end - 1, split.segment_end)
        return min(begin, end), end


def read_split(split: Split) -> bytes:
    """The content of a split; whole lines where the segment is cut by lines."""
    path = split.place() or split.path
    begin, end = (split.start, split.end) if split.whole else line_bounds(split, path)
    with open(path, "rb", buffering=0) as file:
        file.seek(begin)
        return file.read(end - begin)
