"""The data source of a run: plans splits on the driver, decodes and routes them in the tasks.

This module is imported by every little process that Spark starts for planning, so it keeps
its imports light; the tasks import the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from penstock.runtime.failures import carried
from penstock.runtime.job import JobReference
from penstock.runtime.messages import INTO_SHARDS
from penstock.sources.files import FileSource, FileSourceOptions, FileStreamReader, TaskPartition

if TYPE_CHECKING:
    import pyarrow as pa


class ElementReader(FileStreamReader):
    """Plans like `FileStreamReader`, and decodes in the tasks."""

    def __init__(self, options: FileSourceOptions, job: JobReference) -> None:
        super().__init__(options)
        self.job = job

    def initialOffset(self) -> dict:
        with carried():
            return super().initialOffset()

    def latestOffset(self, start, limit) -> dict:
        with carried():
            return super().latestOffset(start, limit)

    def partitions(self, start: dict, end: dict) -> list[TaskPartition]:
        with carried():
            return super().partitions(start, end)

    def commit(self, end: dict) -> None:
        with carried():
            super().commit(end)

    def read(self, partition: TaskPartition) -> Iterator[pa.RecordBatch]:
        from penstock.runtime.intake.routing import announce, take_in

        with carried():
            job = self.job.load()
            if partition.task.control is not None:
                yield from announce(job, partition.task.control)
            for split in partition.task.splits:
                yield from take_in(job, split, partition.task.knowledge)


class ElementSource(FileSource):
    """The data source of a run: `plan` as in `FileSource`, and where the job is."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> str:
        return INTO_SHARDS

    def streamReader(self, schema: StructType) -> ElementReader:
        reference = JobReference(self.options["run"], self.options["job"], self.options["digest"])
        return ElementReader(FileSourceOptions.from_json(self.options["plan"]), reference)
