"""Standard input as a durable log: kept in files, so that a restart can read it again.

What comes in is written to a file, which the source follows like any that grows. After a
restart with the same checkpoint, standard input is taken as the continuation of what came
before.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from penstock.decode.formats import SUFFIXES, Format, format_named
from penstock.sources.segments import ENDED
from penstock.sources.streams import OF_LINES, StreamSpec

_CHUNK = 1 << 20


class Spool(threading.Thread):
    """Copies a file descriptor into the spool directory until it ends."""

    def __init__(self, spec: StreamSpec, directory: Path, descriptor: int = 0) -> None:
        super().__init__(name="penstock-spool", daemon=True)
        form = format_named(spec.format) if spec.format else Format.NQUADS
        self.of_lines = form in OF_LINES
        self.suffix = next(suffix for suffix, each in SUFFIXES.items() if each is form)
        self.directory = directory
        self.descriptor = descriptor
        self.problem: OSError | None = None
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ENDED).unlink(missing_ok=True)
        self._number = len(list(directory.glob("input-*")))

    def run(self) -> None:
        try:
            if self.of_lines:
                self._copy_lines()
            else:
                self._copy_whole()
            (self.directory / ENDED).touch()
        except OSError as problem:
            self.problem = problem

    def _next_file(self) -> Path:
        self._number += 1
        return self.directory / f"input-{self._number:06d}{self.suffix}"

    def _copy_lines(self) -> None:
        # One file, however long: a new one could begin in the middle of an element.
        out = os.open(self._next_file(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            while data := os.read(self.descriptor, _CHUNK):
                _write_all(out, data)
        finally:
            os.close(out)

    def _copy_whole(self) -> None:
        aside = self.directory / ".incoming"
        with open(aside, "wb") as out:
            while data := os.read(self.descriptor, _CHUNK):
                out.write(data)
        os.replace(aside, self._next_file())


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
