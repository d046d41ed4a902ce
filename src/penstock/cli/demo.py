"""`penstock demo`: a scenario, its queries, and their matches as they are found."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from penstock.cli.options import Debug
from penstock.cli.showing import ProgressLine, count
from penstock.errors import UsageError
from penstock.timeline import format_instant

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.scenarios.scenario import Data, Match, Scenario

SHOWN = 4
"""Rows of one query and batch that are shown as a table; the others are counted."""
MOST_SENTENCES = 12
"""Sentences of one query and batch that are shown."""


def demo(
    name: Annotated[str, typer.Argument(metavar="[NAME]")] = "stock-market",
    seed: Annotated[
        int | None, typer.Option(metavar="SEED", help="Another seed tells another story.", show_default=False)
    ] = None,
    stops: Annotated[
        int | None, typer.Option(metavar="N", help="vienna: stops. [default: 1000]", show_default=False)
    ] = None,
    lines: Annotated[
        int | None, typer.Option(metavar="N", help="vienna: lines. [default: 100]", show_default=False)
    ] = None,
    minutes: Annotated[
        int | None,
        typer.Option(metavar="N", help="vienna: minutes that pass. [default: 60]", show_default=False),
    ] = None,
    passengers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="vienna: passengers. [default: two for each stop]", show_default=False
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write queries, streams and graphs to a new directory instead, and say how to run them.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Shows Penstock at work on a generated stream, on embedded Spark. Matches appear as they are found.

    stock-market: the six queries of the EP-SPARQL paper on seven weeks of prices, ratings and
    acquisitions.

    vienna: the scenario of the CQELS-CEP paper, grown to a city of 1,000 stops and 100 lines: a traffic
    officer's and a passenger's query, with sequences in windows and nested paths over the network.

        penstock demo
        penstock demo vienna
        penstock demo vienna --stops 300 --lines 30 --write city
    """
    from penstock.scenarios import find_scenario

    numbers = {"stops": stops, "lines": lines, "minutes": minutes, "passengers": passengers, "seed": seed}
    scenario = find_scenario(name, **{each: value for each, value in numbers.items() if value is not None})
    console = Console(highlight=False, emoji=False)
    if write is not None:
        write_out(scenario, write, console)
        return
    console.print(f"[bold]{escape(scenario.title)}[/]")
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as scratch:
        data = scenario.write(Path(scratch))
        console.print(f"{scenario.about} Spark starts inside this process, which takes some seconds.")
        play(scenario, data, console)


def write_out(scenario: Scenario, directory: Path, console: Console) -> None:
    """The scenario as files of the user's own, and the command that runs them."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(
            f"{directory} is there already, and not an empty directory", hint="name a new directory"
        )
    directory.mkdir(parents=True, exist_ok=True)
    paths = [Path(shutil.copy(path, directory)) for path, _ in scenario.queries]
    command = [
        "penstock run",
        *(shlex.quote(str(path)) for path in paths),
        *scenario.write(directory).options(),
    ]
    console.print(f"{escape(scenario.title)} is in {escape(str(directory))}. To run it:", soft_wrap=True)
    console.print("  " + escape(" \\\n      ".join(command)), soft_wrap=True)


def play(scenario: Scenario, data: Data, console: Console) -> None:
    """Runs the scenario's queries on its streams and prints what they find."""
    from penstock.api.engine import Engine
    from penstock.sinks import shapes_of

    engine = Engine(batch_bytes=scenario.batch_bytes)
    for path, _ in scenario.queries:
        engine.add_query(path)
    for iri, path in data.streams:
        engine.add_stream(path, iri=iri)
    for iri, path in data.graphs:
        engine.add_graph(path, iri=iri)
    engine.new_findings()  # what they remember is as the paper has it
    found = dict.fromkeys(range(len(scenario.queries)), 0)
    progress = ProgressLine(quiet=False, latest=lambda: engine.statistics)
    shapes = dict(enumerate(shapes_of(engine.queries)))
    show = Tables(scenario, shapes, console) if scenario.tell is None else Sentences(scenario, console)

    def take(batch) -> None:
        progress.aside()
        for number, table in sorted(batch.tables.items()):
            found[number] += table.num_rows
            show(number, table.sort_by([("end", "ascending"), ("start", "ascending")]))
        progress.back()

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
    console.print(f"To change them: [bold]penstock demo {scenario.name} --write DIR[/]")
    console.print("Now your own: [bold]penstock run --help[/]")


class Showing:
    """Prints what queries find; the first time that one does, also what it looks for."""

    def __init__(self, scenario: Scenario, console: Console) -> None:
        self.scenario = scenario
        self.console = console
        self.explained: set[int] = set()

    def explanation(self, number: int) -> str | None:
        """What a query looks for, once."""
        if number in self.explained:
            return None
        self.explained.add(number)
        return escape(self.scenario.queries[number][1])


class Tables(Showing):
    """Rows under the names of their columns."""

    def __init__(self, scenario: Scenario, shapes: dict, console: Console) -> None:
        from penstock.sinks.terminal import TableText

        super().__init__(scenario, console)
        self.shapes = shapes
        self.tables = TableText(shapes, console, self.title)

    def title(self, number: int) -> str:
        name = f"[bold cyan]{escape(self.scenario.queries[number][0].stem)}[/]"
        explanation = self.explanation(number)
        return name if explanation is None else f"{name}  {explanation}"

    def __call__(self, number: int, table: pa.Table) -> None:
        if self.shapes[number].makes_triples and number in self.explained:
            # What rules derive feeds other queries; to see it once is enough.
            derived = count(table.num_rows, "more triple")
            self.console.print(f"\n{self.title(number)}  [dim]… {derived} for the other queries[/]")
            self.tables.spoke_last = None
            return
        self.tables.show({number: table.slice(0, SHOWN)})
        if table.num_rows > SHOWN:
            self.console.print(f"[dim]… and {table.num_rows - SHOWN} more[/]")


class Sentences(Showing):
    """A line for each match: when, and what it means."""

    def __call__(self, number: int, table: pa.Table) -> None:
        name = self.scenario.queries[number][0].stem
        if (explanation := self.explanation(number)) is not None:
            self.console.print(f"\n[bold cyan]{escape(name)}[/]  {explanation}\n")
        sentences = list(self.scenario.tell(name, _matches(table)))
        for start, end, sentence in sentences[:MOST_SENTENCES]:
            when = f"{_clock(start)}–{_clock(end)}"
            self.console.print(
                f"[cyan]{escape(name):<10}[/] [dim]{when}[/]  {escape(sentence)}", soft_wrap=True
            )
        if len(sentences) > MOST_SENTENCES:
            self.console.print(f"[dim]{'':<10} … and {len(sentences) - MOST_SENTENCES} more[/]")


def _matches(table: pa.Table) -> Iterator[Match]:
    """The rows of a table of which all terms are IRIs."""
    for row in table.to_pylist():
        start, end = row.pop("start"), row.pop("end")
        yield {name: term[1:-1] for name, term in row.items()}, start, end


def _clock(instant: int) -> str:
    """The time of the day, in UTC."""
    return format_instant(instant)[11:19]
