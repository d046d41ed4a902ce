"""Lengths of time and instants in windows: `10m` and `1h30m`, or `PT10M`."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from fractions import Fraction

from lark import Token, Tree

from penstock.errors import InputError
from penstock.languages.leaves import TermTranslator
from penstock.terms import XSD
from penstock.timeline import DAY, HOUR, LONGEST, MINUTE, SECOND, exact_duration, parse_instant

UNITS = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
    **dict.fromkeys(("w", "week", "weeks"), 7 * DAY),
}
_NO_LENGTH = ("y", "year", "years", "mo", "month", "months")
_UNIT_HINT = "the units are ms, s, m (minutes), h, d and w, as in 30s or 1h30m"
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([^\W\d]+)")


class DurationTranslator(TermTranslator):
    """Lengths of time as whole microseconds."""

    ISO = False  # whether durations are written as in xsd:duration
    units_too = False  # whether the window that is read now may have 10m all the same
    KEEPS_ALL = "[RANGE UNBOUNDED STEP 1m]"  # a window that nothing leaves

    def duration(self, tree: Tree) -> int:
        """The length that a `duration` says; it may be zero or negative."""
        first, *unit = tree.children
        if first.type == "ISO_DURATION":
            text, length = str(first), self._iso_duration(first)
        elif first.type == "DURATION" or unit:
            text = "".join(map(str, tree.children))
            length = self._short_duration(tree, text)
        else:
            hint = f"write PT{first}S for seconds, PT{first}M for minutes" if self.ISO else _UNIT_HINT
            if self.units_too:
                hint += f"; RSP-JS counts milliseconds, which is {first}ms"
            raise self.source.error(f"{first} of what? A length of time has a unit", first, hint)
        if length.denominator != 1:
            hint = "seconds have six digits at most, as in PT0.000001S" if self.ISO else _UNIT_HINT
            raise self.source.error("this is finer than time, which has microseconds", tree, hint)
        if abs(length) >= LONGEST:
            raise self.source.error(
                "no stream is as long as this: there are 9,999 years",
                tree,
                f"{self.KEEPS_ALL} keeps all",
            )
        self._check_notation(tree, text, int(length), is_iso=first.type == "ISO_DURATION")
        return int(length)

    def _check_notation(self, tree: Tree, text: str, length: int, *, is_iso: bool) -> None:
        """Refuse a length that is possible, but written as in another language: the hint has the same one."""
        if is_iso and not self.ISO:
            raise self.source.error(
                f"{text} is how RSP-QL writes a length of time",
                tree,
                f"write {_in_units(length)}; or read the query as rsp-ql, if it is RSP-QL",
            )
        if self.ISO and not is_iso and not self.units_too:
            raise self.source.error(
                f"{text} is how CQELS and C-SPARQL write a length of time",
                tree,
                f"in RSP-QL write {_in_iso(length)}",
            )

    def _iso_duration(self, token: Token) -> Fraction:
        try:
            return exact_duration(token.upper())
        except InputError as problem:
            raise self.source.error(
                problem.message, token, problem.hint if self.ISO else _UNIT_HINT
            ) from None

    def _short_duration(self, where: Tree | Token, text: str) -> Fraction:
        length = Fraction(0)
        for number, unit in _PART.findall(text):
            length += Fraction(Decimal(number)) * self._unit(where, unit)
        return -length if text.startswith("-") else length

    def _unit(self, where: Tree | Token, unit: str) -> int:
        if unit.lower() in _NO_LENGTH:
            raise self.source.error(
                f"{unit} is not a time unit here: years and months have no fixed length", where, _UNIT_HINT
            )
        if unit.lower() not in UNITS:
            close = difflib.get_close_matches(unit.lower(), UNITS, 1, 0.7)
            raise self.source.error(
                f"{unit} is not a time unit", where, f"did you mean {close[0]}?" if close else _UNIT_HINT
            )
        return UNITS[unit.lower()]

    def instant(self, tree: Tree) -> int:
        """The instant of an xsd:dateTime; a plain string is taken for one."""
        literal = self.constant(tree)
        if literal.datatype not in (XSD.dateTime, XSD.string, XSD.dateTimeStamp):
            raise self.source.error(
                "an instant is an xsd:dateTime", tree, 'as in "2026-01-31T12:00:00Z"^^xsd:dateTime'
            )
        try:
            return parse_instant(literal.value)
        except InputError as problem:
            raise self.source.error(problem.message, tree, problem.hint) from None


def _in_units(length: int) -> str:
    """A length of time with the largest unit that it has a whole number of."""
    for name in ("w", "d", "h", "m", "s", "ms"):
        if length and length % UNITS[name] == 0:
            return f"{length // UNITS[name]}{name}"
    return f"{Decimal(length) / SECOND}s"


def _in_iso(length: int) -> str:
    for unit, name in ((DAY, "P{}D"), (HOUR, "PT{}H"), (MINUTE, "PT{}M")):
        if length and length % unit == 0:
            return name.format(length // unit)
    return f"PT{Decimal(length) / SECOND}S"
