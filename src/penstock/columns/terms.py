"""The texts of hashed ids: in pieces that travel (`TermChunk`), and per process (`TermTable`).

Neither keeps a Python object per term: texts lie one after the other in a byte array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from penstock.columns import hashing, interning
from penstock.columns.ids import (
    HASHED,
    UNBOUND,
    hash_text,
    hash_texts,
    id_of,
    inline_term,
    parse_term,
    parse_terms,
    term_text,
)
from penstock.columns.places import LENGTH_BITS, LONGEST
from penstock.columns.rendering import render
from penstock.columns.texts import Texts, decimals
from penstock.errors import InputError
from penstock.terms import XSD, Literal, Term

_CACHED_TERMS = 65_536
LEAST_TERMS, LEAST_BYTES = 1024, 1 << 16  # what an empty table has room for
_NOTHING = (np.empty(0, np.int64), np.empty(0, np.uint8))

_DECIMAL = np.frombuffer(f'"^^<{XSD.decimal.value}>'.encode(), np.uint8)


def _collision(id_: int, one: bytes, other: bytes) -> InputError:
    return InputError(
        f"two different terms have the same id {id_:#x}: "
        f"{one.decode(errors='replace')} and {other.decode(errors='replace')}",
        hint="begin a run with a new checkpoint: ids are 62-bit hashes by a key that a run draws",
    )


@dataclass(frozen=True, eq=False)
class TermChunk:
    """The N-Triples texts of some hashed ids: `data[offsets[i]:offsets[i + 1]]` is `ids[i]`'s."""

    ids: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    offsets: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    data: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.offsets.nbytes + self.data.nbytes

    def text(self, index: int) -> bytes:
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def texts(self) -> pa.LargeBinaryArray:
        """All texts as an Arrow array, without a copy."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self.ids), buffers)

    def subset(self, ids: np.ndarray) -> TermChunk:
        """The texts of those of the ids that are hashed; all of them must be here."""
        wanted = _distinct_hashed(ids)
        found = self.among(wanted)
        if len(found) < len(wanted):
            missing = wanted[~np.isin(wanted, self.ids)]
            raise KeyError(f"no text for the id {int(missing[0]):#x}")
        return found

    def among(self, ids: np.ndarray) -> TermChunk:
        """The texts of those of the ids that are here."""
        rows = np.flatnonzero(hashing.among(self.ids, ids[ids >= HASHED]))
        begin = self.offsets[rows]
        places = begin << LENGTH_BITS | self.offsets[rows + 1] - begin
        return TermChunk(self.ids[rows], *interning.gather(self.data, places))


def _distinct_hashed(ids: np.ndarray) -> np.ndarray:
    """The hashed ids among some ids, each once, in order."""
    ids = np.asarray(ids, np.int64)
    return np.sort(hashing.distinct(ids[ids >= HASHED]))


class TermTable:
    """The texts of the hashed ids that a process knows.

    A chunk costs a few nanoseconds per id that is there already, and a copy of the text for
    the others. Adding an id with another text than before is an `InputError`: two terms
    that share a hash would silently be one. The ids of terms that are added are those of the
    run with the given key; to look up what chunks have brought, none is needed.

    A chunk that is only offered costs nothing until it is known which of its texts are needed
    (`accept`), or until somebody looks for one that is not there: then all of them are taken over.

    What stands in a table `below` this one is known here too, and not kept again: the texts of
    static knowledge are the same memory for all shards of a machine (`from_arrays`).
    """

    def __init__(
        self, chunk: TermChunk | None = None, *, key: int = 0, below: TermTable | None = None
    ) -> None:
        self.key = key
        self.below = below
        self._table = interning.new_table(LEAST_TERMS)
        self._texts = np.empty(LEAST_BYTES, np.uint8)
        self._used = 0
        self._count = 0
        self._offered: list[TermChunk] = []
        self.term = lru_cache(maxsize=_CACHED_TERMS)(self._term)
        if chunk is not None:
            self.add_chunk(chunk)

    def __reduce__(self):
        return partial(TermTable, key=self.key), (self.chunk(),)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that is here (and not below) as two arrays, from which `from_arrays` makes a table at once."""
        return {"table": self._table, "texts": self._texts[: self._used]}

    @classmethod
    def from_arrays(cls, table: np.ndarray, texts: np.ndarray, count: int, key: int) -> TermTable:
        """A table over arrays that are not written to: put another one above it to add terms."""
        made = cls(key=key)
        made._table, made._texts, made._used, made._count = table, texts, len(texts), count
        return made

    def __len__(self) -> int:
        return self.size + (self.below.size if self.below is not None else 0)

    def __contains__(self, id_: int) -> bool:
        return bool(self._located(np.array([id_], np.int64))[1][0] >= 0)

    @property
    def size(self) -> int:
        """How many hashed ids have their text here, and not below."""
        return self._count

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + self._texts.nbytes

    def _reserve(self, entries: int, size: int) -> None:
        needed = interning.table_size(self._count + entries)
        if needed > len(self._table):
            self._table = interning.grown(self._table, needed // len(self._table))
        if self._used + size > len(self._texts):
            larger = np.empty(max(2 * len(self._texts), self._used + size), np.uint8)
            larger[: self._used] = self._texts[: self._used]
            self._texts = larger

    def add_chunk(self, chunk: TermChunk) -> None:
        """Takes over the texts of a chunk."""
        if not len(chunk):
            return
        self._reserve(len(chunk), len(chunk.data))
        self._count, self._used, collision = interning.enter_all(
            self._table,
            self._count,
            self._texts,
            self._used,
            interning.frozen(chunk.ids),
            interning.frozen(chunk.offsets),
            interning.frozen(chunk.data),
            *self._below(),
        )
        if collision >= 0:
            id_ = int(chunk.ids[collision])
            raise _collision(id_, self._text(id_), chunk.text(collision))

    def offer(self, chunk: TermChunk) -> None:
        """Has the texts of a chunk at hand, until it is said which of them to accept."""
        if len(chunk):
            self._offered.append(chunk)

    def accept(self, ids: list[np.ndarray], most: int = 4) -> None:
        """Takes over those of the offered texts whose ids are given, and forgets the offer.

        Looking for an id costs more than taking a text over: up to `most` texts per id, all are taken.
        """
        offered, self._offered = self._offered, []
        if sum(map(len, offered)) > most * sum(map(len, ids)):
            wanted = np.concatenate([np.empty(0, np.int64), *ids])
            offered = [chunk.among(wanted) for chunk in offered]
        for chunk in offered:
            self.add_chunk(chunk)

    def _accept_all(self) -> None:
        offered, self._offered = self._offered, []
        for chunk in offered:
            self.add_chunk(chunk)

    def _below(self) -> tuple[np.ndarray, np.ndarray]:
        return _NOTHING if self.below is None else (self.below._table, self.below._texts)

    def add_text(self, text: bytes) -> int:
        """Takes over the N-Triples text of a term that has no inline id; its id."""
        id_ = hash_text(text, self.key)
        known = self._known(id_, offered=False)
        if known is None:
            if len(text) > LONGEST:
                raise InputError(f"a term of {len(text):,} bytes is longer than 128 MiB")
            self._reserve(1, len(text))
            self._texts[self._used : self._used + len(text)] = np.frombuffer(text, np.uint8)
            interning.enter_one(self._table, id_, self._used, self._used + len(text))
            self._used += len(text)
            self._count += 1
        elif known != text:
            raise _collision(id_, known, text)
        return id_

    def add(self, term: Term) -> int:
        """Takes over a term; its id."""
        id_ = id_of(term, self.key)
        return id_ if id_ < HASHED else self.add_text(term_text(term))

    def add_all(self, terms: Sequence[Term]) -> np.ndarray:
        """Takes over many terms; their ids."""
        ids = np.zeros(len(terms), np.int64)
        for i, term in enumerate(terms):
            if isinstance(term, Literal) and (id_ := id_of(term, self.key)) < HASHED:
                ids[i] = id_
        hashed = np.flatnonzero(ids == UNBOUND)
        ids[hashed] = self.add_texts([term_text(terms[i]) for i in hashed.tolist()])
        return ids

    def add_texts(self, texts: Sequence[bytes]) -> np.ndarray:
        """Takes over the N-Triples texts of many terms that have no inline id; their ids."""
        longest = max(map(len, texts), default=0)
        if longest > LONGEST:
            raise InputError(f"a term of {longest:,} bytes is longer than 128 MiB")
        made = Texts.of(texts)
        ids = hash_texts(*made, self.key)
        self.add_chunk(TermChunk(ids, *made))
        return ids

    def _located(self, ids: np.ndarray, *, offered: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Texts, and the place of each id's text in them; -1 for ids without one, also among the offered."""
        places = interning.places_of(self._table, ids)
        missing = (places < 0) & (ids >= HASHED)
        if not missing.any():
            return self._texts, places
        under = np.full(len(ids), -1, np.int64)
        if self.below is not None:
            under[missing] = interning.places_of(self.below._table, ids[missing])
        if offered and self._offered and (missing & (under < 0)).any():
            self._accept_all()
            places = interning.places_of(self._table, ids)
        mine, others = places >= 0, under >= 0
        if not others.any():
            return self._texts, places
        if not mine.any():
            return self.below._texts, under
        # Texts of both kinds, in a place of their own.
        found, size, data = np.full(len(ids), -1, np.int64), 0, []
        for texts, where, chosen in ((self._texts, places, mine), (self.below._texts, under, others)):
            offsets, copied = interning.gather(texts, where[chosen])
            found[chosen] = (offsets[:-1] + size) << LENGTH_BITS | np.diff(offsets)
            size += len(copied)
            data.append(copied)
        return np.concatenate(data), found

    def _known(self, id_: int, *, offered: bool = True) -> bytes | None:
        """The text of a hashed id, if it is known."""
        texts, places = self._located(np.array([id_], np.int64), offered=offered)
        place = int(places[0])
        if place < 0:
            return None
        begin = place >> LENGTH_BITS
        return texts[begin : begin + (place & LONGEST)].tobytes()

    def _text(self, id_: int) -> bytes:
        text = self._known(id_)
        if text is None:
            raise KeyError(f"no text for the id {id_:#x}")
        return text

    def _term(self, id_: int) -> Term:
        """The term of an id, inline or hashed (as `term`, which remembers recent answers)."""
        id_ = int(id_)
        if 0 < id_ < HASHED:
            return inline_term(id_)
        return parse_term(self._text(id_))

    def first_bytes(self, ids: np.ndarray) -> np.ndarray:
        """The first byte of the text of each hashed id: it tells IRIs, blank nodes and literals apart."""
        known, places = self._places(ids)
        return known[places >> LENGTH_BITS]

    def starting(self, ids: np.ndarray, beginning: bytes) -> np.ndarray:
        """Whether the text of each hashed id begins in some way."""
        known, places = self._places(ids)
        return interning.starting(interning.frozen(known), places, np.frombuffer(beginning, np.uint8))

    def longest(self, ids: np.ndarray) -> int:
        """The bytes of the longest text of hashed ids."""
        return int((self._places(ids)[1] & LONGEST).max(initial=0))

    def decimals(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of hashed ids, within some ulps, and which of them are decimals."""
        known, places = self._places(ids)
        return decimals(interning.frozen(known), places, _DECIMAL)

    def _places(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Texts, and the place of each hashed id's text in them."""
        known, places = self._located(np.ascontiguousarray(ids, np.int64))
        if len(places) and places.min() < 0:
            raise KeyError(f"no text for the id {int(ids[places.argmin()]):#x}")
        return known, places

    def texts(self, ids: np.ndarray) -> pa.LargeBinaryArray:
        """The N-Triples text of each id; null for unbound (0)."""
        ids = np.ascontiguousarray(ids, np.int64)
        known, places = self._located(ids)
        missing = (places < 0) & (ids >= HASHED)
        if missing.any():
            raise KeyError(f"no text for the id {int(ids[missing][0]):#x}")
        offsets, data = render(ids, places, known)
        bound = pa.py_buffer(np.packbits(ids != 0, bitorder="little"))
        buffers = [bound, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ids), buffers)

    def terms(self, ids: np.ndarray) -> list[Term]:
        """The term of each id; none of them may be unbound."""
        return parse_terms(self.texts(ids).to_pylist())

    def encoded(self, ids: np.ndarray) -> pa.DictionaryArray:
        """The N-Triples text of each id, every text written once; null for unbound (0)."""
        ids = np.ascontiguousarray(ids, np.int64)
        first, numbers = hashing.numbered(ids)
        distinct, numbers = ids[first], numbers.astype(np.int32)
        unbound = None
        if len(nothing := np.flatnonzero(distinct == UNBOUND)):
            unbound = numbers == nothing[0]
            distinct = np.delete(distinct, nothing[0])
            numbers[numbers > nothing[0]] -= 1
        texts = self.texts(distinct).cast(pa.binary()).cast(pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(numbers, mask=unbound), texts)

    def subset(self, ids: np.ndarray) -> TermChunk:
        """The texts of those of the ids that are hashed, each once."""
        hashed = _distinct_hashed(ids)
        known, places = self._located(hashed)
        if len(places) and places.min() < 0:
            raise KeyError(f"no text for the id {int(hashed[places.argmin()]):#x}")
        return TermChunk(hashed, *interning.gather(known, places))

    def added(self) -> TermChunk:
        """What is known here, and not below."""
        self._accept_all()
        ids, places = interning.entries(self._table, self._count)
        order = np.argsort(ids)
        return TermChunk(ids[order], *interning.gather(self._texts, places[order]))

    def chunk(self) -> TermChunk:
        """Everything that is known here."""
        mine = self.added()
        if self.below is None:
            return mine
        return self.subset(
            np.concatenate([mine.ids, interning.entries(self.below._table, self.below.size)[0]])
        )

    def stand_above(self, below: TermTable, ids: np.ndarray) -> None:
        """Stands above another table from now on; of what was below, takes over the texts of these ids."""
        kept = self.subset(ids)
        self.below = below
        self.add_chunk(kept)

    def retain(self, ids: np.ndarray) -> None:
        """Forgets all texts but those of the given ids (and those below)."""
        hashed = _distinct_hashed(ids)
        self._accept_all()
        places = interning.places_of(self._table, hashed)
        known = places >= 0
        offsets, data = interning.gather(self._texts, places[known])
        self.term.cache_clear()
        self._table = interning.new_table(LEAST_TERMS)
        self._texts = np.empty(LEAST_BYTES, np.uint8)
        self._count = self._used = 0
        self.add_chunk(TermChunk(hashed[known], offsets, data))
