"""DataFrames (pandas, Polars, Arrow and Spark); as streams, kept as Parquet files that tasks can share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import InputError, UsageError

ROWS_IN_A_FILE = 1 << 18
"""A file is one piece of work, so a large frame is cut into several."""


def is_frame(value: Any) -> bool:
    """Whether something is a table in memory."""
    return (
        isinstance(value, pa.RecordBatch)
        or hasattr(value, "__arrow_c_stream__")
        or _is_spark(value)
        or _is_lazy(value)
    )


def _is_lazy(value: Any) -> bool:
    return type(value).__module__.startswith("polars") and hasattr(value, "collect")


def _is_spark(value: Any) -> bool:
    return type(value).__module__.startswith("pyspark.sql") and hasattr(value, "toArrow")


def reader_of(frame: Any) -> pa.RecordBatchReader:
    """A frame as batches of Arrow columns."""
    if _is_spark(frame):
        if frame.isStreaming:
            raise UsageError(
                "a streaming DataFrame cannot be read by an engine, which makes its own streaming query",
                hint="write it to files (writeStream, Parquet or JSON) and give their directory, with follow",
            )
        return frame.toArrow().to_reader()
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]).to_reader()
    if _is_lazy(frame):
        frame = frame.collect()
    names = [str(name) for name in getattr(frame, "columns", ()) if isinstance(name, (str, int))]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the DataFrame has two columns called {twice!r}", hint="rename one of them")
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        reason = str(problem).split("\n", 1)[0]
        raise InputError(
            f"the DataFrame has a column that Arrow cannot hold: {reason}",
            hint="give the values of each column one type",
        ) from None


def write_frame(batches: pa.RecordBatchReader, directory: Path, rows: int = ROWS_IN_A_FILE) -> None:
    """Writes a frame as Parquet files of so many rows, in their order."""
    directory.mkdir(parents=True)
    for number, table in enumerate(_pieces(batches, rows)):
        pq.write_table(table, directory / f"part-{number:08d}.parquet", version="2.6", coerce_timestamps=None)


def _pieces(batches: pa.RecordBatchReader, rows: int) -> Iterator[pa.Table]:
    waiting, count = [], 0
    for batch in batches:
        while len(batch):
            some = batch.slice(0, rows - count)
            waiting.append(some)
            count += len(some)
            batch = batch.slice(len(some))
            if count == rows:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
