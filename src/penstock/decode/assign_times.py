"""Scanned rows to occurrences: every element gets its time, or a reason why it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk
from penstock.decode.blocks import ENDS_BLOCK, Blocks, assign_times_in_blocks, fault_reason
from penstock.decode.elements import CARRIED, NONE, Elements
from penstock.decode.joining import join_elements
from penstock.decode.nquads import COMPACT, LOOSE, NAMED_ONLY, ODD, STATED, UNASKED, Scanned
from penstock.decode.occurrences import Occurrences, Reject, merge_terms


@dataclass
class WrittenLines:
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

    def places(self) -> np.ndarray:
        """The origin of each line, and one more for each line before it that has the same."""
        origins = np.array(self.origins, np.int64)
        numbers = np.arange(len(origins))
        first = np.concatenate([[True], origins[1:] != origins[:-1]])[: len(origins)]
        return origins + numbers - np.maximum.accumulate(np.where(first, numbers, 0))


@dataclass(frozen=True, eq=False)
class TimedRows:
    """Rows with times; `faults` tells of elements without."""

    columns: tuple[np.ndarray, ...]  # subject, predicate, object, start, end
    element: np.ndarray
    graph: np.ndarray  # empty if it was not asked for
    instants: np.ndarray
    elements: int
    terms: TermChunk
    mixed: bool = False  # rows from behind open_offset may be among these
    open_offset: int | None = None  # where the last block begins, if it may go on in the next piece
    last: tuple[int, int] = (0, 0)  # name and number of the compact element that this ends with
    _bad: Sequence[tuple[int, int, int, int]] = ()  # fault, kind, origin, index of the written line or -1
    _written: WrittenLines = field(default_factory=WrittenLines)

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
        subject, predicate, object_, start, end = self.columns
        return Occurrences(
            subject, predicate, object_, start, end, self.instants, self.terms, self.elements, rejects,
            self.graph, self.element,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Sequence:
    """The rows of a piece in their order: the scanner's (not the compact ones), and the written ones."""

    triple: list[np.ndarray]  # subject, predicate, object
    start: np.ndarray
    end: np.ndarray
    graph: np.ndarray
    origin: np.ndarray
    seen: np.ndarray
    kind: np.ndarray
    index: np.ndarray  # of the written line, -1: none
    place: np.ndarray  # where an element begins that begins with this row

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return (*self.triple, self.start, self.end)

    def some(self, rows: np.ndarray) -> _Sequence:
        return _Sequence(
            [column[rows] for column in self.triple],
            *(getattr(self, name)[rows] for name in _NAMES),
        )


_NAMES = ("start", "end", "graph", "origin", "seen", "kind", "index", "place")


def _sequence(rows: Scanned, more: Scanned, written: WrittenLines) -> _Sequence:
    other = rows.kind != COMPACT
    columns = [column[other] for column in (*rows.columns, rows.graph, rows.offset, rows.element, rows.kind)]
    columns += [np.full(len(columns[0]), -1), columns[6].copy()]
    if len(more):
        index = written.index_of(more.offset)
        origins = np.array(written.origins, np.int64)[index]
        of_written = (more.graph, origins, more.element, more.kind, index, written.places()[index])
        pairs = zip(columns, (*more.columns, *of_written), strict=True)
        order = np.argsort(np.concatenate([columns[6], origins]), kind="stable")
        columns = [np.concatenate(pair)[order] for pair in pairs]
    return _Sequence(columns[:3], *columns[3:])


def assign_times_plain(
    rows: Scanned, elements: Elements, carried: tuple[int, int], *, named: bool
) -> TimedRows:
    """The rows of a piece in which the scanner has understood all lines, and all are compact."""
    instants = sorted_unique(rows.instants)
    return TimedRows(
        rows.columns,
        _numbers(rows.element, elements, carried),
        rows.graph if named else rows.graph[:0],
        instants,
        rows.elements,
        rows.terms,
        mixed=len(instants) > 0,
        last=_last(rows.last, elements, carried),
    )


def assign_times(
    rows: Scanned,
    more: Scanned,
    written: WrittenLines,
    elements: Elements,
    carried: tuple[int, int],
    *,
    open_ended: bool = False,
    named: bool = False,
) -> TimedRows:
    """One set of columns from the rows of a piece and `more` rows of lines that the full parser read.

    `carried` are name and number of the compact element that stands before the piece, if one does.
    `open_ended` leaves out the last block with stated times, since it may go on. `named` rows
    keep their graph, and an element without triples is there as a row with its graph alone.
    """
    all_ = _sequence(rows, more, written)
    before = (carried[0], CARRIED if carried[0] else NONE)
    joined = join_elements(all_.kind, all_.graph, all_.place, all_.seen, all_.triple[0], before, rows.last)
    scanned = rows.kind == COMPACT
    all_.place[:] = np.where(joined.element == NONE, all_.place, joined.element)
    of_blocks = all_.some(all_.kind != ODD) if (rows.kind == ODD).any() else all_
    blocks = assign_times_in_blocks(
        of_blocks.kind, of_blocks.graph, of_blocks.start, of_blocks.end, open_ended
    )
    open_ = _with_its_line(blocks.open, of_blocks.kind, of_blocks.graph, of_blocks.origin)
    compact = (all_.kind == COMPACT) | (named & (all_.kind == NAMED_ONLY))
    parts = [_without_triples(all_.some(compact)), _timed(of_blocks, blocks, named)]
    columns = [
        np.concatenate([column[scanned], *more_of])
        for column, *more_of in zip(rows.columns, *(part.columns for part in parts), strict=True)
    ]
    begins = np.concatenate([joined.begins(rows.element[scanned]), *(part.place for part in parts)])
    graph = [rows.graph[scanned], *(part.graph for part in parts)] if named else [rows.graph[:0]]
    return TimedRows(
        tuple(columns),
        _numbers(begins, elements, carried),
        np.concatenate(graph),
        sorted_unique(np.concatenate([rows.instants, more.instants, blocks.instants])),
        rows.elements + joined.more + blocks.elements,
        merge_terms([rows.terms, more.terms]),
        bool(len(rows.instants) or len(more.instants)) or open_ != blocks.open,
        int(of_blocks.origin[open_]) if open_ >= 0 else None,
        _last(joined.last, elements, carried),
        _faulty(of_blocks, blocks),
        written,
    )


def assign_times_in_documents(
    rows: Scanned,
    written: WrittenLines,
    places: np.ndarray,
    numbers: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    named: bool = False,
) -> TimedRows:
    """One set of columns from the rows of the written lines of documents, an origin for each.

    In a document an element may be written in several places; the same name in two documents is two
    elements. `places` says of each line where it stands: an element begins with its first one, and
    `numbers` numbers elements by place and name.
    """
    index = written.index_of(rows.offset)
    origin = np.array(written.origins, np.int64)[index]
    order = np.lexsort((rows.graph, origin))
    columns = [*rows.columns, rows.graph, origin, rows.element, rows.kind, index, places[index]]
    columns = [column[order] for column in columns]
    all_ = _Sequence(columns[:3], *columns[3:])
    changed = (all_.graph[1:] != all_.graph[:-1]) | (all_.origin[1:] != all_.origin[:-1])
    element = np.cumsum(np.concatenate([[0], changed]))[: len(order)]
    first = np.full(len(order), np.iinfo(np.int64).max)
    np.minimum.at(first, element, all_.place)
    all_.place[:] = first[element]

    compact = (all_.kind == COMPACT) | (all_.kind == NAMED_ONLY)
    of_blocks = all_.some(~compact)
    blocks = assign_times_in_blocks(of_blocks.kind, element[~compact], of_blocks.start, of_blocks.end)
    parts = [
        _without_triples(all_.some((all_.kind == COMPACT) | (named & compact))),
        _timed(of_blocks, blocks, named),
    ]
    order = np.argsort(np.concatenate([part.index for part in parts]))  # as they are written
    pairs = zip(*((*part.columns, part.place, part.graph) for part in parts), strict=True)
    *columns, place, graph = (np.concatenate(pair)[order] for pair in pairs)
    return TimedRows(
        tuple(columns),
        numbers(place, graph),
        graph if named else graph[:0],
        sorted_unique(np.concatenate([rows.instants, blocks.instants])),
        len(np.unique(element[compact])) + blocks.elements,
        rows.terms,
        _bad=_faulty(of_blocks, blocks),
        _written=written,
    )


def _without_triples(rows: _Sequence) -> _Sequence:
    """Compact rows; those that only tell of their element have no triple."""
    for column in rows.triple:
        column[rows.kind == NAMED_ONLY] = 0
    return rows


def _timed(rows: _Sequence, blocks: Blocks, named: bool) -> _Sequence:
    """The rows of elements with stated times; `place` is where their element begins."""
    rows.place[:] = rows.place[blocks.first]
    if named:
        for column in rows.triple:
            column[blocks.bare] = 0
    return rows.some(blocks.keep | blocks.bare if named else blocks.keep)


def _faulty(rows: _Sequence, blocks: Blocks) -> list[tuple[int, int, int, int]]:
    bad = np.flatnonzero(blocks.faults)
    columns = (blocks.faults, rows.kind, rows.origin, rows.index)
    return list(zip(*(column[bad].tolist() for column in columns), strict=True))


def _numbers(begins: np.ndarray, elements: Elements, carried: tuple[int, int]) -> np.ndarray:
    """The numbers of elements, from where they begin."""
    numbers = elements.at(begins)
    if carried[0]:
        numbers[begins == CARRIED] = carried[1]
    return numbers


def _last(last: tuple[int, int], elements: Elements, carried: tuple[int, int]) -> tuple[int, int]:
    """Name and number of an element, from name and beginning; zeros if there is none."""
    name, begin = last
    if begin == NONE:
        return 0, 0
    return name, int(_numbers(np.array([begin], np.int64), elements, carried)[0])


def _with_its_line(row: int, kind: np.ndarray, graph: np.ndarray, origin: np.ndarray) -> int:
    """The first row of a block, or of the ones before it that end on the line on which it begins."""
    while row > 0 and origin[row - 1] == origin[row]:
        row -= 1
        name = graph[row]
        while (
            row > 0 and kind[row - 1] not in ENDS_BLOCK and (kind[row - 1] == LOOSE or graph[row - 1] == name)
        ):
            row -= 1
    return row
