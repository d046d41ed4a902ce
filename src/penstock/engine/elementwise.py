"""The queries that look at one element at a time, answered where elements are decoded.

All of an element is in one piece of decoded input, so nothing has to be waited for and nothing to be
remembered: a shard is opened for each piece, with what static knowledge has become in its operators
(`engine/static_snapshot.py`), gives its answers, and is gone. Only the answers go through the exchange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.terms import TermChunk
from penstock.decode.occurrences import Occurrences
from penstock.engine.counting import RowCounts
from penstock.engine.network import Network
from penstock.engine.scanning import Matching, frame_of
from penstock.engine.shard import Shard
from penstock.engine.static_snapshot import StaticSnapshot, snapshot_of
from penstock.engine.tuning import Tuning
from penstock.knowledge.graphs import StaticGraph
from penstock.plan.sources import Stream, streams
from penstock.plan.steps import Scan


@dataclass(frozen=True, eq=False)
class Answered:
    """What the elements of a piece answer, by query, and the texts of the terms in it."""

    frames: Mapping[int, Frame]
    terms: TermChunk
    counts: RowCounts


NOTHING = Answered({}, TermChunk(), RowCounts())


@dataclass(frozen=True, eq=False)
class ElementSteps:
    """The steps of such queries, with their digests; `outputs` says of each query which one is its last."""

    net: Network
    names: list[str]
    outputs: dict[int, int]
    now: int
    tuning: Tuning
    key: int

    def shard(self, graphs: Sequence[StaticGraph] = (), snapshot: StaticSnapshot | None = None) -> Shard:
        return Shard(
            self.net, self.names, {}, self.outputs, list(graphs), self.now, self.tuning, self.key, snapshot
        )  # fmt: skip

    def snapshot(self, graphs: Sequence[StaticGraph] = ()) -> StaticSnapshot:
        """What static graphs become in the operators."""
        return snapshot_of(lambda: self.shard(graphs))


@dataclass(frozen=True, eq=False)
class Elementwise:
    """The same steps, with the snapshot of static knowledge: they answer elements."""

    steps: ElementSteps
    snapshot: StaticSnapshot

    @cached_property
    def _matching(self) -> dict[int, Matching]:
        """Of each stream, how its rows find the scans."""
        scans = [step for step in self.steps.net.steps if isinstance(step, Scan)]
        read = frozenset().union(*(streams(scan.sources) for scan in scans))
        return {
            stream: Matching((scan for scan in scans if Stream(stream) in scan.sources), self.steps.key)
            for stream in read
        }

    @cached_property
    def _static(self) -> RowCounts:
        """The rows that steps have of static knowledge."""
        return RowCounts.from_json(self.snapshot.about["counts"])

    def answered(self, stream: int, occurrences: Occurrences) -> Answered:
        """The answers to the elements of a piece."""
        if stream not in self._matching or not len(occurrences):
            return NOTHING
        net, matching = self.steps.net, self._matching[stream]
        places = net.places()
        triples = (occurrences.subject, occurrences.predicate, occurrences.object)
        number, ranges, count = _elements(occurrences)
        matched = {
            places[scan]: rows
            for scan, rows in zip(matching.scans, matching.rows(triples, ranges), strict=True)
        }
        counts = RowCounts()
        for place, rows in matched.items():
            if len(rows):
                counts.match(place, len(rows))
            elif matching.occurs(net.steps[place], occurrences.predicate):
                counts.occurred.add(place)
        useful = self._useful({place: number[rows] for place, rows in matched.items()}, count)
        frames = {}
        for place, rows in matched.items():
            kept = rows[useful[place][number[rows]]]
            if len(kept):
                frames[self.steps.names[place]] = frame_of(
                    net.steps[place],
                    kept,
                    triples,
                    occurrences.start,
                    occurrences.end,
                    occurrences.element,
                )
        if not frames:
            return Answered({}, TermChunk(), counts)
        shard = self.steps.shard(snapshot=self.snapshot)
        answers = shard.answer_once(frames, occurrences.terms)
        ids = [frame.ids.reshape(-1) for frame in answers.values()]
        terms = shard.terms.subset(np.concatenate([np.empty(0, np.int64), *ids]))
        return Answered(answers, terms, counts + shard.counts)

    def _useful(self, matched: Mapping[int, np.ndarray], count: int) -> list[np.ndarray]:
        """For each step, the elements in which somebody may use its rows.

        Where a side of a join has no row in an element, no row of the other side is of use there; so a
        pattern that few elements match (one with a constant) spares all others the rest of its query.
        """
        net, places = self.steps.net, self.steps.net.places()
        may: list[np.ndarray] = []  # the elements in which a step may give rows
        for place, step in enumerate(net.steps):  # inputs come first
            found = np.zeros(count, bool) | step.gives(tuple(may[places[below]] for below in step.inputs))
            if isinstance(step, Scan):
                found |= place in self._static.matched
                found[matched.get(place, ())] = True
            may.append(found)
        useful = [np.zeros(count, bool) for _ in may]
        for last in self.steps.outputs.values():
            useful[last] = may[last]
        for place in reversed(range(len(may))):
            for below in net.steps[place].inputs:
                useful[places[below]] |= useful[place] & may[place]
        return useful


def _elements(occurrences: Occurrences) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers the elements as they end; the number of each row, the ranges of rows of one element in that
    order (first row, and the one behind the last), and how many elements there are.
    """
    element = occurrences.element
    cuts = np.flatnonzero(element[1:] != element[:-1]) + 1
    first, last = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(element)]])
    distinct, begun, of = np.unique(element[first], return_index=True, return_inverse=True)
    rank = np.empty(len(distinct), np.int64)
    rank[np.lexsort((begun, occurrences.end[first[begun]]))] = np.arange(len(distinct))
    of = rank[of.reshape(-1)]
    order = np.argsort(of, kind="stable")
    ranges = np.stack([first, last], axis=1)[order]
    return np.repeat(of, last - first), np.ascontiguousarray(ranges), len(distinct)
