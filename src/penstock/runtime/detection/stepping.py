"""One step of a shard: from the rows that it was sent in a batch to its results and its clock.

Nothing here knows where rows and state come from: `Detector` brings those of Spark, `runtime.in_process`
those of one process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.runtime.detection.shards import Stepped
from penstock.runtime.detection.watermark import Watermark
from penstock.runtime.intake.reasoned import in_time
from penstock.runtime.intake.routing import late_elements
from penstock.runtime.job import Job
from penstock.runtime.messages import (
    CONTROL,
    INCONSISTENT,
    LATE,
    ORIGIN,
    PAYLOAD,
    REASONED,
    REJECTED,
    REJECTS,
    STATISTICS,
)

COUNTED = ("elements", "occurrences", "bytes", "rejects", "derived", "ambiguous")


class SentRow(NamedTuple):
    """A row into a shard, as `messages.INTO_SHARDS` has it."""

    shard: int
    kind: int
    place: int
    stream: int
    latest: int
    elements: int
    occurrences: int
    bytes: int
    payload: Any  # bytes, or None


class Move(NamedTuple):
    """What a shard is asked to do: from the state `stamp`, with these payloads, to a watermark."""

    stamp: str | None
    payloads: list[bytes]
    watermark: int
    ended: bool
    knowledge: tuple[int, int]  # the version of static knowledge that the state has, and that of the batch


@dataclass
class _Sent:
    """What a batch sends to a shard, by kind."""

    control: dict[str, Any] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)  # stream → the largest end
    payloads: list[bytes] = field(default_factory=list)
    origins: list[bytes] = field(default_factory=list)
    rejects: list[bytes] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    counted: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))

    def take(self, row: SentRow) -> None:
        counted = self.counted
        if row.kind == CONTROL:
            self.control = json.loads(bytes(row.payload))
        elif row.kind == PAYLOAD:
            self.seen[row.stream] = max(row.latest, self.seen.get(row.stream, row.latest))
            counted["elements"] += row.elements
            counted["occurrences"] += row.occurrences
            counted["bytes"] += row.bytes
            if row.payload is not None:
                self.payloads.append(bytes(row.payload))
        elif row.kind == ORIGIN:
            self.origins.append(bytes(row.payload))
        elif row.kind == REASONED:
            report = json.loads(bytes(row.payload))
            counted["derived"] += report.get("derived", 0)
            counted["ambiguous"] += report.get("ambiguous", 0)
            self.dropped.update(report.get("dropped", {}))
            self.conflicts += report.get("conflicts", [])
        elif row.kind == REJECTED:
            counted["rejects"] += row.elements
            self.rejects.append(bytes(row.payload))


def step(
    job: Job, rows: Iterable[SentRow], head: bytes | None, move: Callable[[Move], Stepped]
) -> tuple[list[tuple[int, bytes]], bytes]:
    """What a shard gives in a batch, as (query or kind, payload), and its entry beside its chunks.

    `head` is that entry from the batch before: stamp and clock. `move` has the shard do its step.
    """
    sent = _Sent()
    for row in sorted(rows, key=lambda row: (row.place, row.stream)):
        sent.take(row)
    results = [(REJECTS, payload) for payload in sent.rejects]
    stamp: str | None = None
    clock = Watermark(job.timing.lateness)
    knowledge = known = sent.control.pop("knowledge")
    if head is not None:
        stamp, reached, ends, known = json.loads(head)
        clock = Watermark.restored(job.timing.lateness, reached, ends)
    for origin in sent.origins:
        late = late_elements(job, origin, clock.watermark, knowledge)
        if late is not None:
            results.append((LATE, late))
    conflicts = in_time(sent.conflicts, clock.watermark)
    if conflicts:
        results.append((INCONSISTENT, json.dumps(conflicts).encode()))
    watermark, ended = clock.advance(sent.seen, **sent.control), sent.control["ended"]
    moved = move(Move(stamp, sent.payloads, clock.come, ended, (known, knowledge)))
    counted = sent.counted | {
        "watermark": watermark,
        "knowledge": knowledge,
        "ended": ended,
        "restored": moved.restored,
        "refused": moved.refused,
        "dropped": sent.dropped,
        "rows": moved.counts,
        "state": moved.state,
    }
    results += [*moved.results, (STATISTICS, json.dumps(counted).encode())]
    return results, json.dumps([moved.stamp, watermark, clock.ends_text(), knowledge]).encode()
