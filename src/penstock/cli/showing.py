"""What the commands say beside the answers, all of it on standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from penstock.errors import Finding, PenstockError
from penstock.timeline import format_instant


def error_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def show_error(text: str) -> None:
    """A message as it is, without wrapping: carets must stay under what they point at."""
    first, _, rest = text.partition("\n")
    console = error_console()
    console.print(f"[bold red]error:[/] {escape(first)}")
    if rest:
        console.print(escape(rest))


def show_warning(text: str) -> None:
    error_console().print(f"[bold yellow]warning:[/] {escape(text)}")


def show_note(text: str) -> None:
    error_console().print(escape(text))


def show_finding(finding: Finding, text: str | None, origin: str | None) -> None:
    """A warning of `penstock check`, with its place in the query."""
    located = PenstockError(
        f"{finding.message} ({finding.code})",
        hint=finding.hint, span=finding.span, text=text, origin=origin,
    )  # fmt: skip
    first, _, rest = located.render().partition("\n")
    console = error_console()
    console.print(f"[bold yellow]warning:[/] {escape(first)}")
    if rest:
        console.print(escape(rest))


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 answer`, `12,345 answers`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Progress:
    """A line on the terminal that says how far a run is; nothing if nobody would see it."""

    def __init__(self, quiet: bool, opening: str = "starting Spark") -> None:
        self.status: Status | None = None
        if not quiet and sys.stderr.isatty():
            self.status = Status(opening, console=error_console())
            self.status.start()

    def update(self, statistics: Any, answers: int) -> None:
        if self.status is None:
            return
        parts = [
            count(statistics.elements, "element"),
            f"{statistics.rate:,.0f} triples/s",
            count(answers, "answer"),
        ]
        if statistics.watermark is not None and not statistics.ended:
            parts.append(f"up to {format_instant(statistics.watermark)}")
        self.status.update(" · ".join(parts))

    def aside(self) -> None:
        """Takes the line away while answers are printed."""
        if self.status is not None:
            self.status.stop()

    def back(self) -> None:
        if self.status is not None:
            self.status.start()

    close = aside


@dataclass(frozen=True)
class Unused:
    """What a run could not use, and where it went."""

    kind: str  # rejected line, late element
    number: int
    kept_in: Path | None
    option: str
    first: dict[str, Any] | None = None
    hint: str = ""

    def __str__(self) -> str:
        text = count(self.number, self.kind)
        if self.kept_in is not None:
            return f"{text}, see {self.kept_in}"
        if self.first and "reason" in self.first:
            text += f" (the first one: {self.first.get('source')}"
            text += f", line {self.first.get('line')}: {self.first['reason']})"
        return f"{text}; keep such with {self.option} FILE"


def show_summary(statistics: Any, answers: int, unused: list[Unused]) -> None:
    """The closing line of a run: what was read, what was found, what could not be used."""
    console = error_console()
    line = (
        f"{count(answers, 'answer')} from {count(statistics.elements, 'element')}"
        f" ({count(statistics.occurrences, 'triple')}) in {statistics.seconds:.1f} s"
    )
    if statistics.interrupted:
        line += "; stopped by Ctrl-C"
    console.print(escape(line))
    for each in unused:
        if each.number:
            show_warning(str(each))
            if each.hint:
                show_note(f"  hint: {each.hint}")
    if not statistics.elements and not any(each.number for each in unused):
        show_warning("there was nothing in the streams")
