"""`penstock explain`: what each stage makes of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.options import (
    AllRules,
    Base,
    CheckpointDirectory,
    Debug,
    Feed,
    Follow,
    Graphs,
    Language,
    MapFiles,
    Ontologies,
    Queries,
    QueryScope,
    Rules,
    RuleScope,
    StreamFormat,
    Streams,
    Within,
    add_inputs,
    existing_queries,
    read_duration,
)


class Stage(StrEnum):
    """Where to stop."""

    algebra = "algebra"
    plan = "plan"
    spark = "spark"


def explain(
    queries: Queries,
    stream: Streams = [],  # noqa: B006
    graph: Graphs = [],  # noqa: B006
    ontology: Ontologies = [],  # noqa: B006
    rules: Rules = [],  # noqa: B006
    scope: RuleScope = "element",
    within: Within = None,
    all_rules: AllRules = False,
    stage: Annotated[
        Stage,
        typer.Option(
            "--stage",
            help="algebra: the queries as the timed algebra. plan: what the run reads, who feeds whom, the"
            " partition keys, how long each operator must remember, and the steps. spark: the stages of the"
            " run.",
        ),
    ] = Stage.plan,
    follow: Follow = False,
    checkpoint: CheckpointDirectory = None,
    feed: Feed = True,
    query_scope: QueryScope = None,
    stream_format: StreamFormat = None,
    base: Base = None,
    map: MapFiles = [],  # noqa: B006
    language: Language = None,
    debug: Debug = False,
) -> None:
    """Shows what a run becomes, without running it.

    With the same queries, streams, graphs and rules as `penstock run`, it shows the plan of exactly that run:
    what it reads, which rules feed which queries, what several queries share, the partition key of each
    query (or why there is none) and how long each operator must remember what it has seen; rules that run
    as queries (--scope stream) are among them. With --follow it is the plan of a run that takes in changes of
    its graphs, with --checkpoint of one that goes on from there. Without --stream it assumes one stream, and
    one for each IRI that the queries name, and says so; not if all that they name are --graph files.

        penstock explain fall.rq
        penstock explain rules.rq fall.rq --stream prices.nq --graph companies.ttl
        penstock explain fall.rq --stage algebra
    """
    existing_queries(queries)
    from penstock.api.engine import Engine

    engine = Engine(
        feed=feed,
        rules=rules,
        scope=scope,
        within=None if within is None else read_duration(within, "--within"),
        all_rules=all_rules,
        query_scope=query_scope,
        checkpoint=checkpoint,
    )
    add_inputs(engine, queries, stream, graph, ontology, language, base, map, format=stream_format)
    typer.echo(engine.explain(stage=stage.value, follow=follow))
