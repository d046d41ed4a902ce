"""Plans what each micro-batch reads: positions in all streams, and splits for the tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.knowledge.versions import KNOWLEDGE, forget_versions, versions_in
from penstock.sources.identity import Mark, place_of
from penstock.sources.pace import Pace, Pacer, wall_clock
from penstock.sources.segments import COMPACT_AFTER, SegmentLog
from penstock.sources.streams import StreamSpec, spool_directory

MEGABYTE = 1 << 20
SMALLEST_TASK = MEGABYTE // 2
LARGEST_SPLIT = 32 * MEGABYTE
LOOK_AGAIN = 0.05
"""Seconds between two looks at the files in follow mode."""

Offset = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """A piece of a stream that one task decodes.

    Of a segment that is cut by lines, it means the elements that begin in [start, end); the
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
    not_after: int | None = None  # elements that end later are too far ahead of the clock
    mark: Mark | None = None  # which file it is, whatever its name is by now
    number: int = 0  # of the file: no two files of a stream have the same
    not_before: int | None = None  # elements that ended earlier are too far in the past

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Split:
        mark = fields["mark"]
        return cls(**fields | {"mark": Mark(**mark) if mark else None})

    def place(self) -> str | None:
        """Where its file is now; None if its bytes are gone."""
        return self.path if self.mark is None else place_of(self.path, self.mark)


@dataclass(frozen=True)
class Task:
    """What one Spark task of a batch reads; the first also tells how far the streams are."""

    splits: tuple[Split, ...]
    control: Control | None = None
    knowledge: int = 0  # the version of static knowledge that holds for the elements


@dataclass(frozen=True)
class Control:
    """How far the streams are when this batch is through."""

    counts: tuple[int, ...]  # the streams that hold time back
    silence: tuple[int, ...]  # for how long time went on without data, by stream
    ended: bool  # nothing will ever come after this batch
    knowledge: int = 0  # the version of static knowledge that holds


class SplitPlanner:
    """Decides from the files how far the next batch goes; the same offsets give the same splits.

    An offset is `{"at": [[segment, byte], …], "ended": bool, "knowledge": int, …}`, one position per
    stream, the version of static knowledge that holds up to it, and the fields of `Pace`.
    """

    def __init__(
        self,
        streams: list[StreamSpec],
        directory: Path,
        *,
        follow: bool,
        batch_bytes: int,
        parallelism: int,
        idle: int | None = None,
        ahead: int | None = None,
        tick: bool = False,
        not_before: int | None = None,
        clock: Callable[[], int] = wall_clock,
        compact_after: int = COMPACT_AFTER,
    ) -> None:
        self.follow = follow
        self.batch_bytes = batch_bytes
        self.parallelism = parallelism
        self.ahead = ahead
        self.not_before = not_before
        self.pacer = Pacer(len(streams), idle=idle, tick=tick, clock=clock)
        self.logs = [
            SegmentLog(
                spec,
                directory / f"segments-{i}.log",
                spool_directory(directory, i),
                compact_after=compact_after,
            )
            for i, spec in enumerate(streams)
        ]
        self.knowledge = directory / KNOWLEDGE
        self._over = [False] * len(streams)  # nothing more can come than what is known
        self._looked = False
        self._next_look = 0.0
        self._lock = threading.RLock()
        self._problem: Exception | None = None  # what a look of the watch ended with

    def watch(self) -> None:
        """Look by itself from now on: files come and go while a batch runs."""

        def look() -> None:
            while self._problem is None:
                try:
                    with self._lock:
                        self._look()
                except Exception as problem:  # noqa: BLE001 — raised again by `latest`
                    self._problem = problem
                time.sleep(LOOK_AGAIN)

        threading.Thread(target=look, name="penstock-watch", daemon=True).start()

    def initial(self) -> Offset:
        return _offset([(0, 0) for _ in self.logs], self.pacer.initial(), False, 0)

    def latest(self, start: Offset) -> Offset:
        """Where the next batch should end; `start` itself if there is nothing to do."""
        with self._lock:
            if self._problem is not None:
                raise self._problem
            self._look()
            return self._next(start)

    def _next(self, start: Offset) -> Offset:
        finished = all(self._over)
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
        # Streams share a batch by what is left of each, so that they reach their ends together.
        at = [
            log.advance(tuple(position), -(-left * min(self.batch_bytes, total) // total))
            if left
            else tuple(position)
            for log, position, left in zip(self.logs, start["at"], rest, strict=True)
        ]
        behind = [log.remaining(position) > 0 for log, position in zip(self.logs, at, strict=True)]
        over = [over and not left for over, left in zip(self._over, behind, strict=True)]
        last = _pace(start)
        pace = self.pacer.after(last, [left > 0 for left in rest], behind, over)
        knowledge = max(start["knowledge"], *versions_in(self.knowledge)[-1:], 0)
        news = knowledge > start["knowledge"] or self.pacer.is_news(last, pace)
        if total == 0 and not finished and not news:
            return start
        return _offset(at, pace, finished and not any(behind), knowledge)

    def _look(self) -> None:
        """Look for news in the files that may have some."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_AGAIN
        for i, log in enumerate(self.logs):
            live = self.follow or log.spec.from_standard_input
            if live or not self._looked:  # a file is read to the end that it has at the start
                # Asked before looking: what came before the mark of the end was set is then seen.
                over = not self.follow and log.finished
                log.discover(follow=self.follow)
                self._over[i] = over
        self._looked = True

    def done(self, end: Offset) -> None:
        """No batch will ask again for what lies before an offset."""
        with self._lock:
            for log, at in zip(self.logs, end["at"], strict=True):
                log.trim(tuple(at))
            # The state that the next batch begins with has come about with this one.
            forget_versions(self.knowledge, end["knowledge"])

    def tasks(self, start: Offset, end: Offset) -> list[Task]:
        """The work of one batch: splits of even size, in order, the control in the first."""
        with self._lock:
            return self._tasks(start, end)

    def _tasks(self, start: Offset, end: Offset) -> list[Task]:
        ranges = [
            (stream, each)
            for stream, log in enumerate(self.logs)
            for each in log.ranges(tuple(start["at"][stream]), tuple(end["at"][stream]))
        ]
        total = sum(each.end - each.start for _, each in ranges)
        share = max(SMALLEST_TASK, -(-total // self.parallelism))
        piece = min(share, LARGEST_SPLIT)
        not_after = None if self.ahead is None else end["clock"] + self.ahead
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
                        not_after, each.segment.mark, each.segment.number, self.not_before,
                    )
                )  # fmt: skip
                order += 1
                filled += stop - at
                at = stop
        knowledge = end["knowledge"]
        control = Control(tuple(end["counts"]), tuple(end["silence"]), bool(end["ended"]), knowledge)
        return [
            Task(tuple(splits), None if number else control, knowledge) for number, splits in enumerate(tasks)
        ]


def _offset(at: list[tuple[int, int]], pace: Pace, ended: bool, knowledge: int) -> Offset:
    return {"at": [list(position) for position in at], "ended": ended, "knowledge": knowledge} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(pace).items()
    }


def _pace(offset: Offset) -> Pace:
    return Pace(offset["clock"], tuple(offset["since"]), tuple(offset["counts"]), tuple(offset["silence"]))
