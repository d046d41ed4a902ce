"""What a run could not use, in words: rejected lines, late elements, contradictions, guesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.contract import RunStatistics

KINDS = REJECTED, LATE, INCONSISTENT = "rejected", "late", "inconsistent"  # of which there are records
AMBIGUOUS = "ambiguous"
_HINTS = {
    LATE: "--lateness DURATION (lateness= in Python) waits for them; the files of a directory follow each"
    " other by name, so give files that cover the same time each its own --stream",
    INCONSISTENT: "in elements: they went on, with what follows from them; --strict stops there",
    AMBIGUOUS: 'where clocks are put back an hour comes twice; "ambiguous" of the map\'s "penstock:time" says'
    " which one is meant: first (as without it), last, or reject",
}
_WORDS = {
    REJECTED: "rejected line",
    LATE: "late element",
    INCONSISTENT: "contradiction",
    AMBIGUOUS: "ambiguous local time",
}


@dataclass(frozen=True)
class Unused:
    """One kind of what could not be used: how many there are, and the first of them."""

    kind: str
    number: int
    first: dict[str, Any] | None = None

    @property
    def counted(self) -> str:
        return f"{self.number:,} {_WORDS[self.kind]}{'' if self.number == 1 else 's'}"

    @property
    def hint(self) -> str:
        return _HINTS.get(self.kind, "")

    def __str__(self) -> str:
        text = self.counted
        if self.first and "reason" in self.first:
            text += f" (the first one: {self.first.get('source')}"
            text += f", line {self.first.get('line')}: {self.first['reason']})"
        if self.first and "rule" in self.first:
            bound = ", ".join(f"?{name} = {value}" for name, value in self.first["bindings"].items())
            text += f" (the first one: {self.first['rule']}: {self.first['meaning']} {bound})"
        return text


def unused(statistics: RunStatistics) -> list[Unused]:
    """What a run could not use so far."""
    numbers = {
        REJECTED: statistics.rejects,
        LATE: statistics.late,
        INCONSISTENT: statistics.inconsistent,
        AMBIGUOUS: statistics.ambiguous,
    }
    return [Unused(kind, number, statistics.first.get(kind)) for kind, number in numbers.items() if number]
