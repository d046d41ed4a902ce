"""How far a run is: the figures that an operator looks at, in words, as JSON and as Prometheus reads them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.timeline import SECOND, format_instant

if TYPE_CHECKING:
    from penstock.runtime.contract import RunStatistics


class Rate:
    """Elements per second over the last seconds: what is going on now, and none when nothing is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, window: float = 10.0) -> None:
        self.clock = clock
        self.window = window
        self.seen: deque[tuple[float, int]] = deque()
        self.batches = 0

    def note(self, elements: int) -> None:
        now = self.clock()
        self.batches += 1
        self.seen.append((now, elements))
        while len(self.seen) > 1 and self.seen[1][0] <= now - self.window:
            self.seen.popleft()  # the one that remains says what was there when the window began

    def now(self) -> float | None:
        """None until there are two batches: how long the first one took includes the start."""
        if self.batches < 2:
            return None
        now = self.clock()
        start = now - self.window
        seen = list(self.seen)  # the run goes on while somebody asks
        begun = [each for each in seen if each[0] <= start]
        since, before = begun[-1] if begun else seen[0]
        return (seen[-1][1] - before) / max(now - max(since, start), 1e-6)


@dataclass(frozen=True)
class Progress:
    """The figures of a run at one moment."""

    batch: int | None  # the last one that is done, restarts included
    elements: int
    elements_per_second: float | None  # of late; None before the second batch
    answers: int
    watermark: int | None  # µs; None before there is one, and when the streams have ended
    state_rows: int  # remembered by all queries, static knowledge apart
    state_bytes: int
    late: int
    rejected: int

    @property
    def lag(self) -> float | None:
        """By how many seconds the watermark is behind the clock."""
        return None if self.watermark is None else round(time.time() - self.watermark / SECOND, 3)

    def to_json(self) -> dict[str, Any]:
        rate = self.elements_per_second
        return {
            "batch": self.batch,
            "elements": self.elements,
            "elements_per_second": None if rate is None else round(rate, 1),
            "answers": self.answers,
            "watermark": None if self.watermark is None else format_instant(self.watermark),
            "lag_seconds": self.lag,
            "state_rows": self.state_rows,
            "state_bytes": self.state_bytes,
            "late": self.late,
            "rejected": self.rejected,
        }

    def __str__(self) -> str:
        if self.batch is None:
            return "first batch"
        rate = self.elements_per_second
        parts = [f"batch {self.batch}", _counted(self.elements, "element")]
        if rate is not None:
            parts.append(f"{rate:,.0f} elements/s")
        parts.append(_counted(self.answers, "answer"))
        if self.watermark is not None:
            parts += [f"up to {format_instant(self.watermark)}", f"lag {_long(self.lag)}"]
        parts.append(f"state {_counted(self.state_rows, 'row')}, {in_bytes(self.state_bytes)}")
        return " · ".join([*parts, f"{self.late:,} late", f"{self.rejected:,} rejected"])


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def in_bytes(size: float) -> str:
    """A number of bytes as a person reads it."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def _long(seconds: float) -> str:
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.1f} s"


def prometheus(statistics: RunStatistics) -> str:
    """The figures of a run in the text format of Prometheus."""
    return "".join(_prometheus(statistics))


def _prometheus(statistics: RunStatistics) -> Iterator[str]:
    progress = statistics.progress
    totals = {
        "batches": (statistics.batches, "Batches since this process began."),
        "elements": (statistics.elements, "Stream elements read."),
        "triples": (statistics.occurrences, "Triples of elements read."),
        "read_bytes": (statistics.bytes, "Bytes of streams read."),
        "late": (statistics.late, "Elements that came later than --lateness allows."),
        "rejected": (statistics.rejects, "Input that could not be read."),
        "inconsistent": (statistics.inconsistent, "Contradictions in elements that rules found."),
    }
    gauges = {
        "batch": (progress.batch, "The number of the last batch, restarts included."),
        "elements_per_second": (progress.elements_per_second, "Elements per second of the last ten seconds."),
        "watermark_seconds": (
            None if progress.watermark is None else progress.watermark / SECOND,
            "How far event time is, in seconds since 1970.",
        ),
        "lag_seconds": (progress.lag, "By how much the watermark is behind the clock."),
        "state_rows": (progress.state_rows, "Rows that queries remember, static knowledge apart."),
        "state_bytes": (progress.state_bytes, "Bytes of the rows that queries remember."),
        "run_seconds": (statistics.seconds, "How long the run took up to the end of its last batch."),
    }
    for kind, figures in (("counter", totals), ("gauge", gauges)):
        for name, (value, meaning) in figures.items():
            if value is not None:  # there is no such figure yet
                named = f"penstock_{name}{'_total' if kind == 'counter' else ''}"
                yield f"# HELP {named} {meaning}\n# TYPE {named} {kind}\n{named} {value}\n"
    yield "# HELP penstock_answers_total Answers given.\n# TYPE penstock_answers_total counter\n"
    for query, number in statistics.answers.items():
        label = query.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        yield f'penstock_answers_total{{query="{label}"}} {number}\n'
