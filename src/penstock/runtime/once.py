"""A run without streams: what static knowledge alone answers, once, in this process and without Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from penstock.functions.errors import take_refused
from penstock.runtime.contract import OnProgress, Program, RunStatistics
from penstock.timeline import NEVER

ONLY_BATCH = 0


def run_once(
    program: Program,
    on_batch: Callable[[int, list[tuple[int, bytes]]], None],
    on_progress: OnProgress | None = None,
) -> RunStatistics:
    """Hands on the answers of all queries, as `runtime.run` hands on those of a batch."""
    began = time.monotonic()
    take_refused()  # what others in this process have met is not ours
    shard = program.open(0)
    results = shard.step([], NEVER, True)
    statistics = RunStatistics(
        batches=1,
        started=True,
        refused=Counter(take_refused()),
        ended=True,
        rows={0: shard.row_counts().to_json()},
        state={0: shard.state()},
    )
    if on_progress is not None:
        on_progress(statistics)
    on_batch(ONLY_BATCH, results)
    statistics.seconds = time.monotonic() - began
    return statistics
