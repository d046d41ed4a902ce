"""Terms as 64-bit ids, so that joins, filters and the exchange work on numbers.

    0                       unbound
    01hh…h                  a hashed term: 62 bits of a keyed hash of its N-Triples text
    00tt ttss sssm…m        an inline value: 4 bits tag, 58 bits payload

Ids depend on the term and the run's key alone: every process of a run computes the same id, with no
dictionary to agree on. The key is drawn at random, so that nobody can write two terms into a stream
that have one id. Inline values keep the exact lexical form (`12.30` stays `12.30`), and their
number can be read from the bits. The text of hashed terms travels beside the ids in a
`TermTable`, which stops the run if two different terms ever share an id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from penstock.columns.memory import address_of, byte_at, folded_product, word_at
from penstock.errors import InputError
from penstock.jit import njit
from penstock.terms import BlankNode, Literal, NamedNode, Term
from penstock.timeline import SECOND, format_instant, parse_instant

UNBOUND = 0
HASHED = 1 << 62

TAG_SHIFT = 58
PAYLOAD_MASK = (1 << TAG_SHIFT) - 1
INTEGER, DECIMAL, DOUBLE, FLOAT, DATETIME, BOOLEAN = 1, 2, 3, 4, 5, 6

# Payload of a number: sign, 5 bits of scale (digits after the point), 52 bits of mantissa.
SIGN_BIT = 1 << 57
SCALE_SHIFT = 52
MANTISSA_MASK = (1 << SCALE_SHIFT) - 1
MAX_SCALE = 15
# Payload of a dateTime in UTC: 3 bits for the digits of its fraction, 55 bits of µs since 1970 + bias.
FRACTION_SHIFT = 55
DATETIME_BIAS = 1 << 54

XSD_BASE = "http://www.w3.org/2001/XMLSchema#"
TAG_OF_DATATYPE = {
    XSD_BASE + "integer": INTEGER,
    XSD_BASE + "decimal": DECIMAL,
    XSD_BASE + "double": DOUBLE,
    XSD_BASE + "float": FLOAT,
    XSD_BASE + "dateTime": DATETIME,
    XSD_BASE + "boolean": BOOLEAN,
}
DATATYPE_OF_TAG = {tag: NamedNode(iri) for iri, tag in TAG_OF_DATATYPE.items()}

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?", re.ASCII)
_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z", re.ASCII)
_POWERS = 10.0 ** np.arange(MAX_SCALE + 1)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def secret_of(key: int) -> tuple[int, int, int, int]:
    """The secret words that a key stands for: outputs of SplitMix64."""
    state = np.uint64(key)
    words = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    for _ in range(4):
        state += np.uint64(0x9E3779B97F4A7C15)
        word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words = (words[1], words[2], words[3], word ^ (word >> np.uint64(31)))
    return words


@njit(cache=True)
def hash_at(base: int, begin: int, end: int, limit: int, secret: tuple[int, int, int, int]) -> int:
    """The hashed id of the bytes begin…end at an address, by a `secret_of` the run's key.

    Sixteen bytes at a time are mixed with secret words, multiplied, and folded. Without the secret
    nobody can tell which texts have one hash. Bytes up to `limit` may be read.
    """
    state = secret[0]
    size = end - begin
    if size >= 16:
        at = begin
        while at + 16 < end:
            state = folded_product(word_at(base, at) ^ secret[1], word_at(base, at + 8) ^ state)
            at += 16
        first, second = word_at(base, end - 16), word_at(base, end - 8)
    elif size >= 8:
        first, second = word_at(base, begin), word_at(base, end - 8)
    else:
        first, second = np.uint64(0), np.uint64(0)
        if size > 0 and begin + 8 <= limit:  # one load past the end, cut to the bytes that count
            first = word_at(base, begin) & (_ALL_BITS >> np.uint64(64 - 8 * size))
        else:
            for i in range(size):
                first |= np.uint64(byte_at(base, begin + i)) << np.uint64(8 * i)
    state = folded_product(first ^ secret[1], second ^ state)
    state = folded_product(state ^ secret[2], np.uint64(size) ^ secret[3])
    return np.int64((state & np.uint64(0x3FFFFFFFFFFFFFFF)) | np.uint64(0x4000000000000000))


@njit(cache=True)
def hash_bytes(buffer: np.ndarray, begin: int, end: int, key: int) -> int:
    """The hashed id of a slice of a uint8 array."""
    return hash_at(address_of(buffer), begin, end, len(buffer), secret_of(key))


@njit(cache=True)
def _hash_each(offsets, data, key, out):
    secret, base = secret_of(key), address_of(data)
    for i in range(out.size):
        out[i] = hash_at(base, offsets[i], offsets[i + 1], len(data), secret)


def hash_texts(offsets: np.ndarray, data: np.ndarray, key: int) -> np.ndarray:
    """The hashed ids of the texts that lie one after the other in `data`."""
    ids = np.empty(len(offsets) - 1, np.int64)
    _hash_each(offsets, data, key, ids)
    return ids


def term_text(term: Term) -> bytes:
    """The canonical N-Triples text of a term: what hashed ids are the hash of."""
    return str(term).encode()


def hash_text(text: bytes, key: int = 0) -> int:
    return int(hash_bytes(np.frombuffer(text, np.uint8), 0, len(text), key))


def inline_id(lexical: str, tag: int) -> int:
    """The inline id of a literal, or 0 if its lexical form has none."""
    if tag <= FLOAT:
        match = _NUMBER.fullmatch(lexical)
        if match is None:
            return 0
        sign, whole, fraction = match.groups()
        scale = len(fraction) if fraction else 0
        if (tag == INTEGER and fraction) or scale > MAX_SCALE:
            return 0
        mantissa = int(whole + (fraction or ""))
        if mantissa > MANTISSA_MASK:
            return 0
        return (tag << TAG_SHIFT) | (SIGN_BIT if sign else 0) | (scale << SCALE_SHIFT) | mantissa
    if tag == BOOLEAN:
        return {"true": (tag << TAG_SHIFT) | 1, "false": tag << TAG_SHIFT}.get(lexical, 0)
    match = _UTC.fullmatch(lexical)
    if match is None:
        return 0
    try:
        micros = parse_instant(lexical)
    except InputError:
        return 0
    if abs(micros) >= DATETIME_BIAS or not lexical.startswith(format_instant(micros)[:19]):
        return 0  # far away, or 24:00:00, which is another lexical form of the same instant
    digits = len(match[2] or "")
    return (tag << TAG_SHIFT) | (digits << FRACTION_SHIFT) | (micros + DATETIME_BIAS)


def id_of(term: Term, key: int = 0) -> int:
    """The id of a term in a run with this key. Its text must reach a `TermTable` if the id is hashed."""
    if isinstance(term, Literal) and not term.language:
        tag = TAG_OF_DATATYPE.get(term.datatype.value)
        if tag is not None:
            inline = inline_id(term.value, tag)
            if inline:
                return inline
    return hash_text(term_text(term), key)


def inline_lexical(id_: int) -> tuple[str, int]:
    """The lexical form and tag of an inline id."""
    tag = id_ >> TAG_SHIFT
    payload = id_ & PAYLOAD_MASK
    if tag == BOOLEAN:
        return ("true" if payload else "false"), tag
    if tag == DATETIME:
        digits = payload >> FRACTION_SHIFT
        micros = (payload & ((1 << FRACTION_SHIFT) - 1)) - DATETIME_BIAS
        text = format_instant(micros)[:19]
        return (f"{text}.{micros % SECOND:06d}"[: 20 + digits] if digits else text) + "Z", tag
    scale = (payload >> SCALE_SHIFT) & 31
    digits = str(payload & MANTISSA_MASK)
    if scale:
        digits = digits.rjust(scale + 1, "0")
        digits = f"{digits[:-scale]}.{digits[-scale:]}"
    return ("-" if payload & SIGN_BIT else "") + digits, tag


def inline_term(id_: int) -> Literal:
    lexical, tag = inline_lexical(id_)
    return Literal(lexical, datatype=DATATYPE_OF_TAG[tag])


def instant_ids(instants: np.ndarray) -> np.ndarray:
    """The inline ids of instants as `format_instant` writes them; 0 for those that have none."""
    digits = np.where(instants % 1_000 == 0, 3, 6)
    inline = (DATETIME << TAG_SHIFT) | (digits << FRACTION_SHIFT) | (instants + DATETIME_BIAS)
    return np.where((-DATETIME_BIAS < instants) & (instants < DATETIME_BIAS), inline, UNBOUND)


def tags(ids: np.ndarray) -> np.ndarray:
    """The tag of each id: 0 for unbound, 1…6 for inline values, 16 and more for hashed terms."""
    return ids >> TAG_SHIFT


@njit(cache=True)
def number(id_: int) -> tuple[float, int]:
    """The float64 nearest to an inline number and its tag; NaN and 0 if it is something else."""
    tag = id_ >> TAG_SHIFT
    if tag < INTEGER or tag > FLOAT:
        return np.nan, 0
    value = float(id_ & MANTISSA_MASK)
    scale = (id_ >> SCALE_SHIFT) & 31
    if scale:
        value /= _POWERS[scale]
    return (-value if id_ & SIGN_BIT else value), tag


def parse_term(text: bytes) -> Term:
    """The term of a canonical N-Triples text."""
    first = text[:1]
    if first == b"<":
        return NamedNode(text[1:-1].decode())
    if first == b"_":
        return BlankNode(text[2:].decode())
    [literal] = _literals([text])
    return literal


def parse_terms(texts: Sequence[bytes]) -> list[Term]:
    """The terms of canonical N-Triples texts; the literals among them are read together."""
    literals = _literals([text for text in texts if text[:1] == b'"'])
    return [next(literals) if text[:1] == b'"' else parse_term(text) for text in texts]


def _literals(texts: list[bytes]) -> Iterator[Literal]:
    from pyoxigraph import RdfFormat, parse

    lines = b"".join(b"<x:> <x:> " + text + b" .\n" for text in texts)
    return (triple.object for triple in parse(lines, RdfFormat.N_TRIPLES))
