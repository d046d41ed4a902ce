"""`penstock demo`: a scenario, its queries, and their matches as they are found."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from penstock.cli.options import Debug
from penstock.cli.showing import Progress, count

SHOWN = 5
"""Rows of one query and batch that are shown; the others are counted."""
BATCH_BYTES = 8_000
"""Small batches, so that matches appear one after the other as in a live stream."""


def demo(
    name: Annotated[str, typer.Argument(metavar="[NAME]")] = "stock-market",
    debug: Debug = False,
) -> None:
    """Shows EP-SPARQL at work on a generated stream, on embedded Spark.

    stock-market: the six queries of the EP-SPARQL paper on seven weeks of prices, ratings and
    acquisitions. Matches appear as they are found.

        penstock demo
    """
    from penstock.api import Engine
    from penstock.scenarios import find_scenario
    from penstock.sinks import shapes_of
    from penstock.sinks.terminal import TableText

    scenario = find_scenario(name)
    console = Console(highlight=False)
    console.print(f"[bold]{escape(scenario.title)}[/]\n")
    engine = Engine(batch_bytes=BATCH_BYTES)
    for path, seeks in scenario.queries:
        engine.add_query(path)
        console.print(f"[bold cyan]{escape(path.stem)}[/]  {escape(seeks)}")
    tables = TableText(dict(enumerate(shapes_of(engine.queries))), console)
    found: dict[int, int] = {}
    progress = Progress(quiet=False)

    def take(batch) -> None:
        progress.aside()
        for number, table in sorted(batch.answers.items()):
            found[number] = found.get(number, 0) + table.num_rows
            tables.show({number: table.slice(0, SHOWN)})
            if table.num_rows > SHOWN:
                console.print(f"[dim]… and {table.num_rows - SHOWN} more[/]")
        progress.back()
        progress.update(batch.statistics, sum(found.values()))

    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as scratch:
        for path in scenario.write_stream(Path(scratch)):
            console.print(f"[dim]{path.name}: {path.stat().st_size:,} bytes[/]", end="  ")
        console.print()
        engine.add_stream(scratch)
        try:
            statistics = engine.run(on_batch=take)
        finally:
            progress.close()
    by_query = ", ".join(
        f"{path.stem} {found.get(number, 0)}" for number, (path, _) in enumerate(scenario.queries)
    )
    console.print(
        f"\n[bold]{count(sum(found.values()), 'match', 'matches')}[/] ({by_query}) in"
        f" {count(statistics.elements, 'element')}. The queries are in"
        f" {escape(str(scenario.queries[0][0].parent))}; now try your own:"
        " [bold]penstock run --help[/]"
    )
