"""The identity of elements: a number for the place where an element begins.

Everybody who reads an element computes the same number, whatever was cut where: it is a keyed hash
of the source's name and of the place of the element's first line (or row) in it. Numbers are
negative, so that none is the id of a term. Decision 0008 says what an element is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.columns.ids import hash_text, secret_of
from penstock.columns.memory import folded_product
from penstock.jit import njit

CARRIED, NONE = -1, -2
"""In place of where an element begins: before this text, as is known; nowhere, there is none."""


@njit(cache=True)
def _numbers(seed, members, places, names, key, out):
    secret = secret_of(key)
    for i in range(len(out)):
        state = folded_product(np.uint64(places[i]) ^ secret[1], np.uint64(seed) ^ secret[0])
        state = folded_product(
            state ^ secret[2], np.uint64(members[i if len(members) > 1 else 0]) ^ secret[3]
        )
        if len(names):
            state = folded_product(state ^ secret[1], np.uint64(names[i]) ^ secret[2])
        out[i] = np.int64(state | np.uint64(1 << 63))


class Elements:
    """Numbers the elements of one source, from places in the piece of it that is being decoded.

    Compressed text is located by the member that it is in: to count from the beginning of the file,
    a part of one that grows would have to unpack everything before it.
    """

    def __init__(self, source: str, key: int) -> None:
        self._seed = hash_text(source.encode(), key)
        self._key = key
        self.begin = 0  # where in the source the first piece begins
        self.gaps: list[tuple[int, int]] = []
        """Where in this piece bytes were left out before it was decoded, and how many."""
        self.members: Sequence[tuple[int, int]] = ()
        """Of compressed text: where members begin in the text, and where in the file."""

    def passed(self, taken: int) -> None:
        """The next piece begins so many bytes later."""
        self.begin += taken + sum(size for at, size in self.gaps if at < taken)
        self.gaps = [(at - taken, size) for at, size in self.gaps if at >= taken]

    def at(self, offsets: np.ndarray, names: np.ndarray | None = None) -> np.ndarray:
        """The numbers of the elements that begin at offsets of this piece; names as in `numbered`."""
        places = offsets + self.begin
        for at, size in self.gaps:
            places[offsets > at] += size
        if not self.members:
            return self.numbered(places, names)
        begins, members = np.array(self.members, np.int64).T
        member = np.maximum(np.searchsorted(begins, places, side="right") - 1, 0)
        return self.numbered(places - begins[member], names, members[member])

    def numbered(
        self, places: np.ndarray, names: np.ndarray | None = None, members: np.ndarray | None = None
    ) -> np.ndarray:
        """The numbers of the elements at some places; names tell apart those at one place."""
        out = np.empty(len(places), np.int64)
        nothing = np.zeros(1, np.int64)
        _numbers(
            self._seed,
            nothing if members is None else np.ascontiguousarray(members),
            np.ascontiguousarray(places, np.int64),
            nothing[:0] if names is None else np.ascontiguousarray(names),
            self._key,
            out,
        )
        return out
