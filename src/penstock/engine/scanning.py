"""Which rows match which scans: all of them in one pass over the columns.

Most scans name their predicate, and many an object too (`?x a :Student`). The distinct predicates, and
pairs of predicate and object, that scans ask for are *cells*; the pass puts each row into the cells that
it falls into, and a scan looks at the rows of its cell only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.hashing import Slots
from penstock.columns.ids import id_of
from penstock.jit import njit
from penstock.plan.steps import Scan
from penstock.plan.system_columns import ELEMENT, is_variable

_ANYTHING = 0
"""In place of an object: any. No term has this id."""


class Matching:
    """Finds the rows of some scans; `key` is that of the ids."""

    def __init__(self, scans: Iterable[Scan], key: int) -> None:
        self.scans = tuple(scans)
        self.key = key
        self._cell_of: list[int] = []  # of each scan; -1: it looks at all rows
        cells: dict[tuple[int, int], int] = {}
        for scan in self.scans:
            if isinstance(scan.predicate, str):
                self._cell_of.append(-1)
                continue
            object_ = _ANYTHING if isinstance(scan.object, str) else id_of(scan.object, key)
            cell = (id_of(scan.predicate, key), object_)
            self._cell_of.append(cells.setdefault(cell, len(cells)))
        self._cells = Slots(2)
        self._cells.of(np.array([*cells], np.int64).reshape(-1, 2).T, len(cells))

    def rows(self, triples: Sequence[np.ndarray], ranges: np.ndarray | None = None) -> list[np.ndarray]:
        """The numbers of the rows that each scan matches, among three columns of ids.

        They are in the order of `ranges`, the first and the last but one row of each; None: as they stand.
        """
        subject, predicate, object_ = triples
        if not self.scans:
            return []
        if ranges is None:
            ranges = np.array([[0, len(predicate)]], np.int64)
        wide = self._cells.known([predicate, np.full(len(predicate), _ANYTHING)])
        narrow = self._cells.known([predicate, object_])
        found, offsets = _sorted_out(wide, narrow, self._cells.count, ranges)
        matched = []
        for scan, cell in zip(self.scans, self._cell_of, strict=True):
            if cell < 0:
                rows = _in_order(ranges)
            else:
                rows = found[offsets[cell] : offsets[cell + 1]]
            matched.append(self._left(scan, rows, triples, in_cell=cell >= 0))
        return matched

    def _left(
        self, scan: Scan, rows: np.ndarray, triples: Sequence[np.ndarray], *, in_cell: bool
    ) -> np.ndarray:
        """The rows that also have what the cell does not say: a subject, the same term at two places."""
        columns: dict[str, np.ndarray] = {}
        for place, (term, column) in enumerate(
            zip((scan.subject, scan.predicate, scan.object), triples, strict=True)
        ):
            if not isinstance(term, str):
                if not (in_cell and place):
                    rows = rows[column[rows] == id_of(term, self.key)]
            elif term in columns:
                rows = rows[column[rows] == columns[term][rows]]
            else:
                columns[term] = column
        return rows

    def occurs(self, scan: Scan, predicates: np.ndarray) -> bool:
        """Whether the predicate of a scan is among some, with whatever terms."""
        if isinstance(scan.predicate, str) or sum(map(is_variable, scan.vars)) == 2:
            return False  # a scan that wants no more than a predicate would have found it
        return bool((predicates == id_of(scan.predicate, self.key)).any())


def frame_of(
    scan: Scan,
    rows: np.ndarray,
    triples: Sequence[np.ndarray],
    start: np.ndarray,
    end: np.ndarray,
    element: np.ndarray,
) -> Frame:
    """Rows that match a scan, with its columns."""
    columns: dict[str, np.ndarray] = {}
    for term, column in zip((scan.subject, scan.predicate, scan.object), triples, strict=True):
        if isinstance(term, str):
            columns.setdefault(term, column)
    if scan.element:
        columns[ELEMENT] = element
    ids = np.empty((len(columns), len(rows)), np.int64)
    for place, column in enumerate(columns.values()):
        np.take(column, rows, out=ids[place])
    begin = start[rows]
    return Frame(scan.vars, ids, begin, begin if end is start else end[rows])


def _in_order(ranges: np.ndarray) -> np.ndarray:
    return np.concatenate(
        [np.arange(first, last) for first, last in ranges.tolist()] or [np.empty(0, np.int64)]
    )


@njit(cache=True)
def _sorted_out(wide, narrow, cells, ranges):
    """The rows of each cell, one cell after the other, and where each begins; a row may be in two."""
    offsets = np.zeros(cells + 1, np.int64)
    for row in range(wide.size):
        if wide[row] >= 0:
            offsets[wide[row] + 1] += 1
        if narrow[row] >= 0:
            offsets[narrow[row] + 1] += 1
    for cell in range(cells):
        offsets[cell + 1] += offsets[cell]
    found = np.empty(offsets[-1], np.int64)
    next_ = offsets.copy()
    for number in range(ranges.shape[0]):
        for row in range(ranges[number, 0], ranges[number, 1]):
            if wide[row] >= 0:
                found[next_[wide[row]]] = row
                next_[wide[row]] += 1
            if narrow[row] >= 0:
                found[next_[narrow[row]]] = row
                next_[narrow[row]] += 1
    return found, offsets
