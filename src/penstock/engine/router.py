"""Which shard must see what of a batch: rows by the keys of their scans, instants, answers of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from penstock.columns import wire
from penstock.columns.frame import Frame
from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk
from penstock.decode.occurrences import Occurrences, merge_terms
from penstock.engine.elementwise import Answered
from penstock.engine.exchange import spread, spread_by, texts_for
from penstock.engine.network import Network
from penstock.engine.scanning import Matching, frame_of
from penstock.engine.thresholds import may_pass
from penstock.engine.tuning import Tuning
from penstock.functions.errors import take_refused
from penstock.plan import steps, system_columns
from penstock.plan.compilation.sieves import Sieve
from penstock.plan.compilation.sieves import sieves as sieves_of
from penstock.plan.planning import Plan
from penstock.plan.sources import Stream
from penstock.plan.steps import DerivedScan, Evaluated, StatedScan
from penstock.plan.steps.windowing import filled

_NO_TERMS = TermChunk()


class Router:
    """The scans of a network, and how rows find them and their shards."""

    def __init__(
        self,
        network: Network,
        digests: Sequence[str],
        step_digests: Mapping[steps.Step, str],
        plan: Plan,
        shards: int,
        key: int,
        tuning: Tuning,
    ) -> None:
        self.network = network
        self.digests = digests
        self.step_digests = step_digests
        self.queries = plan.queries
        self.shards = shards
        self.key = key  # of the ids of terms
        self.tuning = tuning

    @cached_property
    def scans(self) -> list[tuple[str, steps.Scan]]:
        found = zip(self.digests, self.network.steps, strict=True)
        return [(name, step) for name, step in found if isinstance(step, steps.Scan)]

    def _matching(self, stream: int) -> tuple[list[str], Matching]:
        """The scans that read a stream: their names, and how rows find them."""
        if stream not in self._matchings:
            scans = {name: scan for name, scan in self.scans if Stream(stream) in scan.sources}
            self._matchings[stream] = [*scans], Matching(scans.values(), self.key)
        return self._matchings[stream]

    @cached_property
    def _matchings(self) -> dict[int, tuple[list[str], Matching]]:
        return {}

    @cached_property
    def sieves(self) -> dict[str, Sieve]:
        found = sieves_of(query.step for query in self.queries)
        return {name: found[scan] for name, scan in self.scans if scan in found}

    @cached_property
    def _instant_streams(self) -> frozenset[int]:
        """The streams of which the instants matter to somebody."""
        return self.network.instants()

    @cached_property
    def reporting(self) -> frozenset[int]:
        """Those of them by which windows report."""
        return frozenset().union(
            *(each.instants for each in self.network.steps if isinstance(each, Evaluated))
        )

    def route(
        self, stream: int, occurrences: Occurrences, answered: Answered | None
    ) -> list[tuple[int, bytes]]:
        """What each shard must see of these occurrences and their own answers, as (shard, payload)."""
        triples = (occurrences.subject, occurrences.predicate, occurrences.object)
        by_shard: dict[int, list[tuple[str, Frame]]] = {}
        matched: dict[str, int] = {}
        occurred: list[str] = []
        names, matching = self._matching(stream)
        for name, scan, rows in zip(names, matching.scans, matching.rows(triples), strict=True):
            if isinstance(scan, (StatedScan, DerivedScan)):
                derived = occurrences.derived[rows] if len(occurrences.derived) else np.zeros(len(rows), bool)
                rows = rows[derived == isinstance(scan, DerivedScan)]
            if not len(rows):
                if matching.occurs(scan, occurrences.predicate):
                    occurred.append(name)
                continue
            matched[name] = len(rows)
            found = frame_of(scan, rows, triples, occurrences.start, occurrences.end, occurrences.element)
            if name in self.sieves:
                found = found.take(may_pass(self.sieves[name], found))
            for shard, frame in spread(scan, found, self.shards):
                by_shard.setdefault(shard, []).append((name, frame))
        for number, ends in (stream, occurrences.instants), (filled(stream), occurrences.end):
            if number in self._instant_streams and len(ends):
                ends = sorted_unique(ends)
                frame = Frame((), np.empty((0, len(ends)), np.int64), ends, ends)
                # Windows report in all shards at the same instants.
                for shard in range(self.shards) if number in self.reporting else (0,):
                    by_shard.setdefault(shard, []).append((f"instants/{number}", frame))
        payloads = []
        counted = {"matched": matched, "occurred": occurred} if matched or occurred else {}
        if answered is not None:
            counted |= {"elsewhere": answered.counts.to_json(), "refused": take_refused()}
        if counted:
            by_shard.setdefault(0, [])  # which takes the counts, whoever has the rows
        answers = {} if answered is None else self._by_element(answered)
        for shard in sorted({*by_shard, *answers}):
            frames, terms = by_shard.get(shard, []), []
            if frames:
                found = [frame for _, frame in frames]
                terms.append(texts_for(found, occurrences.terms, self.shards, self.tuning))
            if shard in answers:
                found = [frame for _, frame in answers[shard]]
                terms.append(texts_for(found, answered.terms, self.shards, self.tuning))
            frames = frames + answers.get(shard, [])
            terms = merge_terms(terms) if any(map(len, terms)) else _NO_TERMS
            payloads.append((shard, wire.pack(frames, terms, **({} if shard else counted))))
        return payloads

    def _by_element(self, answered: Answered) -> dict[int, list[tuple[str, Frame]]]:
        """The answers of elements for each shard; equal queries are one step, which gets them once."""
        found: dict[int, list[tuple[str, Frame]]] = {}
        frames = {self.queries[query].step: frame for query, frame in answered.frames.items()}
        for step, frame in frames.items():
            name = self.step_digests[step]
            for shard, rows in spread_by(
                frame.column(system_columns.ELEMENT), frame.project(step.vars), self.shards
            ):
                found.setdefault(shard, []).append((name, rows))
        return found
