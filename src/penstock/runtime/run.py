"""Runs a program on Spark: one Structured Streaming query for all registered queries."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.decode.formats import SUFFIXES, Compression, Format, split_suffixes
from penstock.errors import Finding, InternalError, PenstockError, PenstockWarning, UsageError
from penstock.knowledge.files import GraphFiles
from penstock.knowledge.versions import KNOWLEDGE
from penstock.runtime.contract import DecoderFactory, Program, RunStatistics
from penstock.runtime.detection.detector import Detector
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.failures import reason_of, recovered, storage_failure
from penstock.runtime.intake.decoding import file_decoder, predicates_in
from penstock.runtime.intake.source import ElementSource
from penstock.runtime.job import Job, publish, withdraw
from penstock.runtime.messages import LATE, OUT_OF_SHARDS, REJECTS, STATISTICS
from penstock.runtime.recovery.checkpoint import Checkpoint, open_checkpoint
from penstock.runtime.session.session import our_workers, run_session
from penstock.runtime.watching import KnowledgeWatch
from penstock.sources.files import FileSourceOptions
from penstock.sources.segments import COMPACT_AFTER, files_below, listed, unread_files
from penstock.sources.splits import LARGEST_SPLIT
from penstock.sources.spool import Spool
from penstock.sources.streams import STANDARD_INPUT, StreamSpec, spool_directory
from penstock.timeline import NEVER

Results = list[tuple[int, bytes]]
OnBatch = Callable[[int, Results], None]
OnProgress = Callable[[RunStatistics], None]

_WAIT = 0.05


SPLITS_PER_CORE = 2
"""Splits in a batch: a batch costs about half a second whatever is in it, and memory by its size."""


@dataclass
class RunOptions:
    """How a run goes about it; the defaults suit a laptop."""

    batch_bytes: int | None = None  # the most that a batch reads; by default some splits per core
    strict: bool = False
    trigger: str | None = None  # the least time between two batches in follow mode, "1 second"
    settings: Mapping[str, str] | None = None  # of Spark, beside our own
    log: Path | None = None  # a file for Spark's warnings
    compact_after: int = COMPACT_AFTER  # of the logs of segments


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


def check_inputs(streams: Sequence[StreamSpec], *, follow: bool = False) -> None:
    """Refuse at once what the planner would only find after Spark has started.

    A directory may be empty only if the run waits for what will come.
    """
    if sum(spec.from_standard_input for spec in streams) > 1:
        raise UsageError("only one stream can come from standard input")
    for spec in streams:
        for path in spec.paths:
            if path == STANDARD_INPUT:
                continue
            if not os.path.exists(path):
                raise UsageError(f"there is no file or directory {path}")
            if not os.access(path, os.R_OK):
                raise UsageError(
                    f"cannot read {path}: permission denied", hint="ask its owner, or look at `ls -l`"
                )
            if not os.path.isdir(path):
                form = spec.format_for(path)
                plain = split_suffixes(path)[1] is Compression.NONE
                if form in (Format.CSV, Format.PARQUET) and plain and os.path.isfile(path):
                    from penstock.decode.mapping.document import read_map
                    from penstock.decode.tables import check_table  # compiled code that RDF does not need

                    check_table(path, form, read_map(json.loads(spec.map)) if spec.map else None)
            elif not follow and not files_below(Path(path), spec.format):
                others = unread_files(Path(path), spec.format)
                raise UsageError(
                    f"the directory {path} has no file of a stream"
                    + (f", only {listed(others)}" if others else ": it is empty"),
                    hint="files are known by their endings "
                    + " ".join(SUFFIXES)
                    + " (also .gz and .zst), or name their format",
                )


def input_findings(streams: Sequence[StreamSpec]) -> list[Finding]:
    """What is not read though it stands where a stream does."""
    found = []
    for spec in streams:
        for path in spec.paths:
            if path != STANDARD_INPUT and os.path.isdir(path):
                others = unread_files(Path(path), spec.format)
                if others:
                    found.append(
                        Finding(
                            "unread-file",
                            f"the directory {path} has files that are not read: {listed(others)}",
                            hint="their endings name no format of a stream; rename or remove them",
                        )
                    )
    return found


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
        with self._interruptible():
            try:
                with our_workers(self.session):
                    query = self._start(live)
                self._wait(query, spools)
            except PySparkException as problem:
                raise self._told(problem) from problem
            finally:
                if query is not None:
                    self._stop(query)
                if self.watch is not None:
                    self.watch.stop()
                withdraw(self.job, self.checkpoint.source)
        self.statistics.seconds = time.monotonic() - self.began
        return self.statistics

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the run after the current call, instead of breaking into it.

        PySpark's own handler calls Java in the middle of whatever call to Java is under way.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: object) -> None:
            self.statistics.interrupted = True
            self.stop.set()

        previous = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

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
            table = frame.toArrow()
            order = table.select(["shard", "place"]).to_pydict()
            rows = sorted(zip(order["shard"], order["place"], range(table.num_rows), strict=True))
            queries = table.column("query").to_pylist()
            payloads = table.column("payload").to_pylist()
            results: Results = []
            for _, _, i in rows:
                if queries[i] == STATISTICS:
                    self._count(order["shard"][i], json.loads(payloads[i]))
                else:
                    results.append((queries[i], payloads[i]))
            late = [pa.ipc.open_stream(payload).read_all() for query, payload in results if query == LATE]
            self.statistics.late += sum(table.num_rows for table in late)
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

    def _count(self, shard: int, told: dict[str, Any]) -> None:
        statistics = self.statistics
        statistics.rows[shard] = told["rows"]
        statistics.elements += told["elements"]
        statistics.occurrences += told["occurrences"]
        statistics.bytes += told["bytes"]
        statistics.rejects += told["rejects"]
        statistics.restored += told["restored"]
        statistics.derived += told["derived"]
        statistics.ambiguous += told["ambiguous"]
        statistics.dropped.update(told["dropped"])
        statistics.refused.update(told["refused"])
        statistics.ended = statistics.ended or told["ended"]
        statistics.knowledge = told["knowledge"]
        if told["watermark"] != NEVER:
            statistics.watermark = told["watermark"]

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
                raise self._told(problem) from problem

    def _told(self, problem: PySparkException) -> BaseException:
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


__all__ = ["LATE", "REJECTS", "OnBatch", "OnProgress", "Results", "RunOptions", "check_inputs", "run"]
