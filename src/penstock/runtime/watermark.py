"""How far event time has come, as every shard computes it from what all splits tell it.

The watermark is the largest end seen so far minus the allowed lateness. With several
streams, the slowest one counts while it has data that waits to be read: a file that is read
more slowly than another must not make its elements late. Spark's own watermark is not used:
it moves one batch later, knows only milliseconds after 1970, and drops late rows unseen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from penstock.timeline import FOREVER, NEVER


@dataclass
class Clock:
    """The watermark of one shard; all shards of a run show the same after each batch."""

    lateness: int
    watermark: int = NEVER
    ends: dict[int, int] = field(default_factory=dict)  # stream → the largest end seen

    def advance(self, seen: dict[int, int], behind: list[int], ended: bool) -> int:
        """Take in the largest ends that a batch saw in each stream; the new watermark."""
        for stream, end in seen.items():
            if end != NEVER:
                self.ends[stream] = max(end, self.ends.get(stream, NEVER))
        if ended:
            self.watermark = FOREVER
            return FOREVER
        if behind:
            reached = min(self.ends.get(stream, NEVER) for stream in behind)
        else:
            reached = max(self.ends.values(), default=NEVER)
        if reached != NEVER:
            self.watermark = max(self.watermark, reached - self.lateness)
        return self.watermark

    def ends_text(self) -> str:
        return json.dumps(sorted(self.ends.items()))

    @classmethod
    def restored(cls, lateness: int, watermark: int, ends: str) -> Clock:
        return cls(lateness, watermark, dict(json.loads(ends)))
