"""How far event time has come, as every shard computes it from what all splits tell it.

The watermark is what the slowest stream has reached, minus the allowed lateness. Which streams
count is decided where a batch is planned and recorded with it (`sources/pace.py`); here nothing
depends on a clock, so a batch that is repeated moves time as it did before. Spark's own watermark
is not used: it moves one batch later, knows only milliseconds after 1970, and drops late rows
unseen. Decision 0005 has the definition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.timeline import FOREVER, NEVER


@dataclass(frozen=True)
class Timing:
    """How a run treats time: the options of the same names; durations in microseconds."""

    lateness: int = 0
    idle: int | None = None  # None: a stream counts however long it is silent
    ahead: int | None = None  # None: nothing is too far in the future
    tick: bool = False
    behind: int | None = None  # None: nothing is too far in the past


@dataclass
class Watermark:
    """The watermark of one shard; all shards of a run show the same after each batch."""

    lateness: int
    watermark: int = NEVER
    ends: dict[int, int] = field(default_factory=dict)  # stream → the largest end seen

    def advance(
        self,
        seen: Mapping[int, int],
        counts: tuple[int, ...] | list[int],
        silence: tuple[int, ...] | list[int] = (),
        ended: bool = False,
    ) -> int:
        """Take in the largest ends that a batch saw in each stream; the new watermark.

        `counts` are the streams that hold time back, `silence` is for how long time has gone on by
        the clock since each stream had news (only where no stream counts).
        """
        for stream, end in seen.items():
            if end != NEVER:
                self.ends[stream] = max(end, self.ends.get(stream, NEVER))
        if ended:
            self.watermark = FOREVER
            return FOREVER
        if counts:
            reached = min(self.ends.get(stream, NEVER) for stream in counts)
        else:
            since = dict(enumerate(silence))
            reached = max((end + since.get(stream, 0) for stream, end in self.ends.items()), default=NEVER)
        if reached != NEVER:
            self.watermark = max(self.watermark, reached - self.lateness)
        return self.watermark

    @property
    def come(self) -> int:
        """What time has come to by what was read; when the streams are over, nothing more can be late."""
        if self.watermark != FOREVER:
            return self.watermark
        return max(self.ends.values()) + 1 if self.ends else NEVER

    def ends_text(self) -> str:
        return json.dumps(sorted(self.ends.items()))

    @classmethod
    def restored(cls, lateness: int, watermark: int, ends: str) -> Watermark:
        return cls(lateness, watermark, dict(json.loads(ends)))
