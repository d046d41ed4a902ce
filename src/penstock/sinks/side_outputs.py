"""What could not be used is never silently away: rejected lines, late elements, contradictions in elements.

All are JSON lines: one object per line, element or contradiction. A file appears only when
there is something to write. As with the answers, a batch that comes again is written once.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.errors import storage_error
from penstock.sinks.changed_outputs import take_back
from penstock.sinks.journal import Existing, Journal, JournaledFile, check_existing


class SideOutput:
    """One file of JSON lines, or just a count if there is no file."""

    def __init__(
        self,
        name: str,
        path: Path | None,
        checkpoint: Path | None,
        existing: Existing = Existing.REFUSE,
        finished: int | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.existing = existing
        self.journal_path = checkpoint / f"{name}.journal" if checkpoint is not None else None
        self.counts: dict[int, int] = {}
        self.file: JournaledFile | None = None
        self.finished = finished
        self.before: Path | None = None  # the file of an earlier run, if that is another one
        if path is None:
            return
        self.before = self._before() if finished is not None else None
        check_existing(path, None if self.before else self.journal_path, existing)
        _check_place(path)
        if self.journal_path is not None and self.journal_path.exists() and self.before is None:
            self._open()  # an earlier run wrote here; what its last batch left must be cut

    def _before(self) -> Path | None:
        """The other file that an earlier run of the checkpoint wrote to."""
        begun = Journal.begun(self.journal_path) if self.journal_path is not None else None
        if begun is None or begun[0] == {self.name: str(self.path.resolve())}:
            return None
        return Path(begun[0][self.name])

    def leave_before(self) -> None:
        """What an earlier run wrote to another file stays there, but for what comes again."""
        if self.before is not None:
            journal = Journal(self.journal_path, {self.name: str(self.before)})
            take_back(self.before, journal, self.finished)
            self.journal_path.unlink()
            self.before = None

    @property
    def count(self) -> int:
        """How many records this run has written."""
        return sum(self.counts.values())

    def write(self, batch_id: int, records: Iterable[Mapping[str, Any]]) -> None:
        lines = [json.dumps(record, ensure_ascii=False, default=str) for record in records]
        self._drop_earlier()
        self.counts[batch_id] = len(lines)
        if self.path is None or (self.file is None and not lines):
            return
        if self.file is None:
            self._open()
        assert self.file is not None
        self.file.prepare(batch_id)
        self.file.append(batch_id, ("".join(line + "\n" for line in lines).encode(),))

    def _drop_earlier(self) -> None:
        """What is to be replaced goes when the run gives its first batch, not before it can run."""
        replaced = self.existing is Existing.OVERWRITE and self.file is None and not self.counts
        if replaced and self.path is not None and self.path.is_file():
            self.path.unlink()

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def _open(self) -> None:
        assert self.path is not None
        journal = None
        if self.journal_path is not None:
            journal = Journal(self.journal_path, {self.name: str(self.path.resolve())})
        self.file = JournaledFile(self.path, journal, existing=self.existing)


def _check_place(path: Path) -> None:
    """Refuses a place that cannot be written before a run has gone on for hours and a first record comes."""
    there = next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())
    reason = 0 if os.access(there, os.W_OK) else errno.EACCES
    if there != path.absolute() and not there.is_dir():
        reason = errno.ENOTDIR
    if reason:
        raise storage_error(OSError(reason, os.strerror(reason)), path)


class SideOutputs:
    """The rejected lines, the late elements and the contradictions in elements of a run."""

    def __init__(
        self,
        rejected: Path | None = None,
        late: Path | None = None,
        checkpoint: Path | None = None,
        existing: Existing = Existing.REFUSE,
        inconsistent: Path | None = None,
        finished: int | None = None,
    ) -> None:
        self.inconsistent = SideOutput("inconsistent", inconsistent, checkpoint, existing, finished)
        self.rejected = SideOutput("rejected", rejected, checkpoint, existing, finished)
        self.late = SideOutput("late", late, checkpoint, existing, finished)

    def write(
        self,
        batch_id: int,
        rejected: Iterable[Mapping[str, Any]] = (),
        late: Iterable[Mapping[str, Any]] = (),
        inconsistent: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.inconsistent.write(batch_id, inconsistent)
        self.rejected.write(batch_id, rejected)
        self.late.write(batch_id, late)

    def leave_before(self) -> None:
        """Leaves the files that the checkpoint had so far, if these are others."""
        for each in (self.inconsistent, self.rejected, self.late):
            each.leave_before()

    def close(self) -> None:
        self.rejected.close()
        self.late.close()
        self.inconsistent.close()
