"""Quotients of whole numbers as literals, all at once: written digit by digit, exactly as one by one."""

from __future__ import annotations

import numpy as np

from penstock.columns import ids as term_ids
from penstock.columns.ids import MANTISSA_MASK, MAX_SCALE, SCALE_SHIFT, SIGN_BIT, TAG_SHIFT, hash_texts
from penstock.columns.terms import TermChunk, TermTable
from penstock.jit import njit

DIGITS = 34
"""How many a quotient has that does not end earlier (`functions.numeric.divide_decimal`)."""
_ROOM = 64
_SUFFIXES = {
    tag: np.frombuffer(f'"^^<{term_ids.DATATYPE_OF_TAG[tag].value}>'.encode(), np.uint8)
    for tag in (term_ids.INTEGER, term_ids.DECIMAL)
}


def quotients(total: np.ndarray, divisor: np.ndarray, datatype: np.ndarray, terms: TermTable) -> np.ndarray:
    """The ids of canonical literals of the quotients; `datatype` is INTEGER only where they are whole.

    Numbers are below 2**59, divisors are positive.
    """
    ids = np.zeros(len(total), np.int64)
    for tag, suffix in _SUFFIXES.items():
        chosen = np.flatnonzero(datatype == tag)
        offsets = np.zeros(len(chosen) + 1, np.int64)
        data = np.empty(len(chosen) * (_ROOM + len(suffix)), np.uint8)
        found = _written(total[chosen], divisor[chosen], tag, suffix, offsets, data)
        texts = np.flatnonzero(found == 0)
        if len(texts):
            offsets = np.append(offsets[texts], offsets[-1])  # the others have no text
            data = data[: offsets[-1]]
            hashed = hash_texts(offsets, data, terms.key)
            terms.add_chunk(TermChunk(hashed, offsets, data))
            found[texts] = hashed
        ids[chosen] = found
    return ids


@njit(cache=True)
def _written(total, divisor, tag, suffix, offsets, data):
    """The inline ids; 0 where there is none, and then the text is in `data`."""
    found = np.zeros(total.size, np.int64)
    digits = np.empty(_ROOM, np.uint8)
    at = 0
    for i in range(total.size):
        offsets[i] = at
        by = divisor[i]
        whole, rest = abs(total[i]) // by, abs(total[i]) % by
        significant, left = 0, whole
        while left:
            significant += 1
            left //= 10
        count = 0
        while rest and significant < DIGITS:
            rest *= 10
            digits[count] = rest // by
            rest %= by
            if significant or digits[count]:
                significant += 1
            count += 1
        last = digits[count - 1] if count else whole % 10
        if rest and (2 * rest > by or (2 * rest == by and last % 2 == 1)):
            place = count - 1
            while place >= 0 and digits[place] == 9:
                digits[place] = 0
                place -= 1
            if place >= 0:
                digits[place] += 1
            else:
                whole += 1
        while count and digits[count - 1] == 0:
            count -= 1
        mantissa = whole
        for k in range(count):
            if mantissa <= MANTISSA_MASK:
                mantissa = mantissa * 10 + digits[k]
        if count <= MAX_SCALE and mantissa <= MANTISSA_MASK:
            sign = SIGN_BIT if total[i] < 0 else 0
            found[i] = (tag << TAG_SHIFT) | sign | (count << SCALE_SHIFT) | mantissa
            continue
        data[at] = 34  # "
        at += 1
        if total[i] < 0:
            data[at] = 45  # -
            at += 1
        at = _whole(whole, data, at)
        if count:
            data[at] = 46  # .
            at += 1
            for k in range(count):
                data[at] = 48 + digits[k]
                at += 1
        for k in range(suffix.size):
            data[at] = suffix[k]
            at += 1
    offsets[total.size] = at
    return found


@njit(cache=True)
def _whole(number, data, at):
    """Writes a number that is not negative; where it ends."""
    end, left = at + 1, number // 10
    while left:
        end += 1
        left //= 10
    for place in range(end - 1, at - 1, -1):
        data[place] = 48 + number % 10
        number //= 10
    return end
