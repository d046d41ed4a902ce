"""Named arrays in one Arrow file, which processes map instead of reading it.

Each array is a record batch of one int64 column; what it is called and what it looks like stands in
the schema's metadata, beside some JSON of the writer's. A mapping is private: the pages are the
same memory in all processes, and one that is written to becomes the writer's own.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

_LINE = 64  # bytes of a cache line: arrays begin with one, as far as the format lets them
_WORD = 8
_BEFORE = 3  # batches that only fill a place


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: Any = None) -> None:
    """Writes arrays (int64 or uint8) and some JSON about them; a file of that name is replaced at once."""
    looks = [[name, array.dtype.name, array.shape] for name, array in arrays.items()]
    metadata = {"arrays": json.dumps(looks), "about": json.dumps(about)}
    schema = pa.schema([("word", pa.int64())], metadata=metadata)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pa.OSFile(os.fspath(aside), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            head = _begun(sink, writer, schema)
            for array in arrays.values():
                words = _words(array)
                # Behind it as many that the next array, which has a head too, begins with a cache line.
                spare = -(sink.tell() + 2 * head + words.nbytes) % _LINE // _WORD
                words = np.concatenate([words, np.zeros(spare, np.int64)]) if spare else words
                writer.write_batch(pa.record_batch([pa.array(words)], schema=schema))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _begun(sink: pa.NativeFile, writer: pa.RecordBatchWriter, schema: pa.Schema) -> int:
    """Writes batches before the first array, which then begins with a cache line; how long a head is."""

    def write(words: int) -> int:
        before = sink.tell()
        writer.write_batch(pa.record_batch([pa.array(np.zeros(words, np.int64))], schema=schema))
        return sink.tell() - before - words * _WORD

    write(1)  # with the schema before it
    head = write(1)
    write(1 + -(sink.tell() + 2 * head + _WORD) % _LINE // _WORD)
    return head


def _words(array: np.ndarray) -> np.ndarray:
    """An array's memory as int64, with zeros at its end if need be."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if not len(flat):  # a batch without words has a shorter head
        return np.zeros(1, np.int64)
    if flat.dtype == np.int64:
        return flat
    if flat.dtype != np.uint8:
        raise TypeError(f"arrays of {flat.dtype} are not kept")
    return np.concatenate([flat, np.zeros(-len(flat) % _WORD, np.uint8)]).view(np.int64)


class MappedArrays(Mapping[str, np.ndarray]):
    """The arrays of a file; they can be written to, and nobody else sees it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._buffer = pa.py_buffer(self._memory)
        self._reader = pa.ipc.open_file(self._buffer)
        metadata = self._reader.schema.metadata
        self.about: Any = json.loads(metadata[b"about"])
        self._looks = {
            name: (number, np.dtype(kind), tuple(shape))
            for number, (name, kind, shape) in enumerate(json.loads(metadata[b"arrays"]), _BEFORE)
        }

    def __getitem__(self, name: str) -> np.ndarray:
        number, kind, shape = self._looks[name]
        [_, words] = self._reader.get_batch(number).column(0).buffers()
        count = math.prod(shape)
        if not count:
            return np.empty(shape, kind)
        # Arrow shows its buffers read-only; through the mapping itself they are not.
        place = words.address - self._buffer.address
        return np.frombuffer(self._memory, kind, count, place).reshape(shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._looks)

    def __len__(self) -> int:
        return len(self._looks)
