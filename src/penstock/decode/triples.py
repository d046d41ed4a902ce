"""Triples without time: one compiled pass from N-Triples or N-Quads to columns of ids.

As in the scanner of streams, lines that are not plainly canonical are left to a full parser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.columns import interning
from penstock.columns.interning import OTHER, SAME, enter, grown, mask_of, seek
from penstock.columns.memory import address_of, byte_at
from penstock.columns.terms import TermChunk
from penstock.decode.lexical import line_end
from penstock.decode.statements import (
    SCRATCH,
    UNDERSCORE,
    collision_at,
    ends_at,
    ids_of,
    node_id,
    plain_node,
    plain_triple,
    text_of,
)
from penstock.jit import njit

LEAST_TERMS, LEAST_ROWS, LEAST_LINE = 2048, 1024, 96  # with which a scan begins
_NEWLINE = 0x0A


@njit(cache=True)
def _graph_id(text, ends, slots, mask):
    """The id of a statement's graph name, 0 if it has none, -1 if that is not plainly valid."""
    if ends.graph == 0:
        return np.int64(0)
    begin = ends.object + 1
    graph = node_id(text, begin, ends.graph)
    known = seek(slots, mask, text.buffer, graph, text.buffer, begin, ends.graph)
    if known != SAME and not text.trusted and not plain_node(text.buffer, begin, ends.graph):
        return np.int64(-1)
    return graph


@njit(cache=True)
def _enter_new(text, slots, mask, id_, begin, end):
    """Enters a term, if it is new: how many are new, or OTHER if the id is another term's."""
    known = seek(slots, mask, text.buffer, id_, text.buffer, begin, end)
    if known == OTHER:
        return OTHER
    if known == SAME:
        return 0
    enter(slots, mask, id_, begin, end)
    return 1


@njit(cache=True)
def _scan(array, at, trusted, quads, key, salt_array, table, count, columns, odd):
    """Scans lines until the end, or until the rows or the odd lines are full.

    (place, rows, odd lines, table of terms, terms, place of a collision or -1)
    """
    buffer, limit = address_of(array), len(array)
    scratch = np.zeros(SCRATCH, np.uint8)
    text = text_of(array, trusted, key, salt_array, scratch)
    slots, mask = address_of(table), mask_of(table)
    rows = odds = 0
    collision = -1
    while at < limit and rows < columns.shape[1] and odds < odd.shape[1]:
        line = at
        if byte_at(buffer, line) == _NEWLINE:
            at += 1
            continue
        ends = ends_at(text, line)
        ids = ids_of(text, line, ends, slots, mask)
        graph = np.int64(-1)
        if ends.line >= 0 and (quads or ends.graph == 0):
            if trusted or plain_triple(buffer, line, ends, ids):
                graph = _graph_id(text, ends, slots, mask)
        if graph < 0:
            at = line_end(buffer, line, limit)
            odd[0, odds] = line
            odd[1, odds] = at
            odds += 1
            continue
        new = 0
        if ids.subject_known != SAME:
            new = _enter_new(text, slots, mask, ids.subject, line, ends.subject)
        if new >= 0 and ids.predicate_known != SAME:
            more = _enter_new(text, slots, mask, ids.predicate, ends.subject + 1, ends.predicate)
            new = new + more if more >= 0 else OTHER
        if new >= 0 and ids.object_known != SAME:
            more = _enter_new(text, slots, mask, ids.object, ends.predicate + 1, ends.object)
            new = new + more if more >= 0 else OTHER
        if new >= 0 and graph != 0:
            more = _enter_new(text, slots, mask, graph, ends.object + 1, ends.graph)
            new = new + more if more >= 0 else OTHER
        if new < 0:
            collision = line
            break
        count += new
        if 4 * count + 16 > len(table):
            table = grown(table, 2)
            slots, mask = address_of(table), mask_of(table)
        columns[0, rows] = ids.subject
        columns[1, rows] = ids.predicate
        columns[2, rows] = ids.object
        columns[3, rows] = graph
        rows += 1
        at = ends.line
    scratch[0] = 0  # alive until here
    return at, rows, odds, table, count, collision


@dataclass(frozen=True, eq=False)
class Triples:
    """Scanned lines: `columns` has subject, predicate, object, and graph (0: the default graph)."""

    columns: np.ndarray
    terms: TermChunk
    odd: np.ndarray  # where the lines for the full parser begin and end


def scan_triples(
    data: bytes | memoryview, *, key: int, quads: bool = True, salt: bytes = b"", trusted: bool = False
) -> Triples:
    """Scans whole lines of N-Quads, or of N-Triples if not `quads`; the last may lack its line break.

    `trusted` lines were written by us; then nothing is odd. Labels of blank nodes get the salt.
    """
    buffer = interning.frozen(np.frombuffer(data, np.uint8))
    salts = interning.frozen(np.frombuffer(salt, np.uint8))
    table, count, at = interning.new_table(LEAST_TERMS), 0, 0
    parts, odd_parts = [np.empty((4, 0), np.int64)], [np.empty((2, 0), np.int64)]
    while at < len(buffer):
        room = (len(buffer) - at) // LEAST_LINE + LEAST_ROWS
        columns, odd = np.empty((4, room), np.int64), np.empty((2, room), np.int64)
        at, rows, odds, table, count, collision = _scan(
            buffer, at, trusted, quads, key, salts, table, count, columns, odd
        )
        if collision >= 0:
            raise collision_at(buffer, collision)
        parts.append(columns[:, :rows])
        odd_parts.append(odd[:, :odds])
    ids, places = interning.entries(table, count)
    terms = TermChunk(ids, *interning.gather(buffer, places, salts, UNDERSCORE))
    odd = np.concatenate(odd_parts, axis=1)
    if trusted and odd.size:
        line = int(odd[0, 0])
        raise RuntimeError(f"a canonical line is not understood: {buffer[line:][:500].tobytes()!r}")
    return Triples(np.concatenate(parts, axis=1), terms, odd)
