"""Keeps live shards in the worker process from batch to batch, with the state store as truth.

Every commit of a shard's state carries a stamp that no other attempt has. A kept shard is
used again only if the store shows the stamp of its own last step; after a retry, a move to
another worker or a restart it does not, and the shard is restored from its chunks.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.runtime.contract import Program, Shard

_KEPT_RUNS = 1


@dataclass
class KeptShard:
    """A live shard and the stamp of the state that it is at."""

    shard: Shard
    stamp: str


@dataclass(frozen=True)
class Step:
    """What one step of a shard gave."""

    results: list[tuple[int, bytes]]
    puts: list[tuple[str, bytes]]
    deletes: list[str]
    stamp: str
    restored: bool


@dataclass
class ShardKeeper:
    """The live shards of this process; only those of the latest run are kept."""

    runs: OrderedDict[str, dict[int, KeptShard]] = field(default_factory=OrderedDict)

    def _of_run(self, run: str) -> dict[int, KeptShard]:
        if run not in self.runs:
            self.runs[run] = {}
            while len(self.runs) > _KEPT_RUNS:
                self.runs.popitem(last=False)
        return self.runs[run]

    def step(
        self,
        run: str,
        program: Program,
        number: int,
        stamp: str | None,
        chunks: Iterable[tuple[str, bytes]],
        payloads: list[bytes],
        watermark: int,
        ended: bool,
    ) -> Step:
        """Bring a shard from the state `stamp` (None: the beginning) one batch further.

        `chunks` is only read if the shard must be restored. What is late is decided by the
        watermark that the shard was at; then it moves to `watermark`.
        """
        kept = self._of_run(run)
        # Out of the cache while it moves: a step that fails half-way leaves no shard behind.
        live = kept.pop(number, None)
        restored = live is None or live.stamp != stamp
        if restored:
            shard = program.open(number)
            if stamp is not None:
                shard.restore(chunks)
        else:
            shard = live.shard
        results = shard.step(payloads, watermark, ended)
        puts, deletes = shard.changes()
        new_stamp = uuid.uuid4().hex
        kept[number] = KeptShard(shard, new_stamp)
        return Step(results, puts, deletes, new_stamp, restored)


KEEPER = ShardKeeper()
"""The keeper of this worker process; it must live in a module, not in a closure."""
