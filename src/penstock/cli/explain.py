"""`penstock explain`: what each stage makes of a query."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Debug, Feed, Language, existing_queries


class Stage(StrEnum):
    """Where to stop."""

    algebra = "algebra"
    plan = "plan"
    spark = "spark"


def explain(
    query: Annotated[Path, typer.Argument(metavar="QUERY", show_default=False)],
    stage: Annotated[
        Stage,
        typer.Option(
            "--stage",
            help="algebra: the query as the timed algebra. plan: the partition key and how long"
            " each operator must remember. spark: the steps of the run.",
        ),
    ] = Stage.plan,
    feed: Feed = True,
    language: Language = None,
    debug: Debug = False,
) -> None:
    """Shows what a query becomes, stage by stage.

    The plan names the partition key that was found (or says why there is none) and how long
    each operator must remember what it has seen.

        penstock explain fall.rq
        penstock explain fall.rq --stage algebra
    """
    from penstock import pipeline

    parsed = pipeline.parse(existing_queries([query]), language=language)
    typer.echo("\n\n".join(pipeline.explain(each, stage.value, feed=feed) for each in parsed))
