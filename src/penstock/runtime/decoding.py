"""The decoder of the tasks: one split of a stream's file to occurrences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.decode.decoder import decode_file
from penstock.decode.occurrences import Occurrences, concat
from penstock.decode.times import TimePredicates
from penstock.errors import UsageError
from penstock.runtime.late import elements_table
from penstock.sources.splits import Split
from penstock.sources.streams import StreamSpec
from penstock.terms import PROV, NamedNode


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
        return concat(self._pieces(split, keep_predicates=self.keep_predicates, strict=self.strict))

    def late(self, split: Split, watermark: int) -> pa.Table:
        pieces = self._pieces(split, named=True)
        return elements_table(concat(piece.ended_before(watermark) for piece in pieces), split.path)

    def _pieces(self, split: Split, **options: Any) -> Iterator[Occurrences]:
        return decode_file(
            split.path,
            format=self.spec.format,
            times=self.times,
            begin=split.start,
            end=split.end,
            within=(split.segment_start, split.segment_end),
            **options,
        )


def file_decoder(spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool) -> FileDecoder:
    """The decoder factory of ordinary runs."""
    return FileDecoder(spec, keep_predicates, strict)
