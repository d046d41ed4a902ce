"""Which streams hold time back after a batch: decided once, by the clock, and recorded.

A stream counts until it is over or has been silent for as long as `idle` says. What is decided
stands in the batch's offset, so a batch that is repeated after a crash repeats it, whatever the
clock says then. Silence is only what this planner has listened to: the time in which nothing ran
makes no stream idle. Decision 0005 has the definition.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SHORTEST_TICK = 1_000_000
"""Microseconds between two batches without data, at least."""


def wall_clock() -> int:
    """Now, in microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Pace:
    """What is known about time when a batch ends."""

    clock: int  # the one reading of the clock for this batch
    since: tuple[int, ...]  # when each stream last had data
    counts: tuple[int, ...]  # the streams that hold time back
    silence: tuple[int, ...] = ()  # for how long time went on without data, by stream


class Pacer:
    """Takes the readings of the clock for one planner."""

    def __init__(
        self, streams: int, *, idle: int | None, tick: bool, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.streams = streams
        self.idle = idle
        self.tick = tick
        self.clock = clock
        self._listening: int | None = None

    def initial(self) -> Pace:
        return Pace(0, (0,) * self.streams, tuple(range(self.streams)))

    def after(self, last: Pace, read: Sequence[bool], behind: Sequence[bool], over: Sequence[bool]) -> Pace:
        """The pace after a batch that reads from some streams, while others are over."""
        now = max(self.clock(), last.clock)
        if self._listening is None:
            self._listening = now
        since = tuple(
            now if data else max(before, self._listening)
            for data, before in zip(read, last.since, strict=True)
        )
        counts = tuple(
            i
            for i in range(self.streams)
            if not over[i] and (behind[i] or self.idle is None or now - since[i] < self.idle)
        )
        silence: tuple[int, ...] = ()
        if self.tick and self.idle is not None and not counts:
            # An `idle` behind the clock: that is how long a stream may be silent without meaning it.
            silence = tuple(max(0, now - self.idle - each) for each in since)
        return Pace(now, since, counts, silence)

    def is_news(self, last: Pace, pace: Pace) -> bool:
        """Whether a batch without data is due: a stream has become idle, or time has gone on."""
        if not set(last.counts) <= set(pace.counts):
            return True
        if not any(pace.silence):
            return False
        assert self.idle is not None
        return pace.clock - last.clock >= max(SHORTEST_TICK, self.idle // 4)
