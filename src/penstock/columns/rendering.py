"""Columns of ids as N-Triples texts: inline values are written from their bits."""

from __future__ import annotations

import numpy as np

from penstock.columns.calendar import civil_from_days
from penstock.columns.ids import (
    BOOLEAN,
    DATATYPE_OF_TAG,
    DATETIME,
    DATETIME_BIAS,
    FRACTION_SHIFT,
    HASHED,
    MANTISSA_MASK,
    PAYLOAD_MASK,
    SCALE_SHIFT,
    SIGN_BIT,
    TAG_SHIFT,
)
from penstock.columns.interning import frozen
from penstock.columns.memory import address_of, copy_bytes
from penstock.columns.places import LENGTH_BITS, LONGEST
from penstock.jit import njit
from penstock.timeline import DAY, SECOND

# The end of a literal by tag: "^^<datatype>
_ENDS = [b""] + [f'"^^{DATATYPE_OF_TAG[tag]}'.encode() for tag in sorted(DATATYPE_OF_TAG)]
_END_SIZES = np.array([len(end) for end in _ENDS], np.int64)
_END_BYTES = np.zeros((len(_ENDS), int(_END_SIZES.max())), np.uint8)
for _tag, _end in enumerate(_ENDS):
    _END_BYTES[_tag, : len(_end)] = np.frombuffer(_end, np.uint8)

_ZERO = 48


@njit(cache=True)
def _lexical_size(id_, tag):
    payload = id_ & PAYLOAD_MASK
    if tag == BOOLEAN:
        return 4 if payload else 5
    if tag == DATETIME:
        digits = payload >> FRACTION_SHIFT
        return 20 + (digits + 1 if digits else 0)
    scale = (payload >> SCALE_SHIFT) & 31
    rest = (payload & MANTISSA_MASK) // 10
    digits = 1
    while rest:
        rest //= 10
        digits += 1
    return max(digits, scale + 1) + (1 if scale else 0) + (1 if payload & SIGN_BIT else 0)


@njit(cache=True)
def _put_digits(data, end, value, count):
    """Writes `count` digits of a value, the last one just before `end`."""
    for i in range(count):
        data[end - 1 - i] = _ZERO + value % 10
        value //= 10


@njit(cache=True)
def _put_datetime(data, at, payload):
    digits = payload >> FRACTION_SHIFT
    micros = (payload & ((1 << FRACTION_SHIFT) - 1)) - DATETIME_BIAS
    days = micros // DAY
    clock = (micros % DAY) // SECOND
    year, month, day = civil_from_days(days)
    _put_digits(data, at + 4, year, 4)
    data[at + 4] = data[at + 7] = 45
    _put_digits(data, at + 7, month, 2)
    _put_digits(data, at + 10, day, 2)
    data[at + 10] = 84
    _put_digits(data, at + 13, clock // 3600, 2)
    data[at + 13] = data[at + 16] = 58
    _put_digits(data, at + 16, clock // 60 % 60, 2)
    _put_digits(data, at + 19, clock % 60, 2)
    at += 19
    if digits:
        data[at] = 46
        _put_digits(data, at + 1 + digits, micros % SECOND // 10 ** (6 - digits), digits)
        at += 1 + digits
    data[at] = 90


@njit(cache=True)
def _put_lexical(data, at, size, id_, tag):
    payload = id_ & PAYLOAD_MASK
    if tag == BOOLEAN:
        word = b"true" if payload else b"false"
        for i in range(len(word)):
            data[at + i] = word[i]
    elif tag == DATETIME:
        _put_datetime(data, at, payload)
    else:
        scale = (payload >> SCALE_SHIFT) & 31
        mantissa = payload & MANTISSA_MASK
        end = at + size
        if payload & SIGN_BIT:
            data[at] = 45
            at += 1
        if scale:
            _put_digits(data, end, mantissa, scale)
            mantissa //= 10**scale
            end -= scale + 1
            data[end] = 46
        _put_digits(data, end, mantissa, end - at)


@njit(cache=True)
def _render(ids, places, texts):
    offsets = np.empty(len(ids) + 1, np.int64)
    offsets[0] = 0
    for i in range(len(ids)):
        size = 0
        if ids[i] >= HASHED:
            size = places[i] & LONGEST
        elif ids[i] != 0:
            tag = ids[i] >> TAG_SHIFT
            size = 1 + _lexical_size(ids[i], tag) + _END_SIZES[tag]
        offsets[i + 1] = offsets[i] + size
    data = np.empty(offsets[-1], np.uint8)
    to, source = address_of(data), address_of(texts)
    for i in range(len(ids)):
        at = offsets[i]
        if ids[i] >= HASHED:
            copy_bytes(to + at, source + (places[i] >> LENGTH_BITS), places[i] & LONGEST)
        elif ids[i] != 0:
            tag = ids[i] >> TAG_SHIFT
            size = offsets[i + 1] - at - 1 - _END_SIZES[tag]
            data[at] = 34
            _put_lexical(data, at + 1, size, ids[i], tag)
            at += 1 + size
            for j in range(_END_SIZES[tag]):
                data[at + j] = _END_BYTES[tag, j]
    return offsets, data


def render(ids: np.ndarray, places: np.ndarray, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The text of each id, one after the other: (offsets, data); unbound is empty.

    `places` are where the texts of hashed ids stand in `texts`.
    """
    return _render(frozen(ids), places, frozen(texts))
