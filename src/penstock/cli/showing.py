"""What the commands say beside the answers, all of it on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.text import Text

from penstock.errors import Finding, PenstockWarning
from penstock.runtime.unused import KINDS, unused
from penstock.sources.segments import files_below
from penstock.sources.streams import StreamSpec
from penstock.timeline import format_instant

if TYPE_CHECKING:
    from penstock.runtime.contract import RunStatistics
    from penstock.runtime.recovery.continuing import Continued


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
    first, _, rest = text.partition("\n")
    console = error_console()
    console.print(f"[bold yellow]warning:[/] {escape(first)}")
    if rest:
        console.print(escape(rest))


def show_note(text: str) -> None:
    error_console().print(escape(text))


def show_continued(fates: Iterable[Continued]) -> None:
    """What becomes of the queries of a checkpoint, unless they simply go on."""
    for each in fates:
        if each.is_news:
            show_note(str(each))


@contextlib.contextmanager
def warnings_told() -> Iterator[None]:
    """Python's warnings of ours as the command line shows warnings."""
    others = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, PenstockWarning):
            show_warning(str(message))
        else:
            others(message, category, *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("always", PenstockWarning)
        warnings.showwarning = tell  # type: ignore[assignment]
        yield


def show_finding(finding: Finding, text: str | None, origin: str | None) -> None:
    """A warning of `penstock check`, with its place in the query."""
    show_warning(finding.located(text, origin))


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 answer`, `12,345 answers`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Rate:
    """Elements per second over the last seconds: what is going on now, and none when nothing is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, window: float = 10.0) -> None:
        self.clock = clock
        self.window = window
        self.seen: deque[tuple[float, int]] = deque()
        self.batches = 0

    def note(self, elements: int) -> None:
        self.batches += 1
        self.seen.append((self.clock(), elements))

    def now(self) -> float | None:
        """None until there are two batches: how long the first one took includes the start."""
        if self.batches < 2:
            return None
        now = self.clock()
        start = now - self.window
        while len(self.seen) > 1 and self.seen[1][0] <= start:
            self.seen.popleft()  # the one that remains says what was there when the window began
        since, before = self.seen[0]
        return (self.seen[-1][1] - before) / max(now - max(since, start), 1e-6)


class Progress:
    """A line on the terminal that says how far a run is; nothing if nobody would see it."""

    def __init__(self, quiet: bool, opening: str = "starting Spark") -> None:
        self.status: Status | None = None
        self.line = opening
        self.rate = Rate()
        if not quiet and sys.stderr.isatty():
            self.status = Status(self, console=error_console())
            self.status.start()

    def say(self, line: str) -> None:
        """What is being done now."""
        self.line = line

    def update(self, statistics: Any, answers: int) -> None:
        self.rate.note(statistics.elements)
        parts = [count(statistics.elements, "element"), "{rate}", count(answers, "answer")]
        if statistics.watermark is not None and not statistics.ended:
            parts.append(f"up to {format_instant(statistics.watermark)}")
        self.line = " · ".join(parts)

    def __rich__(self) -> Text:
        """The line as it is now: drawn again and again, it shows also that nothing comes."""
        rate = self.rate.now()
        said = "first batch" if rate is None else f"{rate:,.0f} elements/s"
        return Text(self.line.replace("{rate}", said), no_wrap=True, overflow="ellipsis")

    def aside(self) -> None:
        """Takes the line away while answers are printed."""
        if self.status is not None:
            self.status.stop()

    def back(self) -> None:
        if self.status is not None:
            self.status.start()

    close = aside


def show_waiting(streams: Sequence[StreamSpec]) -> None:
    """Directories in which a run that follows them finds nothing yet, said before Spark has started."""
    for spec in streams:
        for path in spec.paths:
            if os.path.isdir(path) and not files_below(Path(path), spec.format):
                show_warning(f"there is no file to read in {path} yet; the run waits for some")


def show_summary(
    statistics: RunStatistics, answers: int, kept_in: Mapping[str, Path | None], seconds: float
) -> None:
    """The closing line of a run: what was read, what was found, what could not be used and where that is.

    `seconds` is how long the user has waited; what the run itself did not take was the start.
    """
    console = error_console()
    running = min(statistics.seconds, seconds)
    derived = f", {statistics.derived:,} derived" if statistics.derived else ""
    triples = f"{count(statistics.occurrences, 'triple')}{derived}"
    source = f"{count(statistics.elements, 'element')} ({triples})"
    if statistics.known is not None:
        source = count(statistics.known, "static triple")
    line = (
        f"{count(answers, 'answer')} from {source} in {seconds:.1f} s:"
        f" {seconds - running:.1f} s to start, {running:.1f} s to read and answer"
    )
    if statistics.interrupted:
        line += "; stopped"
    console.print(escape(line))
    for each in (lost := unused(statistics)):
        place = kept_in.get(each.kind)
        keep = f"; keep such with --{each.kind} FILE" if each.kind in KINDS else ""
        show_warning(f"{each}{keep}" if place is None else f"{each.counted}, see {place}")
        if each.hint:
            show_note(f"  hint: {each.hint}")
    if statistics.dropped:
        rules = ", ".join(f"{rule} ({times:,})" for rule, times in sorted(statistics.dropped.items()))
        total = count(statistics.dropped.total(), "derived triple")
        show_note(f"{total} with a literal as subject or no IRI as predicate left out, by {rules}")
    for reason, times in statistics.refused.items():
        show_warning(f"{reason}: no value, {count(times, 'time')}")
    if statistics.refused:
        show_note("  hint: a filter takes that as false; docs/decisions/0007-functions.md has the limits")
    nothing = not statistics.elements and not lost
    if nothing and statistics.known is None and not statistics.interrupted:
        show_warning("there was nothing in the streams")


_DIAGNOSED = 5


def show_diagnosis(found: Sequence[object]) -> None:
    """Why queries have no answers, for the first of them."""
    for each in found[:_DIAGNOSED]:
        show_note(str(each))
    if len(found) > _DIAGNOSED:
        show_note(f"… and {count(len(found) - _DIAGNOSED, 'query', 'queries')} more without answers")
