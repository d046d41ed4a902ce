"""Universities one after the other: the whole as N-Triples, or a stream of departments as N-Quads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.errors import UsageError
from penstock.scenarios.lubm.chance import new_state
from penstock.scenarios.lubm.departments import begin_university, department
from penstock.scenarios.lubm.lines import RDF_TYPE, ROOM, SCHEME, write_lines
from penstock.scenarios.lubm.profile import MOST_TRIPLES, UNIVERSITY_POOL
from penstock.scenarios.lubm.vocabulary import DOCUMENT, ONTOLOGY
from penstock.timeline import format_instant

LARGEST = 2**31 - 1
"""Seeds and indexes of universities are Java's integers."""
BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
PERIOD = 1_000_000  # µs between two departments of a stream

_HEADER = (
    f"<{DOCUMENT}> <{RDF_TYPE}> <http://www.w3.org/2002/07/owl#Ontology>",
    f"<{DOCUMENT}> <http://www.w3.org/2002/07/owl#imports> <{ONTOLOGY}>",
)


@dataclass(frozen=True)
class Part:
    """A department's lines, or the document's header; valid until the next one is made."""

    university: int
    text: memoryview
    triples: int


@dataclass(frozen=True)
class Lubm:
    """LUBM(universities, seed), from the university with the given index on.

    As a whole, every triple is there once. As a `stream`, every department is an element that says all
    that the benchmark's own generator writes into the department's file: also of universities that
    other departments have named, and the header.
    """

    universities: int
    seed: int = 0
    index: int = 0
    stream: bool = False

    def __post_init__(self) -> None:
        if self.universities < 1:
            raise UsageError(f"{self.universities} universities cannot be generated", hint="1 or more can")
        for what, number in (("seed", self.seed), ("index", self.index)):
            if not 0 <= number <= LARGEST:
                raise UsageError(f"the {what} {number} is out of range", hint=f"0 to {LARGEST:,}")
        if self.index + self.universities - 1 > LARGEST:
            raise UsageError(
                f"there is no university {self.index + self.universities - 1}", hint=f"0 to {LARGEST:,}"
            )

    def parts(self) -> Iterator[Part]:
        """The text, a department at a time."""
        state, rows = new_state(), np.empty((3, MOST_TRIPLES), np.int64)
        out = np.empty(ROOM, np.uint8)
        seen = np.zeros(UNIVERSITY_POOL + 1, np.int64)
        mark, element = 1, 0
        ending = b" .\n"
        for university in range(self.index, self.index + self.universities):
            if university == self.index and not self.stream:
                yield _header(university, ending)
            for number in range(begin_university(state, self.seed, university)):
                place = f"{SCHEME}Department{number}.University{university}.edu"
                if self.stream:
                    ending = f" <{place}#t={format_instant(BEGIN + element * PERIOD)}> .\n".encode()
                    element += 1
                    mark = element
                    yield _header(university, ending)
                count = department(state, university, number, seen, mark, rows)
                size = write_lines(rows, count, _bytes(place.encode()), _bytes(ending), out)
                yield Part(university, memoryview(out)[:size], count)


def _bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


def _header(university: int, ending: bytes) -> Part:
    text = b"".join(line.encode() + ending for line in _HEADER)
    return Part(university, memoryview(text), len(_HEADER))
