"""From parsed queries to a program; what looks wrong about them, and what a run becomes (`explain`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from penstock.algebra.naming import names_of
from penstock.algebra.nodes import ParsedQuery, Statement
from penstock.algebra.printing import to_sexpr
from penstock.engine.digests import RulesIdentity
from penstock.engine.program import Program
from penstock.engine.quota import Quota
from penstock.engine.remembering import remembered
from penstock.engine.tuning import TUNING, Tuning
from penstock.errors import Finding
from penstock.functions.chance import rule_name
from penstock.knowledge.graphs import StaticGraph
from penstock.pipeline.entailment import RulePlan, in_network, rule_findings
from penstock.plan.advice.explaining import explain_plan, explain_stages
from penstock.plan.advice.findings import query_findings, run_findings
from penstock.plan.advice.overview import Input, Overview
from penstock.plan.catalog import Catalog, GraphName, StreamName, assumed_catalog
from penstock.plan.planning import Plan, make_plan
from penstock.reason.stage import Reasoning
from penstock.rules.executors import Applied, Executor, RuleConfig, applied

STAGES = ("algebra", "plan", "spark")


class Registered(Protocol):
    """A graph as the command line names it."""

    @property
    def iri(self) -> str | None: ...


class RegisteredStream(Registered, Protocol):
    """A stream as the command line names it."""

    @property
    def repeats(self) -> bool | None:
        """Whether two of its elements may state the same triple; None: nobody knows."""


def catalog_of(streams: Iterable[RegisteredStream], graphs: Iterable[StaticGraph | Registered]) -> Catalog:
    """The registered streams and graphs, by their names."""
    return Catalog(
        tuple(StreamName(stream.iri, stream.repeats) for stream in streams),
        tuple(
            GraphName(graph.iri, graph.predicates() if isinstance(graph, StaticGraph) else None)
            for graph in graphs
        ),
    )


def assumed_sources(
    queries: Sequence[ParsedQuery],
    graphs: Iterable[StaticGraph | Registered] = (),
    *,
    repeats: bool | None = None,
) -> tuple[list[StreamName], list[GraphName]]:
    """The streams, and further graphs, that queries suggest, where nobody has said which streams there are.

    One stream without a name, and one for each IRI that the queries name (beside windows, a graph); no
    stream if there are graphs, and these are all that queries name: such a run is answered once.
    `repeats`: as `StreamName` has it.
    """
    known = {graph.iri for graph in graphs}
    suggested = assumed_catalog([query.query for query in queries])
    named = [each for each in suggested.streams if each.iri is not None and each.iri not in known]
    streams = [StreamName(), *named] if named or not known else []
    further = [each for each in suggested.graphs if each.iri not in known]
    return [replace(each, repeats=repeats) for each in streams], further


def check(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream] = (),
    graphs: Sequence[StaticGraph | Registered] = (),
    *,
    feed: bool = True,
    entailment: RuleConfig = RuleConfig(),  # noqa: B008 — frozen
    repeats: bool | None = None,
) -> Iterable[tuple[Statement | None, Finding]]:
    """Plans the queries without running them; what looks wrong, with the statement that it is about.

    Without streams, some are assumed (`assumed_sources`, which `repeats` is about).
    """
    given = streams
    if not streams:
        given, more = assumed_sources(queries, graphs, repeats=repeats)
        graphs = [*graphs, *more]
    rules = applied(queries, entailment, feed=feed)
    plan(queries, given, graphs, feed=feed, derives=rules.executor is Executor.KERNEL, rules=rules)
    yield from rule_findings(entailment)
    catalog = catalog_of(given, graphs)
    yield from findings(queries, catalog, registered=bool(streams), rules=bool(entailment.rules))


def findings(
    queries: Sequence[ParsedQuery], catalog: Catalog, *, registered: bool = True, rules: bool = False
) -> Iterable[tuple[ParsedQuery | None, Finding]]:
    """What looks wrong about queries that can be planned, and (`registered`) about the sources.

    Sources are also read by `rules`, if there are some.
    """
    catalog = catalog.with_targets(query.query for query in queries)
    for query in queries:
        for finding in query_findings(query, catalog):
            yield query, finding
    if registered:
        for finding in run_findings(queries, catalog, rules=rules):
            yield None, finding


def algebra(queries: Sequence[ParsedQuery], only: Sequence[int] | None = None) -> str:
    """The queries, or some of them, as the timed algebra."""
    places = range(len(queries)) if only is None else only
    shown = (to_sexpr(queries[i].query, prefixes=queries[i].prefixes) for i in places)
    if len(places) == 1:
        return next(shown)
    names = names_of(queries)
    return "\n\n".join(f"# {names[i]}\n{text}" for i, text in zip(places, shown, strict=True))


def explain(
    program: Program,
    stage: str = "plan",
    *,
    only: Sequence[int] | None = None,
    inputs: tuple[Sequence[Input], Sequence[Input]] = ((), ()),
    assumed: bool = False,
    given: int | None = None,
    rules: Sequence[tuple[str, str]] = (),
    fates: Sequence[str] = (),
) -> str:
    """What a run becomes, or some of its queries (`only`): its plan, or its stages on Spark.

    `inputs` say where the streams and the graphs come from, `assumed` that nobody has said which streams
    there are; the first `given` queries are the user's. `rules` are told as they are, and so is what becomes
    of the queries of a checkpoint (`fates`).
    """
    net = program.network
    overview = Overview(
        program.plan,
        remembered(net.steps),
        *inputs,
        rules=rules,
        given=given,
        generations=program.generations,
        internal_queries=program.internal_queries,
        shards=program.shards,
        closes=program.reasoning is not None,
        decodes_all=program.keep_predicates is None,
        follows=program.changing,
        fates=fates,
    )
    if stage == "spark":
        return explain_stages(overview, assumed=assumed)
    return explain_plan(overview, only, assumed=assumed)


def plan(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream],
    graphs: Sequence[StaticGraph | Registered] = (),
    *,
    feed: bool = True,
    keys: Mapping[str, str | None] = MappingProxyType({}),
    changing: bool = False,
    derives: bool = False,
    rules: Applied | None = None,
) -> Plan:
    """The plan of a run over what is registered: whoever plans does so by this.

    `feed`: CONSTRUCT queries are rules for all of them. `keys` are those of a checkpoint, by the digests of
    the queries. `changing`: the graphs may have other triples later. `derives`: elements are closed under
    rules. `rules` has the queries as rules have them, and rules as queries.
    """
    rules = Applied(tuple(queries)) if rules is None else rules
    planned = rules.planned
    digests = enumerate(rule_name(query.query) for query in planned) if keys else ()
    kept = {number: keys[digest] for number, digest in digests if digest in keys}
    catalog = replace(catalog_of(streams, graphs), changing=changing, derives=derives)
    with in_network(rules):
        return make_plan(planned, catalog, names_of(planned), feeds=feed, keys=kept)


def program(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream],
    graphs: Sequence[StaticGraph] = (),
    *,
    shards: int,
    now: int,
    feed: bool = True,
    tuning: Tuning = TUNING,
    key: int = 0,
    keys: Mapping[str, str | None] = MappingProxyType({}),
    reasoning: Reasoning | None = None,
    changing: bool = False,
    entailed: RulePlan | None = None,
    quota: Quota = Quota(),  # noqa: B008 — frozen
) -> Program:
    """Queries ready to run on so many shards: `penstock.runtime.run` runs it on Spark, `explain` shows it.

    `reasoning` makes the reasoner that elements go through before patterns are matched. `changing`:
    the static graphs may have other triples later, while the queries go on. `entailed` is what
    rules have made of the graphs (`entailment`), and then says what is done to elements.
    """
    rules, identity = Applied(tuple(queries)), RulesIdentity()
    if entailed is not None:
        graphs, rules, reasoning, identity = (
            entailed.graphs,
            entailed.applied,
            entailed.reasoning,
            entailed.identity,
        )
    derives = reasoning is not None
    made = plan(
        queries, streams, graphs, feed=feed, keys=keys, changing=changing, derives=derives, rules=rules
    )
    return Program(
        made,
        graphs,
        shards=shards,
        now=now,
        tuning=tuning,
        key=key,
        reasoning=reasoning,
        changing=changing,
        quota=quota,
        internal_queries=range(len(made.queries) - len(rules.constructs), len(made.queries)),
        rules=identity,
    )
