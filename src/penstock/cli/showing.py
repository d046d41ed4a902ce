"""What the commands say beside the answers, all of it on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
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


class _Log:
    """How this process writes what it says: as text, or each message as a line of JSON."""

    json = False


def log_as_json(wanted: bool) -> None:
    """From now on messages are lines of JSON (`--log json`), or texts again."""
    _Log.json = wanted


def show_event(event: str, level: str = "info", **said: Any) -> None:
    """A line of JSON."""
    now = format_instant(time.time_ns() // 1_000_000 * 1_000)
    line = {"time": now, "level": level, "event": event} | said
    print(json.dumps(line, ensure_ascii=False, default=str), file=sys.stderr, flush=True)


def error_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def _show(text: str, level: str, label: str = "") -> None:
    """A message as it is, without wrapping: carets must stay under what they point at."""
    if _Log.json:
        show_event("message", level, message=text.strip())
        return
    first, _, rest = text.partition("\n")
    console = error_console()
    console.print(f"{label}{escape(first)}")
    if rest:
        console.print(escape(rest))


def show_error(text: str) -> None:
    _show(text, "error", "[bold red]error:[/] ")


def show_warning(text: str) -> None:
    _show(text, "warning", "[bold yellow]warning:[/] ")


def show_note(text: str) -> None:
    _show(text, "info")


def show_continued(fates: Iterable[Continued]) -> None:
    """What becomes of the queries of a checkpoint, unless they simply go on."""
    for each in fates:
        if each.is_news:
            show_note(str(each))


@contextlib.contextmanager
def warnings_shown() -> Iterator[None]:
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


class ProgressLine:
    """A line on the terminal that says how far a run is; nothing if nobody would see it.

    `latest` gives the statistics of the run, once there is one.
    """

    def __init__(
        self, quiet: bool, opening: str = "starting Spark", latest: Callable[[], RunStatistics] | None = None
    ) -> None:
        self.status: Status | None = None
        self.line = opening
        self.latest = latest
        if not quiet and not _Log.json and sys.stderr.isatty():
            self.status = Status(self, console=error_console())
            self.status.start()

    def say(self, line: str) -> None:
        """What is being done now."""
        self.line = line

    def __str__(self) -> str:
        statistics = None if self.latest is None else self.latest()
        return str(statistics.progress) if statistics is not None and statistics.started else self.line

    def __rich__(self) -> Text:
        """The line as it is now: drawn again and again, it shows also that nothing comes."""
        return Text(str(self), no_wrap=True, overflow="ellipsis")

    def aside(self) -> None:
        """Takes the line away while answers are printed."""
        if self.status is not None:
            self.status.stop()

    def back(self) -> None:
        if self.status is not None:
            self.status.start()

    close = aside


def show_progress(statistics: RunStatistics) -> None:
    """How far a run is, as a line of its own."""
    if _Log.json:
        show_event("progress", **statistics.progress.to_json())
    else:
        show_note(str(statistics.progress))


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
    show_note(line)
    for each in (lost := unused(statistics)):
        place = kept_in.get(each.kind)
        keep = f"; keep such with --{each.kind} FILE" if each.kind in KINDS else ""
        show_warning(f"{each}{keep}" if place is None else f"{each.counted}, see {place}")
        for reason in each.reasons:
            show_note(f"  {reason}")
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
