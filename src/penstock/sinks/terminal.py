"""Answers as a person reads them: aligned tables that grow as the answers arrive."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.sinks.answers import AnswerTables, Layout, Shape, rendered_rows, short_text
from penstock.sinks.formats import Encoder
from penstock.timeline import DAY, format_instant

_PLAIN_WIDTH = 10_000  # in a file no line is cut


class TableText(Encoder):
    """Rows under a header; the header is repeated when another query begins to speak.

    If there are several queries, a title says which one it is: its name, or what `titles`
    has for it.
    """

    suffix = "txt"

    def __init__(
        self,
        shapes: Mapping[int, Shape],
        console: Console | None = None,
        titles: Callable[[int], str] | None = None,
    ) -> None:
        super().__init__(shapes)
        self.console = console
        self.titles = titles or (lambda number: f"[bold cyan]{escape(shapes[number].name)}[/]")
        self.render = {number: short_text(shape.prefixes) for number, shape in shapes.items()}
        self.names = {number: Layout.of([shape]).names for number, shape in shapes.items()}
        self.widths = {number: [len(name) for name in self.names[number]] for number in shapes}
        self.spoke_last: int | None = None

    def batch(self, answers: AnswerTables, *, first: bool) -> bytes:
        """The new rows as text without colour, for files."""
        out = io.StringIO()
        self._print(Console(file=out, width=_PLAIN_WIDTH, color_system=None, emoji=False), answers)
        text = "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())
        return text.encode()

    def show(self, answers: AnswerTables) -> None:
        """Prints the new rows on the terminal."""
        self._print(self.console or Console(emoji=False), answers)

    def _print(self, console: Console, answers: AnswerTables) -> None:
        for number, _, table in self.tables(answers):
            rows = rendered_rows(table, self.render[number], short_instant)
            if len(self.shapes) > 1 and number != self.spoke_last:
                console.print(f"\n{self.titles(number)}", highlight=False)
            self._print_rows(console, number, rows, header=number != self.spoke_last)
            self.spoke_last = number

    def _print_rows(self, console: Console, number: int, rows: list[tuple], header: bool) -> None:
        # Columns keep the width they once had, so that rows of later batches line up.
        widths = self.widths[number]
        for row in rows:
            for at, text in enumerate(row):
                widths[at] = max(widths[at], len(text or ""))
        fitting = sum(widths) + 2 * len(widths) <= console.width
        shown = Table(box=None, show_header=header, header_style="bold", pad_edge=False)
        interval_from = len(widths) - 2
        for at, (name, width) in enumerate(zip(self.names[number], widths, strict=True)):
            shown.add_column(
                name if at >= interval_from else f"?{name}",
                min_width=width + (at < interval_from) if fitting else None,
                overflow="fold",
                style="dim" if at >= interval_from else None,
                no_wrap=fitting or at >= interval_from,
            )
        for row in rows:
            shown.add_row(*(escape(text) if text is not None else "" for text in row))
        console.print(shown)


def short_instant(instant: int) -> str:
    """An instant without what is zero: a day at midnight is just its date."""
    text = format_instant(instant)
    if instant % DAY == 0:
        return text[:10]
    return text.replace("T", " ").removesuffix("Z").removesuffix(".000").removesuffix(":00") + "Z"
