"""Generated universities into a file, a directory with a file for each, or an open file."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from penstock.decode.formats import Compression, split_suffixes
from penstock.errors import UsageError, storing
from penstock.scenarios.lubm.generating import Lubm

STANDARD_OUTPUT = "-"
_GZIP_LEVEL = 4  # twice as fast as the default, and 5 % larger

Progress = Callable[[int, int], None]
"""Is called with the universities that are done and the triples so far."""


def write(data: Lubm, out: str, progress: Progress = lambda universities, triples: None) -> int:
    """Writes the data where `out` says (a file, a directory, or -); how many triples there were."""
    if out == STANDARD_OUTPUT:
        triples = write_to(data, sys.stdout.buffer, progress)
        sys.stdout.buffer.flush()
        return triples
    path = Path(out)
    with storing(out):
        if path.is_dir() or not path.suffix:
            return _write_directory(data, path, progress)
        compression = _compression(path, data.stream)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(path, compression) as file:
            return write_to(data, file, progress)


def write_to(data: Lubm, file: BinaryIO, progress: Progress = lambda universities, triples: None) -> int:
    """Writes all lines into an open file."""
    triples = 0
    for part in data.parts():
        file.write(part.text)
        triples += part.triples
        progress(part.university - data.index, triples)
    progress(data.universities, triples)
    return triples


def _compression(path: Path, stream: bool) -> Compression:
    ending, compression = split_suffixes(path.name)
    if ending not in (".nt", ".nq"):
        raise UsageError(
            f"{path}: what is generated is N-Triples or N-Quads",
            hint="a name that ends in .nt or .nq (also with .gz or .zst), a directory, or -",
        )
    if stream and ending == ".nt":
        raise UsageError(
            f"{path}: N-Triples have no graphs, and the elements of a stream are graphs",
            hint=f"name it {path.name.replace('.nt', '.nq')}",
        )
    return compression


@contextlib.contextmanager
def _opened(path: Path, compression: Compression) -> Iterator[BinaryIO | gzip.GzipFile]:
    with path.open("wb") as file:
        if compression is Compression.GZIP:
            with gzip.GzipFile(
                "", "wb", _GZIP_LEVEL, file, mtime=0
            ) as packed:  # no name, no date: same bytes
                yield packed
        elif compression is Compression.ZSTD:
            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


def _write_directory(data: Lubm, directory: Path, progress: Progress) -> int:
    """A file for each university; their names sort as the universities do."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise UsageError(
            f"{directory} is not empty", hint="whoever reads the directory would read all: name a new one"
        )
    digits = len(str(data.index + data.universities - 1))
    ending = "nq" if data.stream else "nt"
    triples, at = 0, -1
    with contextlib.ExitStack() as opened:
        for part in data.parts():
            if part.university != at:
                opened.close()
                at = part.university
                file = opened.enter_context((directory / f"university-{at:0{digits}d}.{ending}").open("wb"))
            file.write(part.text)
            triples += part.triples
            progress(at - data.index, triples)
    progress(data.universities, triples)
    return triples
