"""Elements made in Python as an N-Quads stream: (triples, instant) or (triples, start, end)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.terms import from_rdflib
from penstock.timeline import checked_instant, format_instant, parse_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant_of(value: Any) -> int:
    """A datetime with a time zone, an ISO 8601 text or microseconds as an instant."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InputError(f"{value!r} has no time zone", hint="give it one, as in timezone.utc")
        return checked_instant((value - _EPOCH) // timedelta(microseconds=1), value)
    return checked_instant(value, value) if isinstance(value, int) else parse_instant(str(value))


def write_elements(path: Path, elements: Iterable[tuple]) -> None:
    """Writes each element as a named graph whose name tells its interval."""
    with open(path, "w", encoding="utf-8") as out:
        for number, element in enumerate(elements):
            triples, *times = element
            if len(times) not in (1, 2):
                raise InputError("an element is (triples, instant) or (triples, start, end)")
            start, end = instant_of(times[0]), instant_of(times[-1])
            if end < start:
                raise InputError(f"element {number} ends before it starts")
            name = f"<urn:penstock:element:{number}#t={format_instant(start)},{format_instant(end)}>"
            for triple in triples:
                terms = " ".join(str(from_rdflib(term)) for term in triple)
                out.write(f"{terms} {name} .\n")
