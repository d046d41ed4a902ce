"""Before the exchange: which occurrences match a scan, and which shard must see them."""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.ids import id_of
from penstock.columns.terms import TermChunk
from penstock.engine.tuning import Tuning
from penstock.knowledge.graphs import StaticGraph
from penstock.plan.steps import Scan
from penstock.plan.system_columns import ELEMENT
from penstock.timeline import TIMELESS_END, TIMELESS_START

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def match(
    scan: Scan,
    triples: tuple[np.ndarray, ...],
    start: np.ndarray,
    end: np.ndarray,
    key: int,
    element: np.ndarray | None = None,
    presence: tuple[np.ndarray, ...] = (),
) -> Frame:
    """The rows of a scan among triples (three columns of ids of the run's key) with these intervals.

    `element` has the numbers of their elements, for scans that ask (None: they belong to none);
    `presence` is how often and when the triples are there, if they can leave (see `Frame`).
    """
    chosen: np.ndarray | None = None
    columns: dict[str, np.ndarray] = {}
    for term, column in zip((scan.subject, scan.predicate, scan.object), triples, strict=True):
        if not isinstance(term, str):
            same = column == id_of(term, key)
        elif term in columns:
            same = column == columns[term]
        else:
            columns[term] = column
            continue
        chosen = same if chosen is None else chosen & same
    if scan.element:
        columns[ELEMENT] = np.zeros(len(start), np.int64) if element is None else element
    ids = np.stack(list(columns.values())) if columns else np.empty((0, len(start)), np.int64)
    frame = Frame(scan.vars, ids, start, end, *presence)
    return frame if chosen is None or chosen.all() else frame.take(chosen)


def static_rows(scan: Scan, graph: StaticGraph, key: int) -> Frame:
    """The rows of a scan in a static graph: timeless."""
    start = np.full(len(graph), TIMELESS_START, np.int64)
    end = np.full(len(graph), TIMELESS_END, np.int64)
    return match(scan, tuple(graph.triples), start, end, key)


def has_predicate(scan: Scan, graph: StaticGraph, key: int) -> bool:
    """Whether the predicate that a scan names occurs in a static graph, with any terms."""
    if isinstance(scan.predicate, str):
        return False
    return bool((graph.triples[1] == id_of(scan.predicate, key)).any())


def shard_of(ids: np.ndarray, shards: int) -> np.ndarray:
    """The shard that owns each key; equal terms have equal shards in every process."""
    mixed = (ids.astype(np.uint64) * _GOLDEN) >> np.uint64(33)
    return (mixed % np.uint64(shards)).astype(np.int64)


def spread(scan: Scan, frame: Frame, shards: int) -> list[tuple[int, Frame]]:
    """The rows for each shard, by the scan's key; without one they all go to the first."""
    if not len(frame):
        return []
    if scan.key is None or shards == 1:
        return [(0, frame)]
    return spread_by(frame.column(scan.key), frame, shards)


def spread_by(keys: np.ndarray, frame: Frame, shards: int) -> list[tuple[int, Frame]]:
    """The rows for each shard, by what stands beside each."""
    if not len(frame):
        return []
    if shards == 1:
        return [(0, frame)]
    owner = shard_of(keys, shards)
    return [
        (shard, frame.take(rows)) for shard in range(shards) if len(rows := np.flatnonzero(owner == shard))
    ]


def texts_for(frames: list[Frame], terms: TermChunk, shards: int, tuning: Tuning) -> TermChunk:
    """The texts that a shard needs: those that its rows mention, or simply all.

    Picking them costs more than sending all to a few shards, unless there are many per row.
    """
    rows = sum(len(frame) for frame in frames)
    if len(terms) <= tuning.few_terms or len(terms) <= rows and shards <= tuning.few_shards:
        return terms
    return terms.subset(np.concatenate([frame.ids.reshape(-1) for frame in frames]))
