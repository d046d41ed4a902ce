"""A plan ready to run: it says which shard must see what, and opens shards.

This is what travels to the workers: everything here can be pickled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.columns import wire
from penstock.columns.frame import Frame
from penstock.columns.ids import id_of
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.counting import RowCounts
from penstock.engine.diagnosis import Diagnosis, diagnose, lacking
from penstock.engine.digests import QueryIdentity, digest_of, digests, rows_digest
from penstock.engine.exchange import match, spread, static_rows, texts_for
from penstock.engine.image import Image, ImageFile, image_by
from penstock.engine.network import Network, network
from penstock.engine.shard import Shard
from penstock.engine.thresholds import may_pass
from penstock.engine.tuning import TUNING, Tuning
from penstock.errors import storing
from penstock.functions.chance import rule_name
from penstock.knowledge.graphs import Knowledge, StaticGraph
from penstock.plan import hidden, steps
from penstock.plan.analysis.keys import Key
from penstock.plan.compilation.sieves import Sieve, sieves
from penstock.plan.planning import Plan
from penstock.plan.sources import Stream, static_graphs, streams
from penstock.reason.stage import Reasoner, Reasoning, Unchanged, closed
from penstock.timeline import NEVER

IMAGE_FILE = "image.arrow"
_NO_TERMS = TermChunk()


class Program:
    """All queries of a run over a number of shards."""

    def __init__(
        self,
        plan: Plan,
        graphs: Sequence[StaticGraph] = (),
        *,
        shards: int = 1,
        now: int = 0,
        tuning: Tuning = TUNING,
        key: int = 0,
        reasoning: Reasoning | None = None,
    ) -> None:
        self.plan = plan
        self.key = key  # of the ids of terms
        self.graphs = [graph.keyed(key) for graph in graphs]
        self.shards = shards
        self.now = now
        self.tuning = tuning
        self.reasoning = reasoning
        self.file: ImageFile | None = None  # has the static knowledge, if it is not in `graphs`

    def __getstate__(self) -> dict:
        names = ("plan", "key", "graphs", "shards", "now", "tuning", "reasoning", "file", "digests")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def network(self) -> Network:
        return network(query.step for query in self.plan.queries)

    @cached_property
    def digests(self) -> list[str]:
        """What each step of the network is known by: on the wire, and in the stored state."""
        return digests(self.network, self.plan.catalog, self._static)

    def _static(self, scan: steps.Scan) -> str:
        """The digest of the rows that a scan takes from static knowledge."""
        graphs = [self.graphs[place] for place in sorted(static_graphs(scan.sources))]
        return rows_digest((static_rows(scan, graph, self.key), graph.terms) for graph in graphs)

    @cached_property
    def queries(self) -> tuple[QueryIdentity, ...]:
        """What a checkpoint knows of the queries."""
        names = dict(zip(self.network.steps, self.digests, strict=True))
        return tuple(
            QueryIdentity(
                query.name,
                rule_name(query.parsed.query),
                names[query.step],
                tuple(names[step] for step in query.step.walk()),
                query.key.variable.name if isinstance(query.key, Key) else None,
            )
            for query in self.plan.queries
        )

    @cached_property
    def _scans(self) -> list[tuple[str, steps.Scan]]:
        found = zip(self.digests, self.network.steps, strict=True)
        return [(name, step) for name, step in found if isinstance(step, steps.Scan)]

    @cached_property
    def _narrow(self) -> dict[str, int]:
        """The predicates of scans that want more than a predicate."""
        return {
            name: id_of(scan.predicate, self.key)
            for name, scan in self._scans
            if not isinstance(scan.predicate, str) and sum(map(hidden.is_variable, scan.vars)) < 2
        }

    @cached_property
    def _sieves(self) -> dict[str, Sieve]:
        found = sieves(query.step for query in self.plan.queries)
        return {name: found[scan] for name, scan in self._scans if scan in found}

    @cached_property
    def keep_predicates(self) -> np.ndarray | None:
        """The ids of the predicates that a scan can match or the reasoner asks for; None: all."""
        wanted = [scan.predicate for _, scan in self._scans if streams(scan.sources)]
        if any(isinstance(predicate, str) for predicate in wanted):
            return self.reasoner.wanted(None)
        ids = np.unique(np.array([id_of(predicate, self.key) for predicate in wanted], np.int64))
        return self.reasoner.wanted(ids)

    @cached_property
    def reasoner(self) -> Reasoner:
        return Unchanged() if self.reasoning is None else self.reasoning(self.knowledge)

    @property
    def knowledge(self) -> Knowledge:
        """The static graphs, for the reasoner."""
        return Knowledge.of(self.graphs, self.key) if self.file is None else self.file.image().knowledge()

    def reason(self, occurrences: Occurrences) -> Occurrences:
        """What the reasoner makes of whole elements, which `route` then is given."""
        return closed(self.reasoner, occurrences)

    @cached_property
    def _instant_streams(self) -> frozenset[int]:
        """The streams of which the instants matter to somebody."""
        used = (step.instants for step in self.network.steps if step.waits)
        return frozenset().union(*used)

    def route(self, stream: int, occurrences: Occurrences) -> list[tuple[int, bytes]]:
        """What each shard must see of these occurrences, as (shard, payload)."""
        triples = (occurrences.subject, occurrences.predicate, occurrences.object)
        by_shard: dict[int, list[tuple[str, Frame]]] = {}
        matched: dict[str, int] = {}
        occurred: list[str] = []
        for name, scan in self._scans:
            if Stream(stream) in scan.sources:
                found = match(
                    scan, triples, occurrences.start, occurrences.end, self.key, occurrences.element
                )
                if len(found):
                    matched[name] = len(found)
                elif name in self._narrow and (occurrences.predicate == self._narrow[name]).any():
                    occurred.append(name)
                if name in self._sieves and len(found):
                    found = found.take(may_pass(self._sieves[name], found))
                for shard, frame in spread(scan, found, self.shards):
                    by_shard.setdefault(shard, []).append((name, frame))
        if stream in self._instant_streams and len(occurrences.instants):
            ends = occurrences.instants
            frame = Frame((), np.empty((0, len(ends)), np.int64), ends, ends)
            by_shard.setdefault(0, []).append((f"instants/{stream}", frame))
        payloads = []
        counted = {"matched": matched, "occurred": occurred} if matched or occurred else {}
        if counted:
            by_shard.setdefault(0, [])  # which takes the counts, whoever has the rows
        for shard, frames in sorted(by_shard.items()):
            terms = _NO_TERMS
            if frames:
                terms = texts_for([frame for _, frame in frames], occurrences.terms, self.shards, self.tuning)
            payloads.append((shard, wire.pack(frames, terms, **({} if shard else counted))))
        return payloads

    def open(self, shard: int) -> ProgramShard:
        """A new shard, with the static knowledge in it."""
        return ProgramShard(self, shard)

    def prepared(self, directory: Path) -> Program:
        """The same program with its static knowledge in a file there, which all processes of a run map."""
        if not self.graphs:
            return self
        with storing(directory):
            directory.mkdir(parents=True, exist_ok=True)
        image = self._new_image()
        if self.reasoning is not None:
            image = image.with_graphs(self.knowledge)
        digest = digest_of(*self.digests, *(graph.digest for graph in self.graphs))
        made = copy(self)
        for kept in ("image", "reasoner"):
            made.__dict__.pop(kept, None)
        made.file = ImageFile.written(image, directory / IMAGE_FILE, digest)
        made.graphs = []
        return made

    @cached_property
    def image(self) -> Image | None:
        """What static knowledge becomes in the operators; None if there is none."""
        if self.file is not None:
            return self.file.image()
        return self._new_image() if self.graphs else None

    def _new_image(self) -> Image:
        return image_by(lambda: self.shard(range(len(self.plan.queries)), None))

    def shard(self, queries: Iterable[int], image: Image | None) -> Shard:
        """A shard that answers some of the queries."""
        outputs = {i: self.network.place[self.plan.queries[i].step] for i in queries}
        last = {query.name: query.last for query in self.queries}
        return Shard(
            self.network, self.digests, last, outputs, self.graphs, self.now, self.tuning, self.key, image
        )

    def lacks_predicate(self, counts: RowCounts) -> bool:
        """Whether a query has no answers, and names a predicate that has not occurred."""
        return any(any(lacking(query, self.network, counts)) for query in self.plan.queries)

    def diagnose(self, query: int, counts: RowCounts, occurring: Collection[str] = ()) -> Diagnosis | None:
        """Where a query without answers dried up; None if it has some."""
        return diagnose(self.plan.queries[query], self.network, counts, occurring)

    def columns(self, query: int) -> tuple[str, ...]:
        return self.plan.queries[query].columns


class ProgramShard:
    """A shard as the runtime sees it: bytes in, Arrow IPC bytes out."""

    def __init__(self, program: Program, number: int) -> None:
        # Queries without a key have all their rows in the first shard and answer only there.
        queries = enumerate(program.plan.queries)
        mine = [i for i, query in queries if number == 0 or isinstance(query.key, Key)]
        self.number = number
        self.shard = program.shard(mine, program.image)
        if program.image is not None and number == 0:
            program.image.answer(self.shard)
        self.restore = self.shard.restore
        self.changes = self.shard.changes

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, bytes]]:
        """Takes in payloads at a watermark; answers as (query index, Arrow IPC bytes)."""
        return [(query, to_ipc(table)) for query, table in self.answers(payloads, watermark, ended)]

    def row_counts(self) -> RowCounts:
        """The rows of each step so far, as this shard's part of the sum over all."""
        net = self.shard.net.steps
        if not self.number:
            return self.shard.static_counts + self.shard.counts
        return self.shard.counts.only(i for i, step in enumerate(net) if step.reads_stream)

    def answers(self, payloads: list[bytes], watermark: int, ended: bool) -> Iterable[tuple[int, pa.Table]]:
        frames = self.shard.step(payloads, watermark, ended)
        for query in sorted(frames):
            frame = frames[query]
            if self.number:
                # Every shard has the static knowledge; only the first answers from it alone.
                static = frame.timeless_mask()
                frame = frame.take(~(static & (frame.since == NEVER) if frame.changes else static))
            if len(frame):
                yield query, answer_table(frame, self.shard.terms)


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
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
