"""What decoding yields: triple occurrences as columns, and what could not be decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.formats import LINE
from penstock.errors import shortened

_LONGEST_REASON = 400  # characters


@dataclass(frozen=True)
class Reject:
    """A piece of input that was left out: where it stood, why, and its (shortened) text."""

    source: str
    line: int
    reason: str
    text: str
    unit: str = LINE  # what of it is lost, and what `line` counts

    def __post_init__(self) -> None:
        # Whatever was to be said about it: a reject may be written to a terminal.
        object.__setattr__(self, "reason", shortened(self.reason, _LONGEST_REASON))


def _none() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Triple occurrences ⟨triple, start, end⟩ as equally long int64 columns.

    `instants` are the ends of all elements of the piece, sorted and unique, also of those
    without triples and of those whose triples nobody asked for. `elements` counts all of them.

    `element` tells the elements apart: a number that is the same for the same element in every process
    and after a restart (decision 0008). All occurrences of an element of a split come together.

    `graph`, the names of the elements, is there only if it was asked for (it is empty
    otherwise). Then an element without triples is a row whose triple is 0, 0, 0.

    `derived` says which triples no element states, because rules derive them (empty: none).
    `ambiguous` counts the local times that come twice, because a clock is put back.
    """

    subject: np.ndarray = field(default_factory=_none)
    predicate: np.ndarray = field(default_factory=_none)
    object: np.ndarray = field(default_factory=_none)
    start: np.ndarray = field(default_factory=_none)
    end: np.ndarray = field(default_factory=_none)
    instants: np.ndarray = field(default_factory=_none)
    terms: TermChunk = field(default_factory=TermChunk)
    elements: int = 0
    rejects: list[Reject] = field(default_factory=list)
    graph: np.ndarray = field(default_factory=_none)
    element: np.ndarray = field(default_factory=_none)
    derived: np.ndarray = field(default_factory=_none)
    ambiguous: int = 0

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.subject, self.predicate, self.object, self.start, self.end

    def ended_within(self, first: int, last: int) -> Occurrences:
        """The rows of elements that ended from one instant to another; `elements` are not counted."""
        return self._part(*((first <= ends) & (ends <= last) for ends in (self.end, self.instants)))

    def ended_outside(self, first: int, last: int) -> Occurrences:
        """The rows of all other elements; for occurrences with graph names."""
        return self._part(*((first > ends) | (ends > last) for ends in (self.end, self.instants)))

    def _part(self, rows: np.ndarray, instants: np.ndarray) -> Occurrences:
        if not rows.any():
            return Occurrences(instants=self.instants[instants])
        columns = [column[rows] for column in self.columns]
        own = (self.graph, self.element, self.derived)
        graph, element, derived = (each[rows] if len(each) else each for each in own)
        texts = TermTable(self.terms).subset(np.concatenate([*columns[:3], graph]))
        return replace(
            Occurrences(*columns),
            instants=self.instants[instants],
            terms=texts,
            graph=graph,
            element=element,
            derived=derived,
        )


def empty() -> Occurrences:
    """No occurrences at all."""
    return Occurrences()


def merge_terms(chunks: Iterable[TermChunk]) -> TermChunk:
    """One chunk with the texts of all."""
    filled = [chunk for chunk in chunks if len(chunk)]
    if len(filled) == 1:
        return filled[0]
    table = TermTable()
    for chunk in filled:
        table.add_chunk(chunk)
    return table.chunk()


def concat(parts: Iterable[Occurrences]) -> Occurrences:
    """All parts as one, in their order."""
    parts = list(parts)
    if not parts:
        return empty()
    if len(parts) == 1:
        return parts[0]
    columns = (np.concatenate(column) for column in zip(*(p.columns for p in parts), strict=True))
    return replace(
        Occurrences(*columns),
        instants=sorted_unique(np.concatenate([p.instants for p in parts])),
        terms=merge_terms(p.terms for p in parts),
        elements=sum(p.elements for p in parts),
        rejects=[reject for p in parts for reject in p.rejects],
        graph=np.concatenate([p.graph for p in parts]),
        element=np.concatenate([p.element for p in parts]),
        ambiguous=sum(p.ambiguous for p in parts),
    )
