"""The file that a log of segments is kept in: appended to, and compacted.

Each line is a segment. What lies before the oldest position that a batch can still ask for is
dropped from time to time, but for the last segment of each file: that is what the file is known by,
and how far it was read. A log that has been compacted begins with a line that says which number its
first segment has, and how many lines follow that are only known by. It is written aside and moved,
so that whoever kills the run finds the log before or after, and never half of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from penstock.errors import InputError, storing
from penstock.sources.identity import Mark


@dataclass(frozen=True)
class Segment:
    """The bytes [start, end) of a file; `whole` if they can only be read in one piece.

    `path` is the name that the file had when it was first seen; `mark` tells it from others.
    """

    path: str
    start: int
    end: int
    whole: bool
    mark: Mark | None = None  # None: a file of our own, which nobody renames
    number: int = 0  # of its file: no two files of a stream have the same

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def file(self) -> tuple[str, int | None]:
        """Which file it is of, as far as a log must tell them apart."""
        return self.path, self.mark.inode if self.mark is not None else None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Segment:
        fields = json.loads(text)
        mark = fields.pop("mark")
        return cls(**fields, mark=Mark(**mark) if mark else None)


@dataclass
class Stored:
    """What a log holds."""

    first: int = 0  # the number of its first segment: as many were dropped
    known: list[Segment] = field(default_factory=list)  # the last one of each file, of those dropped
    missing: dict[int, float] = field(default_factory=dict)  # of these, since when their files are gone
    segments: list[Segment] = field(default_factory=list)


class SegmentFile:
    """A log's file; one process at a time writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Stored:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Stored()
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):  # the machine stopped while a line was written
            os.truncate(self.path, len(complete))
        lines = complete.splitlines()
        head = json.loads(lines[0]) if lines else {}
        if "first" not in head:
            return Stored(segments=[Segment.from_json(line) for line in lines])
        segments = [Segment.from_json(line) for line in lines[1:]]
        known = head["known"]
        if len(segments) < known:
            raise InputError(f"the checkpoint's {self.path} is damaged")
        missing = {int(place): since for place, since in head["missing"].items()}
        return Stored(head["first"], segments[:known], missing, segments[known:])

    def append(self, segments: Iterable[Segment]) -> None:
        with storing(f"the checkpoint's {self.path.name}"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a") as out:
                out.writelines(segment.to_json() + "\n" for segment in segments)
                out.flush()
                os.fsync(out.fileno())

    def replace(self, stored: Stored) -> None:
        """Write the whole log anew; what was there before stays until all of it is on the disk."""
        head = {"first": stored.first, "known": len(stored.known), "missing": stored.missing}
        aside = self.path.with_name(self.path.name + ".new")
        with storing(f"the checkpoint's {self.path.name}"):
            with open(aside, "w") as out:
                out.write(json.dumps(head) + "\n")
                out.writelines(each.to_json() + "\n" for each in (*stored.known, *stored.segments))
                out.flush()
                os.fsync(out.fileno())
            os.replace(aside, self.path)
            to_disk(self.path.parent)


def to_disk(path: str | os.PathLike[str]) -> None:
    """Bring a file or a directory to the disk: what a position refers to must survive the machine."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
