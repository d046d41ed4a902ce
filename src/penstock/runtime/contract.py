"""What the runtime asks of an engine, and what it hands to the sinks.

The engine (`penstock.engine.program`) knows nothing of Spark: a `Program` says which shard
each occurrence belongs to, and a `Shard` holds the state of its part and steps from batch to
batch. Payloads between them are opaque bytes (Arrow IPC).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from penstock.runtime.messages import LATE, STATISTICS
from penstock.runtime.progress import Progress, Rate
from penstock.sources.segments import COMPACT_AFTER
from penstock.timeline import NEVER

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from penstock.decode.occurrences import Occurrences
    from penstock.engine.counting import RowCounts
    from penstock.engine.digests import QueryIdentity, RulesIdentity
    from penstock.knowledge.graphs import StaticGraph
    from penstock.reason.stage import Reasoner
    from penstock.runtime.recovery.continuing import Continued
    from penstock.sources.splits import Split
    from penstock.sources.streams import StreamSpec


class Shard(Protocol):
    """The state of one shard, and its step from batch to batch."""

    def restore(self, chunks: Iterable[tuple[str, bytes]]) -> None:
        """Take over the chunks of the state store; called once, right after `open`."""

    def know(self, program: Program) -> None:
        """From the next step on, have the static knowledge of a program (see `Program.at`)."""

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, bytes]]:
        """Take in a batch and move to a watermark; (query index, Arrow IPC bytes).

        What ends before the watermark that the shard was at so far is late and left out; the
        runtime reports it. Called once in every batch, also without payloads. `ended`: all streams are
        over, so everything is decided; the watermark is the instant after the last end of an element.
        """

    def row_counts(self) -> RowCounts:
        """How many rows each step has given since the run began, restarts included."""

    def state(self) -> tuple[int, int]:
        """How many rows it remembers, static knowledge apart, and how many bytes these take."""

    def changes(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        """The chunks to put and the keys to delete since the last call."""


class Program(Protocol):
    """All registered queries, ready to run; travels to the workers by pickle."""

    queries: tuple[QueryIdentity, ...]  # what a checkpoint knows of them
    shards: int
    key: int  # of the ids of terms, which everything that decodes must share
    now: int  # when the run began, with its checkpoint
    keep_predicates: np.ndarray | None
    reasoner: Reasoner
    rules: RulesIdentity  # what a checkpoint knows of those by which elements are closed
    changing: bool  # its static knowledge may have other versions later

    def begun(self, generations: Sequence[int]) -> Program:
        """The same program, of queries that began with these batches."""

    def at(self, version: int) -> Program:
        """The same program with a version of its static knowledge; itself, if that does not change."""

    def next_version(self, graphs: Sequence[StaticGraph]) -> int:
        """Make a version of other static graphs, where all processes find it; its number.

        An `InputError` says why it cannot be.
        """

    def reason(self, occurrences: Occurrences) -> Occurrences:
        """What follows from whole elements and static knowledge; what was decoded, if nothing does."""

    def route(self, stream: int, occurrences: Occurrences) -> list[tuple[int, bytes]]:
        """What each shard must see of these occurrences."""

    def prepared(self, directory: Path) -> Program:
        """The same program; what is large of it stands in files there, which it only refers to."""

    def open(self, shard: int) -> Shard:
        """A new, empty shard."""

    def lacks_predicate(self, counts: RowCounts) -> bool:
        """Whether it would help to know which predicates occur, to say why there are no answers."""


class SplitDecoder(Protocol):
    """Turns one split of a stream into occurrences."""

    def decode(self, split: Split) -> Occurrences: ...

    def late(self, split: Split, watermark: int) -> pa.Table:
        """The elements that ended before a watermark, as `runtime.late` has them."""

    def names(self, split: Split, elements: np.ndarray) -> dict[int, tuple[str, str | None]]:
        """Where elements of a split, known by their numbers, come from, and what their graphs are called."""


class DecoderFactory(Protocol):
    """Makes the decoder of a stream; a module-level function, because it travels by pickle."""

    def __call__(
        self, spec: StreamSpec, keep_predicates: np.ndarray | None, strict: bool, key: int
    ) -> SplitDecoder: ...


Results = list[tuple[int, bytes]]
"""Of a batch: the index of a query, or a kind of side output, with its bytes (Arrow IPC)."""
OnBatch = Callable[[int, Results], None]


@dataclass
class RunStatistics:
    """What a run has done so far."""

    batches: int = 0
    batch: int | None = None  # the number of the last one, restarts included
    started: bool = False  # the first batch is under way, or done
    elements: int = 0
    occurrences: int = 0
    bytes: int = 0
    answers: Counter[str] = field(default_factory=Counter)  # by query
    rejects: int = 0
    late: int = 0  # elements
    known: int | None = None  # triples of the static graphs, of a run that reads nothing else
    derived: int = 0  # triples that rules have added to elements
    ambiguous: int = 0  # local times that come twice, because a clock is put back
    dropped: Counter[str] = field(default_factory=Counter)  # by rule: what would have a literal as subject
    inconsistent: int = 0  # contradictions in elements
    first: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what was rejected, late, inconsistent
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)  # of rejects, by unit and reason
    refused: Counter[str] = field(default_factory=Counter)  # limits that expressions met, how often
    restored: int = 0  # how often a shard was restored from the state store
    watermark: int | None = None
    seconds: float = 0.0
    ended: bool = False
    interrupted: bool = False
    continued: tuple[Continued, ...] = ()  # what became of the queries of the checkpoint, if it has some
    rows: dict[int, list[Any]] = field(default_factory=dict)  # by shard: its `RowCounts`, as JSON
    predicates: frozenset[str] = frozenset()  # some that occur, where one that is asked for does not
    knowledge: int = 0  # the version of static knowledge that holds
    state: dict[int, tuple[int, int]] = field(default_factory=dict)  # by shard: rows and bytes
    recent: Rate = field(default_factory=Rate, repr=False, compare=False)

    def taken(self, given: Iterable[tuple[int, int, Any]]) -> Results:
        """The results of a batch, of (shard, query or kind, payload); the rest is counted."""
        import pyarrow as pa

        results: Results = []
        for shard, query, payload in given:
            if query == STATISTICS:
                self._count(shard, json.loads(payload))
                continue
            if query == LATE:
                self.late += pa.ipc.open_stream(payload).read_all().num_rows
            results.append((query, payload))
        self.recent.note(self.elements)
        return results

    def _count(self, shard: int, report: dict[str, Any]) -> None:
        self.rows[shard] = report["rows"]
        self.state[shard] = tuple(report["state"])
        self.elements += report["elements"]
        self.occurrences += report["occurrences"]
        self.bytes += report["bytes"]
        self.rejects += report["rejects"]
        self.restored += report["restored"]
        self.derived += report["derived"]
        self.ambiguous += report["ambiguous"]
        self.dropped.update(report["dropped"])
        self.refused.update(report["refused"])
        self.ended = self.ended or report["ended"]
        self.knowledge = report["knowledge"]
        if report["watermark"] != NEVER:
            self.watermark = report["watermark"]

    @property
    def rate(self) -> float:
        """Occurrences per second since the run began."""
        return self.occurrences / self.seconds if self.seconds > 0 else 0.0

    @property
    def state_rows(self) -> int:
        """The rows that all shards remember, static knowledge apart."""
        return sum(rows for rows, _ in self.state.values())

    @property
    def state_bytes(self) -> int:
        """The bytes of the rows that all shards remember, and of the texts in them."""
        return sum(size for _, size in self.state.values())

    @property
    def progress(self) -> Progress:
        """How far the run is, in the figures that an operator looks at."""
        return Progress(
            batch=self.batch,
            elements=self.elements,
            elements_per_second=self.recent.now(),
            answers=self.answers.total(),
            watermark=None if self.ended else self.watermark,
            state_rows=self.state_rows,
            state_bytes=self.state_bytes,
            late=self.late,
            rejected=self.rejects,
        )

    @property
    def row_counts(self) -> RowCounts:
        """The rows of each step over all shards, since the run (with its checkpoint) began."""
        from penstock.engine.counting import RowCounts

        return sum(map(RowCounts.from_json, self.rows.values()), RowCounts())


@dataclass
class RunOptions:
    """How a run goes about it; the defaults suit a laptop."""

    batch_bytes: int | None = None  # the most that a batch reads; by default some splits per core
    strict: bool = False
    trigger: str | None = None  # the least time between two batches in follow mode, "1 second"
    settings: Mapping[str, str] | None = None  # of Spark, beside our own
    log: Path | None = None  # a file for Spark's warnings
    compact_after: int = COMPACT_AFTER  # of the logs of segments


OnProgress = Callable[[RunStatistics], None]
