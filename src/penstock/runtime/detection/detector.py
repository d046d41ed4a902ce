"""The stateful operator on Spark: one group per shard, which steps once in every batch."""

from __future__ import annotations

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

from penstock.runtime.failures import carried
from penstock.runtime.job import JobReference

_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("data", BinaryType())])
_HEAD = ("",)
"""The key of the shard's own entry beside its chunks: stamp and clock. One map for both,
because Spark prepares every state variable anew in every task."""


def _batch() -> int:
    """The number of the batch that this task is part of."""
    return int(TaskContext.get().getLocalProperty("streaming.sql.batchId"))


class Detector(StatefulProcessor):
    """Hands a shard what it was sent, and its changes to the state store."""

    def __init__(self, job: JobReference) -> None:
        self.job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.chunks = handle.getMapState("chunks", _KEY, _VALUE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        with carried():
            yield from self._step(key[0], rows)

    def _stored_chunks(self) -> Iterator[tuple[str, bytes]]:
        for (key,), (data,) in self.chunks.iterator():
            if key:
                yield key, bytes(data)

    def _step(self, key: int, rows: Iterator[Row]) -> Iterator[Row]:
        # Here, because the driver also makes a Detector, only to ask for its state's schema.
        from penstock.runtime.detection import shard_processes
        from penstock.runtime.detection.shards import Stepped
        from penstock.runtime.detection.stepping import Move, step

        job = self.job.load()
        shard = job.keys.index(key)

        def move(to: Move) -> Stepped:
            stamp, *rest = to
            made = shard_processes.step(self.job, shard, _batch(), stamp, self._stored_chunks, *rest)
            for name in made.deletes:
                self.chunks.removeKey((name,))
            for name, data in made.puts:
                self.chunks.updateValue((name,), (data,))
            return made

        before = self.chunks.getValue(_HEAD)
        results, head = step(job, rows, None if before is None else bytes(before[0]), move)
        self.chunks.updateValue(_HEAD, (head,))
        for place, (query, payload) in enumerate(results):
            yield Row(query=query, shard=shard, place=place, payload=payload)

    def close(self) -> None:
        pass
