"""Keeps live shards from batch to batch, with the state store as the truth.

Every commit of a shard's state carries a stamp that no other attempt has. A kept shard is
used again only if the store shows the stamp of its own last step; after a retry, a move to
another machine or a restart it does not, and the shard is restored from its chunks.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.functions.errors import take_refused
from penstock.runtime.contract import Shard
from penstock.runtime.failures import errors_located
from penstock.runtime.job import JobReference


@dataclass
class CachedShard:
    """A live shard and the stamp of the state that it is at."""

    shard: Shard
    stamp: str
    batch: int
    knowledge: int  # the version of static knowledge that it has


@dataclass(frozen=True)
class Stepped:
    """What one step of a shard gave."""

    results: list[tuple[int, bytes]]
    puts: list[tuple[str, bytes]]
    deletes: list[str]
    stamp: str
    restored: bool
    refused: dict[str, int] = field(default_factory=dict)  # limits that expressions met, how often
    counts: list[Any] = field(default_factory=list)  # the rows of each step since the run began
    state: tuple[int, int] = (0, 0)  # the rows that it remembers, and their bytes


@dataclass
class ShardCache:
    """The live shards of this process; only those of the latest run are kept."""

    run: str | None = None
    kept: dict[int, CachedShard] = field(default_factory=dict)

    def at(self, run: str, number: int) -> str | None:
        """The stamp of the state that a shard is at here, or None."""
        if run == self.run and number in self.kept:
            return self.kept[number].stamp
        return None

    def step(
        self,
        job: JobReference,
        number: int,
        batch: int,
        stamp: str | None,
        chunks: Iterable[tuple[str, bytes]] | None,
        payloads: list[bytes],
        watermark: int,
        ended: bool,
        knowledge: tuple[int, int] = (0, 0),
    ) -> Stepped:
        """Bring a shard from the state `stamp` (None: the beginning) one batch further.

        `chunks` is the stored state if the shard is not here at that stamp. What is late is
        decided by the watermark that the shard was at; then it moves to `watermark`. `knowledge` is
        the version of static knowledge that the state has come about with, and that of this batch.
        """
        if job.run != self.run:
            self.run, self.kept = job.run, {}
        # Every shard takes part in every batch: one that missed the last was elsewhere then.
        self.kept = {each: kept for each, kept in self.kept.items() if kept.batch >= batch - 1}
        # Out of the cache while it moves: a step that fails half-way leaves no shard behind.
        live = self.kept.pop(number, None)
        restored = False
        before, now = knowledge
        if live is not None and live.stamp == stamp:
            shard, before = live.shard, live.knowledge
        else:
            before = now if stamp is None else before
            with errors_located(f"opening shard {number}"):
                shard = job.program(before).open(number)
                if stamp is not None:
                    shard.restore(chunks)
                    restored = True
        if before != now:
            with errors_located(f"giving shard {number} another version of static knowledge"):
                shard.know(job.program(now))
        with errors_located(f"deciding batch {batch} in shard {number}"):
            results = shard.step(payloads, watermark, ended)
            puts, deletes = shard.changes()
        new_stamp = uuid.uuid4().hex
        self.kept[number] = CachedShard(shard, new_stamp, batch, now)
        counts = shard.row_counts().to_json()
        return Stepped(results, puts, deletes, new_stamp, restored, take_refused(), counts, shard.state())


SHARD_CACHE = ShardCache()
"""The shards that this process has; it must live in a module, not in a closure."""
