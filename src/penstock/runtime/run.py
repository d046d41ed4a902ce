"""Runs a program on Spark: one Structured Streaming query for all registered queries."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import InternalError, PenstockError, PenstockWarning, UsageError
from penstock.knowledge.files import GraphFiles
from penstock.knowledge.versions import KNOWLEDGE
from penstock.runtime.contract import DecoderFactory, OnBatch, OnProgress, Program, RunOptions, RunStatistics
from penstock.runtime.detection.detector import Detector
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.failures import reason_of, recovered, storage_failure
from penstock.runtime.intake.decoding import file_decoder, predicates_in
from penstock.runtime.intake.inputs import check_inputs
from penstock.runtime.intake.source import ElementSource
from penstock.runtime.interrupting import interruptible
from penstock.runtime.job import Job, publish, withdraw
from penstock.runtime.messages import OUT_OF_SHARDS
from penstock.runtime.recovery.checkpoint import Checkpoint, open_checkpoint
from penstock.runtime.session.logging import without_warnings
from penstock.runtime.session.session import our_workers, run_session
from penstock.runtime.watching import KnowledgeWatch
from penstock.sources.files import FileSourceOptions
from penstock.sources.splits import LARGEST_SPLIT
from penstock.sources.spool import Spool
from penstock.sources.streams import StreamSpec, spool_directory

_WAIT = 0.05


SPLITS_PER_CORE = 2
"""Splits in a batch: a batch costs about half a second whatever is in it, and memory by its size."""


def run(
    program: Program,
    streams: Sequence[StreamSpec],
    *,
    on_batch: OnBatch,
    follow: bool = False,
    timing: Timing = Timing(),  # noqa: B008 — frozen
    checkpoint: str | os.PathLike[str] | None = None,
    master: str | None = None,
    on_progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    options: RunOptions | None = None,
    decoder: DecoderFactory = file_decoder,
    knowledge: GraphFiles | None = None,
) -> RunStatistics:
    """Run until the streams end, `stop` is set or the user interrupts.

    `on_batch(batch, results)` gets the results of each batch in order, as (query index, Arrow
    IPC bytes), where LATE and REJECTS stand in place of an index for the side outputs. After
    a crash it may get the batch again that was not committed: who writes, must know by the
    number what is already written. `knowledge` are the program's static graphs: those of files may change
    while a run follows its streams; what is wrong with them then is a `PenstockWarning`.
    """
    options = options or RunOptions()
    streams = tuple(streams)
    temporary = Path(tempfile.mkdtemp(prefix="penstock-run-")) if checkpoint is None else None
    try:
        with open_checkpoint(temporary or checkpoint, program, streams, timing) as (place, program, fates):
            session = run_session(master, shards=program.shards, settings=options.settings, log=options.log)
            job = Job(uuid.uuid4().hex, program, streams, decoder, options.strict, timing)
            one = _Run(session, job, place, follow, on_batch, on_progress, stop, options)
            one.statistics.continued = fates
            if follow and program.changing and knowledge is not None and knowledge.watched:
                one.knowledge = knowledge
            statistics = one.go()
            if program.lacks_predicate(statistics.row_counts):
                statistics.predicates = predicates_in(streams, place.source, program.key)
            return statistics
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _by_place(row: tuple[int, int, int, bytes]) -> tuple[int, int]:
    return row[:2]


def _warn(problem: PenstockError) -> None:
    warnings.warn(str(problem), PenstockWarning, stacklevel=2)


class _Run:
    """One run from start to end."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        checkpoint: Checkpoint,
        follow: bool,
        on_batch: OnBatch,
        on_progress: OnProgress | None,
        stop: threading.Event | None,
        options: RunOptions,
    ) -> None:
        self.session = session
        self.job = job
        self.checkpoint = checkpoint
        self.follow = follow
        self.on_batch = on_batch
        self.on_progress = on_progress
        self.stop = stop or threading.Event()
        self.options = options
        self.statistics = RunStatistics()
        self.knowledge: GraphFiles | None = None  # is watched
        self.watch: KnowledgeWatch | None = None
        self.problem: BaseException | None = None  # what on_batch raised
        self.last_batch: int | None = None
        self.began = time.monotonic()

    def go(self) -> RunStatistics:
        check_inputs(self.job.streams, follow=self.follow)
        if self.on_progress is not None:
            self.on_progress(self.statistics)  # so that it is known when the first batch comes
        spools = [
            Spool(spec, spool_directory(self.checkpoint.source, i))
            for i, spec in enumerate(self.job.streams)
            if spec.from_standard_input
        ]
        live = self.follow or bool(spools)
        for spool in spools:
            spool.start()
        query: StreamingQuery | None = None
        with interruptible(self.stop, self.statistics), without_warnings(self.session):
            try:
                with our_workers(self.session):
                    query = self._start(live)
                self.statistics.started = True
                self._wait(query, spools)
            except PySparkException as problem:
                raise self._translated(problem) from problem
            finally:
                if query is not None:
                    self._stop(query)
                if self.watch is not None:
                    self.watch.stop()
                withdraw(self.job, self.checkpoint.source)
        self.statistics.seconds = time.monotonic() - self.began
        return self.statistics

    def _start(self, live: bool) -> StreamingQuery:
        session = self.session
        prepared = self.job.program.prepared(self.checkpoint.source / KNOWLEDGE)
        job = self.job = replace(self.job, program=prepared)
        reference = publish(job, self.checkpoint.source)
        if self.knowledge is not None:
            self.watch = KnowledgeWatch(self.knowledge, prepared, _warn)
            self.watch.start()
        cores = session.sparkContext.defaultParallelism
        plan = FileSourceOptions(
            job.streams,
            str(self.checkpoint.source),
            follow=self.follow,
            batch_bytes=self.options.batch_bytes or SPLITS_PER_CORE * LARGEST_SPLIT * cores,
            parallelism=cores,
            idle=job.timing.idle,
            ahead=job.timing.ahead,
            tick=job.timing.tick,
            # Fixed when the run first began, so that what waits while nothing runs is not too old then.
            not_before=None if job.timing.behind is None else prepared.now - job.timing.behind,
            compact_after=self.options.compact_after,
        )
        session.dataSource.register(ElementSource)
        elements = (
            session.readStream.format("penstock")
            .option("plan", plan.to_json())
            .option("run", reference.run)
            .option("job", reference.path)
            .option("digest", reference.digest)
            .load()
        )
        answers = elements.groupBy("shard").transformWithState(
            statefulProcessor=Detector(reference),
            outputStructType=OUT_OF_SHARDS,
            outputMode="Append",
            timeMode="None",
        )
        writer = (
            answers.writeStream.foreachBatch(self._take)
            .outputMode("append")
            .option("checkpointLocation", self.checkpoint.spark.as_uri())
        )
        if not live:
            writer = writer.trigger(availableNow=True)
        elif self.options.trigger is not None:
            writer = writer.trigger(processingTime=self.options.trigger)
        return writer.start()

    def _take(self, frame: DataFrame, batch: int) -> None:
        """Hand a batch's results on; called by Spark on a thread of its own."""
        try:
            table = frame.select("shard", "place", "query", "payload").toArrow()
            rows = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=_by_place)
            results = self.statistics.taken((shard, query, payload) for shard, _, query, payload in rows)
            self.on_batch(batch, results)
            self.statistics.batches += 1
            self.statistics.seconds = time.monotonic() - self.began
            if self.statistics.ended:
                self.last_batch = batch
            if self.on_progress is not None:
                self.on_progress(self.statistics)
        except BaseException as problem:
            self.problem = problem
            raise

    def _wait(self, query: StreamingQuery, spools: list[Spool]) -> None:
        while query.isActive:
            if self.stop.wait(_WAIT):
                return
            if self.last_batch is not None and self.checkpoint.committed(self.last_batch):
                return
            if self.watch is not None and self.watch.problem is not None:
                raise self.watch.problem
            for spool in spools:
                if spool.problem is not None:
                    raise UsageError(f"standard input cannot be kept: {spool.problem}")
        query.awaitTermination()  # raises what the query ended with

    def _stop(self, query: StreamingQuery) -> None:
        try:
            if query.isActive:
                query.stop()
        except PySparkException as problem:
            if not self.stop.is_set():
                raise self._translated(problem) from problem

    def _translated(self, problem: PySparkException) -> BaseException:
        """What really went wrong, as the user should read it."""
        if self.problem is not None and not isinstance(self.problem, PySparkException):
            return self.problem
        text = str(problem)
        known = recovered(text) or storage_failure(text)
        if known is not None:
            return known
        return InternalError(
            f"the run failed inside Spark: {reason_of(text)}",
            hint="this is a fault in Penstock or in Spark; --debug shows the whole trace. A restart from the"
            " same checkpoint repeats the batch; if it fails again, begin a new checkpoint directory",
        )
