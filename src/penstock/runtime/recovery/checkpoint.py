"""The checkpoint directory: what it holds, and whose it is.

- `checkpoint.json`: what must stay the same (shards, the key of the ids in the state, the streams and
  all options that change what they mean) and which queries ran since when (`continuing`)
- `lock`: held by the run that uses the directory; says which one that is
- `source/`: logs of segments, spooled standard input, the job for the workers and static knowledge that
  they map
- `spark/`: Spark's own offsets, commits and state
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock.errors import InputError, UsageError, storing
from penstock.runtime.contract import Program
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.recovery.continuing import Continued, Generations, go_on, last_generation, queries_of
from penstock.sources.streams import StreamSpec
from penstock.timeline import format_duration

LAYOUT = 7


@dataclass(frozen=True)
class Checkpoint:
    """The places inside a checkpoint directory."""

    root: Path

    @property
    def identity(self) -> Path:
        return self.root / "checkpoint.json"

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def spark(self) -> Path:
        return self.root / "spark"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @classmethod
    def of_job(cls, job: Path) -> Checkpoint:
        """The checkpoint that a job's file is in."""
        return cls(job.parents[1])

    def committed(self, batch: int) -> bool:
        """Whether Spark has finished a batch for good."""
        return (self.spark / "commits" / str(batch)).exists()

    def last_committed(self) -> int:
        """The last batch that Spark has finished for good, or -1."""
        try:
            names = os.listdir(self.spark / "commits")
        except FileNotFoundError:
            return -1
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def forget_unfinished(self) -> None:
        """Deletes the state of batches that were not finished: they are repeated, maybe with other queries.

        Spark keeps what is there already, taking it for the same; batch n makes version n + 1.
        """
        kept = self.last_committed() + 1
        for file in (self.spark / "state").rglob("*.*"):
            if file.stem.isdigit() and int(file.stem) > kept:
                file.unlink()


def _stored(directory: str | os.PathLike[str], name: str) -> int | None:
    identity = Checkpoint(Path(directory)).identity
    try:
        return int(json.loads(identity.read_text())[name])
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None


def stored_shards(directory: str | os.PathLike[str]) -> int | None:
    """The number of shards that a checkpoint was begun with: it cannot change later."""
    return _stored(directory, "shards")


def stored_start(directory: str | os.PathLike[str]) -> int | None:
    """The instant at which the run of a checkpoint began, which NOW() goes on to say."""
    return _stored(directory, "now")


def stored_key(directory: str | os.PathLike[str]) -> int | None:
    """The key of the term ids in a checkpoint's state."""
    return _stored(directory, "key")


def stored_changing(directory: str | os.PathLike[str]) -> bool | None:
    """Whether the static knowledge of a checkpoint may change without its queries starting anew."""
    stored = _stored(directory, "changing")
    return None if stored is None else bool(stored)


def stored_partition_keys(directory: str | os.PathLike[str]) -> dict[str, str | None]:
    """By which variables the rows of the queries in a checkpoint are spread, by their digests."""
    checkpoint = Checkpoint(Path(directory))
    try:
        stored = json.loads(checkpoint.identity.read_text())
        generation = last_generation(stored["generations"], checkpoint.last_committed())
        return {query.algebra: query.key for query in queries_of(generation)} if generation else {}
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return {}


def _identity(
    program: Program, streams: tuple[StreamSpec, ...], timing: Timing, generations: Generations
) -> dict:
    return {
        "layout": LAYOUT,
        "version": __version__,
        "shards": program.shards,
        "streams": [spec.to_json() | {"paths": list(spec.paths)} for spec in streams],
        "time": asdict(timing),
        "key": program.key,
        "now": getattr(program, "now", None),
        "changing": program.changing,
        "generations": generations,
    }


def _in_words(streams: list[dict[str, Any]]) -> str:
    """Streams as a person writes them: [IRI=]SOURCE."""
    return ", ".join((f"{s['iri']}=" if s["iri"] else "") + " ".join(s["paths"]) for s in streams)


def _difference(stored: dict[str, Any], identity: dict[str, Any]) -> str | None:
    """What a checkpoint was begun with that this run has not, or None."""

    def other(what: str, there: Any, now: Any) -> str:
        return f"was begun with another {what}: {_shown(there)} there, {_shown(now)} now"

    if stored.get("layout") != LAYOUT or stored.get("version") != identity["version"]:
        return "was written by another version of Penstock"
    if stored["shards"] != identity["shards"]:
        return other("number of shards", stored["shards"], identity["shards"])
    places = [[(s["iri"], s["paths"]) for s in each["streams"]] for each in (stored, identity)]
    if places[0] != places[1]:
        there, now = _in_words(stored["streams"]), _in_words(identity["streams"])
        return f"belongs to other streams: {there} there, {now} now"
    for there, now in zip(stored["streams"], identity["streams"], strict=True):
        for name in sorted(there.keys() | now.keys()):
            if there.get(name) != now.get(name):
                what = f"{name.replace('_', ' ')} of the stream {_in_words([now])}"
                return other(what, there.get(name), now.get(name))
    for name, now in identity["time"].items():
        there = stored["time"].get(name)
        if there != now:
            lengths = [format_duration(v) if type(v) is int else v for v in (there, now)]
            return other(name, *lengths)
    if stored["key"] != identity["key"]:
        return "was begun with another key of term ids"
    return None


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def check_checkpoint(
    directory: str | os.PathLike[str],
    program: Program,
    streams: tuple[StreamSpec, ...],
    timing: Timing,
) -> tuple[Checkpoint, Generations, tuple[Continued, ...]]:
    """The checkpoint in a directory, if this run may begin it or go on with it; changes nothing.

    Also the generations that it would have then, and what would become of its queries.
    """
    if "://" in os.fspath(directory):
        raise UsageError(
            f"the checkpoint {directory} is not a directory path",
            hint="use a local or mounted directory that driver and workers share",
        )
    checkpoint = Checkpoint(Path(directory).absolute())
    if checkpoint.root.exists() and not checkpoint.root.is_dir():
        raise UsageError(f"the checkpoint {directory} is a file, and must be a directory")
    if not checkpoint.identity.exists():
        if checkpoint.spark.exists():
            raise InputError(f"{directory} is not a checkpoint of Penstock")
        return checkpoint, *go_on([], -1, program.queries, program.rules)
    if checkpoint.lock.exists():
        with _locked(checkpoint):  # refused before an output is touched
            pass
    return checkpoint, *_next_generation(checkpoint, program, streams, timing)


def static_indexes_built(
    directory: str | os.PathLike[str], program: Program
) -> tuple[Program, tuple[Continued, ...]]:
    """A program as it would go on from a checkpoint that is there, and what would become of its queries.

    Nothing is held or changed: a run may be using it.
    """
    checkpoint = Checkpoint(Path(directory))
    try:
        stored = json.loads(checkpoint.identity.read_text())["generations"]
        generations, fates = go_on(stored, checkpoint.last_committed(), program.queries, program.rules)
    except FileNotFoundError:
        return program, ()
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{checkpoint.identity} is damaged") from None
    return begun(program, generations), fates


def _next_generation(
    checkpoint: Checkpoint, program: Program, streams: tuple[StreamSpec, ...], timing: Timing
) -> tuple[Generations, tuple[Continued, ...]]:
    """How a checkpoint that is there goes on with a program."""
    try:
        stored = json.loads(checkpoint.identity.read_text())
        difference = _difference(stored, _identity(program, streams, timing, []))
        if difference is None:
            finished = checkpoint.last_committed()
            return go_on(stored["generations"], finished, program.queries, program.rules)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{checkpoint.identity} is damaged") from None
    raise InputError(
        f"the checkpoint {checkpoint.root} {difference}",
        hint="use a new checkpoint directory, or run with what this one was begun with",
    )


def begun(program: Program, generations: Generations) -> Program:
    """The program of queries that know with which batch they began."""
    return program.begun([query.generation for query in queries_of(generations[-1])])


@contextlib.contextmanager
def open_checkpoint(
    directory: str | os.PathLike[str],
    program: Program,
    streams: tuple[StreamSpec, ...],
    timing: Timing,
) -> Iterator[tuple[Checkpoint, Program, tuple[Continued, ...]]]:
    """Begin a checkpoint, or go on with one, maybe with other queries, and hold its lock.

    Also the program of queries that know with which batch they began, and what becomes of them: nothing is
    said of those of a checkpoint that begins.
    """
    checkpoint, generations, fates = check_checkpoint(directory, program, streams, timing)
    with contextlib.ExitStack() as held:
        with storing(f"the checkpoint {directory}"):
            checkpoint.source.mkdir(parents=True, exist_ok=True)
            held.enter_context(_locked(checkpoint))
            if checkpoint.identity.exists():  # nobody can change it any more
                generations, fates = _next_generation(checkpoint, program, streams, timing)
                checkpoint.forget_unfinished()
            aside = checkpoint.root / ".checkpoint.json"
            aside.write_text(json.dumps(_identity(program, streams, timing, generations), indent=1))
            os.replace(aside, checkpoint.identity)
        yield checkpoint, begun(program, generations), fates


@contextlib.contextmanager
def _locked(checkpoint: Checkpoint) -> Iterator[None]:
    """Hold a checkpoint; the system lets go of it when the process ends, however it does."""
    with open(checkpoint.lock, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            raise InputError(
                f"the checkpoint {checkpoint.root} is in use by {holder}",
                hint="end that run first, or give this one another checkpoint directory",
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
