"""What callers in Python hand in, checked where it comes in: a wrong type is told with an example."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any

from penstock.decode.limits import parse_size
from penstock.errors import InputError, UsageError
from penstock.timeline import parse_duration, saturated

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20]*")


def shown(value: Any) -> str:
    """A value in a message: short, and with its type where that is what is wrong."""
    text = repr(value)
    return f"{text[:57]}…" if len(text) > 58 else text


def text_or_none(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} is a text, and {shown(value)} is not")


def iri_or_none(value: Any, name: str) -> str | None:
    """An absolute IRI as text; pyoxigraph's and rdflib's nodes are taken as well."""
    if value is None:
        return None
    text = value if isinstance(value, str) else getattr(value, "value", None)
    if not isinstance(text, str) or not _ABSOLUTE_IRI.fullmatch(text):
        raise UsageError(
            f"{name} is an absolute IRI, and {shown(value)} is not", hint='as in "http://example.org/prices"'
        )
    return str(text)


def place_or_none(value: Any, name: str) -> str | os.PathLike[str] | None:
    if value is None or (isinstance(value, (str, os.PathLike)) and os.fspath(value)):
        return value
    raise UsageError(f"{name} is a path, and {shown(value)} is not")


def length_of_time(value: Any, name: str) -> int:
    """A duration in microseconds, from text, a timedelta, or microseconds."""
    if isinstance(value, str):
        try:
            micros = parse_duration(value)
        except InputError as problem:
            raise UsageError(f"{name}: {problem.message}", hint=problem.hint) from None
    elif isinstance(value, timedelta):
        micros = saturated(value // timedelta(microseconds=1))
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = saturated(value)
    else:
        raise UsageError(
            f"{name} is a length of time, and {shown(value)} is none",
            hint='write "30s", "PT5M", a timedelta, or whole microseconds',
        )
    if micros < 0:
        raise UsageError(f"{name} {shown(value)}: a negative duration has no meaning here")
    return micros


def positive_or_none(value: Any, name: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise UsageError(f"{name} is a whole number above zero, and {shown(value)} is not")


def state_limit(value: Any, name: str = "max_state") -> tuple[int | None, int | None]:
    """The most rows and the most bytes that queries may hold: rows as a number, bytes with a unit."""
    if isinstance(value, str) and not value.strip().isdigit():
        return None, positive_or_none(parse_size(value), name)
    return positive_or_none(int(value) if isinstance(value, str) else value, name), None
