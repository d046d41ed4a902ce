"""Columns of texts, and what N-Triples texts say of their terms: which are alike, what STR makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns.hashing import numbered
from penstock.columns.ids import hash_at, secret_of
from penstock.columns.interning import equal_bytes, frozen, gather
from penstock.columns.memory import address_of, byte_at
from penstock.columns.places import LENGTH_BITS, LONGEST
from penstock.jit import njit

VALUE, ERROR, UNKNOWN = range(3)  # of a function: it has a value, has none, or must be asked one by one

_QUOTE, _BACKSLASH, _BLANK = b'"\\_'
_COLON, _SLASH, _HASH, _NINE = b":/#9"
_IN_SCHEME, _IN_HOST, _IN_PATH = tuple(b"+.-"), tuple(b".-"), tuple(b":/._~-")
_MINUS, _POINT, _ZERO = b"-.0"
_MOST, _SCALE = 10**17, 300  # digits beyond say less than float64 can hold; powers of ten that it has
_ALNUM = np.zeros(256, np.bool_)  # letters and digits of ASCII
_ALNUM[list(b"0123456789" + bytes(range(65, 91)) + bytes(range(97, 123)))] = True


class Texts(NamedTuple):
    """Texts one after the other: `data[offsets[i]:offsets[i + 1]]` is one of them."""

    offsets: np.ndarray
    data: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of(texts: Sequence[bytes]) -> Texts:
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return Texts(frozen(offsets), frozen(np.frombuffer(b"".join(texts), np.uint8)))

    @staticmethod
    def of_arrow(texts: pa.LargeBinaryArray) -> Texts:
        """What an array holds; nothing for null."""
        _, offsets, data = texts.buffers()
        places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        return Texts(frozen(places), frozen(np.frombuffer(data or b"", np.uint8)))

    def to_arrow(self) -> pa.LargeBinaryArray:
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self), buffers)

    def at(self, places: np.ndarray) -> Texts:
        """Those at some places."""
        return Texts(*map(frozen, gather(self.data, places)))

    def take(self, rows: np.ndarray) -> Texts:
        return self.at((self.offsets[:-1] << LENGTH_BITS | np.diff(self.offsets))[rows])


def joined(*parts: Texts) -> Texts:
    """Texts of some parts each; a part that has only one text has it for all."""
    if all(len(part) == 1 for part in parts):
        return Texts.of([b"".join(part.data.tobytes() for part in parts)])
    nothing = constant(b"")
    some = (part.to_arrow()[0] if len(part) == 1 else part.to_arrow() for part in parts)
    return Texts.of_arrow(pc.binary_join_element_wise(*some, nothing))


def constant(text: bytes) -> pa.LargeBinaryScalar:
    """A text for Arrow's functions. (Its own `scalar` imports pandas first, which takes a while.)"""
    return Texts.of([text]).to_arrow()[0]


# --- of terms -------------------------------------------------------------------------------


@njit(cache=True)
def _ending(base, begin, end):
    """Where the language tag or the datatype of a text begins; the end, if it is no literal."""
    if begin == end or byte_at(base, begin) != _QUOTE:
        return end
    at = end
    while byte_at(base, at - 1) != _QUOTE:
        at -= 1
    return at


@njit(cache=True)
def _first(base, begin, end):
    return byte_at(base, begin) if begin < end else 0


def alike(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """For each text the first one of its kind: no term, an IRI, a blank node, or a literal with the same
    language tag or datatype."""
    first, numbers = numbered(_kinds(offsets, data))
    return _verified(offsets, data, first[numbers])


@njit(cache=True)
def _kinds(offsets, data):
    """A hash of the kind of each text."""
    base, secret = address_of(data), secret_of(0)
    keys = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(keys)):
        begin, end = offsets[i], offsets[i + 1]
        keys[i] = hash_at(base, _ending(base, begin, end), end, len(data), secret) + _first(base, begin, end)
    return keys


@njit(cache=True)
def _verified(offsets, data, first):
    """For each text the first one with its hash, or itself if they differ: two kinds may have one hash."""
    base = address_of(data)
    for i in range(len(first)):
        begin, end = offsets[i], offsets[i + 1]
        ending = _ending(base, begin, end)
        other = first[i]
        other_ending = _ending(base, offsets[other], offsets[other + 1])
        same = (
            _first(base, begin, end) == _first(base, offsets[other], offsets[other + 1])
            and end - ending == offsets[other + 1] - other_ending
            and equal_bytes(base, ending, base, other_ending, end - ending)
        )
        if not same:
            first[i] = i
    return first


@njit(cache=True)
def lexical(offsets, data, plain):
    """The place of what STR makes of each text, and how far that is so: escapes must be read one by one.

    If only `plain` strings are wanted, so must all others be.
    """
    base = address_of(data)
    places = np.empty(len(offsets) - 1, np.int64)
    states = np.full(len(places), VALUE, np.uint8)
    for i in range(len(places)):
        begin, end = offsets[i], offsets[i + 1]
        first = _first(base, begin, end)
        if first == 0 or first == _BLANK:
            states[i], places[i] = ERROR, begin << LENGTH_BITS
            continue
        last = _ending(base, begin, end) - 1
        if plain and (first != _QUOTE or last != end - 1):
            states[i] = UNKNOWN
        places[i] = (begin + 1) << LENGTH_BITS | (last - begin - 1)
        for at in range(begin + 1, last):
            if byte_at(base, at) == _BACKSLASH:
                states[i] = UNKNOWN
                break
    return places, states


@njit(cache=True)
def absolute(offsets, data):
    """Which texts are certain to be IRIs, and the same with any base; there may be others."""
    found = np.zeros(len(offsets) - 1, np.bool_)
    for i in range(len(found)):
        begin, end = offsets[i], offsets[i + 1]
        at = begin
        while at < end and (_ALNUM[data[at]] or (data[at] in _IN_SCHEME and at > begin)):
            at += 1
        if at == begin or at == end or data[at] != _COLON or data[begin] <= _NINE:
            continue
        at += 1
        if at + 1 < end and data[at] == _SLASH and data[at + 1] == _SLASH:
            host = at = at + 2
            while at < end and (_ALNUM[data[at]] or data[at] in _IN_HOST):
                at += 1
            if at == host or (at < end and data[at] != _SLASH and data[at] != _HASH):
                continue
        fragment = False
        while at < end and (_ALNUM[data[at]] or data[at] in _IN_PATH or (data[at] == _HASH and not fragment)):
            fragment |= data[at] == _HASH
            at += 1
        found[i] = at == end
    return found


@njit(cache=True)
def decimals(data, places, ending):
    """The numbers of texts at some places, within some ulps, and which have one here.

    The texts of decimals end with `ending`. What has very many digits must be read one by one.
    """
    base, end_of = address_of(data), address_of(ending)
    values = np.zeros(len(places), np.float64)
    known = np.zeros(len(places), np.bool_)
    for i in range(len(places)):
        begin = places[i] >> LENGTH_BITS
        last = begin + (places[i] & LONGEST) - len(ending)
        if last <= begin + 1 or not equal_bytes(base, last, end_of, 0, len(ending)):
            continue
        mantissa, scale, digits, point = 0, 0, 0, False
        at = begin + 2 if byte_at(base, begin + 1) == _MINUS else begin + 1
        negative = at == begin + 2
        while at < last:
            digit = byte_at(base, at) - _ZERO
            if byte_at(base, at) == _POINT and not point:
                point = True
            elif not 0 <= digit <= 9 or (mantissa >= _MOST and not point) or scale > _SCALE:
                break
            else:
                if mantissa < _MOST:
                    mantissa = 10 * mantissa + digit
                    scale += point
                digits += 1
            at += 1
        known[i] = at == last and digits > 0
        values[i] = (-mantissa if negative else mantissa) / 10.0**scale if known[i] else 0.0
    return values, known
