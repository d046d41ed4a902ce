"""The decoder of the tasks: one split of a stream's file to occurrences."""

from __future__ import annotations

import contextlib
import json
import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.columns.terms import TermTable
from penstock.decode.decoder import decode_file
from penstock.decode.formats import FILE, LINE
from penstock.decode.lines import shown, strict_error
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import Occurrences, Reject, concat
from penstock.decode.splitting import lines_before
from penstock.errors import PenstockError, StorageError, UsageError
from penstock.runtime.intake.late import elements_table
from penstock.sources.segments import files_below
from penstock.sources.splits import Split
from penstock.sources.streams import STANDARD_INPUT, StreamSpec, spool_directory
from penstock.timeline import FOREVER, NEVER, format_instant


class FileDecoder:
    """Decodes splits of one stream with `penstock.decode`."""

    def __init__(
        self, spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool, key: int = 0
    ) -> None:
        self.spec = spec
        self.key = key
        self.times = spec.times()
        self.map = read_map(json.loads(spec.map)) if spec.map is not None else None
        self.keep_predicates = keep_predicates
        self.strict = strict

    def decode(self, split: Split) -> Occurrences:
        found = self._found(split, keep_predicates=self.keep_predicates, strict=self.strict)
        first, last = _allowed(split)
        if not len(found.instants) or (first <= found.instants[0] and found.instants[-1] <= last):
            return found
        # As with late elements, they are few, and what they are is found out in a second look.
        outside = self._found(split, named=True).ended_outside(first, last)
        rejects = untimely_rejects(elements_table(outside, _source(split)), split)
        if self.strict:
            raise strict_error(rejects[0])
        in_time = found.ended_within(first, last)
        elements = max(0, found.elements - len(rejects))
        rejects = [*found.rejects, *rejects]
        return replace(in_time, elements=elements, rejects=rejects, ambiguous=found.ambiguous)

    def late(self, split: Split, watermark: int) -> pa.Table:
        first, last = _allowed(split)  # what lies outside was rejected already
        last = min(last, watermark - 1)
        found = self._found(split, lambda piece: piece.ended_within(first, last), named=True)
        return elements_table(found, _source(split))

    def names(self, split: Split, elements: np.ndarray) -> dict[int, tuple[str, str | None]]:
        found = self._found(split, named=True)
        numbers, rows = np.unique(found.element, return_index=True)
        chosen = np.isin(numbers, elements)
        texts = TermTable(found.terms).texts(found.graph[rows[chosen]]).to_pylist()
        names = (None if text is None else text.decode() for text in texts)
        return dict(zip(numbers[chosen].tolist(), ((_source(split), name) for name in names), strict=True))

    def _found(
        self, split: Split, part: Callable[[Occurrences], Occurrences] | None = None, **options: Any
    ) -> Occurrences:
        """What a split holds; input that decoding fails at is left out and rejected.

        A batch is repeated until it is through, so nothing in the input may end it: a failure that
        nobody has foreseen would end every restart as well.
        """
        try:
            pieces = self._pieces(split, **options)
            return concat(pieces if part is None else map(part, pieces))
        except Exception as problem:
            if self.strict or isinstance(problem, (OSError, UsageError, StorageError)):
                raise
            if split.whole or split.end - split.start <= 1:
                return Occurrences(rejects=[_failed(split, problem)])
        # Every element begins in one of the halves: the one that fails is found by halving.
        middle = (split.start + split.end) // 2
        halves = replace(split, end=middle), replace(split, start=middle)
        return concat(self._found(half, part, **options) for half in halves)

    def _pieces(self, split: Split, **options: Any) -> Iterator[Occurrences]:
        path = split.place()
        if path is None:
            if self.strict:
                raise strict_error(_lost(split))
            return iter([Occurrences(rejects=[_lost(split)])])
        return decode_file(
            path,
            format=self.spec.format,
            source=_source(split),
            called=split.path,
            times=self.times,
            map=self.map,
            begin=split.start,
            end=split.end,
            within=(split.segment_start, split.segment_end),
            base=self.spec.base,
            limits=self.spec.limits,
            key=self.key,
            identity=f"{split.stream} {split.number} {_source(split)}",
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
    return Reject(split.path, 0, reason, "", FILE)


def _failed(split: Split, problem: Exception) -> Reject:
    """The reject for what could not be decoded, for a reason that decoding does not know."""
    said = problem.message if isinstance(problem, PenstockError) else f"{type(problem).__name__}: {problem}"
    path = split.place() or split.path
    line, text = 0, b""
    if not split.whole:
        line = lines_before(path, split.start + 1) + 1
        with Path(path).open("rb") as file:
            file.seek(split.start)
            text = file.read(2000).split(b"\n", 1)[0]
    elif split.start == 0:
        line = 1
    return Reject(
        _source(split), line, f"this cannot be decoded: {said}", shown(text), FILE if split.whole else LINE
    )


def _allowed(split: Split) -> tuple[int, int]:
    """From when to when elements of a split may end."""
    return (
        NEVER if split.not_before is None else split.not_before,
        FOREVER if split.not_after is None else split.not_after,
    )


def untimely_rejects(elements: pa.Table, split: Split) -> list[Reject]:
    """Elements that end too far from the clock, as rejects; the line is 0 if it cannot be told."""
    _, last = _allowed(split)
    rejects = []
    path = split.place() or split.path
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for row in elements.to_pylist():
            name = row["graph"] or ""
            at = data.find(name.encode()) if name else -1
            line = lines_before(path, at) + 1 if at >= 0 else 0
            ahead = row["end"] > last
            too_far = "ahead of the clock than --ahead" if ahead else "before the run began than --behind"
            reason = f"the element ends at {format_instant(row['end'])}, further {too_far} allows"
            rejects.append(
                Reject(_source(split), line, reason, shown(" ".join([name, *row["triples"]]).strip()))
            )
    return rejects


def file_decoder(
    spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool, key: int = 0
) -> FileDecoder:
    """The decoder factory of ordinary runs."""
    return FileDecoder(spec, keep_predicates, strict, key)


_LOOKED_AT_FILES, _LOOKED_AT_ROWS = 4, 100_000


def predicates_in(streams: Sequence[StreamSpec], directory: Path, key: int) -> frozenset[str]:
    """Predicates of the streams, from a look at their beginnings; `directory` has spooled input.

    For a message only: tasks keep what queries ask for, and to note all of it would cost each run.
    """
    found: set[str] = set()
    for number, spec in enumerate(streams):
        files: list[str] = []
        for path in spec.paths:
            place = spool_directory(directory, number) if path == STANDARD_INPUT else Path(path)
            files += files_below(place, spec.format) if place.is_dir() else [str(place)]
        decoder, rows = FileDecoder(spec, None, False, key), 0
        for path in files[:_LOOKED_AT_FILES]:
            with contextlib.suppress(OSError, PenstockError):
                size = Path(path).stat().st_size
                for piece in decoder._pieces(Split(number, 0, path, 0, size, 0, size, whole=True)):
                    table = TermTable(piece.terms)
                    found.update(table.term(id_).value for id_ in np.unique(piece.predicate).tolist())
                    rows += len(piece)
                    if rows > _LOOKED_AT_ROWS:
                        break
    return frozenset(found)
