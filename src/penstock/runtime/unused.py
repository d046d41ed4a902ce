"""What a run could not use, in words: rejected lines, late elements, contradictions, guesses.

Rejects are summarised by their reasons, whatever value each is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.decode.formats import FILE, LINE
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
    LATE: "late element",
    INCONSISTENT: "contradiction",
    AMBIGUOUS: "ambiguous local time",
}
_SHOWN = 5  # reasons
_MOST = 1000  # reasons that are told apart
_VALUE = re.compile(
    r"""((?:column|value of) '[^']*')|'[^']*'|"[^"]*"|<[^>\s]*>|\b\d{4}-\d\d-\d\d[T\d:.Z ]*\b"""
)
"""A quoted text, a term or an instant within a reason; the name of a column stays."""


def note_reasons(statistics: RunStatistics, rejects: Iterable[Mapping[str, Any]]) -> None:
    """Counts rejects by their unit and reason; a reason is the same, whatever value it is about."""
    for record in rejects:
        kind = record.get("unit", LINE), _VALUE.sub(lambda found: found[1] or "…", record.get("reason", ""))
        if kind not in statistics.reasons and len(statistics.reasons) >= _MOST:
            kind = kind[0], "other reasons"
        statistics.reasons[kind] += 1


def _several(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Unused:
    """One kind of what could not be used: how many there are, and the first of them."""

    kind: str
    number: int
    first: dict[str, Any] | None = None
    by_reason: Counter[tuple[str, str]] = field(default_factory=Counter)  # of rejects: unit, reason

    @property
    def counted(self) -> str:
        if self.kind != REJECTED:
            return _several(self.number, _WORDS[self.kind])
        units: Counter[str] = Counter()
        for (unit, _), number in self.by_reason.items():
            units[unit] += number
        units[LINE] += self.number - units.total()
        return " and ".join(_several(number, f"rejected {unit}") for unit, number in units.items() if number)

    @property
    def reasons(self) -> list[str]:
        """How often which reason, the most frequent first; none where the first reject has told all."""
        if len(self.by_reason) < 2:
            return []
        shown = self.by_reason.most_common(_SHOWN)
        lines = [f"{number:,} × {reason}" for (_, reason), number in shown]
        rest = self.by_reason.total() - sum(number for _, number in shown)
        return [*lines, f"{rest:,} × other reasons"] if rest else lines

    @property
    def hint(self) -> str:
        return _HINTS.get(self.kind, "")

    def __str__(self) -> str:
        text = self.counted
        if self.first and "reason" in self.first:
            text += f" (the first one: {self.first.get('source')}"
            unit, line = self.first.get("unit", LINE), self.first.get("line")
            if unit != FILE:
                text += f", {unit} {line}"
            elif line and line > 1:
                text += f", from {line} on"
            text += f": {self.first['reason']})"
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
    reasons = {REJECTED: statistics.reasons}
    return [
        Unused(kind, number, statistics.first.get(kind), reasons.get(kind, Counter()))
        for kind, number in numbers.items()
        if number
    ]
