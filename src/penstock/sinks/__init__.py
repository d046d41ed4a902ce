"""Sinks: the answers of a run, written as they arrive and exactly once.

sink = open_sink("csv", "answers.csv", queries, checkpoint)
sink.write(batch_id, {query_number: table, …})
sink.close()
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from penstock.algebra.nodes import ParsedQuery
from penstock.errors import UsageError
from penstock.sinks.answers import Answers, Shape, shapes_of
from penstock.sinks.destinations import (
    ParquetFile,
    SingleFile,
    Sink,
    StandardOutput,
    Terminal,
    numbered,
    open_parts,
    parquet_document,
)
from penstock.sinks.formats import ENCODERS, Encoder
from penstock.sinks.side_outputs import SideOutput, SideOutputs
from penstock.sinks.terminal import TableText

__all__ = [
    "FORMATS", "Answers", "Shape", "SideOutput", "SideOutputs", "Sink", "format_for", "open_sink",
    "shapes_of",
]  # fmt: skip

FORMATS = ("table", "csv", "json", "nquads", "trig", "parquet")
_BY_SUFFIX = {
    ".txt": "table", ".csv": "csv", ".json": "json", ".srj": "json", ".nq": "nquads",
    ".trig": "trig", ".parquet": "parquet",
}  # fmt: skip


def format_for(destination: str | Path | None) -> str:
    """The format that a destination's name asks for; a table where it asks for none."""
    if is_standard_output(destination):
        return "table"
    return _BY_SUFFIX.get(Path(str(destination)).suffix.lower(), "table")


def is_standard_output(destination: str | Path | None) -> bool:
    return destination is None or str(destination) in ("", "-")


def is_directory(destination: str | Path) -> bool:
    """A directory is meant if it is there already or its name ends in a slash."""
    return str(destination).endswith("/") or Path(destination).is_dir()


def open_sink(
    format: str | None,
    destination: str | Path | None,
    queries: Sequence[ParsedQuery | Shape],
    checkpoint: str | Path | None = None,
) -> Sink:
    """The sink for a run's answers.

    `destination` is `-` or None (standard output), a file, or a directory (its name ends in a
    slash, or it exists), which gets one file per batch. Several queries share a file, with a
    column that names the query; in a directory each has its own folder.
    """
    format = format or format_for(destination)
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}", hint=f"the formats are {', '.join(FORMATS)}")
    shapes = numbered(shapes_of(queries))
    kept = Path(checkpoint) if checkpoint is not None else None
    if is_standard_output(destination):
        return _to_standard_output(format, shapes)
    assert destination is not None
    path = Path(destination)
    if is_directory(destination):
        if format == "parquet":
            return open_parts(path, shapes, "parquet", parquet_document(shapes), kept)
        encoders = {number: _encoder(format, {number: s}) for number, s in shapes.items()}

        def document(number: int, table: pa.Table) -> bytes:
            encoder = encoders[number]
            body = encoder.batch({number: table}, first=True)
            return encoder.header() + body + encoder.footer()

        suffix = next(iter(encoders.values())).suffix if encoders else format
        return open_parts(path, shapes, suffix, document, kept)
    if format == "parquet":
        return ParquetFile(path, shapes, kept)
    return SingleFile(_encoder(format, shapes), path, kept)


def _encoder(format: str, shapes: dict[int, Shape]) -> Encoder:
    return TableText(shapes) if format == "table" else ENCODERS[format](shapes)


def _to_standard_output(format: str, shapes: dict[int, Shape]) -> Sink:
    if format == "parquet":
        raise UsageError(
            "Parquet cannot be written to standard output",
            hint="name a file or a directory with --out",
        )
    if format == "table" and sys.stdout.isatty():
        return Terminal(TableText(shapes))
    return StandardOutput(_encoder(format, shapes))
