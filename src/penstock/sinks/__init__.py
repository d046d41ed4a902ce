"""Sinks: the answers of a run, written as they arrive and exactly once.

sink = open_sink("csv", "answers.csv", queries, checkpoint)
sink.write(batch_id, {query_number: table, …})
sink.close()
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from penstock.algebra.nodes import ParsedQuery
from penstock.errors import UsageError
from penstock.sinks.answers import AnswerTables, Misfit, Shape, shapes_of
from penstock.sinks.changed_outputs import beside, in_place_of, leaving
from penstock.sinks.destinations import (
    NativeParts,
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
from penstock.sinks.journal import Existing
from penstock.sinks.side_outputs import SideOutput, SideOutputs
from penstock.sinks.terminal import TableText

__all__ = [
    "FORMATS", "AnswerTables", "Existing", "Shape", "SideOutput", "SideOutputs", "Sink", "format_for",
    "open_sink", "shapes_of",
]  # fmt: skip

FORMATS = ("table", "csv", "json", "nquads", "trig", "parquet")
_BY_SUFFIX = {
    ".txt": "table", ".csv": "csv", ".json": "json", ".srj": "json", ".nq": "nquads",
    ".trig": "trig", ".parquet": "parquet",
}  # fmt: skip


def format_for(destination: str | Path | None) -> str:
    """The format that a destination's name asks for; a table where it need not ask for one."""
    if is_standard_output(destination):
        return "table"
    suffix = Path(str(destination)).suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if is_directory(destination) or is_device(destination):
        return "table"
    said = f"the ending {suffix} of {destination}" if suffix else f"{destination} has no ending, which"
    raise UsageError(
        f"{said} names no format",
        hint=f"known endings are {', '.join(_BY_SUFFIX)}; or say --format {'|'.join(FORMATS)},"
        " and / at the end of a directory's name",
    )


def is_standard_output(destination: str | Path | None) -> bool:
    return destination is None or str(destination) in ("", "-")


def is_directory(destination: str | Path) -> bool:
    """A directory is meant if it is there already or its name ends in a slash."""
    return str(destination).endswith("/") or Path(destination).is_dir()


def is_device(destination: str | Path) -> bool:
    """/dev/null, a named pipe: takes bytes and keeps none."""
    path = Path(destination)
    return path.exists() and not path.is_file() and not path.is_dir()


def open_sink(
    format: str | None,
    destination: str | Path | None,
    queries: Sequence[ParsedQuery | Shape],
    checkpoint: str | Path | None = None,
    existing: Existing = Existing.REFUSE,
    native: bool = False,
    finished: int | None = None,
) -> Sink:
    """The sink for a run's answers.

    `destination` is `-` or None (standard output), a file, or a directory (its name ends in a
    slash, or it exists), which gets one file per batch. Several queries share a file, with a
    column that names the query; in a directory each has its own folder. `existing` says what
    becomes of answers that are there already; those of the same checkpoint are always gone on with.
    `native` writes values instead of terms (Parquet and JSON). `finished` is the last batch that the run of
    the checkpoint has done for good: with it, the output may be another one than so far (`changed_outputs`).
    """
    format = format or format_for(destination)
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}", hint=f"the formats are {', '.join(FORMATS)}")
    if native:
        if format not in ("parquet", "json"):
            raise UsageError(
                f"there are no native values in the format {format}",
                hint="--native is for parquet and json; csv has plain values anyway",
            )
        format = {"json": "native json"}.get(format, format)
    shapes = numbered(shapes_of(queries))
    kept = Path(checkpoint) if checkpoint is not None else None
    if is_standard_output(destination):
        return _to_standard_output(format, shapes)
    assert destination is not None
    path, directory = Path(destination), is_directory(destination)

    def begin(place: Path, asked: Path | None = None) -> Sink:
        return _begun(format, place, directory, shapes, kept, existing, native, asked)

    if kept is None or finished is None:
        return begin(path)
    label = "native parquet" if format == "parquet" and native and not directory else _suffix(format)
    place, another = in_place_of(kept, path, label, finished)
    if another:
        with leaving(kept, finished):
            return begin(path)
    try:
        return begin(place)
    except Misfit:
        place = beside(path)
        with leaving(kept, finished):
            sink = begin(place, path)
        sink.moved = place
        return sink


def _suffix(format: str) -> str:
    """What journals and names of parts call a format."""
    return format if format == "parquet" else (TableText if format == "table" else ENCODERS[format]).suffix


def _begun(
    format: str,
    path: Path,
    directory: bool,
    shapes: dict[int, Shape],
    kept: Path | None,
    existing: Existing,
    native: bool,
    asked: Path | None,
) -> Sink:
    if directory:
        if format == "parquet":
            if not native:
                return open_parts(path, shapes, "parquet", parquet_document(shapes), kept, existing)
            values = NativeParts(shapes)
            parts = open_parts(path, shapes, "parquet", values, kept, existing)
            values.begin(parts.folders)
            return parts
        encoders = {number: _encoder(format, {number: s}) for number, s in shapes.items()}

        def document(number: int, table: pa.Table) -> Iterable[bytes]:
            encoder = encoders[number]
            yield encoder.header()
            yield from encoder.pieces({number: table}, first=True)
            yield encoder.footer()

        return open_parts(path, shapes, _suffix(format), document, kept, existing)
    if format == "parquet":
        if is_device(path):
            raise _no_parquet(path)
        return ParquetFile(path, shapes, kept, existing, native)
    return SingleFile(_encoder(format, shapes), path, kept, existing, asked)


def _encoder(format: str, shapes: dict[int, Shape]) -> Encoder:
    return TableText(shapes) if format == "table" else ENCODERS[format](shapes)


def _to_standard_output(format: str, shapes: dict[int, Shape]) -> Sink:
    if format == "parquet":
        raise _no_parquet("standard output")
    if sys.stdout is None:
        raise UsageError("standard output is closed", hint="name a file or a directory with --out")
    if format == "table" and sys.stdout.isatty():
        return Terminal(TableText(shapes))
    return StandardOutput(_encoder(format, shapes))


def _no_parquet(place: str | Path) -> UsageError:
    return UsageError(f"Parquet cannot be written to {place}", hint="name a file or a directory with --out")
