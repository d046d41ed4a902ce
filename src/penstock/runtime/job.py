"""What all processes of one run must know, and how workers get at it.

The driver writes the job to a file in the run's directory; a worker process loads it once
and keeps it. Tasks refer to it by path and run id, so their closures stay tiny. The reference also
has the file's digest: what somebody else has put in its place is not even looked at, because
unpickling it could run anything.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import shutil
import socket
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import InputError
from penstock.knowledge.versions import KNOWLEDGE
from penstock.runtime.contract import DecoderFactory, Program
from penstock.runtime.detection.placement import shard_keys
from penstock.runtime.detection.watermark import Timing
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

    def at(self, knowledge: int) -> Program:
        """The program with a version of its static knowledge; the latest one that was asked for is kept."""
        kept = self.__dict__.get("_at")
        if kept is None or kept[0] != knowledge:
            kept = (knowledge, self.program.at(knowledge))
            self.__dict__["_at"] = kept
        return kept[1]


@dataclass(frozen=True)
class JobReference:
    """Where a worker finds the job."""

    run: str
    path: str
    digest: str

    def load(self) -> Job:
        job = _loaded.get(self.run)
        if job is None:
            try:
                data = Path(self.path).read_bytes()
            except FileNotFoundError:
                raise InputError(
                    f"{self.path}, which every process of the run reads, is not on {socket.gethostname()}",
                    hint="give the run a checkpoint directory (--checkpoint) that all machines of the"
                    " cluster share; if they do, somebody has removed what was in it",
                ) from None
            if not hmac.compare_digest(_digest(data), self.digest):
                raise InputError(
                    f"{self.path} is not what this run has written",
                    hint="somebody else writes to the checkpoint directory; give the run its own",
                )
            job = pickle.loads(data)
            _loaded[self.run] = job
            while len(_loaded) > _KEPT:
                _loaded.popitem(last=False)
        return job

    def program(self, knowledge: int) -> Program:
        """The job's program with a version of its static knowledge."""
        return self.load().at(knowledge)


def publish(job: Job, directory: Path) -> JobReference:
    """Write the job where workers can load it, and before it the static knowledge that they will map.

    Files of an earlier run are replaced.
    """
    from pyspark import cloudpickle  # programs of a notebook or script travel by value

    program = job.program.prepared(directory / KNOWLEDGE)
    data = cloudpickle.dumps(replace(job, program=program))
    handle, aside = tempfile.mkstemp(dir=directory)
    with os.fdopen(handle, "wb") as out:
        out.write(data)
    path = directory / JOB_FILE
    os.replace(aside, path)
    return JobReference(job.run, str(path), _digest(data))


def withdraw(job: Job, directory: Path) -> None:
    """Remove what was published: without its job a shard's process ends.

    Versions of knowledge that changes stay: the run that goes on begins with the one that this had.
    """
    (directory / JOB_FILE).unlink(missing_ok=True)
    if not job.program.changing:
        shutil.rmtree(directory / KNOWLEDGE, ignore_errors=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
