"""Where answers go: standard output, one file, or a directory with a file per batch.

Spark gives a batch again, with the same number, if the run stopped before it was noted as
done. A file and a directory hold each answer exactly once nevertheless; standard output
cannot take anything back and may show a batch twice after a crash.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.naming import distinct
from penstock.errors import InputError, UsageError
from penstock.sinks import journal
from penstock.sinks.answers import AnswerTables, Layout, Shape, in_portions, term_column
from penstock.sinks.formats import Encoder
from penstock.sinks.journal import Existing, Journal, JournaledFile, check_existing, write_atomically
from penstock.sinks.native import NativeTypes
from penstock.sinks.terminal import TableText

JOURNAL = "out.journal"
ANSWERS = "answers"
"""The parts of a Parquet file, in the checkpoint."""
EARLIER = ".earlier.parquet"
"""What was in the file before, among them."""
FOOTER, ASKED = "footer", "asked"
"""What a journal says of a file beside its columns: how it ends, and in whose place it stands."""


class Sink(ABC):
    """Takes the answers batch by batch."""

    moved: Path | None = None  # where answers go now, if the file that is asked for has other columns

    @abstractmethod
    def write(self, batch_id: int, answers: AnswerTables) -> None:
        """Takes one batch; on return its answers are safe. The same batch may come again."""

    @abstractmethod
    def close(self) -> None:
        """Completes the output. A later run with the same checkpoint may go on with it."""

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()


class StandardOutput(Sink):
    """Writes a document to standard output while it grows."""

    def __init__(self, encoder: Encoder, stream: BinaryIO | None = None) -> None:
        self.encoder = encoder
        self.stream = stream or sys.stdout.buffer
        self.first = True
        self.stream.write(encoder.header())
        self.stream.flush()

    def write(self, batch_id: int, answers: AnswerTables) -> None:
        for data in self.encoder.pieces(answers, first=self.first):
            self.first = False
            self.stream.write(data)
        self.stream.flush()

    def close(self) -> None:
        self.stream.write(self.encoder.footer())
        self.stream.flush()


class Terminal(Sink):
    """Shows the answers as tables, with colours where the terminal has them."""

    def __init__(self, encoder: TableText) -> None:
        self.encoder = encoder

    def write(self, batch_id: int, answers: AnswerTables) -> None:
        for part in in_portions(answers):
            self.encoder.show(part)

    def close(self) -> None:
        pass


class SingleFile(Sink):
    """One document that grows batch by batch, and is complete when it is closed."""

    def __init__(
        self,
        encoder: Encoder,
        path: Path,
        checkpoint: Path | None,
        existing: Existing = Existing.REFUSE,
        asked: Path | None = None,
    ) -> None:
        self.encoder = encoder
        check_existing(path, journal_in(checkpoint), existing)
        layout = encoder.laid_out() | {FOOTER: encoder.footer().decode()}
        if asked is not None:
            layout[ASKED] = str(asked.resolve())
        kept = open_journal(checkpoint, path, encoder.suffix, layout)
        if kept is not None and kept.continues:
            encoder.go_on({name: each for name, each in kept.layout.items() if name not in (FOOTER, ASKED)})
        self.file = JournaledFile(path, kept, encoder.header(), encoder.footer(), existing)

    def write(self, batch_id: int, answers: AnswerTables) -> None:
        self.file.prepare(batch_id)
        self.file.append(batch_id, self.encoder.pieces(answers, first=self.file.only_header))

    def close(self) -> None:
        self.file.close()


class Parts(Sink):
    """A directory of complete documents, `part-<batch>`; several queries have one each below.

    A batch without answers has no part. Parts appear whole or not at all.
    """

    def __init__(
        self,
        directory: Path,
        shapes: dict[int, Shape],
        suffix: str,
        document: Callable[[int, pa.Table], Iterable[bytes]],
        *,
        begun: Mapping[str, str] | None = None,
        existing: Existing = Existing.REFUSE,
    ) -> None:
        self.suffix = suffix
        self.document = document
        self.directory = directory
        self.names = folder_names(shapes.values(), begun)
        self.folders = {number: directory / self.names[shape.name] for number, shape in shapes.items()}
        known = {directory / name for name in (begun or {}).values()}
        if existing is not Existing.OVERWRITE:
            for folder in set(self.folders.values()) - known:
                self._refuse(folder, existing)
        for folder in self.folders.values():
            folder.mkdir(parents=True, exist_ok=True)
            for earlier in folder.glob(".part-*.tmp" if folder in known else "*part-*"):
                earlier.unlink()

    def _refuse(self, folder: Path, existing: Existing) -> None:
        """Keeps the parts of two runs apart: they have the same names."""
        if not any(folder.glob("part-*")):
            return
        raise UsageError(
            f"the directory {folder} already holds answers"
            + (", and a directory cannot be appended to" if existing is Existing.APPEND else ""),
            hint="name another one; --overwrite replaces the answers in it,"
            " and a run goes on with the --checkpoint that wrote them",
        )

    def part(self, number: int, batch_id: int) -> Path:
        return self.folders[number] / f"part-{batch_id:08d}.{self.suffix}"

    def write(self, batch_id: int, answers: AnswerTables) -> None:
        for number in self.folders:
            part = self.part(number, batch_id)
            table = answers.get(number)
            if table is not None and table.num_rows:
                write_atomically(part, self.document(number, table))
            else:
                part.unlink(missing_ok=True)

    def close(self) -> None:
        pass


class ParquetFile(Sink):
    """One Parquet file per run, put together at the end: its footer cannot be written before.

    The parts are kept in the checkpoint, so that a run that goes on writes all of it again.
    """

    def __init__(
        self,
        path: Path,
        shapes: dict[int, Shape],
        checkpoint: Path | None,
        existing: Existing = Existing.REFUSE,
        native: bool = False,
    ) -> None:
        self.path = path
        self.shapes = shapes
        self.native = native
        self.layout = Layout.of(shapes.values())
        begun = journal_in(checkpoint)
        check_existing(path, begun, existing)
        path.parent.mkdir(parents=True, exist_ok=True)
        if checkpoint is None:
            folder = self.scratch = Path(tempfile.mkdtemp(prefix="penstock-"))
        else:
            folder, self.scratch = checkpoint / ANSWERS, None
        self.earlier = folder / EARLIER
        if begun is None or not begun.exists():
            if checkpoint is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if existing is Existing.APPEND and path.exists() and path.stat().st_size:
                self._keep_earlier()
        # Last: what it has begun need not be looked at again.
        folders = folder_names(shapes.values(), None)
        layout = {"columns": self.layout.to_json(), "folders": folders}
        kept = open_journal(checkpoint, path, "native parquet" if native else "parquet", layout)
        if kept is not None and kept.continues:
            self.layout = Layout.from_json(kept.layout["columns"]).gone_on(shapes.values(), widened=True)
            folders = kept.layout["folders"]
        document = parquet_document(shapes, self.layout)
        self.parts = Parts(folder, shapes, "parquet", document, begun=folders, existing=Existing.OVERWRITE)
        if kept is not None:
            kept.lay_out({"columns": self.layout.to_json(), "folders": self.parts.names})

    def _keep_earlier(self) -> None:
        """Sets the answers aside that are to stand before this run's."""
        schema = parquet_schema(self.layout, self.layout.names)
        try:
            same = pq.read_schema(self.path).equals(schema)
        except pa.ArrowInvalid:
            same = False
        if not same:
            raise UsageError(
                f"cannot append to {self.path}: it has other columns, or is not Parquet",
                hint="name another file, or replace it with --overwrite",
            )
        self.earlier.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path, self.earlier)

    def write(self, batch_id: int, answers: AnswerTables) -> None:
        self.parts.write(batch_id, answers)

    def close(self) -> None:
        put_together(self.path, self.layout, self.parts.directory, self.parts.names, self.native)
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


def put_together(
    path: Path, layout: Layout, directory: Path, folders: Mapping[str, str], native: bool
) -> None:
    """Writes a Parquet file of its parts, in the order of their batches; also of queries that are no more."""
    found = [
        (query, part) for query, folder in folders.items() for part in (directory / folder).glob("part-*")
    ]
    parts = [("", directory / EARLIER)] if (directory / EARLIER).exists() else []
    parts += sorted(found, key=lambda each: (each[1].name, each[1].parent.name))
    schema = texts = parquet_schema(layout, layout.names)
    types = None
    if native:  # the parts are texts: all of them together say which type holds all values
        types = NativeTypes(layout.variables)
        for _, part in parts:
            types.add(pq.read_table(part))
        schema = types.decide().schema(texts)
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("wb") as file:
        with pq.ParquetWriter(file, schema) as writer:
            for query, part in parts:
                table = _widened(pq.read_table(part), texts, {layout.query: query})
                writer.write_table(types.converted(table) if types else table)
        journal.to_disk(file)
    os.replace(unfinished, path)
    journal.to_disk_directory(path.parent)


def parquet_schema(layout: Layout, names: list[str]) -> pa.Schema:
    """Terms in N-Triples notation, the interval as timestamps in UTC."""
    instant = pa.timestamp("us", tz="UTC")
    interval = (layout.start, layout.end)
    return pa.schema([(name, instant if name in interval else pa.string()) for name in names])


def parquet_document(
    shapes: dict[int, Shape], layout: Layout | None = None
) -> Callable[[int, pa.Table], Iterable[bytes]]:
    """Writes the table of one query as Parquet, in its own layout or a common one."""

    def document(number: int, table: pa.Table) -> Iterable[bytes]:
        yield _as_parquet(_laid_out(shapes[number], table, layout))

    return document


def _laid_out(shape: Shape, table: pa.Table, layout: Layout | None = None) -> pa.Table:
    """The table of one query with terms as texts, in its own layout or a common one."""
    laid_out = layout or Layout.of([shape])
    leading = [laid_out.query] if laid_out.query else []
    schema = parquet_schema(laid_out, [*leading, *laid_out.columns_of(shape)])
    terms = [term_column(table, at) for at in range(table.num_columns - 2)]
    interval = [table.column(at) for at in (-2, -1)]
    query = [pa.array([shape.name] * table.num_rows)] if leading else []
    columns = [
        column.cast(field.type) for column, field in zip([*query, *terms, *interval], schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _as_parquet(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(table, out)
    return out.getvalue().to_pybytes()


class NativeParts:
    """Writes tables with native values; the first part of a query says which types all have."""

    def __init__(self, shapes: dict[int, Shape]) -> None:
        self.shapes = shapes
        self.types: dict[int, NativeTypes] = {}

    def begin(self, folders: dict[int, Path]) -> None:
        """Goes on with the types of parts that are there."""
        for number, folder in folders.items():
            schemas = map(pq.read_schema, sorted(folder.glob("part-*.parquet")))
            columns = set(self.shapes[number].columns)
            first = next((schema for schema in schemas if columns <= set(schema.names)), None)
            if first is not None:
                self.types[number] = NativeTypes.of(first, self.shapes[number].columns)

    def __call__(self, number: int, table: pa.Table) -> Iterable[bytes]:
        laid_out = _laid_out(self.shapes[number], table)
        if number not in self.types:
            self.types[number] = NativeTypes(self.shapes[number].columns).add(laid_out).decide()
        yield _as_parquet(self.types[number].converted(laid_out))


def _widened(table: pa.Table, schema: pa.Schema, otherwise: Mapping[str | None, str]) -> pa.Table:
    """The table with all columns of the schema; the ones it lacks are null, or hold what is said."""

    def lacking(field: pa.Field) -> pa.Array:
        return pa.array([otherwise.get(field.name)] * table.num_rows, field.type)

    columns = [
        table.column(field.name) if field.name in table.column_names else lacking(field) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def journal_in(checkpoint: Path | None) -> Path | None:
    return checkpoint / JOURNAL if checkpoint is not None else None


def open_journal(
    checkpoint: Path | None, destination: Path, suffix: str, layout: dict[str, Any] | None = None
) -> Journal | None:
    """The journal of an output, in the checkpoint; it knows which output it belongs to, and its layout."""
    if checkpoint is None:
        return None
    if checkpoint.exists() and not checkpoint.is_dir():
        raise InputError(f"the checkpoint {checkpoint} is a file, and must be a directory")
    subject = {"out": str(destination.resolve()), "format": suffix}
    return Journal(checkpoint / JOURNAL, subject, layout)


def open_parts(
    directory: Path,
    shapes: dict[int, Shape],
    suffix: str,
    document: Callable[[int, pa.Table], Iterable[bytes]],
    checkpoint: Path | None,
    existing: Existing = Existing.REFUSE,
) -> Parts:
    """A directory of parts, which must be empty unless the checkpoint has begun to fill it."""
    begun = journal_in(checkpoint)
    if begun is not None and begun.exists():
        kept = open_journal(checkpoint, directory, suffix)
        parts = Parts(directory, shapes, suffix, document, begun=kept.layout["folders"], existing=existing)
        kept.lay_out({"folders": parts.names})
        return parts
    parts = Parts(directory, shapes, suffix, document, existing=existing)
    open_journal(checkpoint, directory, suffix, {"folders": parts.names})
    return parts


def folder_names(shapes: Collection[Shape], begun: Mapping[str, str] | None) -> dict[str, str]:
    """The folder of each query in a directory, also of those that were `begun` there and are no more.

    The one query of a run has the directory itself. What was begun stays where it is.
    """
    if begun is None and len(shapes) == 1:
        return {shape.name: "" for shape in shapes}
    found = dict(begun or {})
    new = [shape.name for shape in shapes if shape.name not in found]
    names = distinct([*found.values(), *map(file_name, new)])[len(found) :]
    return found | dict(zip(new, names, strict=True))


def file_name(query: str) -> str:
    """A query's name as a folder's name."""
    return re.sub(r"[^\w.-]+", "_", query).strip(".") or "query"


def numbered(shapes: Sequence[Shape]) -> dict[int, Shape]:
    return dict(enumerate(shapes))
