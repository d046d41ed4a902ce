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

SHOWN = 4
"""Rows of one query and batch that are shown; the others are counted."""
BATCH_BYTES = 4_000
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
    from penstock.scenarios import find_scenario

    scenario = find_scenario(name)
    console = Console(highlight=False)
    console.print(f"[bold]{escape(scenario.title)}[/]")
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as scratch:
        files = scenario.write_stream(Path(scratch))
        console.print(
            f"The stream is {count(len(files), 'file')} of N-Quads, read as if it came in live. Every match"
            " shows the interval, from start to end, in which it happened. Spark starts inside this"
            " process, which takes some seconds."
        )
        play(scenario, scratch, console)


def play(scenario, stream: str, console: Console) -> None:
    """Runs the scenario's queries on its stream and prints what they find."""
    from penstock.api import Engine
    from penstock.sinks import shapes_of
    from penstock.sinks.terminal import TableText

    engine = Engine(batch_bytes=BATCH_BYTES)
    for path, _ in scenario.queries:
        engine.add_query(path)
    engine.add_stream(stream)
    engine.untold()  # what they remember is as the paper has it
    found = dict.fromkeys(range(len(scenario.queries)), 0)
    explained: set[int] = set()

    def title(number: int) -> str:
        """The query's name, and the first time what it looks for."""
        path, seeks = scenario.queries[number]
        first = number not in explained
        explained.add(number)
        return f"[bold cyan]{escape(path.stem)}[/]" + (f"  {escape(seeks)}" if first else "")

    shapes = dict(enumerate(shapes_of(engine.queries)))
    tables = TableText(shapes, console, title)
    progress = Progress(quiet=False)

    def take(batch) -> None:
        progress.aside()
        for number, table in sorted(batch.tables.items()):
            found[number] += table.num_rows
            if shapes[number].makes_triples and number in explained:
                # What rules derive feeds other queries; to see it once is enough.
                derived = count(table.num_rows, "more triple")
                console.print(f"\n{title(number)}  [dim]… {derived} for the other queries[/]")
                tables.spoke_last = None
                continue
            table = table.sort_by([("end", "ascending"), ("start", "ascending")])
            tables.show({number: table.slice(0, SHOWN)})
            if table.num_rows > SHOWN:
                console.print(f"[dim]… and {table.num_rows - SHOWN} more[/]")
        progress.back()
        progress.update(batch.statistics, sum(found.values()))

    try:
        statistics = engine.run(on_batch=take)
    finally:
        progress.close()
    by_query = ", ".join(f"{scenario.queries[n][0].stem}: {times}" for n, times in found.items())
    console.print(
        f"\n[bold]{count(sum(found.values()), 'match', 'matches')}[/] in"
        f" {count(statistics.elements, 'element')} ({by_query})."
    )
    console.print(f"The queries are in {escape(str(scenario.queries[0][0].parent))}", soft_wrap=True)
    console.print("Now your own: [bold]penstock run --help[/]")
