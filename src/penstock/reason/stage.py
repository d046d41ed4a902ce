"""What a reasoner is, and where it stands: between decode and match, in the task that has the element.

A reasoner sees elements whole, in columns, and has the static knowledge at hand. It may add rows to
an element (with its interval and its id) and drop some; when elements ended, how many there
were and what was rejected stays as decoded. Late elements are reported as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge

if TYPE_CHECKING:
    from penstock.reason.conflicts import Conflict


class Reasoner(Protocol):
    """Closes elements under what is known. Made in each process, once."""

    conflicts: Sequence[tuple[int, Conflict]]  # of the last `close`: the element's number, what is wrong
    dropped: Mapping[str, int]  # of the last `close`, by rule: what would have had a literal as subject
    found: Mapping[str, np.ndarray]  # out about static knowledge, for reasoners of other processes

    def wanted(self, predicates: np.ndarray | None) -> np.ndarray | None:
        """The ids of the predicates that decode must keep, given those that queries read (None: all)."""

    def close(self, occurrences: Occurrences) -> Occurrences:
        """Whole elements with what follows from them, and without what is not to go on."""


Reasoning = Callable[[Knowledge], Reasoner]
"""Makes the reasoner of a process; it travels by pickle, so it is a class or a function of a module."""


class Unchanged:
    """The reasoner of runs without one: elements stay as they are."""

    conflicts: Sequence[tuple[int, Conflict]] = ()
    dropped: Mapping[str, int] = MappingProxyType({})
    found: Mapping[str, np.ndarray] = MappingProxyType({})

    def wanted(self, predicates: np.ndarray | None) -> np.ndarray | None:
        return predicates

    def close(self, occurrences: Occurrences) -> Occurrences:
        return occurrences


def closed(reasoner: Reasoner, occurrences: Occurrences) -> Occurrences:
    """What a reasoner makes of the triples; what is said about the elements stays."""
    found = reasoner.close(occurrences)
    if found is occurrences:
        return found
    return replace(
        found,
        instants=occurrences.instants,
        elements=occurrences.elements,
        rejects=occurrences.rejects,
    )
