"""Standard input as a durable log: kept in files, so that a restart can read it again.

What comes in is written to files, which the source follows like any that grow; it brings them to
the disk before a batch refers to them, and deletes what no batch can ask for any more. After a
restart with the same checkpoint, standard input is taken as the continuation of what came before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from penstock.decode.formats import SUFFIXES, Format, format_named
from penstock.sources.segments import ENDED
from penstock.sources.streams import OF_LINES, StreamSpec

_CHUNK = 1 << 20
_TAIL = 1 << 16
_MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}  # no text begins so
_LONGEST_MAGIC = max(map(len, _MAGIC.values()))
PART = 64 << 20
"""Bytes after which a new file is begun, so that what has been read can be deleted."""


class Spool(threading.Thread):
    """Copies a file descriptor into the spool directory until it ends.

    What is compressed is known by its first bytes, and is kept as it is.
    """

    def __init__(self, spec: StreamSpec, directory: Path, descriptor: int = 0, part: int = PART) -> None:
        super().__init__(name="penstock-spool", daemon=True)
        self.form = format_named(spec.format) if spec.format else Format.NQUADS
        self.suffix = next(suffix for suffix, each in SUFFIXES.items() if each is self.form)
        self.spec = spec
        self.directory = directory
        self.descriptor = descriptor
        self.part = part
        self.problem: OSError | None = None
        self._first = b""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ENDED).unlink(missing_ok=True)
        names = (path.name.split(".")[0] for path in directory.glob("input-*"))
        self._number = max((int(name.removeprefix("input-")) for name in names), default=0)

    def run(self) -> None:
        try:
            self._first = self._read_first()
            if compressed := next((s for s, magic in _MAGIC.items() if self._first.startswith(magic)), ""):
                self.suffix += compressed
                self._copy_whole()
            elif self.form in OF_LINES:
                self._copy_lines()
            else:
                self._copy_whole()
            (self.directory / ENDED).touch()
        except OSError as problem:
            self.problem = problem

    def _read_first(self) -> bytes:
        first = b""
        while len(first) < _LONGEST_MAGIC and (data := os.read(self.descriptor, _CHUNK)):
            first += data
            if not any(magic.startswith(first[: len(magic)]) for magic in _MAGIC.values()):
                break
        return first

    def _chunks(self) -> Iterator[bytes]:
        data, self._first = self._first, b""
        while data or (data := os.read(self.descriptor, _CHUNK)):
            yield data
            data = b""

    def _next_file(self) -> Path:
        self._number += 1
        return self.directory / f"input-{self._number:06d}{self.suffix}"

    def _copy_lines(self) -> None:
        out, size, before = _opened(self._next_file()), 0, b""
        try:
            for data in self._chunks():
                cut = self._cut(before, data) if size >= self.part else None
                _write_all(out, data[:cut])
                if cut is not None:
                    os.close(out)
                    out, size = _opened(self._next_file()), 0
                    _write_all(out, data[cut:])
                size += len(data)
                before = (before + data)[-_TAIL:]
        finally:
            os.close(out)

    def _cut(self, before: bytes, data: bytes) -> int | None:
        """Where the next file may begin in some data: not in the middle of a line or an element."""
        from penstock.decode.splitting import align  # brings in the compiled code of decoding

        text = before + data
        at = align(text, max(1, len(before)), self.form, self.spec.times())
        return at - len(before) if at < len(text) else None

    def _copy_whole(self) -> None:
        aside = self.directory / ".incoming"
        with open(aside, "wb") as out:
            for data in self._chunks():
                out.write(data)
        os.replace(aside, self._next_file())


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
