"""The N-Quads scanner: one compiled pass from bytes to rows of ids and instants.

The scanner accepts a line only if its bytes are plainly canonical N-Quads (`statements`). Lines that
are anything else (unusual escapes, comments, odd white space, errors, …) become ODD rows, to be
read by a full parser (`lines`), whose output comes back through the scanner as *trusted* text. Terms
that were seen before in the same buffer are recognised by their bytes and not validated again.

Lines of one graph name that stand together are an element. The scanner says of each compact row where
its element begins. It cannot know what ODD lines belong to, so behind them it begins anew, and says
with BREAK rows and ODD rows what it has seen; `runs` puts the elements together again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.columns import interning
from penstock.columns.ids import hash_at, hash_bytes
from penstock.columns.interning import OTHER, SAME, enter, equal_bytes, grown, mask_of, seek, slot_of
from penstock.columns.memory import address_of, byte_at, integer_at
from penstock.columns.places import LENGTH_BITS
from penstock.columns.terms import TermChunk
from penstock.decode.elements import CARRIED, NONE
from penstock.decode.lexical import compact_times_at, line_end
from penstock.decode.statements import (
    SCRATCH,
    UNDERSCORE,
    collision_at,
    ends_at,
    ids_of,
    node_id,
    plain_folder,
    plain_node,
    plain_triple,
    stated_instant,
    text_of,
    time_in_name,
)
from penstock.errors import InputError
from penstock.jit import njit
from penstock.timeline import NEVER

# Kinds of rows. COMPACT: the graph's name tells the time; NAMED_ONLY: another line of such an element (a time
# statement about it, or a quad that nobody asked for), only of trusted text. STATED: a quad whose element's
# time is stated elsewhere; UNASKED the same with a predicate that nobody asked for. AT, STARTED, ENDED: a
# time statement (start = the instant, graph = the subject). LOOSE: another triple in the default graph. ODD:
# a line for the full parser (start = where the line ends; graph and element = of the compact line before it).
# BREAK: here begins a line of a compact element, after others (subject = whether one of these was ODD).
COMPACT, STATED, UNASKED, AT, STARTED, ENDED, LOOSE, ODD, BREAK, NAMED_ONLY = range(10)

# The sizes with which a scan begins; it goes on with more where they do not suffice.
LEAST_TERMS, LEAST_ROWS, LEAST_LINE = 2048, 1024, 96
_NEWLINE = 0x0A

# Where a scan is, in an array that goes from call to call.
_PLACE, _ROWS, _INSTANTS, _ELEMENTS, _LINES, _TERMS, _COLLISION = range(7)
_GRAPH_AT, _GRAPH_SIZE, _ELEMENT, _UNSURE, _IN_BLOCK, _CARRIED_NAME = range(7, 13)
_STATE = 13
_FIELDS = 8  # subject, predicate, object, start, end, graph, offset, element


@njit(cache=True)
def _time_statement(p, stated):
    """The kind of a triple in the default graph, by its predicate."""
    if p == stated[0]:
        return AT
    if p == stated[1]:
        return STARTED
    if p == stated[2]:
        return ENDED
    return LOOSE


@njit(cache=True)
def _about(text, line, ends, kind):
    """A time statement: (kind, start, end); ODD if it is for the full parser."""
    start = stated_instant(text.buffer, ends)
    sharp = time_in_name(text.buffer, line, ends.subject)
    if not text.trusted:
        # Statements about a name that tells its own time need comparing.
        return (ODD if sharp >= 0 or start == NEVER else kind), start, NEVER
    if sharp >= 0 and start != NEVER:
        start, finish = compact_times_at(text.buffer, sharp + 3, ends.subject - 1)
        return NAMED_ONLY, start, finish
    return kind, start, NEVER


@njit(cache=True)
def _enter_triple(slots, mask, line, ends, ids):
    """Enters the terms of a triple that are new; how many that were."""
    count = 0
    if ids.subject_known != SAME:
        enter(slots, mask, ids.subject, line, ends.subject)
        count += 1
    if ids.predicate_known != SAME and ids.predicate != ids.subject:
        enter(slots, mask, ids.predicate, ends.subject + 1, ends.predicate)
        count += 1
    if ids.object_known != SAME and ids.object != ids.subject and ids.object != ids.predicate:
        enter(slots, mask, ids.object, ends.predicate + 1, ends.object)
        count += 1
    return count


@njit(cache=True)
def _scan(array, trusted, named, key, salt_array, table, keep, stated, integers, kinds, instants, state):
    """Scans lines until the end or until the rows are full; gives the table of terms, which may grow.

    `integers` has the rows subject, predicate, object, start, end, graph, offset and element. Of COMPACT
    rows, graph and offset are only there if the text is trusted or `named`; then the names of graphs are
    among the terms.
    """
    buffer, limit = address_of(array), len(array)
    scratch = np.zeros(SCRATCH, np.uint8)
    text = text_of(array, trusted, key, salt_array, scratch)
    slots, mask = address_of(table), mask_of(table)
    keep_all, kept, kept_mask = len(keep) == 0, address_of(keep), mask_of(keep)
    at, elements, count = state[_PLACE], state[_ELEMENTS], state[_TERMS]
    graph_at, graph_size = state[_GRAPH_AT], state[_GRAPH_SIZE]  # the last graph name, none after ODD lines
    element = state[_ELEMENT]  # where the element of the last line begins, if that is compact
    unsure = state[_UNSURE] != 0  # there were ODD lines since the last name
    in_block = state[_IN_BLOCK] != 0  # the row before is none of a compact element
    carried = state[_CARRIED_NAME]  # the name of the element that stands before this text, or 0
    folder_at = folder_size = 0  # the part of a valid graph name up to the last '/' of its path
    last_instant = NEVER
    rows = n_instants = lines = 0
    collision = -1
    room = len(kinds)
    while at < limit and rows + 1 < room and n_instants < room:
        line = at
        lines += 1
        if byte_at(buffer, at) == _NEWLINE:
            at += 1
            continue
        start = finish = NEVER
        graph = np.int64(0)
        kind = ODD
        wanted = same_graph = False
        name_at, name_end = line, line
        ends = ends_at(text, line)
        ids = ids_of(text, line, ends, slots, mask)
        if ends.line >= 0 and (trusted or plain_triple(buffer, line, ends, ids)):
            if ids.subject_known == OTHER or ids.predicate_known == OTHER or ids.object_known == OTHER:
                collision = line
                break
            if ends.graph == 0:
                kind = _time_statement(ids.predicate, stated)
                if kind != LOOSE:
                    kind, start, finish = _about(text, line, ends, kind)
                    graph = ids.subject
                    name_end = ends.subject
            else:
                name_at, name_end = ends.object + 1, ends.graph
                same_graph = name_end - name_at == graph_size and equal_bytes(
                    buffer, graph_at, buffer, name_at, graph_size
                )
                wanted = keep_all or integer_at(kept, slot_of(kept, kept_mask, ids.predicate)) != 0
                sharp = time_in_name(buffer, name_at, name_end)
                if sharp >= 0:
                    start, finish = compact_times_at(buffer, sharp + 3, name_end - 1)
                    if start != NEVER:
                        kind = COMPACT if wanted else NAMED_ONLY
                        if not same_graph and not trusted:
                            valid, folder_at, folder_size = plain_folder(
                                buffer, name_at, sharp, folder_at, folder_size
                            )
                            kind = kind if valid else ODD
                elif same_graph or trusted or plain_node(buffer, name_at, name_end):
                    kind = STATED if wanted else UNASKED
                    graph = node_id(text, name_at, name_end)

        if kind == ODD:
            done = line_end(buffer, line, limit)
            integers[3, rows] = done
            integers[5, rows] = 0
            if element != NONE and graph_size > 0:
                integers[5, rows] = hash_at(buffer, graph_at, graph_at + graph_size, limit, text.secret)
            integers[6, rows] = line
            integers[7, rows] = element
            kinds[rows] = ODD
            rows += 1
            element, graph_size, carried = NONE, 0, np.int64(0)
            in_block = unsure = True
            at = done
            continue

        if kind == COMPACT or kind == NAMED_ONLY:
            if named or trusted or in_block or carried != 0:
                graph = hash_at(buffer, name_at, name_end, limit, text.secret)
            if not same_graph:
                element = CARRIED if carried != 0 and graph == carried else line
                elements += element == line
            if in_block and not trusted:
                integers[:, rows] = 0
                integers[0, rows] = unsure
                integers[5, rows] = graph
                integers[6, rows] = line
                integers[7, rows] = element
                kinds[rows] = BREAK
                rows += 1
                in_block = False
            if finish != last_instant:
                instants[n_instants] = finish
                n_instants += 1
                last_instant = finish
        if kind != LOOSE:
            unsure, carried = False, np.int64(0)
            graph_at, graph_size = name_at, name_end - name_at if ends.graph != 0 else 0
            if kind != COMPACT and kind != NAMED_ONLY:
                element = NONE
        at = ends.line
        if kind == NAMED_ONLY and not trusted:
            continue  # a compact quad nobody asked for leaves only its instant
        if wanted:
            count += _enter_triple(slots, mask, line, ends, ids)
        if named and graph != 0:
            known = seek(slots, mask, buffer, graph, buffer, name_at, name_end)
            if known == OTHER:
                collision = line
                break
            if known != SAME:
                enter(slots, mask, graph, name_at, name_end)
                count += 1
        if 4 * count + 16 > len(table):
            table = grown(table, 2)
            slots, mask = address_of(table), mask_of(table)
        integers[0, rows] = ids.subject
        integers[1, rows] = ids.predicate
        integers[2, rows] = ids.object
        integers[3, rows] = start
        integers[4, rows] = finish
        integers[7, rows] = element
        kinds[rows] = kind
        if named or trusted or kind != COMPACT:  # pages that nobody writes to cost nothing
            integers[5, rows] = graph
            integers[6, rows] = line
        in_block = kind != COMPACT
        rows += 1
    scratch[0] = 0  # alive until here
    state[_PLACE], state[_ROWS], state[_INSTANTS] = at, rows, n_instants
    state[_ELEMENTS], state[_TERMS], state[_COLLISION] = elements, count, collision
    state[_LINES] += lines
    state[_GRAPH_AT], state[_GRAPH_SIZE], state[_ELEMENT] = graph_at, graph_size, element
    state[_UNSURE], state[_IN_BLOCK], state[_CARRIED_NAME] = unsure, in_block, carried
    return table


@dataclass(frozen=True, eq=False)
class Scanned:
    """The scanned lines of a buffer, one column per field."""

    subject: np.ndarray
    predicate: np.ndarray
    object: np.ndarray
    start: np.ndarray
    end: np.ndarray
    graph: np.ndarray
    offset: np.ndarray
    element: np.ndarray  # of compact rows: the offset at which their element begins, or CARRIED
    kind: np.ndarray
    instants: np.ndarray  # of the compact elements; neither sorted nor unique
    elements: int  # compact ones that begin here
    lines: int
    terms: TermChunk
    last: tuple[int, int]  # name and element of the last line, if that is a compact one; else NONE

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.subject, self.predicate, self.object, self.start, self.end


def keep_table(predicates: np.ndarray | None) -> np.ndarray:
    """A hash table of the predicates to keep; an empty array keeps all."""
    if predicates is None:
        return np.empty(0, np.int64)
    predicates = np.unique(np.asarray(predicates, np.int64))
    table = interning.new_table(len(predicates) + 1)
    for id_ in predicates.tolist():
        interning.enter_one(table, id_, 0, 0)
    return table


def scan(
    data: bytes | memoryview | np.ndarray,
    *,
    keep: np.ndarray,
    stated: np.ndarray,
    key: int,
    salt: bytes = b"",
    trusted: bool = False,
    named: bool = False,
    expected_terms: int = 0,
    carried: int = 0,
) -> Scanned:
    """Scans whole lines of N-Quads (the last one may lack its line break).

    `keep` is a `keep_table`; `stated` has the ids of the three time predicates, as all ids by the
    run's key. The labels of blank nodes are lengthened by the salt. Trusted text needs no salt, since we
    have written it ourselves: one space between terms, canonical terms, plain times. `named` (with
    everything kept) also gives the graph of compact rows, and the texts of all graph names.
    `expected_terms` sizes the table of distinct terms, which otherwise grows as needed. `carried` is the
    name of the compact element whose lines stand right before these, 0 if there is none.
    """
    buffer = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    buffer = interning.frozen(buffer)
    limit = len(buffer)
    if limit >> (63 - LENGTH_BITS):
        raise InputError("a piece of a stream must be smaller than 64 GiB")
    salts = interning.frozen(np.frombuffer(salt, np.uint8))
    table = interning.new_table(max(LEAST_TERMS, expected_terms))
    parts, all_instants = [], []
    state = np.zeros(_STATE, np.int64)
    state[_ELEMENT], state[_CARRIED_NAME] = NONE, carried
    while state[_PLACE] < limit:
        room = (limit - int(state[_PLACE])) // LEAST_LINE + LEAST_ROWS + 1
        integers, kinds = np.empty((_FIELDS, room), np.int64), np.empty(room, np.int8)
        instants = np.empty(room, np.int64)
        table = _scan(
            buffer, trusted, named, key, salts, table, keep, stated, integers, kinds, instants, state
        )
        if state[_COLLISION] >= 0:
            raise collision_at(buffer, int(state[_COLLISION]))
        rows = int(state[_ROWS])
        parts.append((integers[:, :rows], kinds[:rows]))
        all_instants.append(instants[: int(state[_INSTANTS])])
    if len(parts) == 1:
        (integers, kinds), instants = parts[0], all_instants[0]
    elif parts:
        integers = np.concatenate([part[0] for part in parts], axis=1)
        kinds = np.concatenate([part[1] for part in parts])
        instants = np.concatenate(all_instants)
    else:
        integers, kinds = np.empty((_FIELDS, 0), np.int64), np.empty(0, np.int8)
        instants = np.empty(0, np.int64)
    ids, places = interning.entries(table, int(state[_TERMS]))
    order = np.argsort(ids)
    texts = interning.gather(buffer, places[order], salts, UNDERSCORE)
    terms = TermChunk(ids[order], *texts)
    if trusted and (kinds == ODD).any():
        line = int(integers[6][np.flatnonzero(kinds == ODD)[0]])
        raise RuntimeError(f"a canonical line is not understood: {buffer[line:][:500].tobytes()!r}")
    return Scanned(  # type: ignore[call-arg]
        *integers,
        kinds,
        instants,
        int(state[_ELEMENTS]),
        int(state[_LINES]),
        terms,
        _last(buffer, key, state),
    )


def _last(buffer: np.ndarray, key: int, state: np.ndarray) -> tuple[int, int]:
    """The name and the beginning of the compact element that a text ends with, or NONE."""
    if state[_CARRIED_NAME]:  # there was no line with a name
        return int(state[_CARRIED_NAME]), CARRIED
    element, at, size = (int(state[i]) for i in (_ELEMENT, _GRAPH_AT, _GRAPH_SIZE))
    return (int(hash_bytes(buffer, at, at + size, key)), element) if element != NONE else (0, NONE)
