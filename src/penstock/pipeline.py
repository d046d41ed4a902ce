"""Read this first: what becomes of a query, from its text to its answers.

    text ──parse──▶ algebra ──plan──▶ steps ──program──▶ shards on Spark ──▶ answers

Each stage can be used and looked at alone: `penstock check` stops after the analysis,
`penstock explain` shows what each stage made of a query, `penstock run` goes all the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from penstock.algebra.naming import names_of
from penstock.algebra.nodes import ParsedQuery, Statement, with_scope
from penstock.algebra.printing import to_sexpr
from penstock.algebra.scopes import ELEMENT, STREAM
from penstock.engine.program import Program
from penstock.engine.remembering import remembered
from penstock.engine.tuning import TUNING, Tuning
from penstock.entailment import Entailed, Entailment, Scope, over_streams, rule_findings, streaming
from penstock.errors import Finding, InputError, QueryError, UsageError
from penstock.functions.chance import rule_name
from penstock.knowledge.graphs import StaticGraph
from penstock.languages import ENDINGS
from penstock.plan.advice.explaining import explain_plan, explain_steps
from penstock.plan.advice.findings import query_findings, run_findings
from penstock.plan.advice.overview import Input, Overview
from penstock.plan.catalog import Catalog, GraphName, StreamName, assumed_catalog
from penstock.plan.planning import Plan, make_plan
from penstock.reason.stage import Reasoning
from penstock.rules.reading import RuleText, read_rules

STAGES = ("algebra", "plan", "spark")
QUERY_SCOPES = {"stream": STREAM, "element": ELEMENT}


class Registered(Protocol):
    """A graph as the command line names it."""

    iri: str | None


class RegisteredStream(Registered, Protocol):
    """A stream as the command line names it."""

    repeats: bool | None  # whether two of its elements may state the same triple; None: nobody knows


def parse(
    paths: Iterable[str | Path], *, language: str | None = None, name: str | None = None
) -> list[ParsedQuery]:
    """The queries in some files, CONSTRUCT rules among them; `language` if the files' endings do not tell."""
    return [query for path in paths for query in read(path, language=language, name=name).queries]


def read(path: str | Path, *, language: str | None = None, name: str | None = None) -> RuleText:
    """What a file holds: queries (CONSTRUCT rules among them), and rules that are written as INSERT."""
    path = Path(path)
    try:
        return read_rules(_read(path), language=language, origin=str(path), name=name)
    except QueryError as error:
        if language is None and path.suffix and path.suffix.lower() not in (*ENDINGS, ".txt"):
            known = f"the endings of queries are {', '.join(ENDINGS)}; was {path.name} meant as one?"
            error.hint = f"{error.hint}\n  hint: {known}" if error.hint else known
        raise


def in_scope(
    queries: Iterable[ParsedQuery], scope: str | None, of_rules: Scope = Scope.ELEMENT
) -> list[ParsedQuery]:
    """The queries with the scope `stream` or `element`; None: as their language says.

    What rules derive from several elements (their scope is the stream) belongs to no element.
    """
    if scope is None:
        return list(queries)
    if scope not in QUERY_SCOPES:
        known = " or ".join(QUERY_SCOPES)
        raise UsageError(f"queries cannot have the scope {scope!r}", hint=f"it is {known}")
    if QUERY_SCOPES[scope] == ELEMENT and of_rules is Scope.STREAM:
        raise UsageError(
            "queries that look at one element do not see what rules derive from several:"
            " --query-scope element and --scope stream exclude each other",
            hint="leave one of them out: rules with --scope element apply to each element by itself",
        )
    queries = list(queries)
    if any(query.query.continuous for query in queries):
        raise UsageError(
            "queries over windows have no other scope than their windows", hint="leave --query-scope out"
        )
    return [with_scope(query, QUERY_SCOPES[scope]) for query in queries]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is not UTF-8 text: {problem.reason}") from None
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from None


def catalog_of(streams: Iterable[RegisteredStream], graphs: Iterable[StaticGraph | Registered]) -> Catalog:
    """The registered streams and graphs, by their names."""
    return Catalog(
        tuple(StreamName(stream.iri, stream.repeats) for stream in streams),
        tuple(
            GraphName(graph.iri, graph.predicates() if isinstance(graph, StaticGraph) else None)
            for graph in graphs
        ),
    )


def _catalog(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream],
    graphs: Sequence[StaticGraph | Registered],
) -> Catalog:
    """What is registered; without streams, those that the queries suggest."""
    found = catalog_of(streams, graphs)
    if streams:
        return found
    known = found.names()
    suggested = assumed_catalog([query.query for query in queries]).streams
    return replace(found, streams=tuple(each for each in suggested if each.iri not in known))


def check(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream] = (),
    graphs: Sequence[Registered] = (),
    *,
    feed: bool = True,
    entailment: Entailment = Entailment(),  # noqa: B008 — frozen
) -> Iterable[tuple[Statement | None, Finding]]:
    """Plans the queries without running them; what looks wrong, with the statement that it is about.

    Without streams, one unnamed stream is assumed, and one for each that the queries name; not if there are
    graphs, and these are all that queries name.
    """
    catalog, assumed = catalog_of(streams, graphs), assumed_catalog([query.query for query in queries])
    if not streams and not (graphs and {each.iri for each in assumed.streams} <= {None, *catalog.names()}):
        catalog = assumed
    planned = [*queries, *streaming(entailment)]
    with over_streams(entailment.scope is Scope.STREAM):
        make_plan(planned, catalog, names_of(planned), feeds=feed)
    yield from rule_findings(entailment)
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


def explain(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream] = (),
    graphs: Sequence[StaticGraph | Registered] = (),
    *,
    stage: str = "plan",
    feed: bool = True,
    only: Sequence[int] | None = None,
    inputs: tuple[Sequence[Input], Sequence[Input]] = ((), ()),
    entailed: Entailed | None = None,
) -> str:
    """What a stage (algebra, plan or spark) makes of the queries of a run, or of some of them (`only`).

    Without streams, it is assumed as in `check`, and the text says so. `inputs` say where the
    streams and the graphs come from; `entailed` is what rules make of the graphs.
    """
    if stage not in STAGES:
        raise UsageError(f"there is no stage {stage!r} to explain", hint=f"there are {', '.join(STAGES)}")
    places = range(len(queries)) if only is None else only
    names = names_of(queries)
    if stage == "algebra":
        shown = (to_sexpr(queries[i].query, prefixes=queries[i].prefixes) for i in places)
        if len(places) == 1:
            return next(shown)
        return "\n\n".join(f"# {names[i]}\n{text}" for i, text in zip(places, shown, strict=True))
    planned, told = list(queries), ()
    if entailed is not None:
        graphs, told, planned = entailed.graphs, entailed.told(), list(entailed.queries)
        planned += [*(query for _, query in entailed.checks), *entailed.constructs]
    with over_streams(len(planned) > len(queries)):
        made = make_plan(planned, _catalog(queries, streams, graphs), names_of(planned), feeds=feed)
    found = dict.fromkeys(step for query in made.queries for step in query.step.walk())
    overview = Overview(made, remembered(found), *inputs, rules=told, given=len(queries))
    if stage == "spark":
        return explain_steps(overview)
    return explain_plan(overview, places, assumed=not streams)


def plan(
    queries: Sequence[ParsedQuery],
    streams: Sequence[RegisteredStream],
    graphs: Sequence[StaticGraph] = (),
    *,
    feed: bool = True,
    keys: Mapping[str, str | None] = MappingProxyType({}),
    changing: bool = False,
    derives: bool = False,
) -> Plan:
    """The plan of queries over what is registered; `feed`: CONSTRUCT queries are rules for all of them.

    `keys` are those of a checkpoint, by the digests of the queries. `changing`: the graphs may have
    other triples later. `derives`: elements are closed under rules.
    """
    digests = enumerate(rule_name(query.query) for query in queries) if keys else ()
    kept = {number: keys[digest] for number, digest in digests if digest in keys}
    catalog = replace(catalog_of(streams, graphs), changing=changing, derives=derives)
    return make_plan(queries, catalog, names_of(queries), feeds=feed, keys=kept)


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
    entailed: Entailed | None = None,
) -> Program:
    """Queries ready to run on a number of shards; `penstock.runtime.run` runs it on Spark.

    `reasoning` makes the reasoner that elements go through before patterns are matched. `changing`:
    the static graphs may have other triples later, while the queries go on. `entailed` is what
    rules have made of the graphs (`entailment`), and then says what is done to elements. Queries that
    find contradictions come after the given ones, and after them those that only feed others.
    """
    how = {"shards": shards, "now": now, "tuning": tuning, "key": key, "changing": changing}
    if entailed is None:
        derives = reasoning is not None
        made = plan(queries, streams, graphs, feed=feed, keys=keys, changing=changing, derives=derives)
        return Program(made, graphs, reasoning=reasoning, **how)
    checks = [query for _, query in entailed.checks]
    planned = [*entailed.queries, *checks, *entailed.constructs]
    with over_streams(bool(entailed.constructs)):
        derives = entailed.reasoning is not None
        made = plan(
            planned, streams, entailed.graphs, feed=feed, keys=keys, changing=changing, derives=derives
        )
    return Program(
        made,
        entailed.graphs,
        reasoning=entailed.reasoning,
        silent=range(len(queries) + len(checks), len(made.queries)),
        rules=entailed.identity,
        **how,
    )
