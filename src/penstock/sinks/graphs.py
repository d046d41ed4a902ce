"""Graphs written to files: N-Triples and N-Quads as bytes from columns, Turtle and TriG through pyoxigraph.

A file is complete or not there: it gets its name when it is written.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np
import pyarrow.compute as pc
import zstandard
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse, serialize

from penstock.columns.terms import TermTable
from penstock.columns.texts import constant
from penstock.errors import UsageError, storing

PORTION = 1 << 17
"""Triples that are texts at a time."""
FORMATS = {
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
}
_WITH_NAMES = (RdfFormat.N_QUADS, RdfFormat.TRIG)
_COMPRESSED = (".gz", ".zst")
_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True, eq=False)
class GraphColumns:
    """A graph to write: its name (None: the default graph), ids as (3, n), and their texts."""

    name: str | None
    triples: np.ndarray
    terms: TermTable


class GraphOutput:
    """Where graphs are to be written; what is wrong with the place is told before any work is done."""

    def __init__(self, place: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = None if str(place) == "-" else Path(place)
        self.form, self.compression = RdfFormat.N_QUADS, ""
        if self.path is None:
            return
        suffixes = [suffix.lower() for suffix in PurePath(place).suffixes]
        if suffixes and suffixes[-1] in _COMPRESSED:
            self.compression = suffixes.pop()
        if self.path.is_dir():
            raise UsageError(f"{place} is a directory, and graphs are written to a file")
        if self._is_device():
            return
        if not suffixes or suffixes[-1] not in FORMATS:
            raise UsageError(
                f"the ending of {place} names no format for triples",
                hint=f"use one of the endings {' '.join(FORMATS)} (also with .gz or .zst)",
            )
        self.form = FORMATS[suffixes[-1]]
        if not overwrite and self.path.exists() and self.path.stat().st_size:
            raise UsageError(
                f"{place} exists already", hint="name another file, or replace it with --overwrite"
            )

    def _is_device(self) -> bool:
        """/dev/null, a named pipe: takes bytes and keeps none."""
        return self.path is not None and self.path.exists() and not self.path.is_file()

    def check(self, names: Iterable[str | None]) -> None:
        """Refuse graphs with names where the format has none."""
        name = next((name for name in names if name is not None), None)
        if name is not None and self.form not in _WITH_NAMES:
            raise UsageError(
                f"there is a named graph, <{name}>, and {self.path} cannot hold it",
                hint="write .nq or .trig; --only-new writes no named graphs",
            )

    def write(self, graphs: Iterable[GraphColumns], *, portion: int = PORTION) -> int:
        """Writes the graphs; how many bytes (before compression) that were."""
        with storing(self.path or "standard output"), self._opened() as file:
            if self.form in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
                return sum(file.write(lines) for graph in graphs for lines in lines_of(graph, portion))
            serialize(_quads(graphs, portion), file, self.form, prefixes=_PREFIXES)
            return file.tell()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.path is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        if self._is_device():
            with self.path.open("wb") as file:
                yield file
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.unfinished")
        try:
            with unfinished.open("wb") as raw, self._compressing(raw) as file:
                yield file
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _compressing(self, raw: BinaryIO) -> contextlib.AbstractContextManager[Any]:
        if self.compression == ".gz":  # without a name and time in it: the same triples, the same bytes
            return gzip.GzipFile("", "wb", compresslevel=4, fileobj=raw, mtime=0)
        if self.compression == ".zst":
            return zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
        return contextlib.nullcontext(raw)


def lines_of(graph: GraphColumns, portion: int = PORTION) -> Iterator[memoryview]:
    """A graph as N-Triples or, if it has a name, N-Quads; a portion at a time."""
    end = ".\n" if graph.name is None else f"{_named(graph.name)} .\n"
    space, end = constant(b" "), constant(end.encode())
    for begin in range(0, graph.triples.shape[1], portion):
        texts = [graph.terms.texts(column[begin : begin + portion]) for column in graph.triples]
        lines = pc.binary_join_element_wise(*texts, end, space)
        _, offsets, data = lines.buffers()
        size = int(np.frombuffer(offsets, np.int64)[len(lines)])
        yield memoryview(data)[:size]


def _quads(graphs: Iterable[GraphColumns], portion: int) -> Iterator[Quad]:
    for graph in graphs:
        name = None if graph.name is None else _named(graph.name)
        grouped = graph.triples[:, np.lexsort(graph.triples[::-1])]
        for lines in lines_of(GraphColumns(None, grouped, graph.terms), portion):
            for quad in parse(lines.tobytes(), RdfFormat.N_TRIPLES):
                yield quad if name is None else Quad(quad.subject, quad.predicate, quad.object, name)


def _named(name: str) -> NamedNode | BlankNode:
    return BlankNode(name[2:]) if name.startswith("_:") else NamedNode(name)
