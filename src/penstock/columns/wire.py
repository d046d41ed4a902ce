"""Frames and term texts as bytes: what crosses the exchange and what the state store keeps.

A message is a JSON head and then plain little-endian columns, so that reading one makes
views and copies nothing. Point events, whose start is their end, have one time column; rows that
can leave have three more, which say how often and when they are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.terms import TermChunk

_EMPTY = TermChunk()


def pack(frames: Iterable[tuple[str, Frame]], terms: TermChunk = _EMPTY, **more) -> bytes:
    """Named frames, the texts of their terms, and some JSON values as one message."""
    tables, parts = [], []
    for name, frame in frames:
        point = bool((frame.start == frame.end).all())
        tables.append([name, frame.vars, len(frame), point, frame.retractable])
        parts += [*frame.ids, frame.start] if point else [*frame.ids, frame.start, frame.end]
        parts += frame.presence
    head = {"tables": tables, "terms": [len(terms), len(terms.data)], **more}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    parts += [terms.ids, terms.offsets, terms.data]
    body = [np.ascontiguousarray(part).data for part in parts]
    return b"".join([len(text).to_bytes(8, "little"), text, *body])


def unpack(message: bytes) -> tuple[list[tuple[str, Frame]], TermChunk, dict]:
    """What `pack` was given."""
    size = int.from_bytes(message[:8], "little")
    head = json.loads(message[8 : 8 + size])
    at = 8 + size

    def column(count: int, kind=np.int64) -> np.ndarray:
        nonlocal at
        values = np.frombuffer(message, kind, count, at)
        at += values.nbytes
        return values

    frames = []
    for name, vars, count, point, changes in head.pop("tables"):
        ids = column(count * len(vars)).reshape(len(vars), count)
        start = column(count)
        end = start if point else column(count)
        presence = [column(count) for _ in range(3 if changes else 0)]
        frames.append((name, Frame(tuple(vars), ids, start, end, *presence)))
    count, size = head.pop("terms")
    terms = TermChunk(column(count), column(count + 1), column(size, np.uint8))
    return frames, terms, head
