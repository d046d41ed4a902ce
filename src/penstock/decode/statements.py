"""One line of N-Quads, compiled: where its terms stand, and whether they are plainly valid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.columns.ids import hash_at, secret_of
from penstock.columns.interning import ABSENT, SAME, equal_bytes, seek
from penstock.columns.memory import address_of, byte_at, copy_bytes
from penstock.columns.places import LONGEST
from penstock.decode.lexical import (
    LONGEST_LABEL,
    ODD_DATATYPE,
    datatype_tag,
    find_fragment,
    folder_end,
    inline_value,
    iri_end,
    label_end,
    language_end,
    literal_end,
    plain_iri,
    plain_path,
    read_instant,
    trusted_literal_end,
)
from penstock.errors import InputError
from penstock.jit import njit
from penstock.timeline import NEVER

SCRATCH = LONGEST_LABEL + 64  # bytes of a label with its salt
_SPACE, _DOT, _OPEN, _QUOTE, _CARET, _AT_SIGN = 0x20, 0x2E, 0x3C, 0x22, 0x5E, 0x40
_RETURN, _NEWLINE, _T, _EQUALS = 0x0D, 0x0A, 0x74, 0x3D
UNDERSCORE = 0x5F


class ScannedText(NamedTuple):
    """What is scanned: addresses of the bytes and of scratch memory, and the secret of ids."""

    buffer: int
    limit: int
    trusted: bool
    secret: tuple[int, int, int, int]
    salt: int
    salt_size: int
    scratch: int


class TermEnds(NamedTuple):
    """Where the parts of a statement end; the terms have one space between them."""

    subject: int
    predicate: int
    object: int
    graph: int  # 0: there is none
    line: int  # -1: this is not plainly a statement
    quote: int  # the closing quote of a literal, 0 if the object is none
    datatype: int  # where an IRI begins that has to be valid; 0: nowhere
    inline: int  # the id of an inline value, or 0


class Ids(NamedTuple):
    """The ids of a triple, and whether each is known with this very text."""

    subject: int
    predicate: int
    object: int
    subject_known: int
    predicate_known: int
    object_known: int


@njit(cache=True)
def text_of(array, trusted, key, salt, scratch):
    """An array as `ScannedText`; the arrays must live for as long as it is used."""
    if len(salt) > len(scratch) - LONGEST_LABEL:
        raise ValueError("the salt of blank nodes is too long")
    salted = (address_of(salt), len(salt))
    return ScannedText(address_of(array), len(array), trusted, secret_of(key), *salted, address_of(scratch))


def collision_at(array: np.ndarray, place: int) -> InputError:
    """The error for a line with a term whose id another term has."""
    line = array[place:].tobytes().split(b"\n", 1)[0]
    return InputError(
        f"a term in {line.decode(errors='replace').rstrip()} has the id of another term",
        hint="begin a run with a new checkpoint: ids are 62-bit hashes by a key that a run draws",
    )


@njit(cache=True)
def _word_end(buffer, at, limit):
    """The place of the next space (the end of a trusted blank node or language tag)."""
    while at < limit and byte_at(buffer, at) != _SPACE:
        at += 1
    return at


@njit(cache=True)
def node_end(buffer, at, limit, trusted):
    """The place after an IRI or a blank node that a space follows, or -1."""
    if at >= limit:
        return -1
    first = byte_at(buffer, at)
    if first == _OPEN:
        end = iri_end(buffer, at, limit, trusted)
    elif first == UNDERSCORE:
        end = _word_end(buffer, at, limit) if trusted else label_end(buffer, at, limit)
    else:
        return -1
    if end < 0 or end >= limit or byte_at(buffer, end) != _SPACE:
        return -1
    return end


@njit(cache=True)
def _line_end(buffer, at, limit):
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


@njit(cache=True, forceinline=True)
def ends_at(text, line):
    """The `TermEnds` of the statement that a line begins with."""
    buffer, limit, trusted = text.buffer, text.limit, text.trusted
    odd = TermEnds(0, 0, 0, 0, -1, 0, 0, 0)
    subject = node_end(buffer, line, limit, trusted)
    if subject < 0:
        return odd
    predicate = node_end(buffer, subject + 1, limit, trusted)
    if predicate < 0 or byte_at(buffer, subject + 1) != _OPEN:
        return odd
    at = predicate + 1
    quote = inline = datatype = 0
    if at < limit and byte_at(buffer, at) == _QUOTE:
        object_, inline, quote, datatype = _literal(buffer, at, limit, trusted)
    else:
        object_ = node_end(buffer, at, limit, trusted)
    if object_ < 0 or object_ + 1 >= limit or object_ - at > LONGEST:
        return odd
    at = object_ + 1
    graph = 0
    if byte_at(buffer, at) != _DOT:
        graph = node_end(buffer, at, limit, trusted)
        if graph < 0:
            return odd
        at = graph + 1
    after = _line_end(buffer, at, limit)
    return TermEnds(subject, predicate, object_, graph, after, quote, datatype, inline)


@njit(cache=True, forceinline=True)
def node_id(text, begin, end):
    """The id of a node; a blank node's label gets the salt (none if the text is trusted)."""
    if text.salt_size == 0 or byte_at(text.buffer, begin) != UNDERSCORE:
        return hash_at(text.buffer, begin, end, text.limit, text.secret)
    size = end - begin
    copy_bytes(text.scratch, text.buffer + begin, size)
    copy_bytes(text.scratch + size, text.salt, text.salt_size)
    return hash_at(text.scratch, 0, size + text.salt_size, SCRATCH, text.secret)


@njit(cache=True, forceinline=True)
def ids_of(text, line, ends, slots, mask):
    """The ids of a statement's triple, and which of them are known in a table of terms."""
    if ends.line < 0:
        return Ids(0, 0, 0, ABSENT, ABSENT, ABSENT)
    buffer = text.buffer
    s = node_id(text, line, ends.subject)
    s_known = seek(slots, mask, buffer, s, buffer, line, ends.subject)
    p = hash_at(buffer, ends.subject + 1, ends.predicate, text.limit, text.secret)
    p_known = seek(slots, mask, buffer, p, buffer, ends.subject + 1, ends.predicate)
    o = ends.inline
    o_known = SAME
    if o == 0:
        o = node_id(text, ends.predicate + 1, ends.object)
        o_known = seek(slots, mask, buffer, o, buffer, ends.predicate + 1, ends.object)
    return Ids(s, p, o, s_known, p_known, o_known)


@njit(cache=True)
def plain_node(buffer, begin, end):
    """Whether a node is plainly valid; the labels of blank nodes are when they were found."""
    return byte_at(buffer, begin) == UNDERSCORE or plain_iri(buffer, begin + 1, end - 1)


@njit(cache=True, forceinline=True)
def plain_triple(buffer, line, ends, ids):
    """Whether the terms of a triple are plainly valid; what is known was valid before."""
    if ids.subject_known != SAME and not plain_node(buffer, line, ends.subject):
        return False
    if ids.predicate_known != SAME and not plain_iri(buffer, ends.subject + 2, ends.predicate - 1):
        return False
    if ids.object_known == SAME:
        return True
    if ends.quote == 0:
        return plain_node(buffer, ends.predicate + 1, ends.object)
    return ends.datatype == 0 or plain_iri(buffer, ends.datatype + 1, ends.object - 1)


@njit(cache=True)
def stated_instant(buffer, ends):
    """The instant that a literal is, or NEVER."""
    if ends.quote == 0:
        return NEVER
    instant, after, _ = read_instant(buffer, ends.predicate + 2, ends.quote)
    return instant if after == ends.quote else NEVER


@njit(cache=True, forceinline=True)
def time_in_name(buffer, begin, end):
    """Where the `#t=` of a graph's name begins, or -1."""
    sharp = find_fragment(buffer, begin, end)
    if sharp < 0 or sharp + 3 >= end:
        return -1
    return sharp if byte_at(buffer, sharp + 1) == _T and byte_at(buffer, sharp + 2) == _EQUALS else -1


@njit(cache=True, forceinline=True)
def plain_folder(buffer, begin, sharp, folder_at, folder_size):
    """Whether a name is plainly valid up to its `#`, and where its folder is: (valid, place, size).

    Names of a stream begin alike: what was valid before (up to the last '/' of its path) still is.
    """
    if (
        folder_size > 0
        and folder_size <= sharp - begin
        and equal_bytes(buffer, folder_at, buffer, begin, folder_size)
        and plain_path(buffer, begin + folder_size, sharp)
    ):
        return True, folder_at, folder_size
    if not plain_iri(buffer, begin + 1, sharp):
        return False, folder_at, folder_size
    return True, begin, folder_end(buffer, begin, sharp) - begin
