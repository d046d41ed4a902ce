"""Batches of a Parquet file in portions whose texts fit into memory.

A text that a dictionary holds once may stand in a hundred thousand rows. So columns are read as
dictionaries, and only as many rows are written out at a time as have some megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.decode.mapping.cells import is_text

PORTION = 32 << 20
"""Bytes of text that are written out at a time, unless a single row has more."""
_ROWS = 1 << 17
LONG = 64 << 10
"""Bytes of a text from which on it matters how often a dictionary repeats it."""


def rows_at_a_time(parquet: pq.ParquetFile) -> int:
    """How many rows to ask for, by what the row groups say about their size."""
    groups = [parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1)
    return int(min(_ROWS, max(1, PORTION / max(1, widest))))


def room_for_long_texts(parquet: pq.ParquetFile, more: int) -> int:
    """How many bytes the long texts of a file may have: as many as are stored, and some more by repeating."""
    return more + sum(parquet.metadata.row_group(i).total_byte_size for i in range(parquet.num_row_groups))


def long_texts(batch: pa.RecordBatch) -> np.ndarray:
    """How many bytes of long texts each row has."""
    sizes = np.zeros(len(batch), np.int64)
    for lengths in _lengths(batch):
        sizes += np.where(lengths > LONG, lengths, 0)
    return sizes


def portions(batch: pa.RecordBatch, most: int = PORTION) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in their order, without dictionaries, some at a time."""
    sizes = sum(_lengths(batch), np.zeros(len(batch), np.int64))
    reached = np.concatenate([[0], np.cumsum(sizes)])
    begin = 0
    while begin < len(batch):
        end = int(np.searchsorted(reached, reached[begin] + most, side="right")) - 1
        end = min(max(end, begin + 1), len(batch))
        yield _written_out(batch.slice(begin, end - begin))
        begin = end


def _lengths(batch: pa.RecordBatch) -> Iterator[np.ndarray]:
    """The lengths of the texts of each column that is a dictionary."""
    for column in batch.columns:
        if _of_texts(column.type):
            lengths = pc.binary_length(column.dictionary.cast(pa.large_binary())).take(column.indices)
            yield pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)


def _written_out(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        column.cast(pa.large_string()) if _of_texts(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _of_texts(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) and is_text(kind.value_type)
