"""The Python interface: an engine that takes streams, graphs and queries, and gives answers.

import penstock

engine = penstock.Engine()
engine.add_stream("prices.nq")
engine.add_query("SELECT ?s ?v WHERE { ?s <http://example.org/reads> ?v }", name="readings")
for solution in engine.solutions("readings"):
    print(solution["s"], solution.end)
engine.answers("readings").to_pandas()
"""

from __future__ import annotations

import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa

from penstock import pipeline
from penstock.algebra.nodes import Statement
from penstock.algebra.scopes import ELEMENT, scope_named
from penstock.api.arguments import (
    length_of_time,
    place_or_none,
    positive_or_none,
    shown,
    state_limit,
    text_or_none,
)
from penstock.api.batches import Batch, batch_of
from penstock.api.registrations import Registrations
from penstock.api.results import Answers, Solution, concat
from penstock.engine.diagnosis import Diagnosis
from penstock.engine.program import Program
from penstock.engine.quota import Quota
from penstock.errors import Finding, PenstockWarning, UsageError
from penstock.jit import not_kept
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.knowledge.imports import import_findings
from penstock.knowledge.lists import list_findings
from penstock.pipeline.entailment import (
    ClosedFiles,
    RulePlan,
    conflict_findings,
    entailed,
    refuse_conflicts,
    refuse_inconsistent,
    rule_findings,
)
from penstock.plan.advice.overview import Input
from penstock.plan.catalog import StreamName
from penstock.rules.executors import Executor, RuleConfig, refuse_scopes
from penstock.rules.instant import at_instant
from penstock.runtime.contract import RunOptions, RunStatistics
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.in_process import run_in_process
from penstock.runtime.intake.inputs import check_inputs, input_findings
from penstock.runtime.once import run_once
from penstock.runtime.recovery.checkpoint import (
    begun,
    check_checkpoint,
    static_indexes_built,
    stored_changing,
    stored_partition_keys,
    stored_shards,
    stored_start,
)
from penstock.runtime.recovery.continuing import Continued
from penstock.runtime.unused import KINDS, REJECTED, note_reasons, unused
from penstock.sources.streams import StreamSpec

OnBatch = Callable[[Batch], None]


def _rejects_first(found: Diagnosis, statistics: RunStatistics) -> Diagnosis:
    """A diagnosis that names what was rejected before all else; where nothing was read, that is all."""
    rejected = tuple(str(each) for each in unused(statistics) if each.kind == REJECTED)
    if rejected and not statistics.elements and not any(rows for rows, _ in found.patterns):
        return replace(found, reasons=rejected)
    return replace(found, reasons=(*rejected, *found.reasons))


EMBEDDED = "embedded"


class Engine(Registrations):
    """Streams, static graphs and queries that run together on Spark.

    `master` is the Spark to run on (default: all cores of this machine). With `spark=None` there is none:
    files are read to their end in this process, with the same answers, which suits notebooks, unit tests and
    small data. `lateness` is how long to wait for elements out of order (text such as "30s", a timedelta,
    microseconds), `checkpoint` a directory that remembers how far a run is, `strict` stops at the first
    broken line. Without `feed`, what CONSTRUCT queries derive is only given, not read by queries. With the
    `query_scope` element, each query looks at one element at a time, and static graphs (event mode,
    docs/streams.md). `idle`, `ahead`, `behind` and `tick` say what time does on live streams, as in
    `penstock run` (docs/streams.md). `max_state` (rows, or bytes as in "512M") and `max_answers` (of a query
    in a batch) end the run with a `LimitError` before it takes the machine's memory (docs/operations.md).

    `rules` are regimes (rdfs, owl2-rl, …), files or directories of rules: queries see what follows from
    static knowledge, and from each element by itself (`scope` "element") or from several together
    ("stream", no further apart than `within`). Of them those are used that can change an answer;
    `all_rules` uses all (docs/reasoning.md).
    """

    def __init__(
        self,
        *,
        spark: str | None = EMBEDDED,
        master: str | None = None,
        lateness: int | str | timedelta = 0,
        idle: int | str | timedelta | None = None,
        ahead: int | str | timedelta | None = None,
        behind: int | str | timedelta | None = None,
        tick: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        strict: bool = False,
        feed: bool = True,
        query_scope: str | None = None,
        batch_bytes: int | None = None,
        shards: int | None = None,
        max_state: int | str | None = None,
        max_answers: int | None = None,
        rules: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        scope: str = ELEMENT,
        within: int | str | timedelta | None = None,
        all_rules: bool = False,
    ) -> None:
        super().__init__(place_or_none(checkpoint, "checkpoint"))
        self.master = text_or_none(master, "master")
        if spark not in (EMBEDDED, None):
            raise UsageError(
                f"spark is {EMBEDDED!r} or None, not {shown(spark)}", hint="master names a cluster"
            )
        if spark is None and (self.master is not None or self.checkpoint is not None):
            given = "master" if self.master is not None else "checkpoint"
            raise UsageError(
                f"without Spark there is no {given}: a run in this process begins and ends with it",
                hint="leave one of spark=None and the other out",
            )
        self.spark = spark
        lateness = length_of_time(lateness, "lateness")
        idle = None if idle is None else length_of_time(idle, "idle")
        ahead = None if ahead is None else length_of_time(ahead, "ahead")
        behind = None if behind is None else length_of_time(behind, "behind")
        if tick and idle is None:
            raise UsageError(
                "tick needs idle: for how long the streams must be silent before time goes on",
                hint="give both, as in --idle 30s --tick",
            )
        self.timing = Timing(lateness, idle, ahead, tick, behind)
        self.shards = positive_or_none(shards, "shards")
        rows, size = state_limit(max_state)
        self.quota = Quota(rows, size, positive_or_none(max_answers, "max_answers"))
        self.options = RunOptions(strict=strict, batch_bytes=positive_or_none(batch_bytes, "batch_bytes"))
        self.feed = feed
        self.scope = scope_named(scope)
        self.within = None if within is None else length_of_time(within, "within")
        self.all_rules = all_rules
        self.query_scope = text_or_none(query_scope, "query_scope")
        of_queries = () if self.query_scope is None else (scope_named(self.query_scope),)
        refuse_scopes(self.scope, within=self.within, feed=feed, queries=of_queries)  # at once
        self.add_rules(*([rules] if isinstance(rules, (str, os.PathLike)) else rules))
        self._now: int | None = None  # when the run that was prepared last began
        self._changing = False  # whether static knowledge may, while the run that is prepared goes on
        self._entailed: tuple[object, RulePlan] | None = None  # what it was made of, and what was made
        self.diagnosis: dict[str, Diagnosis] = {}  # of the latest run: why queries have no answers
        self.statistics = RunStatistics()  # of the run that goes on, or of the latest one
        self.continued: tuple[Continued, ...] = ()  # what becomes of the queries of the checkpoint
        self._shown_findings: set[tuple[str | None, Finding]] = set()

    def _number(self, query: int | str) -> int:
        """The place of a query that is named or numbered."""
        if isinstance(query, str) and query in self.names:
            return self.names.index(query)
        if isinstance(query, int) and -len(self.queries) <= query < len(self.queries):
            return query % len(self.queries)
        raise UsageError(
            f"there is no query {query!r}", hint=f"there are: {', '.join(self.names) or 'none yet'}"
        )

    # --- running ---

    def ready(self, *, follow: bool = False) -> Program:
        """The queries as a program; what cannot run is refused here, and nothing is written yet."""
        if not self.queries:
            hint = "add one with add_query"
            if self._rules or any(text.rules for text in self._rule_texts):
                hint = "rules alone ask nothing: add a SELECT, or see what follows with `penstock reason`"
            raise UsageError("there is no query to run", hint=hint)
        if not self.streams:
            self._check_static(follow)
        elif follow and self.spark is None:
            raise UsageError(
                "without Spark files are read to their end, and not followed", hint="leave spark=None out"
            )
        check_inputs(self.streams, follow=follow)
        program = self._planned(self.streams, follow)
        if self.options.strict:
            refuse_conflicts(self.entailed)
        if self.checkpoint is not None:
            _, generations, self.continued = check_checkpoint(
                self.checkpoint, program, tuple(self.streams), self.timing
            )
            program = cast(Program, begun(program, generations))
        return program

    def _planned(
        self, streams: Sequence[StreamSpec | StreamName], follow: bool, assumed: Sequence[StaticGraph] = ()
    ) -> Program:
        """The program over these streams: what `run` runs, and `explain` shows."""
        shards = self.shards if streams else 1
        if shards is None and self.checkpoint is not None:
            shards = stored_shards(self.checkpoint)
        if shards is None:
            shards = 1 if self.spark is None else self._default_shards()
        now = stored_start(self.checkpoint) if self.checkpoint is not None else None
        changing = stored_changing(self.checkpoint) if self.checkpoint is not None else None
        changing = follow if changing is None else changing
        if now is None:
            now = current_instant()
        self._changing = changing and self.knowledge.watched
        self._now = now
        return pipeline.program(
            self.queries,
            streams,
            self.graphs,
            shards=shards,
            now=now,
            feed=self.feed,
            key=self.key,
            keys=stored_partition_keys(self.checkpoint) if self.checkpoint is not None else {},
            entailed=self._entail(static=not streams, assumed=assumed),
            changing=changing,
            quota=self.quota,
        )

    def _default_shards(self) -> int:
        from penstock.runtime.session.session import default_shards  # brings in Spark

        return default_shards(self.master)

    @property
    def entailed(self) -> RulePlan:
        """What rules make of the static knowledge, which is closed when somebody first asks."""
        return self._entail(static=not self.streams)

    def _entail(self, *, static: bool, assumed: Sequence[StaticGraph] = ()) -> RulePlan:
        graphs = (*self.graphs, *assumed)
        if self._now is None:
            self._now = current_instant()
        now = self._now
        dated = at_instant(self.entailment.rules, now) != self.entailment.rules  # or the same at all times
        made_of = (self.entailment, graphs, tuple(self.queries), self.key, self._changing, static)
        made_of += (now,) if dated else ()
        if self._entailed is None or self._entailed[0] != made_of:
            made = entailed(
                graphs,
                self.queries,
                self.entailment,
                self.key,
                now=now,
                changing=self._changing,
                static=static,
            )
            self._entailed = made_of, made
        return self._entailed[1]

    @property
    def entailment(self) -> RuleConfig:
        """The rules, and how they apply."""
        return RuleConfig(self.rules, self.scope, self.within, self.all_rules)

    def _check_static(self, follow: bool) -> None:
        """Refuse what only streams give a sense to, in a run that has none."""
        if not self.graphs:
            raise UsageError(
                "there is no stream to read, and no graph",
                hint="add one with --stream or add_stream; --graph alone is answered once",
            )
        for given, option, why in (
            (follow, "--follow", "waits for more of a stream"),
            (self.checkpoint is not None, "--checkpoint", "remembers how far streams are read"),
        ):
            if given:
                raise UsageError(
                    f"{option} {why}, and this run has no stream",
                    hint="graphs alone are answered once: leave it out, or add a --stream",
                )

    def run(self, *, follow: bool = False, on_batch: OnBatch, stop: threading.Event | None = None):
        """Runs until the streams end (with `follow`, until `stop` or Ctrl-C); batch by batch.

        Without streams the graphs are answered once, in this process: one batch.
        """
        if not callable(on_batch):
            raise UsageError(f"on_batch is a function that takes a batch, and {shown(on_batch)} is none")
        self.statistics = RunStatistics()
        program = self.ready(follow=follow)
        for query, finding in self.new_findings():
            text, origin = (query.text, query.origin) if query is not None else (None, None)
            warnings.warn(finding.located(text, origin), PenstockWarning, stacklevel=2)
        if (uncached := not_kept()) is not None:
            warnings.warn(uncached, PenstockWarning, stacklevel=2)
        if follow and self.knowledge.watched and not program.changing:
            warnings.warn(self._fixed(program), PenstockWarning, stacklevel=2)
        entailed = self.entailed  # files of graphs may have others when the run ends
        checks = [rule for rule, _ in entailed.applied.checks]

        def progressed(statistics: RunStatistics) -> None:
            self.statistics = statistics

        def take(number: int, results: list[tuple[int, bytes]]) -> None:
            latest = self.statistics
            batch = batch_of(number, self.queries, results, latest, checks, entailed.rules)
            latest.batch = number
            latest.inconsistent += len(batch.inconsistent)
            for record in (*batch.rejected, *batch.late, *batch.inconsistent):
                self.name_made(record)
            note_reasons(latest, batch.rejected)
            for kind in KINDS:
                for record in getattr(batch, kind)[:1]:
                    latest.first.setdefault(kind, record)
            if self.options.strict:
                refuse_inconsistent(batch.inconsistent)
            self.quota.check_state(latest.state_rows, latest.state_bytes, "in several shards")
            for place, table in batch.tables.items():
                self.quota.check_answers(table.num_rows, self.names[place])
            for place, table in batch.tables.items():
                latest.answers[self.names[place]] += table.num_rows
            on_batch(batch)

        how = {"on_batch": take, "timing": self.timing, "on_progress": progressed, "stop": stop}
        if self.streams and self.spark is None:
            with self.made_named():
                statistics = run_in_process(program, self.streams, options=self.options, **how)
        elif self.streams:
            from penstock.runtime.run import run  # brings in Spark

            with self.made_named():
                statistics = run(
                    program,
                    self.streams,
                    follow=follow,
                    checkpoint=self.checkpoint,
                    master=self.master,
                    options=self.options,
                    knowledge=ClosedFiles(self.knowledge, entailed, self.options.strict),
                    **how,
                )
        else:
            statistics = run_once(program, take, progressed)
            statistics.known = sum(map(len, entailed.graphs))
        statistics.dropped.update(dict(entailed.dropped))
        counts = statistics.row_counts
        self.diagnosis = {
            name: _rejects_first(found, statistics)
            for number, name in enumerate(self.names)
            if (found := program.diagnose(number, counts, statistics.predicates))
        }
        return statistics

    @staticmethod
    def _fixed(program: Program) -> str:
        """Why files of static knowledge are read once, though a run follows its streams."""
        windows = [each.name for each in program.plan.queries if each.parsed.query.continuous is not None]
        if windows:
            return (
                "changes of --graph files are not followed: beside windows, as those of"
                f" {', '.join(windows)}, static graphs stay as they are while a run goes on (not built yet);"
                " in a run without queries over windows, the other queries follow them"
            )
        if program.fixed:
            names = ", ".join(program.fixed)
            return (
                "changes of --graph files are not followed: an EXISTS within the OPTIONAL of"
                f" {names} asks for more than a look-up"
            )
        return "changes of --graph files are not followed: the checkpoint was begun without --follow"

    def answers(self, query: int | str = 0) -> Answers:
        """Runs to the end of the streams; all answers of a query (its name or number) as a table."""
        name = self.names[self._number(query)] if self.queries else ""
        found = self._collected()
        self._tell_unused()
        return found[name]

    def all_answers(self) -> dict[str, Answers]:
        """Runs to the end of the streams once; the answers of every query by its name."""
        found = self._collected()
        self._tell_unused()
        return found

    def _collected(self) -> dict[str, Answers]:
        found: dict[int, list[pa.Table]] = {i: [] for i in range(len(self.queries))}

        def take(batch: Batch) -> None:
            for index, table in batch.tables.items():
                found[index].append(table)

        self.run(on_batch=take)
        tables = (concat(parts, self.queries[i]) for i, parts in found.items())
        return dict(zip(self.names, tables, strict=True))

    def solutions(self, query: int | str = 0, *, follow: bool = False) -> Iterator[Solution]:
        """The solutions of a query as they are found; leaving the loop ends the run."""
        number = self._number(query)
        return self._arriving(number, follow)

    def _arriving(self, number: int, follow: bool) -> Iterator[Solution]:
        arriving: queue.Queue = queue.Queue()
        stop = threading.Event()
        told = not follow  # whoever follows a stream is told at once, and not only when it ends

        def take(batch: Batch) -> None:
            nonlocal told
            if not told and unused(batch.statistics):
                told = True
                arriving.put(self._tell_unused)
            if number in batch.tables:
                arriving.put(concat([batch.tables[number]], self.queries[number]))

        def work() -> None:
            try:
                self.run(follow=follow, on_batch=take, stop=stop)
                arriving.put(None)
            except BaseException as problem:  # noqa: BLE001 — raised again where the loop is
                arriving.put(problem)

        worker = threading.Thread(target=work, name="penstock-run", daemon=True)
        worker.start()
        try:
            while (item := arriving.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                if callable(item):
                    item()
                else:
                    yield from item
        finally:
            stop.set()
            worker.join()
            self._tell_unused()

    def _tell_unused(self) -> None:
        """Warn of what the run has not used: whoever gets answers only would not see it."""
        for each in unused(self.statistics):
            more = [*each.reasons, *([f"hint: {each.hint}"] if each.hint else [])]
            warnings.warn("\n  ".join([str(each), *more]), PenstockWarning, stacklevel=3)

    def check(self) -> list:
        """The findings about the registered queries, without running them."""
        found = pipeline.check(
            self.queries, self.streams, self.graphs, feed=self.feed, entailment=self.entailment
        )
        return [finding for _, finding in found]

    def new_findings(self) -> list[tuple[Statement | None, Finding]]:
        """The findings that were not shown yet, with the query that each is about; now they are."""
        catalog = pipeline.catalog_of(self.streams, self.graphs)
        found = []
        of_inputs = [(None, finding) for finding in (*input_findings(self.streams), *self._of_knowledge())]
        of_rules = rule_findings(self.entailment)
        for query, finding in [
            *of_rules,
            *pipeline.findings(self.queries, catalog, rules=bool(self.rules)),
            *of_inputs,
        ]:
            key = (query.text if query is not None else None, finding)
            if key not in self._shown_findings:
                self._shown_findings.add(key)
                found.append((query, finding))
        return found

    def _of_knowledge(self) -> list[Finding]:
        """What is wrong about static knowledge, where rules look at it."""
        if not self.rules:
            return []
        given = [Path(each.place).absolute().as_uri() for each in self._graph_places if each.place]
        unnamed = [graph for graph in self.graphs if graph.iri is None]
        findings = (*import_findings(self.graphs, given), *list_findings(unnamed))
        return [*conflict_findings(self.entailed), *findings]

    def explain(self, query: int | str | None = None, stage: str = "plan", *, follow: bool = False) -> str:
        """What a stage (algebra, plan or spark) makes of this run, or of one query (name or number) in it.

        It is the plan of the run, with `follow` of one that follows, and with a `checkpoint` of one that goes
        on from it. Without streams, one is assumed, and one for each IRI that the queries name; it is told.
        Not if there are graphs, and these are all that queries name: they are answered once.
        """
        if stage not in pipeline.STAGES:
            raise UsageError(
                f"there is no stage {stage!r} to explain", hint=f"there are {', '.join(pipeline.STAGES)}"
            )
        only = None if query is None else [self._number(query)]
        if stage == "algebra":
            return pipeline.algebra(self.queries, only)
        check_inputs(self.streams, follow=True)
        if not self.streams and (self.checkpoint is not None or follow):
            self._check_static(follow)
        streams, assumed = self.streams, []
        if not streams:
            streams, named = pipeline.assumed_sources(self.queries, self.graphs)
            assumed = [graph_of((), each.iri, key=self.key) for each in named]
        program, fates = self._planned(streams, follow, assumed), ()
        if self.checkpoint is not None:
            program, fates = static_indexes_built(self.checkpoint, program)
        told = self._entail(static=not streams, assumed=assumed)
        return pipeline.explain(
            program,
            stage,
            only=only,
            inputs=([self._input(spec) for spec in self.streams], self._knowledge_places(told)),
            assumed=bool(streams) and not self.streams,
            given=len(self.queries),
            rules=told.described(program.reasoner),
            fates=[str(each) for each in fates],
        )

    def _knowledge_places(self, told: RulePlan) -> list[Input]:
        """Where static graphs come from; those without a name are one where rules have closed them."""
        if told.applied.executor is not Executor.KERNEL:
            return self._graph_places
        unnamed = [each for each in self._graph_places if each.iri is None]
        closed = Input(None, ", ".join([*(each.place for each in unnamed), "what follows"]))
        return [closed, *(each for each in self._graph_places if each.iri is not None)]

    def __repr__(self) -> str:
        return (
            f"<penstock.Engine: {len(self.queries)} queries, {len(self.streams)} streams,"
            f" {len(self.graphs)} graphs>"
        )


def current_instant() -> int:
    return time.time_ns() // 1000
