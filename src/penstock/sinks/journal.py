"""A file that is written in batches, each of them exactly once, also across crashes.

Before a batch is appended, the journal records how large the file was; afterwards, how
large it has become. Both reach the disk before the next step is done. When a batch comes
again, because the run stopped before Spark had noted that it was done, the file is first cut
back to where that batch began. The journal lives in the run's checkpoint directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from penstock.errors import InputError, UsageError

KEPT_BATCHES = 100
"""Spark repeats the last batch only; a few more are kept for restored checkpoints."""
LONGEST_JOURNAL = 5_000
_LAYOUT = "layout"


class Existing(StrEnum):
    """What becomes of an output that is there already, and that no checkpoint has begun."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    APPEND = "append"


def check_existing(path: Path, journal: Path | None, existing: Existing) -> None:
    """Refuse to replace what somebody else wrote, before anything is touched."""
    if existing is not Existing.REFUSE or (journal is not None and journal.exists()):
        return
    if path.is_file() and path.stat().st_size:
        raise UsageError(
            f"{path} exists already",
            hint="name another file; --overwrite replaces it, --append adds to it,"
            " and a run goes on with the --checkpoint that wrote it",
        )


class Journal:
    """Where each batch begins and ends in a file; lines of JSON, the last word counts.

    The first line says which output that is, and how it was laid out when it was begun (`layout`):
    a run that goes on with other queries must write what fits to that.
    """

    def __init__(self, path: Path, subject: dict[str, str], layout: dict[str, Any] | None = None) -> None:
        self.path = path
        self.subject = subject
        self.layout = layout or {}
        self.began: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self.continues = self._read()
        self._compact()

    @staticmethod
    def begun(path: Path) -> tuple[dict[str, str], dict[str, Any]] | None:
        """Which output a journal belongs to, and its layout; None if there is none."""
        records = _records(path)
        if not records:
            return None
        return records[0], records[0].pop(_LAYOUT, {})

    def _read(self) -> bool:
        """Takes up what an earlier run wrote; False if there is nothing."""
        records = _records(self.path)
        if not records:
            return False
        begun = dict(records[0])
        layout = begun.pop(_LAYOUT, {})
        if begun != self.subject:
            was = ", ".join(f"{k} {v}" for k, v in begun.items())
            now = ", ".join(f"{k} {v}" for k, v in self.subject.items())
            raise InputError(
                f"the checkpoint belongs to another output: {was}; this run has {now}",
                hint="use the same --out and --format, or another --checkpoint directory",
            )
        self.layout = layout
        for record in records[1:]:
            self._apply(record)
        return True

    def lay_out(self, layout: dict[str, Any]) -> None:
        """Notes that the output is laid out in another way from now on."""
        if layout != self.layout:
            self.layout = layout
            self._compact()

    def _apply(self, record: dict[str, int]) -> None:
        batch = record["batch"]
        if "begin" in record:
            # A batch that comes again takes back what was written since it first began.
            for known in [b for b in self.began if b >= batch]:
                del self.began[known]
                self.ended.pop(known, None)
            self.began[batch] = record["begin"]
        else:
            self.ended[batch] = record["end"]

    def _compact(self) -> None:
        """Writes the journal anew with its last batches only."""
        kept = sorted(self.began)[-KEPT_BATCHES:]
        self.began = {batch: self.began[batch] for batch in kept}
        self.ended = {batch: self.ended[batch] for batch in kept if batch in self.ended}
        records: list[dict] = [self.subject | ({_LAYOUT: self.layout} if self.layout else {})]
        for batch in kept:
            records.append({"batch": batch, "begin": self.began[batch]})
            if batch in self.ended:
                records.append({"batch": batch, "end": self.ended[batch]})
        text = "".join(json.dumps(record) + "\n" for record in records)
        write_atomically(self.path, (text.encode(),))
        self.lines = len(records)

    def _append(self, record: dict[str, int]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
            to_disk(file)
        self._apply(record)
        self.lines += 1
        if self.lines > LONGEST_JOURNAL and "end" in record:
            self._compact()

    def begin(self, batch: int, size: int) -> None:
        self._append({"batch": batch, "begin": size})

    def end(self, batch: int, size: int) -> None:
        self._append({"batch": batch, "end": size})

    def start_of(self, batch: int) -> int | None:
        """Where a batch begins that was begun before (or, failing that, a later one)."""
        later = [known for known in self.began if known >= batch]
        return self.began[min(later)] if later else None

    def size(self) -> int | None:
        """How much of the file is certain: up to the end of the last batch, if it has one."""
        if not self.began:
            return None
        last = max(self.began)
        return self.ended.get(last, self.began[last])


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            break  # the last line may be torn by a crash; what it said had not begun
    return records


class JournaledFile:
    """A file of header, batches and footer. Without a journal it is not continued after a crash."""

    def __init__(
        self,
        path: Path,
        journal: Journal | None,
        header: bytes = b"",
        footer: bytes = b"",
        existing: Existing = Existing.REFUSE,
    ) -> None:
        self.path = path
        self.journal = journal
        self.header_size = len(header)
        self.footer = footer
        self.earlier = False  # another run's document is still complete, up to its footer
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/null, a pipe: takes nothing back
            self.journal = None
            self.file: BinaryIO = path.open("wb")
            self.position = self._write((header,))
            return
        certain = journal.size() if journal is not None and journal.continues else None
        if certain is not None:
            present = path.stat().st_size if path.exists() else 0
            if present < certain:
                raise InputError(
                    f"{path} is shorter than the checkpoint says: answers in it were lost",
                    hint="restore the file, or begin anew with another --checkpoint directory",
                )
            self.file = path.open("r+b")
            self._cut(certain)
            return
        # A run of this checkpoint that stopped before its first batch may have begun to append.
        begun = 0 if existing is Existing.OVERWRITE else self._end_of_earlier(header)
        self.file = path.open("r+b" if begun else "w+b")
        self.earlier = begun > 0
        self.position = begun or self._write((header,))
        to_disk_directory(path.parent)

    def _end_of_earlier(self, header: bytes) -> int:
        """Where to go on in a document that is there: before its footer; 0 if there is none."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if not size:
            return 0
        with self.path.open("rb") as file:
            head = file.read(len(header))
            file.seek(-1 - len(self.footer) if size > len(self.footer) else 0, os.SEEK_END)
            tail = file.read()
        if size <= len(header) and header.startswith(head):
            return 0  # nothing but a header, maybe a torn one
        end = size - len(self.footer)
        if head != header:
            reason = "it has other columns or prefixes, or another format"
        elif not tail.endswith(self.footer):
            reason = "it is not complete"
        elif not self.footer and end > len(header) and not tail.endswith(b"\n"):
            reason = "its last line is not complete"
        else:
            return end
        raise UsageError(
            f"cannot append to {self.path}: {reason}",
            hint="name another file, or replace it with --overwrite",
        )

    @property
    def only_header(self) -> bool:
        return self.position == self.header_size

    def prepare(self, batch: int) -> None:
        """Cuts off what an earlier attempt at this batch (and later ones) left behind."""
        start = self.journal.start_of(batch) if self.journal is not None else None
        if start is not None:
            self._cut(start)

    def append(self, batch: int, data: Iterable[bytes]) -> None:
        """Adds the data of a prepared batch, in pieces; on return it is on the disk."""
        pieces = iter(data)
        first = next(pieces, b"")
        if not first and (self.journal is None or self.journal.start_of(batch) is None):
            return  # nothing to add and nothing to take back: spare the disk
        if self.journal is not None:
            self.journal.begin(batch, self.position)
        if self.earlier:
            self._cut(self.position)
            self.earlier = False
        try:
            self.position += self._write(chain((first,), pieces))
        except BaseException:
            self._take_back()
            raise
        if self.journal is not None:
            self.journal.end(batch, self.position)

    def close(self) -> None:
        """Ends the document. A later run cuts the footer off again and goes on."""
        if self.file.closed:
            return  # writing has failed, and there is nothing to end
        try:
            if not self.earlier:
                self._write((self.footer,))
        finally:
            with contextlib.suppress(OSError):  # what is buffered cannot be written either
                self.file.close()

    def _write(self, pieces: Iterable[bytes]) -> int:
        size = sum(map(self.file.write, pieces))
        to_disk(self.file)
        return size

    def _take_back(self) -> None:
        """Leaves no half of a batch behind, on a full disk say: readers see whole answers."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self.path.is_file():
            os.truncate(self.path, self.position)
            self.file = self.path.open("r+b")
            self.file.seek(self.position)

    def _cut(self, size: int) -> None:
        self.file.truncate(size)
        self.file.seek(size)
        to_disk(self.file)
        self.position = size


def to_disk(file) -> None:
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # devices and pipes cannot
        os.fsync(file.fileno())


def to_disk_directory(path: Path) -> None:
    """Makes a file's creation or renaming durable: its name is in the directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, pieces: Iterable[bytes]) -> None:
    """Either the whole new content is there afterwards or the old one, nothing between."""
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.writelines(pieces)
        to_disk(file)
    os.replace(unfinished, path)
    to_disk_directory(path.parent)
