"""Elements made in Python as an N-Quads stream: (triples, instant) or (triples, start, end)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TextIO

from penstock.errors import InputError
from penstock.terms import Triple, triple_of
from penstock.timeline import checked_instant, format_instant, parse_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant_of(value: Any) -> int:
    """A datetime with a time zone, an ISO 8601 text or microseconds as an instant."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InputError(f"{value!r} has no time zone", hint="give it one, as in timezone.utc")
        return checked_instant((value - _EPOCH) // timedelta(microseconds=1), value)
    if isinstance(value, int) and not isinstance(value, bool):
        return checked_instant(value, value)
    if isinstance(value, str):
        return parse_instant(value)
    raise InputError(
        f"{value!r} is not an instant",
        hint='use a datetime with a time zone, or a text such as "2026-05-01T08:00:00Z"',
    )


def write_elements(path: Path, elements: Iterable[tuple]) -> None:
    """Writes each element as a named graph whose name tells its interval."""
    with open(path, "w", encoding="utf-8") as out:
        for number, element in enumerate(elements):
            try:
                _write(out, number, element)
            except InputError as problem:
                raise InputError(f"element {number}: {problem.message}", hint=problem.hint) from None


def _write(out: TextIO, number: int, element: Any) -> None:
    if not isinstance(element, (tuple, list)) or len(element) not in (2, 3):
        raise InputError(
            f"{element!r:.80} is not an element",
            hint="an element is (triples, instant) or (triples, start, end), as in"
            ' ([triple], "2026-05-01T08:00:00Z")',
        )
    triples, *times = element
    start, end = instant_of(times[0]), instant_of(times[-1])
    if end < start:
        raise InputError("it ends before it starts")
    name = f"<urn:penstock:element:{number}#t={format_instant(start)},{format_instant(end)}>"
    if isinstance(triples, (str, bytes, Triple)) or not isinstance(triples, Iterable):
        raise InputError(
            f"{triples!r:.80} is not a list of triples", hint="put them into a list, also a single one"
        )
    for triple in triples:
        terms = " ".join(map(str, triple_of(triple)))
        out.write(f"{terms} {name} .\n")
