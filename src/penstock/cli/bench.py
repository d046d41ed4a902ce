"""`penstock bench`: measures, and measures a peer in the same run."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.options import Debug, Quiet


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to measure; `list` tells what there is.")],
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Figures as JSON lines: bench, case, value, unit, peer, peer_value, ratio.",
        ),
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measures Penstock and, in the same run, a peer doing the same.

    `list` says what there is to measure.

        penstock bench list
        penstock bench sequence
        penstock bench sequence --json

    Needs the packages of the extra `bench` (`make setup` installs them).
    """
    from penstock import bench as benchmarks

    if name == "list":
        for known, purpose in benchmarks.purposes().items():
            typer.echo(f"{known:<12} {purpose}")
        return
    console = Console(highlight=False, emoji=False)
    if not as_json:
        console.print(f"[bold]{'case':<42}{'value':>16} {'unit':<14}{'peer':>24}{'ratio':>8}[/]")
    for figure in benchmarks.measure(name):
        if as_json:
            typer.echo(json.dumps(figure))
        else:
            typer.echo(row(figure))


def row(figure: dict) -> str:
    """A figure as a line of the table."""
    value = _number(figure["value"])
    peer = ratio = ""
    if figure.get("peer_value") is not None:
        peer = f"{figure['peer']} {_number(figure['peer_value'])}"
    if figure.get("ratio") is not None:
        ratio = f"{figure['ratio']:.2f}"
    return f"{figure['case']:<42}{value:>16} {figure['unit']:<14}{peer:>24}{ratio:>8}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"
