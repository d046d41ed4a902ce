"""XSD dates, times and durations: their values, arithmetic, comparison and lexical forms.

A value without a time zone is taken to be in UTC (the implicit time zone). The calendar is
`timeline`'s.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import (
    DECIMAL,
    EXACT,
    Number,
    as_written,
    divide_decimal,
    format_decimal,
    round_half_up,
)
from penstock.terms import XSD, Literal
from penstock.timeline import civil_from_days, days_from_civil, days_in_month, duration_fields

DAY = 86400


@dataclass(frozen=True, slots=True)
class Moment:
    """An xsd:dateTime, xsd:date or xsd:time: local seconds since 1970-01-01T00:00:00.

    A date is its first instant, a time lies on 1970-01-01. `zone` is in minutes.
    """

    kind: str
    local: Decimal
    zone: int | None

    @property
    def utc(self) -> Decimal:
        return EXACT.subtract(self.local, Decimal((self.zone or 0) * 60))

    @property
    def days(self) -> int:
        return math.floor(self.local) // DAY

    @property
    def clock(self) -> tuple[int, int, Decimal]:
        """Hours, minutes and seconds."""
        rest = EXACT.subtract(self.local, Decimal(self.days * DAY))
        minutes = math.floor(rest) // 60
        return minutes // 60, minutes % 60, EXACT.subtract(rest, Decimal(minutes * 60))

    @property
    def date(self) -> tuple[int, int, int]:
        """Year, month and day."""
        return civil_from_days(self.days)


@dataclass(frozen=True, slots=True)
class Duration:
    """An xsd:duration: months and seconds, both with the same sign or zero."""

    kind: str  # duration, dayTimeDuration or yearMonthDuration
    months: int
    seconds: Decimal


# --- lexical form → value ----------------------------------------------------------------

_DATE = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_FORMS = {
    "dateTime": re.compile(f"{_DATE}T{_TIME}{_ZONE}"),
    "date": re.compile(f"{_DATE}()()(){_ZONE}"),
    "time": re.compile(f"()()(){_TIME}{_ZONE}"),
}


def read_moment(text: str, kind: str) -> Moment | None:
    """The value of a dateTime, date or time, or None if the text is not in its space."""
    match = _FORMS[kind].fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    days, seconds = 0, Decimal(0)
    if year:
        y, m, d = int(year), int(month), int(day)
        if not 1 <= d <= days_in_month(y, m):
            return None
        days = days_from_civil(y, m, d)
    if hour:
        h, n, seconds = int(hour), int(minute), Decimal(second)
        if (h, n, seconds) != (24, 0, 0) and not (h < 24 and n < 60 and seconds < 60):
            return None
        seconds = EXACT.add(seconds, Decimal((h % 24 if kind == "time" else h) * 3600 + n * 60))
    offset = read_zone(zone)
    if offset is not None and abs(offset) > 14 * 60:
        return None
    return Moment(kind, EXACT.add(Decimal(days * DAY), seconds), offset)


def read_zone(text: str | None) -> int | None:
    if not text:
        return None
    if text == "Z":
        return 0
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    return -minutes if text[0] == "-" else minutes


def read_duration(text: str, kind: str) -> Duration | None:
    """The value of a duration or of one of its two subtypes, or None if it is not one."""
    fields = duration_fields(text)
    if fields is None:
        return None
    sign, years, months, days, hours, minutes, seconds = fields
    if kind == "dayTimeDuration" and (years or months):
        return None
    if kind == "yearMonthDuration" and (days or hours or minutes or seconds):
        return None
    total = Decimal(int(days or 0) * DAY + int(hours or 0) * 3600 + int(minutes or 0) * 60)
    total = EXACT.add(total, Decimal(seconds or 0))
    whole = int(years or 0) * 12 + int(months or 0)
    if sign:
        return Duration(kind, -whole, total.copy_negate() if total else total)
    return Duration(kind, whole, total)


# --- value → lexical form ----------------------------------------------------------------


def moment_literal(moment: Moment) -> Literal:
    return Literal(format_moment(moment), datatype=XSD[moment.kind])


def format_moment(moment: Moment) -> str:
    text = ""
    if moment.kind != "time":
        year, month, day = moment.date
        text = f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}"
    if moment.kind == "dateTime":
        text += "T"
    if moment.kind != "date":
        hour, minute, second = moment.clock
        whole, _, fraction = format_decimal(second).partition(".")
        text += f"{hour:02d}:{minute:02d}:{whole:>02}" + (f".{fraction}" if fraction else "")
    return text + format_zone(moment.zone)


def format_zone(zone: int | None) -> str:
    if zone is None:
        return ""
    if zone == 0:
        return "Z"
    return f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02d}:{abs(zone) % 60:02d}"


def duration_literal(duration: Duration) -> Literal:
    return Literal(format_duration(duration), datatype=XSD[duration.kind])


def format_duration(duration: Duration) -> str:
    """The canonical lexical form: -P1Y2M3DT4H5M6.7S, and PT0S or P0M for nothing."""
    months, seconds = abs(duration.months), duration.seconds.copy_abs()
    text = "-P" if duration.months < 0 or duration.seconds < 0 else "P"
    years, months = divmod(months, 12)
    text += (f"{years}Y" if years else "") + (f"{months}M" if months else "")
    whole = int(seconds)
    days, rest = divmod(whole, DAY)
    hours, minutes = rest // 3600, rest % 3600 // 60
    left = EXACT.add(EXACT.subtract(seconds, Decimal(whole)), Decimal(rest % 60))
    text += f"{days}D" if days else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{format_decimal(left)}S" if left else ""
    text += f"T{clock}" if clock else ""
    if text[-1] == "P":
        return "P0M" if duration.kind == "yearMonthDuration" else "PT0S"
    return text


# --- comparison --------------------------------------------------------------------------

# XSD Part 2, 3.2.6.2: two durations are ordered if they are so from all of these months.
_REFERENCES = tuple((y, m, days_from_civil(y, m, 1)) for y, m in ((1696, 9), (1697, 2), (1903, 3), (1903, 7)))


def reach(duration: Duration) -> tuple[Decimal, ...]:
    """The length of a duration in seconds from each of XSD's four reference months."""
    if not duration.months:
        return (duration.seconds,) * len(_REFERENCES)
    lengths = []
    for year, month, start in _REFERENCES:
        index = year * 12 + month - 1 + duration.months
        days = days_from_civil(index // 12, index % 12 + 1, 1) - start
        lengths.append(EXACT.add(Decimal(days * DAY), duration.seconds))
    return tuple(lengths)


def compare_durations(left: Duration, right: Duration) -> int:
    """-1, 0 or 1; an error where XSD's partial order leaves it open."""
    if left.months == right.months:
        return (left.seconds > right.seconds) - (left.seconds < right.seconds)
    if left.seconds == right.seconds:
        return (left.months > right.months) - (left.months < right.months)
    pairs = list(zip(reach(left), reach(right), strict=True))
    if all(a < b for a, b in pairs):
        return -1
    if all(a > b for a, b in pairs):
        return 1
    raise ExpressionError(f"{format_duration(left)} and {format_duration(right)} have no fixed order")


# --- arithmetic --------------------------------------------------------------------------


def shift(moment: Moment, duration: Duration, sign: int = 1) -> Moment:
    """moment ± duration: first the months, with the day cut to the month's length."""
    if moment.kind == "time":
        if duration.months or duration.kind == "yearMonthDuration":
            raise ExpressionError("a time of day cannot move by months")
        local = _add(moment.local, duration.seconds, sign)
        local = EXACT.subtract(local, Decimal(math.floor(local) // DAY * DAY))
        return Moment("time", local, moment.zone)
    local = moment.local
    if duration.months:
        year, month, day = moment.date
        index = year * 12 + month - 1 + sign * duration.months
        year, month = index // 12, index % 12 + 1
        day = min(day, days_in_month(year, month))
        moved = days_from_civil(year, month, day) - moment.days
        local = EXACT.add(local, Decimal(moved * DAY))
    local = _add(local, duration.seconds, sign)
    if moment.kind == "date":
        local = Decimal(math.floor(local) // DAY * DAY)
    return Moment(moment.kind, local, moment.zone)


def _add(local: Decimal, seconds: Decimal, sign: int) -> Decimal:
    return EXACT.add(local, seconds) if sign > 0 else EXACT.subtract(local, seconds)


def between(left: Moment, right: Moment) -> Duration:
    """left − right as an xsd:dayTimeDuration."""
    if left.kind != right.kind:
        raise ExpressionError(f"no difference between xsd:{left.kind} and xsd:{right.kind}")
    return Duration("dayTimeDuration", 0, EXACT.subtract(left.utc, right.utc))


def add_durations(left: Duration, right: Duration, sign: int = 1) -> Duration:
    kind = left.kind if left.kind == right.kind else "duration"
    months = left.months + sign * right.months
    return _duration(kind, months, _add(left.seconds, right.seconds, sign))


def scale(duration: Duration, number: Number, operator: str = "*") -> Duration:
    """duration × number or duration ÷ number; months are rounded to whole ones."""
    factor = as_written(number)
    if operator == "/":
        months = divide_decimal(Decimal(duration.months), factor)
        seconds = divide_decimal(duration.seconds, factor)
    else:
        months = EXACT.multiply(Decimal(duration.months), factor)
        seconds = EXACT.multiply(duration.seconds, factor)
    whole = int(round_half_up(Number(DECIMAL, months)).value)
    return _duration(duration.kind, whole, seconds)


def ratio(left: Duration, right: Duration) -> Number:
    """How often one duration goes into another, where both have a fixed unit."""
    if not left.months and not right.months:
        return Number(DECIMAL, divide_decimal(left.seconds, right.seconds))
    if not left.seconds and not right.seconds:
        return Number(DECIMAL, divide_decimal(Decimal(left.months), Decimal(right.months)))
    raise ExpressionError("months and days have no fixed ratio")


def _duration(kind: str, months: int, seconds: Decimal) -> Duration:
    if (months < 0 < seconds) or (seconds < 0 < months):
        raise ExpressionError("months and days of a duration must have the same sign")
    return Duration(kind, months, seconds)
