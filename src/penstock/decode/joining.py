"""Which lines belong to one compact element, where the scanner could not see all of them.

An element is a sequence of lines with one graph name: of quads in that graph, and of time statements about
it. Lines that are empty, comments, rejected, or triples of the default graph interrupt none. The
scanner begins anew behind each line that it leaves to the full parser; here these are in their places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.decode.elements import NONE
from penstock.decode.nquads import BREAK, COMPACT, LOOSE, NAMED_ONLY, ODD
from penstock.jit import njit


@njit(cache=True)
def _join(kind, graph, place, seen, unsure, name, begin, element, taken, belongs):
    """One pass over the rows of a piece; see `join_elements`."""
    joined = more = 0
    run = NONE  # the last run that the scanner has begun, and where it begins really
    really = NONE
    for i in range(len(kind)):
        if kind[i] == LOOSE:
            continue
        if kind[i] == ODD:
            if seen[i] != NONE:  # otherwise the scanner knows no more than what came by here
                name = graph[i]
                begin = really if seen[i] == run else seen[i]
            continue
        if kind[i] == BREAK:
            if seen[i] != run:
                run = really = seen[i]
            if unsure[i] and graph[i] == name and begin != NONE:
                taken[joined] = run
                belongs[joined] = begin
                joined += 1
                really = begin
            begin = really
        elif kind[i] == COMPACT or kind[i] == NAMED_ONLY:
            if graph[i] != name or begin == NONE:
                begin = place[i]
                more += 1
            element[i] = begin
        else:
            begin = NONE
        name = graph[i]
    return joined, more, name, begin, run, really


@dataclass(frozen=True, eq=False)
class JoinedElements:
    """Where elements begin."""

    element: np.ndarray  # of the COMPACT and NAMED_ONLY rows that were given
    taken: np.ndarray  # where runs of the scanner begin, in order, …
    belongs: np.ndarray  # … and where the elements that these are parts of begin
    more: int  # how many more elements there are than the scanner has counted
    last: tuple[int, int]  # name and element of the last line, if that is a compact one

    def begins(self, element: np.ndarray) -> np.ndarray:
        """Where elements begin, from where the scanner says."""
        if not len(self.taken):
            return element
        at = np.minimum(np.searchsorted(self.taken, element), len(self.taken) - 1)
        return np.where(self.taken[at] == element, self.belongs[at], element)


def join_elements(
    kind: np.ndarray,
    graph: np.ndarray,
    place: np.ndarray,
    seen: np.ndarray,
    unsure: np.ndarray,
    carried: tuple[int, int],
    last: tuple[int, int],
) -> JoinedElements:
    """The elements of a piece, from its rows in their order: the scanner's, and those of the full parser.

    The scanner's compact rows are not among them; its ODD and BREAK rows tell of them (`seen`: where the
    element begins that it saw there). `carried` is what stands before the piece, and `last` what the scanner
    saw last: name and element.
    """
    element = np.full(len(kind), NONE, np.int64)
    taken, belongs = np.empty((2, len(kind)), np.int64)
    joined, more, name, begin, run, really = _join(
        kind, graph, place, seen, unsure, *carried, element, taken, belongs
    )
    if last[1] != NONE:
        name, begin = last[0], really if last[1] == run else last[1]
    return JoinedElements(element, taken[:joined], belongs[:joined], more - joined, (int(name), int(begin)))
