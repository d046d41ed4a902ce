"""Instants, intervals and watermarks.

An instant is an int64 count of microseconds since 1970-01-01T00:00:00Z. An interval is
two instants, closed on both ends. *Timeless* is the interval of static knowledge: it is
written so that it is the neutral element of the hull (min of starts, max of ends).

Instants of a stream lie between EARLIEST and LATEST, which are the years 1 to 9999 in UTC:
what a date has four digits for. Whatever states another one is rejected where it is read; so is
a year of other digits that only its zone would bring into the range (10000-01-01T00:00:00+14:00).
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from penstock.errors import InputError, shortened

FOREVER = 2**63 - 1
"""Later than every instant: the watermark of a stream that has ended."""
NEVER = -(2**63)
"""Earlier than every instant: the watermark before anything was seen."""

TIMELESS_START = FOREVER
TIMELESS_END = NEVER

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

LONGEST = 10_000 * 366 * DAY
"""No two instants are further apart."""

EARLIEST = -719_162 * DAY  # 0001-01-01T00:00:00Z
LATEST = 2_932_897 * DAY - 1  # the last microsecond of 9999
LARGEST_ZONE = 14 * HOUR
_WHITE_SPACE = " \t\r\n"  # what XML Schema allows around a value
_INSTANT = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_DURATION = re.compile(
    r"(-)?P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)S)?)?"
)
_SHORT_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)")
_SHORT_UNITS = {"ms": 1000, "s": SECOND, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY}


# The calendar is the proleptic Gregorian one and has no first or last year. Kernels compile these
# three functions, too.


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 (the algorithm of Howard Hinnant: years begin in March)."""
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a count of days since 1970-01-01."""
    days += 719468
    era = days // 146097
    of_era = days - era * 146097
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return year, month, of_year - (153 * shifted + 2) // 5 + 1


def days_in_month(year: int, month: int) -> int:
    """How many days a month has; none if there is no such month."""
    if month < 1 or month > 12:
        return 0
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


def is_timeless(start: int, end: int) -> bool:
    return start > end


def parse_instant(text: str) -> int:
    """An xsd:dateTime with a time zone as microseconds; finer digits are cut off."""
    match = _INSTANT.fullmatch(text.strip(_WHITE_SPACE))
    if match is None:
        raise InputError(
            f"{shortened(text)!r} is not an instant",
            hint="write it as 2026-01-31T12:00:00.000Z; the time zone is required",
        )
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if len(year) != 4 or year == "0000":
        raise _outside(text)
    midnight = hour == "24" and minute == "00" and second == "00" and not (fraction or "").strip(".0")
    civil = int(year), int(month), int(day)
    if not 1 <= civil[2] <= days_in_month(*civil[:2]):
        raise InputError(f"{shortened(text)!r} is not an instant: there is no such day")
    if not (midnight or int(hour) < 24) or int(minute) > 59 or int(second) > 59:
        raise InputError(f"{shortened(text)!r} is not an instant: there is no such time of the day")
    micros = days_from_civil(*civil) * DAY + int(hour) * HOUR + int(minute) * MINUTE + int(second) * SECOND
    if fraction:
        micros += int((fraction[1:7] + "000000")[:6])
    if zone != "Z":
        shift = int(zone[1:3]) * HOUR + int(zone[4:6]) * MINUTE
        if shift > LARGEST_ZONE or int(zone[4:6]) > 59:
            raise InputError(f"{shortened(text)!r} is not an instant: time zones reach from -14:00 to +14:00")
        micros += -shift if zone[0] == "+" else shift
    return checked_instant(micros, text)


def checked_instant(micros: int, shown: object) -> int:
    """The instant, if a stream may have it; `shown` is how its source wrote it."""
    if EARLIEST <= micros <= LATEST:
        return micros
    raise _outside(shown)


def _outside(shown: object) -> InputError:
    return InputError(
        f"{shortened(str(shown))!r} lies outside the years 1 to 9999 in UTC, or is written with another year",
        hint="instants reach from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
    )


def format_instant(instant: int) -> str:
    """UTC with milliseconds; with microseconds where there are any.

    Also for what no stream may have, such as a watermark that lies a long lateness back.
    """
    seconds, micros = divmod(int(instant), SECOND)
    days, clock = divmod(seconds, DAY // SECOND)
    year, month, day = civil_from_days(days)
    digits = f"{micros // 1000:03d}" if micros % 1000 == 0 else f"{micros:06d}"
    date = f"{year:0{4 if year >= 0 else 5}d}-{month:02d}-{day:02d}"
    return f"{date}T{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}.{digits}Z"


def saturated(micros: int | Fraction) -> int:
    """A length of time as whole microseconds that can be added to any instant without leaving int64.

    Towards zero; what is longer than the time between any two instants becomes `LONGEST`.
    """
    return int(max(-LONGEST, min(LONGEST, micros)))


def duration_fields(text: str) -> tuple[str | None, ...] | None:
    """Sign, years, months, days, hours, minutes and seconds of an xsd:duration as written, where they are.

    None if the text is not in the lexical space.
    """
    match = _DURATION.fullmatch(text)
    return None if match is None or text[-1] in "PT" else match.groups()


def parse_duration(text: str) -> int:
    """A length of time in microseconds: `PT5M`, `P10D`, or short as `5m`, `30s`, `250ms`; `saturated`."""
    return saturated(exact_duration(text))


def exact_duration(text: str) -> Fraction:
    """The same as it is written, however long or fine."""
    text = text.strip()
    short = _SHORT_DURATION.fullmatch(text)
    if short:
        return Fraction(Decimal(short[1])) * _SHORT_UNITS[short[2]]
    fields = duration_fields(text)
    if fields is None:
        raise InputError(f"{text!r} is not a duration", hint="write it as PT5M, P10D, 30s or 5m")
    sign, years, months, days, hours, minutes, seconds = fields
    if years or months:
        raise InputError(
            f"the duration {text!r} has years or months, which have no fixed length",
            hint="say it in days, hours, minutes and seconds",
        )
    parts = zip((days, hours, minutes, seconds), (DAY, HOUR, MINUTE, SECOND), strict=True)
    total = sum((Fraction(Decimal(number or 0)) * unit for number, unit in parts), Fraction(0))
    return -total if sign else total


def format_duration(micros: int) -> str:
    """The canonical xsd:dayTimeDuration of a length in microseconds."""
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    days, rest = divmod(micros, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, fraction = divmod(rest, SECOND)
    out = f"{sign}P" + (f"{days}D" if days else "")
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if fraction:
        clock += f"{seconds}.{fraction:06d}".rstrip("0") + "S"
    elif seconds:
        clock += f"{seconds}S"
    if clock:
        out += "T" + clock
    return out if out[-1] != "P" else "PT0S"
