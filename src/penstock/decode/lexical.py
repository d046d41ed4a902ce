"""Instants, inline values, IRIs and literals recognised straight from bytes.

Compiled functions over a buffer given by its address. They say yes only to what is plainly
valid and canonical; everything else is left to a full RDF parser. Reads stay below the limit.
"""

from __future__ import annotations

import numpy as np

from penstock.columns.calendar import days_from_civil, days_in_month
from penstock.columns.ids import (
    BOOLEAN,
    DATETIME,
    DATETIME_BIAS,
    DECIMAL,
    DOUBLE,
    FLOAT,
    FRACTION_SHIFT,
    INTEGER,
    MANTISSA_MASK,
    MAX_SCALE,
    SCALE_SHIFT,
    SIGN_BIT,
    TAG_SHIFT,
    XSD_BASE,
)
from penstock.columns.memory import address_of, byte_at, trailing_zeros, word_at
from penstock.jit import njit
from penstock.timeline import DAY, EARLIEST, HOUR, LARGEST_ZONE, LATEST, MINUTE, NEVER, SECOND

LONGEST_LABEL = 192  # bytes of a plain blank node, '_:' included
LONGEST_IRI = 8192  # beyond it the search for '>' gives up, so that broken input stays cheap

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_CLOSES = np.uint64(0x3E3E3E3E3E3E3E3E)  # eight times '>'
_HASHES = np.uint64(0x2323232323232323)  # eight times '#'
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)

# Bytes of an IRI: 0 needs a closer look or is forbidden, 1 may stand anywhere after the scheme.
_IRI_BYTES = np.zeros(256, np.uint8)
for _byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?":
    _IRI_BYTES[_byte] = 1
# Bytes of a host: as above without ':', '@', '/' and '?'.
_HOST_BYTES = _IRI_BYTES.copy()
for _byte in b":@/?":
    _HOST_BYTES[_byte] = 0
# Bytes of a literal that mean themselves: no control characters, quote, backslash, non-ASCII.
_LITERAL_BYTES = np.zeros(256, np.uint8)
_LITERAL_BYTES[0x20:0x7F] = 1
for _byte in b'"\\':
    _LITERAL_BYTES[_byte] = 0
# Escapes that canonical N-Triples writes in the same way: \t \b \n \r \f \" \\
_ESCAPES = np.zeros(256, np.uint8)
for _byte in b'tbnrf"\\':
    _ESCAPES[_byte] = 1
# Bytes of a blank node's label (the first one must not be '-').
_LABEL_BYTES = np.zeros(256, np.uint8)
for _byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-":
    _LABEL_BYTES[_byte] = 1
_HEX = np.zeros(256, np.uint8)
for _byte in b"0123456789ABCDEFabcdef":
    _HEX[_byte] = 1

_XSD_LENGTH = len(XSD_BASE) + 1
_XSD_WORDS = np.frombuffer(f"<{XSD_BASE}".encode()[:32], np.uint64).copy()
_XSD_0, _XSD_1, _XSD_2, _XSD_3 = (np.uint64(word) for word in _XSD_WORDS)
_RDF = np.frombuffer(b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#", np.uint8).copy()

OTHER_DATATYPE, ODD_DATATYPE = 0, -1


@njit(cache=True)
def find_byte(buffer, at, limit, eight_times):
    """The first place of a byte (given eight times in a word) before the limit, or -1."""
    while at + 8 <= limit:
        word = word_at(buffer, at) ^ eight_times
        hit = (word - _ONES) & ~word & _HIGHS
        if hit != 0:
            return at + (trailing_zeros(hit) >> 3)
        at += 8
    wanted = np.int64(eight_times & np.uint64(0xFF))
    while at < limit:
        if byte_at(buffer, at) == wanted:
            return at
        at += 1
    return -1


@njit(cache=True)
def line_end(buffer, at, limit):
    """The place after the next newline, or the limit."""
    found = find_byte(buffer, at, limit, _NEWLINES)
    return limit if found < 0 else found + 1


@njit(cache=True)
def iri_end(buffer, at, limit, trusted):
    """The place after the next '>', or -1; `at` stands on '<'."""
    bound = limit if trusted else min(limit, at + LONGEST_IRI)
    found = find_byte(buffer, at, bound, _CLOSES)
    return found + 1 if found >= 0 else -1


@njit(cache=True)
def label_end(buffer, at, limit):
    """The place after a plain blank node such as `_:b12`, or -1; `at` stands on '_'."""
    begin = at
    if at + 2 >= limit or byte_at(buffer, at + 1) != 0x3A:
        return -1
    at += 2
    while at < limit and _LABEL_BYTES[byte_at(buffer, at)]:
        at += 1
    if at == begin + 2 or at - begin > LONGEST_LABEL or byte_at(buffer, begin + 2) == 0x2D:
        return -1
    return at


@njit(cache=True)
def find_fragment(buffer, at, limit):
    """The place of the next '#', or -1."""
    return find_byte(buffer, at, limit, _HASHES)


@njit(cache=True)
def utf8_length(buffer, at, limit):
    """How many bytes the character at `at` has, or 0 if it is in doubt.

    Accepts U+00A0…U+D7FF, U+E000…U+FFEF and the planes above: no C1 controls, surrogates,
    overlong forms, and none of the last code points of the basic plane.
    """
    first = byte_at(buffer, at)
    if first < 0xC2 or first > 0xF4:
        return 0
    size = 2 if first < 0xE0 else (3 if first < 0xF0 else 4)
    if at + size > limit:
        return 0
    code = first & (0xFF >> (size + 1))
    for i in range(1, size):
        byte = byte_at(buffer, at + i)
        if byte & 0xC0 != 0x80:
            return 0
        code = (code << 6) | (byte & 0x3F)
    if size == 2:
        return 2 if code >= 0xA0 else 0
    if size == 3:
        return 3 if code >= 0x800 and (code < 0xD800 or 0xE000 <= code <= 0xFFEF) else 0
    return 4 if 0x10000 <= code <= 0x10FFFF else 0


@njit(cache=True)
def _iri_special(buffer, at, end):
    """The length of '%41' or of a non-ASCII character that any part of an IRI may have, or 0."""
    byte = byte_at(buffer, at)
    if byte == 0x25:  # %
        if at + 2 < end and _HEX[byte_at(buffer, at + 1)] and _HEX[byte_at(buffer, at + 2)]:
            return 3
        return 0
    if byte >= 0xC2 and byte <= 0xED:  # up to U+D7FF; the rest has holes
        return utf8_length(buffer, at, end)
    return 0


@njit(cache=True)
def plain_iri(buffer, begin, end):
    """Whether the bytes between '<' and '>' are plainly a valid absolute IRI."""
    at = begin
    if at >= end:
        return False
    byte = byte_at(buffer, at) | 0x20
    if byte < 0x61 or byte > 0x7A:
        return False
    at += 1
    while True:  # the scheme
        if at >= end:
            return False
        byte = byte_at(buffer, at)
        at += 1
        if byte == 0x3A:
            break
        letter = byte | 0x20
        if not (
            (0x61 <= letter <= 0x7A) or (0x30 <= byte <= 0x39) or byte == 0x2B or byte == 0x2D or byte == 0x2E
        ):
            return False
    if at + 1 < end and byte_at(buffer, at) == 0x2F and byte_at(buffer, at + 1) == 0x2F:
        at += 2
        while at < end and _HOST_BYTES[byte_at(buffer, at)]:
            at += 1
        if at < end and byte_at(buffer, at) == 0x3A:  # a port
            at += 1
            while at < end and 0x30 <= byte_at(buffer, at) <= 0x39:
                at += 1
        if at < end:
            byte = byte_at(buffer, at)
            if byte != 0x2F and byte != 0x3F and byte != 0x23:
                return False
    fragment = False
    while at < end:
        if _IRI_BYTES[byte_at(buffer, at)]:
            at += 1
        elif byte_at(buffer, at) == 0x23:  # '#', once
            if fragment:
                return False
            fragment = True
            at += 1
        else:
            size = _iri_special(buffer, at, end)
            if size == 0:
                return False
            at += size
    return True


@njit(cache=True)
def plain_path(buffer, begin, end):
    """Whether bytes are plain ASCII that may stand anywhere in a path or query."""
    at = begin
    while at < end and _IRI_BYTES[byte_at(buffer, at)]:
        at += 1
    return at == end


@njit(cache=True)
def folder_end(buffer, begin, end):
    """The place after the last '/' in the path of a plain IRI that has a host, else `begin`."""
    slashes = 0
    last = begin
    for at in range(begin, end):
        if byte_at(buffer, at) == 0x2F:
            slashes += 1
            if slashes > 2:
                last = at + 1
    return last


@njit(cache=True)
def literal_end(buffer, at, limit):
    """The place of the closing quote, or -1 if something on the way needs a closer look."""
    while at < limit:
        byte = byte_at(buffer, at)
        if _LITERAL_BYTES[byte]:
            at += 1
        elif byte == 0x22:
            return at
        elif byte == 0x5C:
            if at + 1 >= limit or not _ESCAPES[byte_at(buffer, at + 1)]:
                return -1
            at += 2
        elif byte >= 0xC2:
            size = utf8_length(buffer, at, limit)
            if size == 0:
                return -1
            at += size
        else:
            return -1
    return -1


@njit(cache=True)
def trusted_literal_end(buffer, at, limit):
    """The place of the closing quote of a literal that is known to be well formed."""
    while at < limit:
        byte = byte_at(buffer, at)
        if byte == 0x22:
            return at
        at += 2 if byte == 0x5C else 1
    return -1


@njit(cache=True)
def language_end(buffer, at, limit):
    """The place after a plain language tag (`en`, `gsw`, `en-us`), or -1; `at` follows '@'."""
    begin = at
    while at < limit and 0x61 <= byte_at(buffer, at) <= 0x7A:
        at += 1
    if at - begin < 2 or at - begin > 3 or at >= limit:
        return -1
    if byte_at(buffer, at) == 0x2D:
        at += 1
        begin = at
        while at < limit and 0x61 <= byte_at(buffer, at) <= 0x7A:
            at += 1
        if at - begin != 2:
            return -1
    return at


@njit(cache=True)
def _is(buffer, at, text):
    for i in range(len(text)):
        if byte_at(buffer, at + i) != text[i]:
            return False
    return True


_INTEGER_TEXT = np.frombuffer(b"integer", np.uint8).copy()
_DECIMAL_TEXT = np.frombuffer(b"decimal", np.uint8).copy()
_BOOLEAN_TEXT = np.frombuffer(b"boolean", np.uint8).copy()
_DATETIME_TEXT = np.frombuffer(b"dateTime", np.uint8).copy()
_DOUBLE_TEXT = np.frombuffer(b"double", np.uint8).copy()
_STRING_TEXT = np.frombuffer(b"string", np.uint8).copy()
_FLOAT_TEXT = np.frombuffer(b"float", np.uint8).copy()


@njit(cache=True)
def datatype_tag(buffer, begin, end):
    """The inline tag of a datatype `<…>`, OTHER_DATATYPE, or ODD_DATATYPE (xsd:string, rdf:*)."""
    size = end - begin
    if size >= 36 and word_at(buffer, begin) == _XSD_0:
        if (
            word_at(buffer, begin + 8) == _XSD_1
            and word_at(buffer, begin + 16) == _XSD_2
            and word_at(buffer, begin + 24) == _XSD_3
            and byte_at(buffer, begin + 32) == 0x61
            and byte_at(buffer, begin + 33) == 0x23
        ):
            name = begin + _XSD_LENGTH
            size = end - 1 - name
            if size == 7:
                if _is(buffer, name, _DECIMAL_TEXT):
                    return DECIMAL
                if _is(buffer, name, _INTEGER_TEXT):
                    return INTEGER
                if _is(buffer, name, _BOOLEAN_TEXT):
                    return BOOLEAN
            elif size == 6:
                if _is(buffer, name, _DOUBLE_TEXT):
                    return DOUBLE
                if _is(buffer, name, _STRING_TEXT):
                    return ODD_DATATYPE
            elif size == 8:
                if _is(buffer, name, _DATETIME_TEXT):
                    return DATETIME
            elif size == 5:
                if _is(buffer, name, _FLOAT_TEXT):
                    return FLOAT
        elif size > len(_RDF) and _is(buffer, begin, _RDF):
            return ODD_DATATYPE
    return OTHER_DATATYPE


@njit(cache=True)
def _two_digits(buffer, at):
    high = byte_at(buffer, at) - 48
    low = byte_at(buffer, at + 1) - 48
    if high < 0 or high > 9 or low < 0 or low > 9:
        return 1_000_000  # out of every range, also as a part of a year
    return high * 10 + low


@njit(cache=True)
def read_instant(buffer, at, limit):
    """An instant with a zone: (micros or NEVER, place after it, digits of a UTC fraction or -1).

    The third value is -1 where the lexical form has another zone or more than six digits.
    """
    if at + 20 > limit:
        return NEVER, at, -1
    year = _two_digits(buffer, at) * 100 + _two_digits(buffer, at + 2)
    month = _two_digits(buffer, at + 5)
    day = _two_digits(buffer, at + 8)
    hour = _two_digits(buffer, at + 11)
    minute = _two_digits(buffer, at + 14)
    second = _two_digits(buffer, at + 17)
    if (
        byte_at(buffer, at + 4) != 0x2D
        or byte_at(buffer, at + 7) != 0x2D
        or byte_at(buffer, at + 10) != 0x54
        or byte_at(buffer, at + 13) != 0x3A
        or byte_at(buffer, at + 16) != 0x3A
        or year < 1
        or year > 9999
        or day < 1
        or day > days_in_month(year, month)
        or hour > 23
        or minute > 59
        or second > 59
    ):
        return NEVER, at, -1
    micros = days_from_civil(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second * SECOND
    at += 19
    digits = 0
    if byte_at(buffer, at) == 0x2E:
        at += 1
        fraction = 0
        while at < limit:
            digit = byte_at(buffer, at) - 48
            if digit < 0 or digit > 9:
                break
            if digits < 6:
                fraction = fraction * 10 + digit
            digits += 1
            at += 1
        if digits == 0 or at >= limit:
            return NEVER, at, -1
        i = digits
        while i < 6:
            fraction *= 10
            i += 1
        micros += fraction
    zone = byte_at(buffer, at)
    if zone == 0x5A:
        return micros, at + 1, (digits if digits <= 6 else -1)
    if (zone != 0x2B and zone != 0x2D) or at + 6 > limit or byte_at(buffer, at + 3) != 0x3A:
        return NEVER, at, -1
    hour = _two_digits(buffer, at + 1)
    minute = _two_digits(buffer, at + 4)
    shift = hour * HOUR + minute * MINUTE
    if shift > LARGEST_ZONE or minute > 59:
        return NEVER, at, -1
    micros += shift if zone == 0x2D else -shift
    if micros < EARLIEST or micros > LATEST:
        return NEVER, at, -1
    return micros, at + 6, -1


@njit(cache=True)
def inline_value(buffer, begin, end, tag):
    """The inline id of a lexical form, or 0 if it has none (as `columns.ids.inline_id`)."""
    if tag <= FLOAT:
        at = begin
        sign = 0
        if at < end and byte_at(buffer, at) == 0x2D:
            sign = SIGN_BIT
            at += 1
        first = at
        mantissa = 0
        if end - at > MAX_SCALE + 18:
            return 0
        while at < end:
            digit = byte_at(buffer, at) - 48
            if digit < 0 or digit > 9:
                break
            mantissa = mantissa * 10 + digit
            if mantissa > MANTISSA_MASK:
                return 0
            at += 1
        whole = at - first
        if whole == 0 or (whole > 1 and byte_at(buffer, first) == 0x30):
            return 0
        scale = 0
        if at < end:
            if byte_at(buffer, at) != 0x2E or tag == INTEGER:
                return 0
            at += 1
            first = at
            while at < end:
                digit = byte_at(buffer, at) - 48
                if digit < 0 or digit > 9:
                    return 0
                mantissa = mantissa * 10 + digit
                if mantissa > MANTISSA_MASK:
                    return 0
                at += 1
            scale = at - first
            if scale == 0 or scale > MAX_SCALE:
                return 0
        return (tag << TAG_SHIFT) | sign | (scale << SCALE_SHIFT) | mantissa
    if tag == BOOLEAN:
        size = end - begin
        if size == 4 and byte_at(buffer, begin) == 0x74 and byte_at(buffer, begin + 1) == 0x72:
            if byte_at(buffer, begin + 2) == 0x75 and byte_at(buffer, begin + 3) == 0x65:
                return (tag << TAG_SHIFT) | 1
        if size == 5 and byte_at(buffer, begin) == 0x66 and byte_at(buffer, begin + 1) == 0x61:
            if byte_at(buffer, begin + 2) == 0x6C and byte_at(buffer, begin + 3) == 0x73:
                if byte_at(buffer, begin + 4) == 0x65:
                    return tag << TAG_SHIFT
        return 0
    micros, at, digits = read_instant(buffer, begin, end)
    if micros == NEVER or at != end or digits < 0:
        return 0
    if micros <= -DATETIME_BIAS or micros >= DATETIME_BIAS:
        return 0
    return (tag << TAG_SHIFT) | (digits << FRACTION_SHIFT) | (micros + DATETIME_BIAS)


@njit(cache=True)
def compact_times_at(buffer, at, end):
    """The start and end in `<instant>` or `<start>,<end>`; NEVER if they are not plain."""
    start, at, _ = read_instant(buffer, at, end)
    if start == NEVER or at == end:
        return start, start
    if byte_at(buffer, at) != 0x2C:
        return NEVER, NEVER
    finish, at, _ = read_instant(buffer, at + 1, end)
    if finish == NEVER or at != end or finish < start:
        return NEVER, NEVER
    return start, finish


@njit(cache=True)
def tells_plain_time(text: np.ndarray, begin: int) -> bool:
    """Whether the bytes of an array from `begin` on are an instant or two in plain notation."""
    start, _ = compact_times_at(address_of(text), begin, len(text))
    return start != NEVER
