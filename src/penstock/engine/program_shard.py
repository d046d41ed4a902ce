"""A shard as the runtime sees it: bytes in, answers in portions out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.counting import RowCounts
from penstock.engine.windows.reporting import as_given
from penstock.plan.steps import Reported
from penstock.timeline import NEVER

if TYPE_CHECKING:
    from penstock.engine.program import Program


class ProgramShard:
    """A shard as the runtime sees it: bytes in, Arrow IPC bytes out."""

    def __init__(self, program: Program, number: int) -> None:
        # Queries without a key have all their rows in the first shard and answer only there.
        queries = program.plan.queries
        mine = [i for i in program.answering if number == 0 or queries[i].key.column]
        self.number = number
        self.triples = {  # of the continuous queries, whether they make triples
            i: queries[i].kind in ("construct", "describe")
            for i in mine
            if isinstance(queries[i].step, Reported)
        }
        self.shard = program.shard(mine, program.snapshot)
        self.shard.context.number = number
        self.shard.quota = program.quota
        self.elsewhere = RowCounts()  # what the queries that look at one element have of static knowledge
        if number == 0:
            if program.snapshot is not None:
                program.snapshot.answer(self.shard)
            if program.elementwise is not None:
                program.elementwise.snapshot.answer(self.shard)
                static = RowCounts.from_json(program.elementwise.snapshot.about["counts"])
                self.elsewhere = static.behind(len(program.network.steps))
        self.restore = self.shard.restore
        self.changes = self.shard.changes
        self.state = self.shard.state

    def know(self, program: Program) -> None:
        """From the next step on, the static knowledge of a version of the program holds.

        Answers that follow from it alone, and did not before, are among those of that step.
        """
        before = self.shard.snapshot
        if before is None or program.snapshot is None:
            return
        self.shard.know(program.snapshot, program.version)
        if self.number == 0:
            program.snapshot.answer(self.shard, before)
            if program.elementwise is not None:
                program.snapshot.elements.answer(self.shard, before.elements)

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, bytes]]:
        """Takes in payloads at a watermark; answers as (query index, Arrow IPC bytes), in portions."""
        found: list[tuple[int, bytes]] = []

        def take(query: int, frame: Frame) -> None:
            found.append((query, to_ipc(self._table(query, frame))))

        self.each(payloads, watermark, ended, take)
        return found

    def row_counts(self) -> RowCounts:
        """The rows of each step so far, as this shard's part of the sum over all."""
        net = self.shard.net.steps
        if not self.number:
            return self.shard.static_counts + self.elsewhere + self.shard.counts
        return self.shard.counts.only(i for i, step in enumerate(net) if step.reads_stream)

    def answers(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, pa.Table]]:
        """The new answers as tables."""
        found: list[tuple[int, pa.Table]] = []

        def take(query: int, frame: Frame) -> None:
            found.append((query, self._table(query, frame)))

        self.each(payloads, watermark, ended, take)
        return found

    def _table(self, query: int, frame: Frame) -> pa.Table:
        """Answers as a table. What a continuous query gives has no time of its own in a graph: it has that of
        its evaluation; and a triple is known only then (decision 0013)."""
        if query in self.triples:
            frame = as_given(frame, triples=self.triples[query])
        return answer_table(frame, self.shard.terms)

    def each(
        self, payloads: list[bytes], watermark: int, ended: bool, take: Callable[[int, Frame], None]
    ) -> None:
        """Hands on the new answers, many in portions; those of a continuous query are there at the instant
        of its evaluation. Texts of terms may be forgotten when a step is done: they are to be had at once."""

        def hand_over(query: int, frame: Frame) -> None:
            if self.number:
                # Every shard has the static knowledge; only the first answers from it alone.
                static = frame.timeless_mask()
                frame = frame.take(~(static & (frame.since == NEVER) if frame.retractable else static))
            if len(frame):
                take(query, frame)

        self.shard.hand_over = hand_over
        try:
            frames = self.shard.step(payloads, watermark, ended)
        finally:
            self.shard.hand_over = None
        for query in sorted(frames):
            hand_over(query, frames[query])


_MANY = 4096
"""Rows of a table that is worth compressing."""


def answer_table(frame: Frame, terms: TermTable) -> pa.Table:
    """Solutions as a table: N-Triples texts by variable, then `start` and `end` in µs; where answers
    can leave, also how often and when they are there (`weight`, `since`, `until`).

    Each text is there once, however many rows have it: that is a fraction of the bytes, and
    they go through several processes.
    """
    timeless = frame.timeless_mask()
    hidden = timeless if timeless.any() else None
    times = [pa.array(column, pa.int64(), mask=hidden) for column in (frame.start, frame.end)]
    columns = [terms.encoded(column) for column in frame.ids]
    presence = dict(zip(("weight", "since", "until"), frame.presence, strict=False))
    return pa.table([*columns, *times, *presence.values()], names=[*frame.vars, "start", "end", *presence])


def to_ipc(table: pa.Table) -> bytes:
    """A table as bytes; of many rows, compressed: they are kept until all answers of a batch are there."""
    sink = pa.BufferOutputStream()
    how = pa.ipc.IpcWriteOptions(compression="zstd" if table.num_rows > _MANY else None)
    with pa.ipc.new_stream(sink, table.schema, options=how) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
