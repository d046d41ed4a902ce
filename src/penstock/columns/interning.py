"""A compiled hash table from ids to the place of their text in a byte buffer.

The table is one int64 array of pairs (id, place); a place packs the offset and the length
of the text. Id 0 marks a free slot. Hashed ids are well mixed already, so their low bits
choose the slot, and neighbours are tried in turn.
"""

from __future__ import annotations

import numpy as np

from penstock.columns.memory import (
    address_of,
    byte_at,
    copy_bytes,
    integer_at,
    put_integer,
    word_at,
)
from penstock.columns.places import LENGTH_BITS, LONGEST
from penstock.jit import njit

ABSENT, SAME, OTHER = 0, 1, -1


def table_size(capacity: int) -> int:
    """The length of a table with room for `capacity` entries before it should grow."""
    return 2 * max(16, 1 << (2 * capacity - 1).bit_length())


def new_table(capacity: int) -> np.ndarray:
    """An empty table with room for `capacity` entries."""
    return np.zeros(table_size(capacity), np.int64)


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only, contiguous view, so that compiled functions see one type of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@njit(cache=True)
def equal_bytes(left, left_at, right, right_at, length):
    """Whether the bytes at two addresses are the same."""
    if length < 8:
        for i in range(length):
            if byte_at(left, left_at + i) != byte_at(right, right_at + i):
                return False
        return True
    last = length - 8  # IRIs differ at their ends, so these come first
    if word_at(left, left_at + last) != word_at(right, right_at + last):
        return False
    i = 0
    while i < last:
        if word_at(left, left_at + i) != word_at(right, right_at + i):
            return False
        i += 8
    return True


@njit(cache=True)
def slot_of(table, mask, id_):
    """The index of the id's pair, or of the free pair where it belongs.

    `table` is the table's address, `mask` is the number of its slots minus one.
    """
    slot = id_ & mask
    while True:
        key = integer_at(table, 2 * slot)
        if key == id_ or key == 0:
            return 2 * slot
        slot = (slot + 1) & mask


@njit(cache=True)
def seek(table, mask, texts, id_, buffer, begin, end):
    """ABSENT, SAME if the id is there with this very text, OTHER if with another one.

    `table`, `texts` and `buffer` are addresses.
    """
    slot = slot_of(table, mask, id_)
    if integer_at(table, slot) == 0:
        return ABSENT
    place = integer_at(table, slot + 1)
    if (place & LONGEST) != end - begin:
        return OTHER
    if equal_bytes(texts, place >> LENGTH_BITS, buffer, begin, end - begin):
        return SAME
    return OTHER


@njit(cache=True)
def enter(table, mask, id_, begin, end):
    """Notes an id and the place of its text; the id must be absent and a slot free."""
    slot = slot_of(table, mask, id_)
    put_integer(table, slot, id_)
    put_integer(table, slot + 1, (begin << LENGTH_BITS) | (end - begin))


@njit(cache=True)
def mask_of(table):
    """The number of slots of a table array minus one."""
    return len(table) // 2 - 1


@njit(cache=True)
def grown(table, factor):
    """The same entries in a table `factor` times as large."""
    larger = np.zeros(len(table) * factor, np.int64)
    address, mask = address_of(larger), mask_of(larger)
    for i in range(0, len(table), 2):
        if table[i] != 0:
            slot = slot_of(address, mask, table[i])
            larger[slot] = table[i]
            larger[slot + 1] = table[i + 1]
    return larger


@njit(cache=True)
def entries(table, count):
    """The ids and places of a table that has `count` entries, in no order."""
    ids = np.empty(count, np.int64)
    places = np.empty(count, np.int64)
    n = 0
    for i in range(0, len(table), 2):
        if table[i] != 0:
            ids[n] = table[i]
            places[n] = table[i + 1]
            n += 1
    return ids, places


@njit(cache=True)
def places_of(table, ids):
    """The place of each id, -1 for those that the table does not have."""
    places = np.empty(len(ids), np.int64)
    address, mask = address_of(table), mask_of(table)
    for i in range(len(ids)):
        slot = slot_of(address, mask, ids[i])
        places[i] = table[slot + 1] if table[slot] != 0 else -1
    return places


@njit(cache=True)
def starting(texts, places, beginning):
    """Which of the texts at these places begin in some way."""
    found = np.empty(len(places), np.bool_)
    base, wanted = address_of(texts), address_of(beginning)
    for i in range(len(places)):
        found[i] = places[i] & LONGEST >= len(beginning) and equal_bytes(
            base, places[i] >> LENGTH_BITS, wanted, 0, len(beginning)
        )
    return found


_NO_SUFFIX = frozen(np.empty(0, np.uint8))


def gather(
    texts: np.ndarray, places: np.ndarray, suffix: np.ndarray = _NO_SUFFIX, marker: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The texts at these places, one after the other: (offsets, data).

    Texts that begin with the byte `marker` are lengthened by the suffix.
    """
    return _gather(frozen(texts), places, suffix, np.uint8(marker))


@njit(cache=True)
def _gather(texts, places, suffix, marker):
    offsets = np.empty(len(places) + 1, np.int64)
    offsets[0] = 0
    for i in range(len(places)):
        size = places[i] & LONGEST
        if len(suffix) and texts[places[i] >> LENGTH_BITS] == marker:
            size += len(suffix)
        offsets[i + 1] = offsets[i] + size
    data = np.empty(offsets[-1], np.uint8)
    to, begin, more = address_of(data), address_of(texts), address_of(suffix)
    for i in range(len(places)):
        size = places[i] & LONGEST
        copy_bytes(to + offsets[i], begin + (places[i] >> LENGTH_BITS), size)
        if offsets[i + 1] - offsets[i] > size:
            copy_bytes(to + offsets[i] + size, more, len(suffix))
    return offsets, data


@njit(cache=True)
def enter_one(table, id_, begin, end):
    """`enter` for a table array."""
    enter(address_of(table), mask_of(table), id_, begin, end)


@njit(cache=True)
def enter_all(table, count, texts, used, ids, offsets, data, base, base_texts):
    """Adds texts to a table with room; (entries, bytes used, index of a collision or -1).

    `table` must have room for all the ids, and `texts` for all the data. What a table `base` (an empty
    array: there is none) has is not added.
    """
    address, mask = address_of(table), mask_of(table)
    to, source = address_of(texts), address_of(data)
    below, below_mask, below_texts = address_of(base), mask_of(base), address_of(base_texts)
    for i in range(len(ids)):
        begin = offsets[i]
        end = offsets[i + 1]
        found = ABSENT
        if len(base):
            found = seek(below, below_mask, below_texts, ids[i], source, begin, end)
        if found == ABSENT:
            found = seek(address, mask, to, ids[i], source, begin, end)
        if found == OTHER:
            return count, used, i
        if found == ABSENT:
            copy_bytes(to + used, source + begin, end - begin)
            enter(address, mask, ids[i], used, used + end - begin)
            used += end - begin
            count += 1
    return count, used, -1
