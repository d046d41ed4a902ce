"""The stateful operator on Spark: one group per shard, which steps once in every batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import (
    BinaryType,
    StringType,
    StructField,
    StructType,
)

from penstock.runtime.detection.watermark import Watermark
from penstock.runtime.failures import carried
from penstock.runtime.job import JobReference
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
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("data", BinaryType())])
_HEAD = ("",)
"""The key of the shard's own entry beside its chunks: stamp and clock. One map for both,
because Spark prepares every state variable anew in every task."""


def _batch() -> int:
    """The number of the batch that this task is part of."""
    return int(TaskContext.get().getLocalProperty("streaming.sql.batchId"))


class Detector(StatefulProcessor):
    """Hands a shard its payloads, and its changes to the state store."""

    def __init__(self, job: JobReference) -> None:
        self.job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.chunks = handle.getMapState("chunks", _KEY, _VALUE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        with carried():
            yield from self._step(key[0], list(rows))

    def _stored_chunks(self) -> Iterator[tuple[str, bytes]]:
        for (key,), (data,) in self.chunks.iterator():
            if key:
                yield key, bytes(data)

    def _step(self, key: int, rows: list[Row]) -> Iterator[Row]:
        # Here, because the driver also makes a Detector, only to ask for its state's schema.
        from penstock.runtime.detection import shard_processes
        from penstock.runtime.intake.reasoned import in_time
        from penstock.runtime.intake.routing import late_elements

        job = self.job.load()
        shard = job.keys.index(key)
        rows.sort(key=lambda row: (row.place, row.stream))
        seen: dict[int, int] = {}
        said: dict[str, Any] = {}
        payloads: list[bytes] = []
        origins: list[bytes] = []
        counted: dict[str, Any] = dict.fromkeys(COUNTED, 0)
        dropped: Counter[str] = Counter()
        conflicts: list[dict[str, Any]] = []
        place = 0
        for row in rows:
            if row.kind == CONTROL:
                said = json.loads(bytes(row.payload))
            elif row.kind == PAYLOAD:
                seen[row.stream] = max(row.latest, seen.get(row.stream, row.latest))
                counted["elements"] += row.elements
                counted["occurrences"] += row.occurrences
                counted["bytes"] += row.bytes
                if row.payload is not None:
                    payloads.append(bytes(row.payload))
            elif row.kind == ORIGIN:
                origins.append(bytes(row.payload))
            elif row.kind == REASONED:
                told = json.loads(bytes(row.payload))
                counted["derived"] += told.get("derived", 0)
                counted["ambiguous"] += told.get("ambiguous", 0)
                dropped.update(told.get("dropped", {}))
                conflicts += told.get("conflicts", [])
            elif row.kind == REJECTED:
                counted["rejects"] += row.elements
                yield Row(query=REJECTS, shard=shard, place=place, payload=bytes(row.payload))
                place += 1
        head = self.chunks.getValue(_HEAD)
        stamp: str | None = None
        clock = Watermark(job.timing.lateness)
        knowledge = known = said.pop("knowledge")
        if head is not None:
            stamp, reached, ends, known = json.loads(bytes(head[0]))
            clock = Watermark.restored(job.timing.lateness, reached, ends)
        for origin in origins:
            late = late_elements(job, origin, clock.watermark, knowledge)
            if late is not None:
                yield Row(query=LATE, shard=shard, place=place, payload=late)
                place += 1
        conflicts = in_time(conflicts, clock.watermark)
        if conflicts:
            yield Row(query=INCONSISTENT, shard=shard, place=place, payload=json.dumps(conflicts).encode())
            place += 1
        watermark, ended = clock.advance(seen, **said), said["ended"]
        step = shard_processes.step(
            self.job, shard, _batch(), stamp, self._stored_chunks, payloads, clock.come, ended,
            (known, knowledge),
        )  # fmt: skip
        for name in step.deletes:
            self.chunks.removeKey((name,))
        for name, data in step.puts:
            self.chunks.updateValue((name,), (data,))
        entry = json.dumps([step.stamp, watermark, clock.ends_text(), knowledge]).encode()
        self.chunks.updateValue(_HEAD, (entry,))
        for query, payload in step.results:
            yield Row(query=query, shard=shard, place=place, payload=payload)
            place += 1
        counted |= {
            "watermark": watermark,
            "knowledge": knowledge,
            "ended": ended,
            "restored": step.restored,
            "refused": step.refused,
            "dropped": dropped,
            "rows": step.counts,
        }
        told = json.dumps(counted).encode()
        yield Row(query=STATISTICS, shard=shard, place=place, payload=told)

    def close(self) -> None:
        pass
