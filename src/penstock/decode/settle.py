"""Scanned rows to occurrences: every element gets its time, or a reason why it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.columns.terms import TermChunk
from penstock.decode.blocks import fault_reason, settle_blocks
from penstock.decode.nquads import BREAK, COMPACT, LOOSE, ODD, STATED, UNASKED, Scanned
from penstock.decode.occurrences import Occurrences, Reject, merge_terms


@dataclass
class Written:
    """Canonical lines that we wrote ourselves, each with its place of origin in the input."""

    lines: list[bytes] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def add(self, line: bytes, origin: int) -> None:
        self.lines.append(line)
        self.origins.append(origin)

    def drop(self, origin: int) -> None:
        """Takes back the last lines, which came from this origin."""
        while self.origins and self.origins[-1] == origin:
            self.lines.pop()
            self.origins.pop()

    def index_of(self, offsets: np.ndarray) -> np.ndarray:
        """Which line stands at each offset of the joined lines."""
        begins = np.zeros(len(self.lines) + 1, np.int64)
        np.cumsum([len(line) for line in self.lines], out=begins[1:])
        return np.searchsorted(begins, offsets, side="right") - 1


@dataclass(frozen=True, eq=False)
class Settled:
    """Rows with times; `faults` tells of elements without."""

    compact: tuple[np.ndarray, ...]  # subject, predicate, object, start, end, and maybe graph
    stated: tuple[np.ndarray, ...]
    instants: np.ndarray
    elements: int
    terms: TermChunk
    mixed: bool  # rows from behind open_offset may be among these
    open_offset: int | None  # where the last block begins, if it may go on in the next piece
    _bad: list[tuple[int, int, int, int]]  # fault, kind, origin, index of the written line or -1
    _written: Written

    def faults(self, line_at: Callable[[int], bytes]) -> list[tuple[int, str]]:
        """The origin of each faulty element and what is wrong with it."""
        return [(origin, reason) for origin, _, reason in self.located_faults(line_at)]

    def located_faults(self, line_at: Callable[[int], bytes]) -> list[tuple[int, int, str]]:
        """Origin, index of the written line (-1: none) and reason of each fault."""
        out = []
        for fault, kind, origin, index in self._bad:
            line = self._written.lines[index] if index >= 0 else line_at(origin)
            if kind in (STATED, UNASKED):
                name = line.rstrip()[:-2].rsplit(b" ", 1)[-1]
            else:
                name = line.split(b" ", 1)[0]
            out.append((origin, index, fault_reason(fault, name.decode(errors="replace"))))
        return out

    def occurrences(self, rejects: list[Reject]) -> Occurrences:
        columns = self.compact
        if len(self.stated[0]):
            pairs = zip(self.compact, self.stated, strict=True)
            columns = tuple(np.concatenate(pair) for pair in pairs)
        return Occurrences(*columns[:5], self.instants, self.terms, self.elements, rejects, *columns[5:])


def sorted_unique(values: np.ndarray) -> np.ndarray:
    """The distinct values in order; streams in order cost one look."""
    if len(values) < 2 or bool(np.all(values[1:] > values[:-1])):
        return values
    return np.unique(values)


def settle(
    rows: Scanned,
    more: Scanned | None = None,
    written: Written | None = None,
    *,
    breaks: Sequence[int] = (),
    open_ended: bool = False,
    group: bool = False,
    named: bool = False,
) -> Settled:
    """One set of columns from the rows of a piece and `more` rows of written lines.

    `breaks` are the origins of written lines that end a block.
    `open_ended` leaves out the last block with stated times, since it may go on. `group`
    brings the rows with one origin and graph together first, for formats in which an element
    may be written in several places of a document; an origin is a document then. `named` rows
    keep their graph, and an element without triples is there as a row with its graph alone.
    """
    written = written or Written()
    if more is None and not rows.kind.any():
        columns = (*rows.columns, rows.graph) if named else rows.columns
        nothing = tuple(np.empty(0, np.int64) for _ in columns)
        instants = sorted_unique(rows.instants)
        mixed = len(instants) > 0
        return Settled(
            columns,
            nothing,
            instants,
            rows.elements,
            rows.terms,
            mixed,
            None,
            [],
            written,
        )

    scans = [rows] if more is None else [rows, more]
    compact = _joined(
        [[c[r.kind == COMPACT] for c in (*r.columns, *([r.graph] if named else []))] for r in scans]
    )
    others = [(r.kind != COMPACT) & (r.kind != ODD) & ((r.kind != BREAK) | (not group)) for r in scans]
    fields = [
        [*(c[at] for c in r.columns), r.graph[at], r.offset[at], r.kind[at]]
        for r, at in zip(scans, others, strict=True)
    ]
    index = [np.full(len(fields[0][0]), -1, np.int64)]
    if more is not None:
        index.append(written.index_of(fields[1][6]))
        fields[1][6] = np.array(written.origins, np.int64)[index[1]]
    if len(breaks):
        nothing = np.zeros(len(breaks), np.int64)
        fields.append([*[nothing] * 6, np.array(breaks, np.int64), np.full(len(breaks), BREAK, np.int8)])
        index.append(nothing - 1)
    subject, predicate, object_, start, end, graph, origin, kind = _joined(fields)
    place = np.concatenate(index)
    order = np.lexsort((graph, origin)) if group else np.argsort(origin, kind="stable")
    stated = [c[order] for c in (subject, predicate, object_, start, end)]
    graph, origin, kind, place = graph[order], origin[order], kind[order], place[order]
    names = graph

    if group:  # the same name in two documents is two elements
        changed = (graph[1:] != graph[:-1]) | (origin[1:] != origin[:-1])
        graph = np.concatenate([[0], np.cumsum(changed)])[: len(graph)]
    blocks = settle_blocks(kind, graph, stated[3], stated[4], open_ended)
    open_ = _with_its_line(blocks.open, kind, graph, origin)
    open_offset = int(origin[open_]) if open_ >= 0 else None
    bad = np.flatnonzero(blocks.faults)
    kept = blocks.keep
    if named:
        kept = kept | blocks.bare
        for column in stated[:3]:
            column[blocks.bare] = 0
        stated.append(names)
    return Settled(
        compact,
        tuple(c[kept] for c in stated),
        sorted_unique(np.concatenate([*(r.instants for r in scans), blocks.instants])),
        sum(r.elements for r in scans) + blocks.elements,
        merge_terms(r.terms for r in scans),
        any(len(r.instants) for r in scans) or open_ != blocks.open,
        open_offset,
        [(int(blocks.faults[i]), int(kind[i]), int(origin[i]), int(place[i])) for i in bad],
        written,
    )


def _with_its_line(row: int, kind: np.ndarray, graph: np.ndarray, origin: np.ndarray) -> int:
    """The first row of a block, or of the ones before it that end on the line on which it begins."""
    while row > 0 and origin[row - 1] == origin[row]:
        row -= 1
        name = graph[row]
        while row > 0 and kind[row - 1] != BREAK and (kind[row - 1] == LOOSE or graph[row - 1] == name):
            row -= 1
    return row


def _joined(parts: list[list[np.ndarray]]) -> tuple[np.ndarray, ...]:
    if len(parts) == 1:
        return tuple(parts[0])
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
