"""Plans what each micro-batch reads: positions in all streams, and splits for the tasks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.sources.segments import SegmentLog
from penstock.sources.streams import StreamSpec

MEGABYTE = 1 << 20
SMALLEST_TASK = MEGABYTE // 2
LARGEST_SPLIT = 32 * MEGABYTE
LOOK_AGAIN = 0.05
"""Seconds between two looks at the files in follow mode."""

Offset = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """A piece of a stream that one task decodes.

    Of a segment that is cut by lines, it means the lines that begin in [start, end); the
    last of them may reach up to `segment_end`.
    """

    stream: int
    order: int  # its place in the batch
    path: str
    start: int
    end: int
    segment_start: int
    segment_end: int
    whole: bool


@dataclass(frozen=True)
class Task:
    """What one Spark task of a batch reads; the first also tells how far the streams are."""

    splits: tuple[Split, ...]
    control: Control | None = None


@dataclass(frozen=True)
class Control:
    """How far the streams are when this batch is through."""

    behind: tuple[int, ...]  # the streams with data that is there but not read yet
    ended: bool  # nothing will ever come after this batch


class SplitPlanner:
    """Decides from the files how far the next batch goes; the same offsets give the same splits.

    An offset is `{"at": [[segment, byte], …], "behind": [stream, …], "ended": bool}`, one
    position per stream.
    """

    def __init__(
        self,
        streams: list[StreamSpec],
        directory: Path,
        *,
        follow: bool,
        batch_bytes: int,
        parallelism: int,
    ) -> None:
        self.follow = follow
        self.batch_bytes = batch_bytes
        self.parallelism = parallelism
        self.logs = [
            SegmentLog(spec, directory / f"segments-{i}.log", directory / f"stdin-{i}")
            for i, spec in enumerate(streams)
        ]
        self._live = follow or any(spec.from_standard_input for spec in streams)
        self._next_look = 0.0

    def initial(self) -> Offset:
        return {"at": [[0, 0] for _ in self.logs], "behind": [], "ended": False}

    def latest(self, start: Offset) -> Offset:
        """Where the next batch should end; `start` itself if there is nothing to do."""
        finished = self._look()
        rest = [log.remaining(tuple(at)) for log, at in zip(self.logs, start["at"], strict=True)]
        if start["ended"]:
            if self.follow or any(rest):
                raise InputError(
                    "this checkpoint's streams were read to their end and answered as ended,"
                    " so nothing can be added to them",
                    hint="begin a new checkpoint directory; use --follow to add data later",
                )
            return start
        total = sum(rest)
        if total == 0 and not finished:
            return start
        # Streams share a batch by what is left of each, so that they reach their ends together.
        at = [
            log.advance(tuple(position), -(-left * min(self.batch_bytes, total) // total))
            if left
            else tuple(position)
            for log, position, left in zip(self.logs, start["at"], rest, strict=True)
        ]
        behind = [i for i, log in enumerate(self.logs) if log.remaining(at[i]) > 0]
        return {
            "at": [list(position) for position in at],
            "behind": behind,
            "ended": finished and not behind,
        }

    def _look(self) -> bool:
        """Look for news in the files; whether nothing more can come than what is known now."""
        if not self._live:
            if self._next_look == 0.0:
                self._next_look = float("inf")  # read to the end that the files have at the start
                for log in self.logs:
                    log.discover(follow=False)
            return True
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_AGAIN
        # Asked before looking: what came before the mark of the end was set is then seen.
        finished = not self.follow and all(log.finished for log in self.logs)
        for log in self.logs:
            log.discover(follow=self.follow)
        return finished

    def tasks(self, start: Offset, end: Offset) -> list[Task]:
        """The work of one batch: splits of even size, in order, the control in the first."""
        ranges = [
            (stream, each)
            for stream, log in enumerate(self.logs)
            for each in log.ranges(tuple(start["at"][stream]), tuple(end["at"][stream]))
        ]
        total = sum(each.end - each.start for _, each in ranges)
        share = max(SMALLEST_TASK, -(-total // self.parallelism))
        piece = min(share, LARGEST_SPLIT)
        tasks: list[list[Split]] = [[]]
        filled = order = 0
        for stream, each in ranges:
            at = each.start
            while at < each.end:
                stop = each.end if each.segment.whole else min(at + piece, each.end)
                if not each.segment.whole and each.end - stop < piece // 8:
                    stop = each.end  # no crumbs
                if filled >= share - piece // 8:
                    tasks.append([])
                    filled = 0
                tasks[-1].append(
                    Split(
                        stream, order, each.segment.path, at, stop,
                        each.segment.start, each.segment.end, each.segment.whole,
                    )
                )  # fmt: skip
                order += 1
                filled += stop - at
                at = stop
        control = Control(tuple(end["behind"]), bool(end["ended"]))
        return [Task(tuple(splits), control if i == 0 else None) for i, splits in enumerate(tasks)]
