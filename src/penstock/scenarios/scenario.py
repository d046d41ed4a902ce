"""What a scenario is: a generated stream, the queries that find something in it, and what a match means."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Match = tuple[Mapping[str, str], int, int]
"""IRIs by variable, start and end."""
Tell = Callable[[str, Iterable[Match]], Iterator[tuple[int, int, str]]]
"""A query's name and its matches to (start, end, sentence)."""


@dataclass(frozen=True)
class Data:
    """Where a scenario's streams and static graphs are, each with its IRI."""

    streams: tuple[tuple[str | None, Path], ...]
    graphs: tuple[tuple[str | None, Path], ...] = ()

    def options(self) -> list[str]:
        """As `penstock run` takes them."""
        return [
            f"--{kind} {shlex.quote(str(path) if iri is None else f'{iri}={path}')}"
            for kind, places in (("stream", self.streams), ("graph", self.graphs))
            for iri, path in places
        ]


@dataclass(frozen=True)
class Scenario:
    """A story to watch: what each query looks for, and the streams in which it finds it."""

    name: str
    title: str
    about: str  # the streams
    queries: tuple[tuple[Path, str], ...]  # a file, and what it looks for in one sentence
    write: Callable[[Path], Data]  # into a directory
    batch_bytes: int  # small batches, so that matches appear one after the other as in a live stream
    tell: Tell | None = None  # otherwise matches are shown as tables
