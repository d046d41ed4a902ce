"""Elements whose time is stated: a block of lines about one graph gets its interval.

A block is a run of quads with one graph name and of time statements about that name, in any
order. Any line of another element ends it, also one that tells its time in the graph's name;
triples of the default graph that state no time, and lines that are rejected, do not interrupt it.
Who reads a file in parts (`splitting.align`) can see where a block ends only because of that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.decode.nquads import AT, BREAK, COMPACT, ENDED, LOOSE, NAMED_ONLY, STARTED, STATED
from penstock.errors import shortened
from penstock.jit import njit
from penstock.timeline import NEVER

NO_TIME, NO_START, NO_END, TWO_TIMES, BACKWARDS, NOT_AN_INSTANT, NO_GRAPH = range(1, 8)

ENDS_BLOCK = (BREAK, COMPACT, NAMED_ONLY)
"""Kinds of rows that end a block: lines of elements whose names tell their times."""
_NO_VALUE = NEVER + 1  # nothing was stated; NEVER marks a value that is no instant


@njit(cache=True)
def _put(old, new):
    """The value after one more statement: (value, whether it contradicts the former one)."""
    if old == _NO_VALUE or old == new:
        return new, False
    return old, True


@njit(cache=True)
def _assign_times(kind, graph, start, end, open_ended, keep, instants, faults, bare, firsts):
    n_instants = 0
    elements = 0
    i = 0
    n = len(kind)
    while i < n:
        if kind[i] in ENDS_BLOCK:
            i += 1
            continue
        if kind[i] == LOOSE:
            faults[i] = NO_GRAPH
            i += 1
            continue
        name = graph[i]
        first = i
        at = started = ended = _NO_VALUE
        two = False
        while i < n and kind[i] not in ENDS_BLOCK and (kind[i] == LOOSE or graph[i] == name):
            clash = False
            if kind[i] == AT:
                at, clash = _put(at, start[i])
            elif kind[i] == STARTED:
                started, clash = _put(started, start[i])
            elif kind[i] == ENDED:
                ended, clash = _put(ended, start[i])
            two = two or clash
            i += 1
        if open_ended and i == n:
            return n_instants, elements, first
        fault = 0
        if at == NEVER or started == NEVER or ended == NEVER:
            fault = NOT_AN_INSTANT
        elif two or (at != _NO_VALUE and (started != _NO_VALUE or ended != _NO_VALUE)):
            fault = TWO_TIMES
        elif at != _NO_VALUE:
            started = ended = at
        elif started == _NO_VALUE and ended == _NO_VALUE:
            fault = NO_TIME
        elif started == _NO_VALUE:
            fault = NO_START
        elif ended == _NO_VALUE:
            fault = NO_END
        elif ended < started:
            fault = BACKWARDS
        has_quads = False
        for j in range(first, i):
            firsts[j] = first
            if kind[j] == LOOSE:
                faults[j] = NO_GRAPH
            elif fault == 0 and kind[j] == STATED:
                has_quads = True
                keep[j] = True
                start[j] = started
                end[j] = ended
        if fault:
            faults[first] = fault
        else:
            if not has_quads:
                bare[first] = True
                start[first] = started
                end[first] = ended
            instants[n_instants] = ended
            n_instants += 1
            elements += 1
    return n_instants, elements, -1


@dataclass(frozen=True, eq=False)
class Blocks:
    """What became of rows with stated times; `start` and `end` were filled in place."""

    keep: np.ndarray  # the rows that are occurrences
    bare: np.ndarray  # the first row of each element without any
    instants: np.ndarray
    elements: int
    faults: np.ndarray  # a code per row; an element's fault stands on its first row
    first: np.ndarray  # of each row: the first row of its element
    open: int  # the first row of the last block, if that was left open, or -1


def assign_times_in_blocks(
    kind: np.ndarray,
    graph: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    open_ended: bool = False,
) -> Blocks:
    """Gives the quads of each block its stated interval, and finds the blocks that have none.

    `open_ended` leaves the last block alone: it may go on in the next piece.
    """
    n = len(kind)
    keep, instants = np.zeros(n, np.bool_), np.empty(n, np.int64)
    faults, bare = np.zeros(n, np.int8), np.zeros(n, np.bool_)
    firsts = np.arange(n)
    n_instants, elements, open_ = _assign_times(
        kind, graph, start, end, open_ended, keep, instants, faults, bare, firsts
    )
    return Blocks(keep, bare, instants[:n_instants], elements, faults, firsts, open_)


def fault_reason(fault: int, name: str) -> str:
    """The sentence that a user reads about a rejected element."""
    if fault == NO_GRAPH:
        return (
            "a triple in the default graph belongs to no element; "
            "put it into a named graph, or state a time with one of the time predicates"
        )
    name = shortened(name)
    return {
        NO_TIME: f"the element {name} has no time; the lines of an element and its time "
        "statement must stand together, or its name must end in #t=<instant>",
        NO_START: f"the element {name} has an end but no start",
        NO_END: f"the element {name} has a start but no end",
        TWO_TIMES: f"the element {name} has two different times",
        BACKWARDS: f"the element {name} ends before it starts",
        NOT_AN_INSTANT: f"the time stated about the element {name} is not an instant with a "
        "time zone such as 2026-01-31T12:00:00.000Z",
    }[fault]
