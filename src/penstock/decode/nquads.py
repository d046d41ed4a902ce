"""The N-Quads scanner: one compiled pass from bytes to rows of ids and instants.

The scanner accepts a line only if its bytes are plainly canonical N-Quads. Lines that are
anything else (blank nodes, unusual escapes, comments, odd white space, errors, …) become
ODD rows, to be settled by a full parser (`decode.repair`), whose output comes back through
the scanner as *trusted* text. Terms that were seen before in the same buffer are recognised
by their bytes and not validated again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.columns import interning
from penstock.columns.ids import hash_at, secret_of
from penstock.columns.interning import (
    OTHER,
    SAME,
    enter,
    equal_bytes,
    grown,
    mask_of,
    seek,
    slot_of,
)
from penstock.columns.memory import address_of, byte_at, copy_bytes, integer_at
from penstock.columns.places import LENGTH_BITS, LONGEST
from penstock.columns.terms import TermChunk
from penstock.decode.lexical import (
    LONGEST_LABEL,
    ODD_DATATYPE,
    compact_times_at,
    datatype_tag,
    find_fragment,
    folder_end,
    inline_value,
    iri_end,
    label_end,
    language_end,
    line_end,
    literal_end,
    plain_iri,
    plain_path,
    read_instant,
    trusted_literal_end,
)
from penstock.errors import InputError
from penstock.jit import njit
from penstock.timeline import NEVER

# Kinds of rows. COMPACT: the graph's name tells the time. STATED: a quad whose element's time
# is stated elsewhere; UNASKED the same with a predicate that nobody asked for. AT, STARTED,
# ENDED: a time statement (start = the instant, graph = the subject). LOOSE: another triple
# in the default graph. ODD: a line for the full parser (start = where the line ends). BREAK: here
# begins a line of a compact element, after others.
COMPACT, STATED, UNASKED, AT, STARTED, ENDED, LOOSE, ODD, BREAK = range(9)

_SPACE, _DOT, _OPEN, _CLOSE, _QUOTE, _CARET, _AT_SIGN = 0x20, 0x2E, 0x3C, 0x3E, 0x22, 0x5E, 0x40
_SCRATCH = LONGEST_LABEL + 64
# The sizes with which a scan begins; it goes on with more where they do not suffice.
LEAST_TERMS, LEAST_ROWS, LEAST_LINE = 2048, 1024, 96
_UNDERSCORE, _COMMA, _RETURN, _NEWLINE, _T, _EQUALS = 0x5F, 0x2C, 0x0D, 0x0A, 0x74, 0x3D


@njit(cache=True)
def _word_end(buffer, at, limit):
    """The place of the next space (the end of a trusted blank node or language tag)."""
    while at < limit and byte_at(buffer, at) != _SPACE:
        at += 1
    return at


@njit(cache=True)
def _node_end(buffer, at, limit, trusted):
    """The place after an IRI or a blank node that a space follows, or -1."""
    if at >= limit:
        return -1
    first = byte_at(buffer, at)
    if first == _OPEN:
        end = iri_end(buffer, at, limit, trusted)
    elif first == _UNDERSCORE:
        end = _word_end(buffer, at, limit) if trusted else label_end(buffer, at, limit)
    else:
        return -1
    if end < 0 or end >= limit or byte_at(buffer, end) != _SPACE:
        return -1
    return end


@njit(cache=True)
def _node_id(buffer, begin, end, limit, secret, salt, salt_size, scratch):
    """The id of a node; a blank node's label gets the salt (none if the text is trusted)."""
    if salt_size == 0 or byte_at(buffer, begin) != _UNDERSCORE:
        return hash_at(buffer, begin, end, limit, secret)
    size = end - begin
    copy_bytes(scratch, buffer + begin, size)
    copy_bytes(scratch + size, salt, salt_size)
    return hash_at(scratch, 0, size + salt_size, _SCRATCH, secret)


@njit(cache=True)
def _plain_node(buffer, begin, end):
    """Whether a node is plainly valid; the labels of blank nodes are when they were found."""
    return byte_at(buffer, begin) == _UNDERSCORE or plain_iri(buffer, begin + 1, end - 1)


@njit(cache=True)
def _statement_end(buffer, at, limit):
    """The place after '.' and the line break, or -1; `at` should stand on the '.'."""
    if at >= limit or byte_at(buffer, at) != _DOT:
        return -1
    at += 1
    if at < limit and byte_at(buffer, at) == _RETURN:
        at += 1
    if at >= limit:
        return limit
    return at + 1 if byte_at(buffer, at) == _NEWLINE else -1


@njit(cache=True)
def _literal(buffer, at, limit, trusted):
    """A literal: (place after it or -1, inline id or 0, closing quote, datatype to check or 0)."""
    if trusted:
        quote = trusted_literal_end(buffer, at + 1, limit)
    else:
        quote = literal_end(buffer, at + 1, limit)
    if quote < 0 or quote + 1 >= limit:
        return -1, 0, 0, 0
    mark = byte_at(buffer, quote + 1)
    if mark == _SPACE:
        return quote + 1, 0, quote, 0
    if mark == _CARET:
        datatype = quote + 3
        if datatype >= limit or byte_at(buffer, quote + 2) != _CARET or byte_at(buffer, datatype) != _OPEN:
            return -1, 0, 0, 0
        end = iri_end(buffer, datatype, limit, trusted)
        if end < 0 or end >= limit or byte_at(buffer, end) != _SPACE:
            return -1, 0, 0, 0
        tag = datatype_tag(buffer, datatype, end)
        if tag > 0:
            return end, inline_value(buffer, at + 1, quote, tag), quote, 0
        if tag == ODD_DATATYPE and not trusted:
            return -1, 0, 0, 0
        return end, 0, quote, datatype
    if mark == _AT_SIGN:
        if trusted:
            return _word_end(buffer, quote + 1, limit), 0, quote, 0
        end = language_end(buffer, quote + 2, limit)
        if end < 0 or end >= limit or byte_at(buffer, end) != _SPACE:
            return -1, 0, 0, 0
        return end, 0, quote, 0
    return -1, 0, 0, 0


@njit(cache=True)
def _scan(
    array, at, limit, trusted, named, key, salt_array, table, count, keep, stated, integers, kinds,
    instants, elements, graph_at, graph_size, in_block,
):  # fmt: skip
    """Scans lines from `at` on until the limit or until the rows are full.

    `integers` has the rows subject, predicate, object, start, end, and, for others than COMPACT
    rows or if `named`, graph and offset; then the names of graphs are among the terms. `in_block`
    says that the row before is none of a compact element: the next of these ends a block.
    Returns (place, rows, instants, elements, lines, table, entries, place of a collision or -1,
    place and size of the last graph name).
    """
    buffer = address_of(array)
    secret = secret_of(key)
    salt, salt_size = address_of(salt_array), len(salt_array)
    scratch_array = np.zeros(_SCRATCH, np.uint8)
    scratch = address_of(scratch_array)
    slots, mask = address_of(table), mask_of(table)
    keep_all = len(keep) == 0
    kept, kept_mask = address_of(keep), mask_of(keep)
    at_predicate, started_predicate, ended_predicate = stated[0], stated[1], stated[2]
    rows = 0
    room = len(kinds)
    n_instants = 0
    last_instant = NEVER
    folder_at = 0  # the part of a valid graph name up to the last '/' of its path
    folder_size = 0
    collision = -1
    lines = 0
    if salt_size > _SCRATCH - LONGEST_LABEL:
        raise ValueError("the salt of blank nodes is too long")
    while at < limit and rows + 1 < room and n_instants < room:
        line = at
        lines += 1
        if byte_at(buffer, at) == _NEWLINE:
            at += 1
            continue
        done = -1
        while True:  # runs once; `break` leaves the line to the full parser
            s_end = _node_end(buffer, at, limit, trusted)
            if s_end < 0:
                break
            s = _node_id(buffer, at, s_end, limit, secret, salt, salt_size, scratch)
            s_known = seek(slots, mask, buffer, s, buffer, at, s_end)
            if s_known != SAME and not trusted and not _plain_node(buffer, at, s_end):
                break

            p_at = s_end + 1
            p_end = _node_end(buffer, p_at, limit, trusted)
            if p_end < 0 or byte_at(buffer, p_at) != _OPEN:
                break
            p = hash_at(buffer, p_at, p_end, limit, secret)
            p_known = seek(slots, mask, buffer, p, buffer, p_at, p_end)
            if p_known != SAME and not trusted and not plain_iri(buffer, p_at + 1, p_end - 1):
                break

            o_at = p_end + 1
            quote = 0
            o = 0
            datatype = 0
            if o_at < limit and byte_at(buffer, o_at) == _QUOTE:
                o_end, o, quote, datatype = _literal(buffer, o_at, limit, trusted)
            else:
                o_end = _node_end(buffer, o_at, limit, trusted)
            if o_end < 0 or o_end >= limit or o_end - o_at > LONGEST:
                break
            o_known = SAME
            if o == 0:
                o = _node_id(buffer, o_at, o_end, limit, secret, salt, salt_size, scratch)
                o_known = seek(slots, mask, buffer, o, buffer, o_at, o_end)
                if o_known != SAME and not trusted:
                    if quote == 0:
                        if not _plain_node(buffer, o_at, o_end):
                            break
                    elif datatype != 0:
                        if not plain_iri(buffer, datatype + 1, o_end - 1):
                            break

            g_at = o_end + 1
            if g_at >= limit:
                break
            if s_known == OTHER or p_known == OTHER or o_known == OTHER:
                collision = line
                break
            start = NEVER
            finish = NEVER
            graph = np.int64(0)
            if byte_at(buffer, g_at) == _DOT:
                after = _statement_end(buffer, g_at, limit)
                if after < 0:
                    break
                kind = LOOSE
                if p == at_predicate:
                    kind = AT
                elif p == started_predicate:
                    kind = STARTED
                elif p == ended_predicate:
                    kind = ENDED
                if kind != LOOSE:
                    # Statements about a name that tells its own time need comparing.
                    if not trusted and find_fragment(buffer, line, s_end) >= 0:
                        if _is_compact(buffer, line, s_end):
                            break
                    if quote != 0:
                        start, after_instant, _ = read_instant(buffer, o_at + 1, quote)
                        if after_instant != quote:
                            start = NEVER
                    if start == NEVER and not trusted:
                        break
                    graph = s
                wanted = False
            else:
                g_end = _node_end(buffer, g_at, limit, trusted)
                if g_end < 0:
                    break
                after = _statement_end(buffer, g_end + 1, limit)
                if after < 0:
                    break
                same_graph = g_end - g_at == graph_size and equal_bytes(
                    buffer, graph_at, buffer, g_at, graph_size
                )
                sharp = find_fragment(buffer, g_at, g_end)
                if sharp >= 0 and _is_time(buffer, sharp, g_end):
                    start, finish = compact_times_at(buffer, sharp + 3, g_end - 1)
                    if start == NEVER:
                        break
                    if not same_graph and not trusted:
                        # Names of a stream begin alike: what was valid before still is.
                        if not (
                            folder_size > 0
                            and folder_size <= sharp - g_at
                            and equal_bytes(buffer, folder_at, buffer, g_at, folder_size)
                            and plain_path(buffer, g_at + folder_size, sharp)
                        ):
                            if not plain_iri(buffer, g_at + 1, sharp):
                                break
                            folder_at = g_at
                            folder_size = folder_end(buffer, g_at, sharp) - g_at
                    kind = COMPACT
                    if in_block and not trusted:
                        in_block = False
                        integers[:, rows] = 0
                        integers[6, rows] = line
                        kinds[rows] = BREAK
                        rows += 1
                    if named:
                        graph = hash_at(buffer, g_at, g_end, limit, secret)
                    if not same_graph:
                        elements += 1
                    if finish != last_instant:
                        instants[n_instants] = finish
                        n_instants += 1
                        last_instant = finish
                else:
                    if not same_graph and not trusted:
                        if not _plain_node(buffer, g_at, g_end):
                            break
                    graph = _node_id(buffer, g_at, g_end, limit, secret, salt, salt_size, scratch)
                    kind = STATED
                graph_at = g_at
                graph_size = g_end - g_at
                wanted = keep_all or integer_at(kept, slot_of(kept, kept_mask, p)) != 0
                if not wanted:
                    kind = UNASKED
            done = after
            if kind == UNASKED and graph == 0:
                break  # a compact quad nobody asked for leaves only its instant
            if wanted:
                if s_known != SAME:
                    enter(slots, mask, s, line, s_end)
                    count += 1
                if p_known != SAME and p != s:
                    enter(slots, mask, p, p_at, p_end)
                    count += 1
                if o_known != SAME and o != s and o != p:
                    enter(slots, mask, o, o_at, o_end)
                    count += 1
                if 4 * count + 16 > len(table):
                    table = grown(table, 2)
                    slots, mask = address_of(table), mask_of(table)
            if named and graph != 0:
                name_at, name_end = (g_at, g_end) if wanted else (line, s_end)
                known = seek(slots, mask, buffer, graph, buffer, name_at, name_end)
                if known == OTHER:
                    collision = line
                    done = -1
                    break
                if known != SAME:
                    enter(slots, mask, graph, name_at, name_end)
                    count += 1
                if 4 * count + 16 > len(table):
                    table = grown(table, 2)
                    slots, mask = address_of(table), mask_of(table)
            integers[0, rows] = s
            integers[1, rows] = p
            integers[2, rows] = o
            integers[3, rows] = start
            integers[4, rows] = finish
            kinds[rows] = kind
            in_block = kind != COMPACT
            if named or kind != COMPACT:  # pages that nobody writes to cost nothing
                integers[5, rows] = graph
                integers[6, rows] = line
            rows += 1
            break
        if done < 0:
            if collision >= 0:
                break
            done = line_end(buffer, line, limit)
            integers[3, rows] = done
            integers[6, rows] = line
            kinds[rows] = ODD
            rows += 1
            in_block = True
        at = done
    scratch_array[0] = 0  # alive until here
    return at, rows, n_instants, elements, lines, table, count, collision, graph_at, graph_size


@njit(cache=True)
def _is_time(buffer, sharp, end):
    return sharp + 3 < end and byte_at(buffer, sharp + 1) == _T and byte_at(buffer, sharp + 2) == _EQUALS


@njit(cache=True)
def _is_compact(buffer, begin, end):
    sharp = find_fragment(buffer, begin, end)
    return sharp >= 0 and _is_time(buffer, sharp, end)


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
    kind: np.ndarray
    instants: np.ndarray  # of the compact elements; neither sorted nor unique
    elements: int  # compact ones
    lines: int
    terms: TermChunk

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
) -> Scanned:
    """Scans whole lines of N-Quads (the last one may lack its line break).

    `keep` is a `keep_table`; `stated` has the ids of the three time predicates, as all ids by the
    run's key. The labels of blank nodes are lengthened by the salt. Trusted text needs no salt, since we
    have written it ourselves: one space between terms, canonical terms, plain times. `named` (with
    everything kept) also gives the graph of compact rows, and the texts of all graph names.
    `expected_terms` sizes the table of distinct terms, which otherwise grows as needed.
    """
    buffer = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    buffer = interning.frozen(buffer)
    limit = len(buffer)
    if limit >> (63 - LENGTH_BITS):
        raise InputError("a piece of a stream must be smaller than 64 GiB")
    salts = interning.frozen(np.frombuffer(salt, np.uint8))
    table, count = interning.new_table(max(LEAST_TERMS, expected_terms)), 0
    parts, all_instants = [], []
    at = elements = lines = graph_at = graph_size = 0
    in_block = False
    while at < limit:
        room = (limit - at) // LEAST_LINE + LEAST_ROWS + 1
        integers, kinds = np.empty((7, room), np.int64), np.empty(room, np.int8)
        instants = np.empty(room, np.int64)
        at, rows, n_instants, elements, more, table, count, collision, graph_at, graph_size = _scan(
            buffer, at, limit, trusted, named, key, salts, table, count, keep, stated, integers, kinds,
            instants, elements, graph_at, graph_size, in_block,
        )  # fmt: skip
        if rows:
            in_block = bool(kinds[rows - 1] != COMPACT and kinds[rows - 1] != BREAK)
        lines += more
        if collision >= 0:
            line = buffer[collision:].tobytes().split(b"\n", 1)[0]
            raise InputError(
                f"a term in {line.decode(errors='replace').rstrip()} has the id of another term",
                hint="begin a run with a new checkpoint: ids are 62-bit hashes by a key that a run draws",
            )
        parts.append((integers[:, :rows], kinds[:rows]))
        all_instants.append(instants[:n_instants])
    if len(parts) == 1:
        (integers, kinds), instants = parts[0], all_instants[0]
    elif parts:
        integers = np.concatenate([part[0] for part in parts], axis=1)
        kinds = np.concatenate([part[1] for part in parts])
        instants = np.concatenate(all_instants)
    else:
        integers, kinds = np.empty((7, 0), np.int64), np.empty(0, np.int8)
        instants = np.empty(0, np.int64)
    ids, places = interning.entries(table, count)
    order = np.argsort(ids)
    texts = interning.gather(buffer, places[order], salts, _UNDERSCORE)
    terms = TermChunk(ids[order], *texts)
    if trusted and (kinds == ODD).any():
        line = int(integers[6][np.flatnonzero(kinds == ODD)[0]])
        raise RuntimeError(f"a canonical line is not understood: {buffer[line:][:500].tobytes()}")
    return Scanned(*integers, kinds, instants, elements, lines, terms)
