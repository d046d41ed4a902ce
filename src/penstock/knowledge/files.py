"""Files of static knowledge that may be replaced or extended while a run goes on.

A file is read again when it looks different (inode, size, time of change) and has rested for a moment:
who writes it in pieces has then made a pause. What cannot be read leaves the graphs as they were.
A run may also open a file while somebody writes it: what looks half written is waited for.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence

from penstock.decode.mapping.document import TableMap
from penstock.errors import InputError, PenstockError
from penstock.knowledge.graphs import StaticGraph, read_graphs

RESTED = 1.0
"""Seconds without a change after which a file is taken to be whole."""

PATIENCE = 10 * RESTED
"""Seconds for which a file is waited for that is being written when a run opens it."""

READ_AGAIN = 0.1
"""Seconds between two readings of such a file."""

_Look = tuple[int, int, int]


def _look(path: str) -> _Look | None:
    """What tells one state of a file from another; None if there is none, or a pipe (read only once)."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class GraphFile:
    """The graphs of one file as they are known now."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        iri: str | None = None,
        base: str | None = None,
        *,
        key: int = 0,
        map: TableMap | None = None,
        now: Callable[[], float] = time.time,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = os.fspath(path)
        self.iri = iri
        self.base = base
        self.key = key
        self.map = map
        self._known, self.graphs = self._open(now, wait)
        self._seen: tuple[_Look | None, float] = (self._known, 0.0)  # the last look, and since when

    def _open(
        self, now: Callable[[], float], wait: Callable[[float], None]
    ) -> tuple[_Look | None, list[StaticGraph]]:
        """How the file looks and what it says; read again as long as it seems that somebody is writing it."""
        last = now() + PATIENCE
        while True:
            look = _look(self.path)
            problem, found = None, []
            try:
                found = self._read()
            except InputError as raised:
                problem = raised
            after = _look(self.path)
            half = problem is not None or look != after or (look is not None and look[1] == 0)
            changing = after is not None and abs(now() - after[2] / 1e9) < RESTED
            if half and changing and now() < last:
                wait(READ_AGAIN)
            elif problem is not None:
                raise problem
            else:
                return look, found

    def _read(self) -> list[StaticGraph]:
        return read_graphs(self.path, self.iri, self.base, key=self.key, map=self.map)

    def news(self, now: float) -> bool:
        """Looks at the file, at a time in seconds since 1970; whether the graphs are others now.

        An `InputError` says what is wrong with a file that cannot be used; it is raised once.
        """
        look = _look(self.path)
        if look == self._known:
            return False
        if look != self._seen[0]:
            self._seen = (look, now)
        since = self._seen[1] if look is None else min(self._seen[1], look[2] / 1e9)
        if now - since < RESTED:
            return False
        if look is None:
            self._known = None
            raise InputError(f"{self.path} is not there any more: what was known from it still holds")
        try:
            found = self._read()
        except PenstockError as problem:
            if _look(self.path) == look:  # and not replaced or written to meanwhile
                self._known = look
                problem.hint = _join(problem.hint, "what was known from this file still holds")
                raise
            return False
        if _look(self.path) != look:
            return False
        self._known = look
        same = _contents(found) == _contents(self.graphs)
        self.graphs = found
        return not same


def _contents(graphs: Sequence[StaticGraph]) -> list[tuple[str | None, str]]:
    return [(graph.iri, graph.digest) for graph in graphs]


def _join(hint: str | None, more: str) -> str:
    return f"{hint}; {more}" if hint else more


class GraphFiles:
    """All static graphs of a run, in their order; those that were not read from files stay."""

    def __init__(self, parts: list[GraphFile | StaticGraph], now: Callable[[], float] = time.time) -> None:
        self.parts = parts
        self.now = now

    @property
    def graphs(self) -> list[StaticGraph]:
        found: list[StaticGraph] = []
        for part in self.parts:
            found += part.graphs if isinstance(part, GraphFile) else [part]
        return found

    @property
    def watched(self) -> bool:
        return any(isinstance(part, GraphFile) for part in self.parts)

    def news(self, report: Callable[[PenstockError], None]) -> bool:
        """Looks at all files; whether some have other graphs now. What is wrong with one is reported."""
        changed = False
        for part in self.parts:
            if isinstance(part, GraphFile):
                try:
                    changed = part.news(self.now()) or changed
                except PenstockError as problem:
                    report(problem)
        return changed
