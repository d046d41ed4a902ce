"""The decoder of the tasks: one split of a stream's file to occurrences."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.decode.decoder import decode_file
from penstock.decode.lines import shown, strict_error
from penstock.decode.occurrences import Occurrences, Reject, concat
from penstock.decode.splitting import lines_before
from penstock.decode.times import TimePredicates
from penstock.errors import UsageError
from penstock.runtime.late import elements_table
from penstock.sources.splits import Split
from penstock.sources.streams import StreamSpec
from penstock.terms import PROV, NamedNode
from penstock.timeline import format_instant


def times_of(spec: StreamSpec) -> TimePredicates:
    """Where the times of a stream's elements stand."""
    if spec.end_predicate is None and spec.start_predicate is None:
        return TimePredicates()
    if spec.end_predicate is None:
        return TimePredicates(at=NamedNode(spec.start_predicate))
    if spec.start_predicate is None:
        raise UsageError("an end predicate needs a start predicate beside it")
    return TimePredicates(
        PROV.generatedAtTime, NamedNode(spec.start_predicate), NamedNode(spec.end_predicate)
    )


class FileDecoder:
    """Decodes splits of one stream with `penstock.decode`."""

    def __init__(self, spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool) -> None:
        self.spec = spec
        self.times = times_of(spec)
        self.keep_predicates = keep_predicates
        self.strict = strict

    def decode(self, split: Split) -> Occurrences:
        found = concat(self._pieces(split, keep_predicates=self.keep_predicates, strict=self.strict))
        limit = split.not_after
        if limit is None or not len(found.instants) or found.instants[-1] <= limit:
            return found
        # As with late elements, they are few, and what they are is found out in a second look.
        pieces = self._pieces(split, named=True)
        ahead = elements_table(concat(piece.ended_after(limit) for piece in pieces), _source(split))
        rejects = ahead_rejects(ahead, split)
        if self.strict:
            raise strict_error(rejects[0])
        in_time = found.ended_by(limit)
        elements = max(0, found.elements - len(rejects))
        return replace(in_time, elements=elements, rejects=[*found.rejects, *rejects])

    def late(self, split: Split, watermark: int) -> pa.Table:
        if split.not_after is not None:  # what is too far ahead was rejected already
            watermark = min(watermark, split.not_after + 1)
        pieces = self._pieces(split, named=True)
        return elements_table(concat(piece.ended_before(watermark) for piece in pieces), _source(split))

    def _pieces(self, split: Split, **options: Any) -> Iterator[Occurrences]:
        path = split.place()
        if path is None:
            if options.get("strict"):
                raise strict_error(_lost(split))
            return iter([Occurrences(rejects=[_lost(split)])])
        return decode_file(
            path,
            format=self.spec.format,
            source=_source(split),
            called=split.path,
            times=self.times,
            begin=split.start,
            end=split.end,
            within=(split.segment_start, split.segment_end),
            base=self.spec.base,
            limits=self.spec.limits,
            **options,
        )


def _source(split: Split) -> str:
    """Where a split comes from, for people and for the names of blank nodes.

    The parts in which standard input is kept are one source: labels mean the same in all of them.
    """
    return split.path if split.mark is not None else "standard input"


def _lost(split: Split) -> Reject:
    reason = (
        f"the bytes {split.start} to {split.end} of this file were replaced or removed before they were read"
    )
    return Reject(split.path, 0, reason, "")


def ahead_rejects(elements: pa.Table, split: Split) -> list[Reject]:
    """Elements that are too far ahead of the clock, as rejects; the line is 0 if it cannot be told."""
    rejects = []
    path = split.place() or split.path
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for row in elements.to_pylist():
            name = row["graph"] or ""
            at = data.find(name.encode()) if name else -1
            line = lines_before(path, at) + 1 if at >= 0 else 0
            end = format_instant(row["end"])
            reason = f"the element ends at {end}, further ahead of the clock than --ahead allows"
            rejects.append(
                Reject(_source(split), line, reason, shown(" ".join([name, *row["triples"]]).strip()))
            )
    return rejects


def file_decoder(spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool) -> FileDecoder:
    """The decoder factory of ordinary runs."""
    return FileDecoder(spec, keep_predicates, strict)
