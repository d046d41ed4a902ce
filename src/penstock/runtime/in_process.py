"""A run in this process, without Spark: finite streams, read to their end. `penstock try`.

The same splits are decoded and routed by the same code, and shards step as they do on Spark; only that one
process does it all, and nothing is left behind.
"""

from __future__ import annotations

import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.functions.errors import take_refused
from penstock.runtime.contract import (
    DecoderFactory,
    OnBatch,
    OnProgress,
    Program,
    Results,
    RunOptions,
    RunStatistics,
    Shard,
)
from penstock.runtime.detection.shards import Stepped
from penstock.runtime.detection.stepping import Move, SentRow, step
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.intake.decoding import file_decoder, predicates_in
from penstock.runtime.intake.routing import announce, take_in
from penstock.runtime.interrupting import interruptible
from penstock.runtime.job import Job
from penstock.sources.splits import LARGEST_SPLIT, SplitPlanner, Task
from penstock.sources.spool import Spool
from penstock.sources.streams import StreamSpec, spool_directory


def run_in_process(
    program: Program,
    streams: Sequence[StreamSpec],
    *,
    on_batch: OnBatch,
    timing: Timing = Timing(),  # noqa: B008 — frozen
    on_progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    options: RunOptions | None = None,
    decoder: DecoderFactory = file_decoder,
) -> RunStatistics:
    """Run until the streams end, or `stop` is set; `on_batch` as in `runtime.run`."""
    options, stop, began = options or RunOptions(), stop or threading.Event(), time.monotonic()
    statistics = RunStatistics()
    job = Job(uuid.uuid4().hex, program, tuple(streams), decoder, options.strict, timing)
    take_refused()  # what others in this process have met is not ours
    shards = [_LiveShard(job, number) for number in range(program.shards)]
    with tempfile.TemporaryDirectory(prefix="penstock-try-") as directory:
        for number, spec in enumerate(streams):
            if spec.from_standard_input:
                Spool(spec, spool_directory(Path(directory), number)).start()
        planner = SplitPlanner(
            list(streams),
            Path(directory),
            follow=False,
            batch_bytes=options.batch_bytes or LARGEST_SPLIT,
            parallelism=1,
            idle=timing.idle,
            ahead=timing.ahead,
            tick=timing.tick,
            not_before=None if timing.behind is None else program.now - timing.behind,
        )
        if on_progress is not None:
            on_progress(statistics)
        at, batch = planner.initial(), 0
        statistics.started = True
        with interruptible(stop, statistics):
            while not statistics.ended and not stop.is_set():
                end = planner.latest(at)
                if end == at:  # standard input, of which there is no more yet
                    time.sleep(_WAIT)
                    continue
                on_batch(batch, _batch(job, planner.tasks(at, end), shards, statistics))
                planner.done(end)
                at, batch = end, batch + 1
                statistics.batches += 1
                statistics.seconds = time.monotonic() - began
                if on_progress is not None:
                    on_progress(statistics)
        if program.lacks_predicate(statistics.row_counts):
            statistics.predicates = predicates_in(streams, Path(directory), program.key)
    statistics.seconds = time.monotonic() - began
    return statistics


_WAIT = 0.05


def _batch(job: Job, tasks: list[Task], shards: list[_LiveShard], statistics: RunStatistics) -> Results:
    sent: dict[int, list[SentRow]] = {key: [] for key in job.keys}
    for row in _rows(job, tasks):
        sent[row.shard].append(row)
    return statistics.taken(
        (number, query, payload)
        for number, (key, shard) in enumerate(zip(job.keys, shards, strict=True))
        for query, payload in shard.step(sent[key])
    )


def _rows(job: Job, tasks: list[Task]) -> Iterable[SentRow]:
    """What the splits of a batch send to the shards."""
    for task in tasks:
        parts = [part for split in task.splits for part in take_in(job, split, task.knowledge)]
        if task.control is not None:
            parts += announce(job, task.control)
        for part in parts:
            yield from map(SentRow._make, zip(*(column.to_pylist() for column in part.columns), strict=True))


class _LiveShard:
    """A shard that stays where it is: its state is in it, and nowhere else."""

    def __init__(self, job: Job, number: int) -> None:
        self.job = job
        self.shard: Shard = job.program.open(number)
        self.head: bytes | None = None

    def step(self, rows: list[SentRow]) -> list[tuple[int, bytes]]:
        results, self.head = step(self.job, rows, self.head, self._move)
        return results

    def _move(self, to: Move) -> Stepped:
        results = self.shard.step(to.payloads, to.watermark, to.ended)
        self.shard.changes()  # nobody stores them, and until they are asked for they are kept
        counts = self.shard.row_counts().to_json()
        return Stepped(results, [], [], "", False, take_refused(), counts, self.shard.state())
