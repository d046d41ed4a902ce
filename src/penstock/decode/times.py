"""Where an element's time stands: the time predicates, and times inside graph names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.columns.ids import id_of
from penstock.errors import InputError, shortened
from penstock.terms import PROV, NamedNode
from penstock.timeline import parse_instant

COMPACT_MARK = "#t="


@dataclass(frozen=True)
class TimePredicates:
    """The predicates that state an element's time about its graph's name."""

    at: NamedNode = PROV.generatedAtTime
    started: NamedNode = PROV.startedAtTime
    ended: NamedNode = PROV.endedAtTime

    def ids(self, key: int) -> np.ndarray:
        """The ids of the three in a run with this key."""
        return np.array([id_of(each, key) for each in (self.at, self.started, self.ended)], np.int64)

    def __contains__(self, predicate: NamedNode) -> bool:
        return predicate in (self.at, self.started, self.ended)


def is_compact(name: str) -> bool:
    """Whether a graph name tells its time itself, well or badly."""
    return COMPACT_MARK in name


def compact_times(name: str) -> tuple[int, int]:
    """The start and end that a graph name tells: `…#t=<instant>` or `…#t=<start>,<end>`."""
    instants = name.split(COMPACT_MARK, 1)[1].split(",")
    if len(instants) > 2:
        raise InputError(f"<{shortened(name)}> has more than two instants after #t=")
    try:
        times = [parse_instant(instant) for instant in instants]
    except InputError as problem:
        raise InputError(f"the time of element <{shortened(name)}>: {problem.message}") from None
    if times[-1] < times[0]:
        raise InputError(f"the element <{shortened(name)}> ends before it starts")
    return times[0], times[-1]
