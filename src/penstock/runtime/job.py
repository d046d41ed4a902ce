"""What all processes of one run must know, and how workers get at it.

The driver writes the job to a file in the run's directory; a worker process loads it once
and keeps it. Tasks refer to it by path and run id, so their closures stay tiny.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from penstock.runtime.contract import DecoderFactory, Program
from penstock.runtime.placement import shard_keys
from penstock.runtime.watermark import Timing
from penstock.sources.streams import StreamSpec

JOB_FILE = "job.pickle"
_KEPT = 4
_loaded: OrderedDict[str, Job] = OrderedDict()


@dataclass(frozen=True)
class Job:
    """A run: its program, its streams, and how to read them."""

    run: str
    program: Program
    streams: tuple[StreamSpec, ...]
    decoder: DecoderFactory
    strict: bool
    timing: Timing = Timing()

    @property
    def keys(self) -> list[int]:
        return shard_keys(self.program.shards)


@dataclass(frozen=True)
class JobReference:
    """Where a worker finds the job."""

    run: str
    path: str

    def load(self) -> Job:
        job = _loaded.get(self.run)
        if job is None:
            job = pickle.loads(Path(self.path).read_bytes())
            _loaded[self.run] = job
            while len(_loaded) > _KEPT:
                _loaded.popitem(last=False)
        return job


def publish(job: Job, directory: Path) -> JobReference:
    """Write the job where workers can load it; a file of an earlier run is replaced."""
    from pyspark import cloudpickle  # programs of a notebook or script travel by value

    handle, aside = tempfile.mkstemp(dir=directory)
    with os.fdopen(handle, "wb") as out:
        out.write(cloudpickle.dumps(job))
    path = directory / JOB_FILE
    os.replace(aside, path)
    return JobReference(job.run, str(path))
