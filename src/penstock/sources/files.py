"""Files and directories as a source of Structured Streaming.

The reader plans splits on the driver (`splits.py`); what a task does with its splits is the
business of a subclass, which overrides `FileStreamReader.read` (see `runtime/intake/routing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.sources.segments import COMPACT_AFTER
from penstock.sources.splits import MEGABYTE, Offset, SplitPlanner, Task
from penstock.sources.streams import StreamSpec


@dataclass(frozen=True)
class FileSourceOptions:
    """What the planner must know; travels to it as one JSON text."""

    streams: tuple[StreamSpec, ...]
    directory: str  # where the segment logs live
    follow: bool = False
    batch_bytes: int = 128 * MEGABYTE
    parallelism: int = 2
    idle: int | None = None
    ahead: int | None = None
    tick: bool = False
    not_before: int | None = None
    compact_after: int = COMPACT_AFTER

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> FileSourceOptions:
        value: dict[str, Any] = json.loads(text)
        value["streams"] = tuple(StreamSpec.from_json(each) for each in value["streams"])
        return cls(**value)


class TaskPartition(InputPartition):
    """A task's splits on their way to the worker."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches of splits; limits each batch by bytes."""

    def __init__(self, options: FileSourceOptions) -> None:
        self.options = options
        self._planner: SplitPlanner | None = None

    @property
    def planner(self) -> SplitPlanner:
        # Made on first use: workers hold a copy of this reader and never plan.
        if self._planner is None:
            options = self.options
            self._planner = SplitPlanner(
                list(options.streams),
                Path(options.directory),
                follow=options.follow,
                batch_bytes=options.batch_bytes,
                parallelism=options.parallelism,
                idle=options.idle,
                ahead=options.ahead,
                tick=options.tick,
                not_before=options.not_before,
                compact_after=options.compact_after,
            )
            if options.follow:
                self._planner.watch()
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planner": None}

    def initialOffset(self) -> Offset:
        return self.planner.initial()

    def prepareForTriggerAvailableNow(self) -> None:
        """The planner fixes the end of the files at its first look, so nothing is to be done."""

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()  # the planner limits the batches itself

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return self.planner.latest(start)

    def partitions(self, start: Offset, end: Offset) -> list[TaskPartition]:
        return [TaskPartition(task) for task in self.planner.tasks(start, end)]

    def commit(self, end: Offset) -> None:
        """Spark has finished the batch that ended there."""
        self.planner.done(end)

    def read(self, partition: TaskPartition) -> Iterator[Any]:
        for split in partition.task.splits:
            yield (split.path, split.start, split.end)


class FileSource(DataSource):
    """The data source `penstock`: options in `plan` as JSON of `FileSourceOptions`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "penstock_files"

    def schema(self) -> str:
        return "path string, start long, end long"

    def streamReader(self, schema: StructType) -> FileStreamReader:
        return FileStreamReader(FileSourceOptions.from_json(self.options["plan"]))
