"""A tiny program that follows the engine's contract, to test the runtime without an engine.

Lines are `key instant`. Each event is answered once the watermark has passed it, with its
number among the events of its key in order of time: an answer that any lost, repeated or
misplaced event or state would change, and that does not depend on batches.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.decode.occurrences import Occurrences, Reject
from penstock.engine.counting import RowCounts
from penstock.engine.digests import QueryIdentity, RulesIdentity
from penstock.errors import InputError
from penstock.reason.stage import Unchanged
from penstock.runtime.intake.late import SCHEMA
from penstock.timeline import NEVER

from .reading import read_split

ENDLESS = 7_777_777
"""A key whose step takes for ever."""


class ToyDecoder:
    def __init__(self, strict: bool) -> None:
        self.strict = strict

    def decode(self, split) -> Occurrences:
        keys, ends, rejects = [], [], []
        for number, line in enumerate(read_split(split).decode().splitlines(), 1):
            try:
                key, end = map(int, line.split())
            except ValueError:
                reject = Reject(split.path, number, "not two numbers", line)
                if self.strict:
                    raise InputError(f"{split.path}: {line!r} is broken", hint="mend it") from None
                rejects.append(reject)
                continue
            keys.append(key)
            ends.append(end)
        subject, end = np.array(keys, np.int64), np.array(ends, np.int64)
        none = np.zeros_like(subject)
        return Occurrences(subject, none, none, end, end, np.unique(end), elements=len(end), rejects=rejects)

    def late(self, split, watermark) -> pa.Table:
        found = self.decode(split)
        late = [(str(k), e) for k, e in zip(found.subject, found.end.tolist(), strict=True) if e < watermark]
        rows = [
            {"source": split.path, "graph": key, "start": end, "end": end, "triples": []} for key, end in late
        ]
        return pa.Table.from_pylist(rows, schema=SCHEMA)


def toy_decoder(spec, keep_predicates, strict, key) -> ToyDecoder:
    return ToyDecoder(strict)


class ToyProgram:
    keep_predicates = None
    key = 0
    changing = False
    reasoner = Unchanged()
    rules = RulesIdentity()

    def __init__(self, shards: int = 2, fingerprint: str = "toy", fail_on: int | None = None):
        self.shards = shards
        self.queries = (QueryIdentity("toy", fingerprint, fingerprint),)
        self.fail_on = fail_on

    def begun(self, generations) -> ToyProgram:
        return self

    def route(self, stream: int, occurrences: Occurrences) -> list[tuple[int, bytes]]:
        shard = occurrences.subject % self.shards
        routed = []
        for number in range(self.shards):
            mine = shard == number
            if mine.any():
                rows = np.stack([occurrences.subject[mine], occurrences.end[mine]], axis=1)
                routed.append((number, rows.tobytes()))
        return routed

    def reason(self, occurrences: Occurrences) -> Occurrences:
        return occurrences

    def at(self, version: int) -> ToyProgram:
        return self

    def prepared(self, directory: Path) -> ToyProgram:
        return self

    def open(self, shard: int) -> ToyShard:
        return ToyShard(self.fail_on)

    def lacks_predicate(self, counts) -> bool:
        return False


class FaultyProgram(ToyProgram):
    """A program with a fault in it, which nobody has foreseen."""

    def __init__(self, where: str) -> None:
        super().__init__(2)
        self.where = where

    def route(self, stream, occurrences):
        return super().route(stream, occurrences if self.where != "route" else None)

    def open(self, shard):
        opened = super().open(shard)
        if self.where == "step":
            opened.pending = None
        return opened


class ToyShard:
    def __init__(self, fail_on: int | None) -> None:
        self.fail_on = fail_on
        self.counts: Counter[int] = Counter()
        self.pending: dict[str, np.ndarray] = {}  # chunk key → rows (key, end)
        self.number = 0
        self.watermark = NEVER
        self.puts: dict[str, bytes] = {}
        self.deletes: list[str] = []

    def know(self, program: ToyProgram) -> None:
        pass

    def row_counts(self) -> RowCounts:
        return RowCounts()

    def state(self) -> tuple[int, int]:
        return sum(map(len, self.pending.values())), sum(rows.nbytes for rows in self.pending.values())

    def restore(self, chunks: Iterable[tuple[str, bytes]]) -> None:
        for name, data in chunks:
            if name == "counts":
                stored = json.loads(data)
                self.number, self.watermark = stored["number"], stored["watermark"]
                self.counts.update({int(k): n for k, n in stored["counts"].items()})
            else:
                self.pending[name] = np.frombuffer(data, np.int64).reshape(-1, 2)

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, bytes]]:
        answers: list[tuple[int, bytes]] = []
        self.number += 1
        if payloads:
            rows = np.concatenate([np.frombuffer(p, np.int64).reshape(-1, 2) for p in payloads])
            if (rows[:, 0] == ENDLESS).any():
                time.sleep(600)
            if self.fail_on is not None and (rows[:, 0] == self.fail_on).any():
                raise InputError("the key is forbidden", hint="choose another one")
            self._keep(f"p{self.number:08d}", rows[rows[:, 1] >= self.watermark])
        self.watermark = watermark
        ripe = [rows[ended | (rows[:, 1] < watermark)] for rows in self.pending.values()]
        ripe = np.concatenate(ripe) if ripe else np.empty((0, 2), np.int64)
        if len(ripe):
            for name, rows in list(self.pending.items()):
                rest = rows[~(ended | (rows[:, 1] < watermark))]
                if len(rest) < len(rows):
                    self._keep(name, rest)
            out = []
            for key, end in sorted(map(tuple, ripe.tolist()), key=lambda row: (row[1], row[0])):
                self.counts[key] += 1
                out.append((key, end, self.counts[key]))
            answers.append((0, to_ipc(np.array(out, np.int64))))
        counts = {"number": self.number, "watermark": watermark, "counts": self.counts}
        self.puts["counts"] = json.dumps(counts).encode()
        return answers

    def _keep(self, name: str, rows: np.ndarray) -> None:
        if len(rows):
            self.pending[name] = rows
            self.puts[name] = rows.tobytes()
        elif self.pending.pop(name, None) is not None:
            self.puts.pop(name, None)
            self.deletes.append(name)

    def changes(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        changed = list(self.puts.items()), self.deletes
        self.puts, self.deletes = {}, []
        return changed


def to_ipc(rows: np.ndarray) -> bytes:
    table = pa.table({str(i): rows[:, i] for i in range(rows.shape[1])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def rows_of(payload: bytes) -> list[tuple[int, ...]]:
    table = pa.ipc.open_stream(payload).read_all()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def expected_answers(events: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    counts: Counter[int] = Counter()
    answers = []
    for key, end in sorted(events, key=lambda event: (event[1], event[0])):
        counts[key] += 1
        answers.append((key, end, counts[key]))
    return sorted(answers)
