"""A plan ready to run: it opens shards, and knows versions of static knowledge.

This is what travels to the workers: everything here can be pickled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from penstock.algebra.scopes import ELEMENT
from penstock.columns.ids import id_of
from penstock.columns.terms import TermChunk
from penstock.decode.occurrences import Occurrences
from penstock.engine.counting import RowCounts
from penstock.engine.diagnosis import Diagnosis, diagnose, lacking
from penstock.engine.digests import QueryIdentity, RulesIdentity, digest_of, digests, rows_digest
from penstock.engine.elementwise import ElementSteps, Elementwise
from penstock.engine.exchange import static_rows
from penstock.engine.network import Network, network
from penstock.engine.program_shard import ProgramShard
from penstock.engine.quota import Quota
from penstock.engine.router import Router
from penstock.engine.shard import Shard
from penstock.engine.static_snapshot import SnapshotFile, StaticSnapshot, snapshot_of, stored_graphs
from penstock.engine.tuning import TUNING, Tuning
from penstock.errors import InputError, QueryError, storing
from penstock.functions.chance import rule_name
from penstock.knowledge.graphs import Knowledge, StaticGraph
from penstock.knowledge.versions import version_path, versions_in
from penstock.plan import steps
from penstock.plan.catalog import GraphName
from penstock.plan.planning import Plan, PlannedQuery, make_plan
from penstock.plan.sources import is_stream, static_graphs, streams
from penstock.plan.steps.windowing import filled
from penstock.reason.stage import Reasoner, Reasoning, Unchanged, closed

SNAPSHOT_FILE = "snapshot.arrow"


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
        changing: bool = False,
        internal_queries: Collection[int] = (),
        rules: RulesIdentity = RulesIdentity(),  # noqa: B008 — frozen
        quota: Quota = Quota(),  # noqa: B008 — frozen
    ) -> None:
        self.plan = plan
        self.key = key  # of the ids of terms
        self.graphs = [graph.keyed(key) for graph in graphs]
        self.shards = shards
        self.now = now
        self.tuning = tuning
        self.reasoning = reasoning
        self.changing = changing and not self.fixed  # steps stay the same when static knowledge changes
        self.internal_queries = frozenset(internal_queries)  # the queries that only feed others
        self.rules = rules
        self.quota = quota
        self.generations = (0,) * len(plan.queries)  # the batches that the queries began with
        self.file: SnapshotFile | None = None  # has the static knowledge, if it is not in `graphs`
        self.version = 0  # of it
        self.versions: Path | None = None  # where others are, if it changes

    def __getstate__(self) -> dict:
        names = (
            "plan",
            "key",
            "graphs",
            "shards",
            "now",
            "tuning",
            "reasoning",
            "changing",
            "internal_queries",
            "quota",
        )
        names += ("rules", "generations", "file", "version", "versions", "step_digests", "element_digests")
        return {name: getattr(self, name) for name in names}

    def begun(self, generations: Sequence[int]) -> Program:
        """The same program, of queries that began with these batches."""
        made = copy(self)
        made.generations = tuple(generations)
        for name in ("network", "digests", "queries", "router"):
            made.__dict__.pop(name, None)
        return made

    @cached_property
    def network(self) -> Network:
        return network(
            (query.step, generation)
            for query, generation in zip(self.plan.queries, self.generations, strict=True)
        )

    @property
    def fixed(self) -> tuple[str, ...]:
        """The queries for which static knowledge cannot change while they run.

        In an OPTIONAL, what EXISTS asks for may be decided only when another version has come.
        """
        return tuple(
            query.name
            for query in self.plan.queries
            if query.parsed.query.scope != ELEMENT
            and any(
                step.retractable or isinstance(step, steps.LeftJoin) and step.tags
                for step in query.step.walk()
            )
        )

    @cached_property
    def element_network(self) -> Network:
        """The steps of the queries that look at one element at a time."""
        return network((step.input, 0) for step in self.network.steps if isinstance(step, steps.PerElement))

    @cached_property
    def step_digests(self) -> dict[steps.Step, str]:
        """What each step computes, whatever the generation of its query is."""
        inside = dict(zip(self.element_network.steps, self.element_digests, strict=True))
        net = network((query.step, 0) for query in self.plan.queries)
        return dict(zip(net.steps, digests(net, self.plan.catalog, self._static, inside), strict=True))

    @cached_property
    def digests(self) -> list[str]:
        """What each step of the network is known by: on the wire, and in the stored state."""
        net = self.network
        return [
            f"{self.step_digests[step]}@{generation}" if generation else self.step_digests[step]
            for step, generation in zip(net.steps, net.generations, strict=True)
        ]

    @cached_property
    def element_digests(self) -> list[str]:
        """The same of the steps that look at one element at a time; the network may have equal ones."""
        found = digests(self.element_network, self.plan.catalog, self._static)
        return [f"{digest}/element" for digest in found]

    @cached_property
    def element_steps(self) -> ElementSteps:
        """The queries that look at one element at a time."""
        net = self.element_network
        outputs = {
            number: net.places()[query.step.input]
            for number, query in enumerate(self.plan.queries)
            if isinstance(query.step, steps.PerElement)
        }
        return ElementSteps(net, self.element_digests, outputs, self.now, self.tuning, self.key)

    @cached_property
    def elementwise(self) -> Elementwise | None:
        """The same with static knowledge; None if there are none."""
        if not self.element_network.steps:
            return None
        known = self.snapshot
        return Elementwise(
            self.element_steps, self.element_steps.snapshot() if known is None else known.elements
        )

    def _static(self, scan: steps.Scan) -> str:
        """The digest of the rows that a scan takes from static knowledge; which may be any, if it changes."""
        if self.changing:
            return "changing" if static_graphs(scan.sources) else ""
        graphs = [self.graphs[place] for place in sorted(static_graphs(scan.sources))]
        return rows_digest((static_rows(scan, graph, self.key), graph.terms) for graph in graphs)

    @cached_property
    def queries(self) -> tuple[QueryIdentity, ...]:
        """What a checkpoint knows of the queries."""
        return tuple(
            QueryIdentity(
                query.name,
                rule_name(query.parsed.query),
                self.step_digests[query.step],
                query.key.column,
                generation,
            )
            for query, generation in zip(self.plan.queries, self.generations, strict=True)
        )

    def _place(self, query: int) -> int:
        """Where the last step of a query is in the network."""
        return self.network.places(self.generations[query])[self.plan.queries[query].step]

    @cached_property
    def router(self) -> Router:
        return Router(
            self.network, self.digests, self.step_digests, self.plan, self.shards, self.key, self.tuning
        )

    @cached_property
    def keep_predicates(self) -> np.ndarray | None:
        """The ids of the predicates that a scan can match or the reasoner asks for; None: all."""
        scans = [step for step in self.element_network.steps if isinstance(step, steps.Scan)]
        scans += [scan for _, scan in self.router.scans]
        wanted = [scan.predicate for scan in scans if streams(scan.sources)]
        if any(isinstance(predicate, str) for predicate in wanted):
            return self.reasoner.wanted(None)
        if any(number < 0 and is_stream(filled(number)) for number in self.router.reporting):
            # Whether an element has a triple matters.
            return self.reasoner.wanted(None)
        ids = np.unique(np.array([id_of(predicate, self.key) for predicate in wanted], np.int64))
        return self.reasoner.wanted(ids)

    @cached_property
    def reasoner(self) -> Reasoner:
        return Unchanged() if self.reasoning is None else self.reasoning(self.knowledge)

    @property
    def knowledge(self) -> Knowledge:
        """The static graphs, for the reasoner."""
        return Knowledge.of(self.graphs, self.key) if self.file is None else self.file.snapshot().knowledge()

    def reason(self, occurrences: Occurrences) -> Occurrences:
        """What the reasoner makes of whole elements, which `route` then is given."""
        return closed(self.reasoner, occurrences)

    def route(self, stream: int, occurrences: Occurrences) -> list[tuple[int, bytes]]:
        """What each shard must see of these occurrences, as (shard, payload)."""
        answered = None if self.elementwise is None else self.elementwise.answered(stream, occurrences)
        return self.router.route(stream, occurrences, answered)

    def open(self, shard: int) -> ProgramShard:
        """A new shard, with the static knowledge in it."""
        return ProgramShard(self, shard)

    def prepared(self, directory: Path) -> Program:
        """The same program with its static knowledge in a file there, which all processes of a run map.

        Of knowledge that changes, versions of an earlier run may be there: they become versions of this
        one, whatever its queries are, and the one that is now is the newest or comes after it.
        """
        if not self.graphs:
            return self
        with storing(directory):
            directory.mkdir(parents=True, exist_ok=True)
        if not self.changing:
            return self._written(self.graphs, directory / SNAPSHOT_FILE)
        versions = versions_in(directory)
        newest: tuple = ()
        for version in versions:
            place = version_path(directory, version)
            stored = stored_graphs(place)
            newest = _contents(stored)
            self._written(_in_place_of(stored, self.graphs), place, version)
        if newest != _contents(self.graphs):
            versions.append(versions[-1] + 1 if versions else 0)
            self._written(self.graphs, version_path(directory, versions[-1]), versions[-1])
        made = self._without_knowledge()
        made.versions, made.graphs = directory, []
        return made.at(versions[-1])

    def next_version(self, graphs: Sequence[StaticGraph]) -> int:
        """Writes another version of the static knowledge beside those that are there; its number.

        It is refused if other steps would answer the queries then.
        """
        graphs = [graph.keyed(self.key) for graph in graphs]
        if not self._answered_alike(graphs):
            raise InputError(
                "it cannot be taken in while the run goes on: it has other named graphs than before, or"
                " triples that a pattern had only in streams so far",
                hint="stop the run and start it again with the same checkpoint",
            )
        version = versions_in(self.versions)[-1] + 1
        self._written(graphs, version_path(self.versions, version), version)
        return version

    def at(self, version: int) -> Program:
        """The same program with another version of the static knowledge."""
        if self.versions is None or (self.file is not None and version == self.version):
            return self
        made = self._without_knowledge()
        made.file = SnapshotFile.found(version_path(self.versions, version), digest_of(*self.digests))
        made.version = version
        return made

    def _written(self, graphs: Sequence[StaticGraph], path: Path, version: int = 0) -> Program:
        """The same program with static knowledge in a file."""
        made = self._without_knowledge()
        made.graphs, made.version = list(graphs), version
        snapshot = made._new_snapshot()
        if self.reasoning is not None or self.changing:
            knowledge = made.knowledge
            if self.reasoning is not None:
                knowledge = replace(knowledge, found=self.reasoning(knowledge).found)
            snapshot = snapshot.with_graphs(knowledge)
        made.file = SnapshotFile.written(snapshot, path, digest_of(*self.digests), _contents(graphs))
        made.graphs = []
        return made

    def _without_knowledge(self) -> Program:
        """A copy that has found out nothing about static knowledge yet."""
        made = copy(self)
        made.file = None
        for name in ("snapshot", "reasoner", "keep_predicates", "elementwise"):
            made.__dict__.pop(name, None)
        return made

    def _answered_alike(self, graphs: Sequence[StaticGraph]) -> bool:
        """Whether the same steps would answer the queries if these graphs were known."""
        names = tuple(GraphName(graph.iri, self._may_have(graph)) for graph in graphs)
        queries = self.plan.queries
        kept = {i: key for i, (_, key) in enumerate(_answering(self.plan))}
        catalog, called = replace(self.plan.catalog, graphs=names), [query.name for query in queries]
        parsed = [query.parsed for query in queries]
        try:
            plan = make_plan(parsed, catalog, called, feeds=self.plan.feeds, keys=kept)
        except QueryError:  # rows would have to be spread in another way
            return False
        return _answering(plan) == _answering(self.plan)

    def _may_have(self, graph: StaticGraph) -> frozenset[str] | None:
        """The predicates that a graph has, or had when the plan was made: that holds for less, too."""
        found = graph.predicates()
        for planned in self.plan.catalog.graphs:
            if planned.iri == graph.iri:
                found = None if found is None or planned.predicates is None else found | planned.predicates
        return found

    @cached_property
    def snapshot(self) -> StaticSnapshot | None:
        """What static knowledge becomes in the operators; None if there is none."""
        if self.file is not None:
            return self.file.snapshot()
        return self._new_snapshot() if self.graphs else None

    def _new_snapshot(self) -> StaticSnapshot:
        snapshot = snapshot_of(lambda: self.shard(self.answering, None))
        if not self.element_network.steps:
            return snapshot
        return snapshot.with_elements(self.element_steps.snapshot(self.graphs))

    @property
    def answering(self) -> list[int]:
        """The queries whose answers go out."""
        return [i for i in range(len(self.plan.queries)) if i not in self.internal_queries]

    def shard(self, queries: Iterable[int], snapshot: StaticSnapshot | None) -> Shard:
        """A shard that answers some of the queries."""
        outputs = {i: self._place(i) for i in queries}
        last = {query.name: f"{query.last}@{query.generation}" for query in self.queries}
        names = [*self.digests, *self.element_digests]
        return Shard(
            self.network, names, last, outputs, self.graphs, self.now, self.tuning, self.key, snapshot,
            self.version,
        )  # fmt: skip

    def lacks_predicate(self, counts: RowCounts) -> bool:
        """Whether a query has no answers, and names a predicate that has not occurred."""
        return any(any(lacking(*self._seen(i, counts))) for i in self.answering)

    def diagnose(self, query: int, counts: RowCounts, occurring: Collection[str] = ()) -> Diagnosis | None:
        """Where a query without answers dried up; None if it has some.

        It explains a run, and must not end it: a fault in it is a reason like others.
        """
        seen = self._seen(query, counts)
        try:
            return diagnose(*seen, occurring)
        except Exception as problem:
            fault = f"why could not be found out, by a fault in Penstock: {type(problem).__name__}: {problem}"
            return Diagnosis(seen[0].name, (), (fault,))

    def _seen(self, number: int, counts: RowCounts) -> tuple[PlannedQuery, Network, int, RowCounts]:
        """A query with the network in which its steps are, its generation there, and the counts."""
        query = self.plan.queries[number]
        here, elsewhere = counts.before(len(self.network.steps))
        if isinstance(query.step, steps.PerElement):
            return replace(query, step=query.step.input), self.element_network, 0, elsewhere
        return query, self.network, self.generations[number], here

    def columns(self, query: int) -> tuple[str, ...]:
        return self.plan.queries[query].columns


def _answering(plan: Plan) -> list[tuple[steps.Step, str | None]]:
    """The steps that answer each query, and the key by which its rows are spread."""
    keys = (query.key.column for query in plan.queries)
    return [(query.step, key) for query, key in zip(plan.queries, keys, strict=True)]


def _contents(graphs: Sequence[StaticGraph]) -> tuple[tuple[str | None, str], ...]:
    """What tells versions of static knowledge apart."""
    return tuple((graph.iri, graph.digest) for graph in graphs)


def _in_place_of(graphs: Sequence[StaticGraph], others: Sequence[StaticGraph]) -> list[StaticGraph]:
    """The graphs with the names of others, in their order; empty where there is none of a name."""
    rest = list(graphs)
    found = []
    for other in others:
        same = next((graph for graph in rest if graph.iri == other.iri), None)
        if same is not None:
            rest.remove(same)
        found.append(same or StaticGraph(other.iri, np.empty((3, 0), np.int64), TermChunk(), other.key))
    return found
