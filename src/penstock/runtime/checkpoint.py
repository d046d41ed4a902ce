"""The checkpoint directory: what it holds, and whose it is.

- `checkpoint.json`: the fingerprint of the queries, their plan, shards, streams and lateness
- `source/`: logs of segments, spooled standard input, the job for the workers
- `spark/`: Spark's own offsets, commits and state
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError, UsageError, storing
from penstock.runtime.contract import Program
from penstock.sources.streams import StreamSpec

LAYOUT = 2


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

    def committed(self, batch: int) -> bool:
        """Whether Spark has finished a batch for good."""
        return (self.spark / "commits" / str(batch)).exists()


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


def _identity(program: Program, streams: tuple[StreamSpec, ...], lateness: int) -> dict:
    return {
        "layout": LAYOUT,
        "fingerprint": program.fingerprint,
        "plan": program.layout,
        "shards": program.shards,
        "streams": [[spec.iri, *spec.paths] for spec in streams],
        "lateness": lateness,
        "now": getattr(program, "now", None),
    }


def _told(streams: list[list[str | None]] | None) -> str:
    """Streams as a person writes them: [IRI=]SOURCE."""
    return ", ".join((f"{iri}=" if iri else "") + " ".join(map(str, paths)) for iri, *paths in streams or ())


def check_checkpoint(
    directory: str | os.PathLike[str],
    program: Program,
    streams: tuple[StreamSpec, ...],
    lateness: int,
) -> Checkpoint:
    """The checkpoint in a directory, if this run may begin it or go on with it; changes nothing."""
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
        return checkpoint
    try:
        stored = json.loads(checkpoint.identity.read_text())
    except ValueError:
        raise InputError(f"{checkpoint.identity} is damaged") from None
    identity = _identity(program, streams, lateness)
    hint = "use a new checkpoint directory, or run with what this one was begun with"
    for name, said in (
        ("layout", "was written by another version of Penstock"),
        ("shards", "was begun with another number of shards"),
        ("streams", "belongs to other streams"),
        ("lateness", "was begun with another lateness"),
        ("fingerprint", "belongs to other queries or graphs"),
        ("plan", "was written by another version of Penstock, which planned these queries in another way"),
    ):
        if stored.get(name) != identity[name]:
            detail = ""
            if name in ("shards", "lateness"):
                detail = f": {stored.get(name)} there, {identity[name]} now"
            elif name == "streams":
                detail = f": {_told(stored.get(name))} there, {_told(identity[name])} now"
            raise InputError(f"the checkpoint {directory} {said}{detail}", hint=hint)
    return checkpoint


def open_checkpoint(
    directory: str | os.PathLike[str],
    program: Program,
    streams: tuple[StreamSpec, ...],
    lateness: int,
) -> Checkpoint:
    """Begin a checkpoint, or go on with one that belongs to exactly this run."""
    checkpoint = check_checkpoint(directory, program, streams, lateness)
    with storing(f"the checkpoint {directory}"):
        checkpoint.source.mkdir(parents=True, exist_ok=True)
        if not checkpoint.identity.exists():
            aside = checkpoint.root / ".checkpoint.json"
            aside.write_text(json.dumps(_identity(program, streams, lateness), indent=1))
            os.replace(aside, checkpoint.identity)
    return checkpoint
