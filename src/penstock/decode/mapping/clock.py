"""Times in the cells of tables: timestamps, ISO 8601, counts since 1970, and declared patterns.

A pattern is written as in CSVW (Unicode TR 35): `dd.MM.yyyy HH:mm:ss.SSS`. It becomes a short
program that one compiled loop runs over the bytes of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns.calendar import days_from_civil, days_in_month
from penstock.columns.interning import frozen
from penstock.decode.mapping.document import EPOCHS
from penstock.decode.mapping.templates import buffers_of
from penstock.errors import InputError
from penstock.jit import njit
from penstock.timeline import DAY, EARLIEST, HOUR, LATEST, MINUTE, NEVER, SECOND, format_instant

_LITERAL, _YEAR, _SHORT_YEAR, _MONTH, _DAY, _HOUR, _MINUTE, _SECOND = range(8)
_FRACTION, _DIGITS, _ZONE, _MAY_HAVE_ZONE, _MAY_END, _T_OR_SPACE, _IF, _HALF_DAY, _MONTH_NAME = range(8, 17)
_LETTERS = {
    "yyyy": _YEAR, "yy": _SHORT_YEAR, "MM": _MONTH, "M": _MONTH, "dd": _DAY, "d": _DAY, "HH": _HOUR,
    "H": _HOUR, "hh": _HOUR, "h": _HOUR, "mm": _MINUTE, "m": _MINUTE, "ss": _SECOND, "s": _SECOND,
    "MMM": _MONTH_NAME, "a": _HALF_DAY, "X": _ZONE, "XX": _ZONE, "XXX": _ZONE, "x": _ZONE, "xx": _ZONE,
    "xxx": _ZONE, "Z": _ZONE,
}  # fmt: skip
_ISO = [
    (_YEAR, 0), (_LITERAL, ord("-")), (_MONTH, 0), (_LITERAL, ord("-")), (_DAY, 0), (_MAY_END, 0),
    (_T_OR_SPACE, 0), (_HOUR, 0), (_LITERAL, ord(":")), (_MINUTE, 0), (_IF, ord(":")), (_SECOND, 0),
    (_FRACTION, 0), (_MAY_HAVE_ZONE, 0),
]  # fmt: skip
_MONTH_NAMES = frozen(np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", np.uint8))
WITHOUT_ZONE = -(2**31)
"""Instead of the minutes of a zone: the text has none."""


@lru_cache
def strptime_pattern(pattern: str) -> tuple[tuple[int, int], ...]:
    """The program of a pattern; what it cannot mean is an `InputError`."""
    program: list[tuple[int, int]] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        end = at + 1
        if sign == "'":
            end = pattern.find("'", at + 1) + 1
            if not end:
                raise InputError(f"the pattern {pattern!r} has a quote without its partner")
            program += [(_LITERAL, byte) for byte in (pattern[at + 1 : end - 1] or "'").encode()]
        elif sign.isascii() and sign.isalpha():
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            word = pattern[at:end]
            if sign == "S":
                if program and program[-1] in ((_LITERAL, ord(".")), (_LITERAL, ord(","))):
                    program[-1] = (_FRACTION, 0)  # with its point, and it may be missing
                else:
                    program.append((_DIGITS, len(word)))
            elif word == "T":
                program.append((_LITERAL, ord("T")))
            elif word in _LETTERS:
                program.append((_LETTERS[word], 0))
            else:
                raise InputError(
                    f"the pattern {pattern!r} has {word!r}, which is not known",
                    hint="use yyyy yy MM M MMM dd d HH H hh h a mm ss SSS X, and other signs as they are",
                )
        else:
            program += [(_LITERAL, byte) for byte in sign.encode()]
        at = end
    return tuple(program)


@njit(cache=True)
def _number(data, at, end, most):
    """Up to `most` digits: (value, place after them)."""
    value = 0
    begin = at
    while at < end and at - begin < most and 48 <= data[at] <= 57:
        value = value * 10 + (data[at] - 48)
        at += 1
    return value, at


@njit(cache=True)
def _zone(data, at, end):
    """Z, +hh, +hhmm or +hh:mm: (minutes, place after it); the place is -1 if there is none."""
    if at < end and (data[at] == 90 or data[at] == 122):
        return 0, at + 1
    if at >= end or (data[at] != 43 and data[at] != 45):
        return 0, -1
    sign = -1 if data[at] == 45 else 1
    hours, after = _number(data, at + 1, end, 2)
    if after != at + 3:
        return 0, -1
    minutes = 0
    at = after
    if at < end:
        if data[at] == 58:
            at += 1
        minutes, after = _number(data, at, end, 2)
        if after != at + 2:
            return 0, -1
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        return 0, -1
    return sign * (hours * 60 + minutes), after


@njit(cache=True)
def _read(offsets, data, program, micros, zones):
    """Runs the program over each text; micros are NEVER where it does not fit."""
    for i in range(len(micros)):
        at, end = offsets[i], offsets[i + 1]
        while at < end and (data[at] == 32 or 9 <= data[at] <= 13):
            at += 1
        while end > at and (data[end - 1] == 32 or 9 <= data[end - 1] <= 13):
            end -= 1
        micros[i] = NEVER
        zones[i] = WITHOUT_ZONE
        year, month, day, hour, minute, second, fraction = 1970, 1, 1, 0, 0, 0, 0
        half = -1
        step = 0
        while step < len(program) and at >= 0:
            op, argument = program[step, 0], program[step, 1]
            step += 1
            begin = at
            if op == _LITERAL:
                at = at + 1 if at < end and data[at] == argument else -1
            elif op == _YEAR:
                year, at = _number(data, at, end, 4)
                if at != begin + 4:
                    at = -1
            elif op == _SHORT_YEAR:
                year, at = _number(data, at, end, 2)
                year += 2000 if year < 69 else 1900
                if at != begin + 2:
                    at = -1
            elif op == _MONTH:
                month, at = _number(data, at, end, 2)
            elif op == _DAY:
                day, at = _number(data, at, end, 2)
            elif op == _HOUR:
                hour, at = _number(data, at, end, 2)
            elif op == _MINUTE:
                minute, at = _number(data, at, end, 2)
            elif op == _SECOND:
                second, at = _number(data, at, end, 2)
            elif op == _FRACTION or op == _DIGITS:
                if op == _FRACTION:
                    if at >= end or (data[at] != 46 and data[at] != 44):
                        continue
                    at += 1
                    begin = at
                most = 18 if op == _FRACTION else argument
                read = 0
                while at < end and at - begin < most and 48 <= data[at] <= 57:
                    if read < 6:
                        fraction = fraction * 10 + (data[at] - 48)
                        read += 1
                    at += 1
                while read < 6:
                    fraction *= 10
                    read += 1
            elif op == _ZONE or op == _MAY_HAVE_ZONE:
                if op == _MAY_HAVE_ZONE and at == end:
                    continue
                zones[i], at = _zone(data, at, end)
            elif op == _MAY_END:
                if at == end:
                    break
                continue
            elif op == _T_OR_SPACE:
                at = at + 1 if at < end and (data[at] == 84 or data[at] == 116 or data[at] == 32) else -1
            elif op == _IF:
                if at < end and data[at] == argument:
                    at += 1
                else:
                    step += 2
                continue
            elif op == _HALF_DAY:
                half = -1
                if at + 1 < end and (data[at + 1] | 32) == 109:
                    half = 0 if (data[at] | 32) == 97 else (1 if (data[at] | 32) == 112 else -1)
                at = at + 2 if half >= 0 else -1
            elif op == _MONTH_NAME:
                month = 0
                if at + 3 <= end:
                    for m in range(12):
                        if (
                            (data[at] | 32) == _MONTH_NAMES[3 * m]
                            and (data[at + 1] | 32) == _MONTH_NAMES[3 * m + 1]
                            and (data[at + 2] | 32) == _MONTH_NAMES[3 * m + 2]
                        ):
                            month = m + 1
                at += 3
            if at == begin:  # nothing was there
                at = -1
        if at != end:
            continue
        if half >= 0:
            if hour < 1 or hour > 12:
                continue
            hour = hour % 12 + 12 * half
        whole = hour == 24 and minute == 0 and second == 0 and fraction == 0
        if year < 1 or day < 1 or day > days_in_month(year, month):
            continue
        if (hour > 23 and not whole) or minute > 59 or second > 59:
            continue
        micros[i] = (
            days_from_civil(year, month, day) * DAY
            + hour * HOUR
            + minute * MINUTE
            + second * SECOND
            + fraction
        )


def read_pattern(texts: pa.Array, pattern: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Texts as local µs (NEVER: not so written) and the minutes of their zones."""
    program = np.array(_ISO if pattern is None else strptime_pattern(pattern), np.int64).reshape(-1, 2)
    micros, zones = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    offsets, data = buffers_of(texts)
    _read(frozen(offsets), frozen(data), frozen(program), micros, zones)
    return micros, zones


Clock = tuple[str, Sequence[str | None], str | None]
"""A column of times, in which formats they are written, and the zone of those without one."""


class Instants(NamedTuple):
    """A column of times as int64 µs in UTC (NEVER: null or faulty), and what is wrong in which row."""

    instants: np.ndarray
    faults: dict[int, str]
    ambiguous: int = 0  # local times that come twice, because the clock is put back, and are not rejected


def instants_in(
    column: pa.Array,
    name: str,
    formats: Sequence[str | None] = (None,),
    zone: str | None = None,
    ambiguous: str = "first",
) -> Instants:
    """The instants of a column, local times by the clock of a zone.

    Texts may be written in any of the `formats`, as long as no two of them read one differently. `ambiguous`
    says what a time is that comes twice: the first, the last, or (reject) none. A column that
    cannot be times at all is an `InputError`.
    """
    kind = column.type
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _stamps(column, name, absent, zone, ambiguous)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        counted = [each for each in formats if each in EPOCHS]
        if not counted:
            raise InputError(
                f"the column {name!r} has the type {kind}, and no map says what it counts",
                hint='write "penstock:time": {"instant": "'
                + name
                + '", "format": "epoch-ms"}; there are '
                + ", ".join(EPOCHS),
            )
        return _epochs(column, name, absent, counted[0])
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(
            f"the column {name!r} has the type {kind}, which is no time",
            hint="use timestamps, numbers with an epoch format, or text",
        )
    texts = pc.fill_null(column.cast(pa.large_string()), "")
    absent |= pc.equal(texts, "").to_numpy(zero_copy_only=False)
    micros, zones, faults = _read_texts(texts, name, absent, formats)
    wrong = (micros == NEVER) & ~absent
    local = (zones == WITHOUT_ZONE) & ~wrong & ~absent
    instants = np.where(local | wrong | absent, micros, micros - zones * MINUTE)
    if local.any():
        if zone is None:
            say = 'is not an instant: it has no time zone; write one, or give "penstock:time" of the map its'
            say += ' "timezone"'
            faults |= {i: f"{name}: {texts[i].as_py()[:80]!r} {say}" for i in np.flatnonzero(local).tolist()}
            instants[local] = NEVER
            return _in_range(instants, name, absent, faults)
    return _placed(instants, local, name, absent, zone, ambiguous, faults)


def _read_texts(
    texts: pa.Array, name: str, absent: np.ndarray, formats: Sequence[str | None]
) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """Texts as local µs, the minutes of their zones, and what is wrong where they are NEVER."""
    faults: dict[int, str] = {}
    micros, zones = read_time(texts, formats[0])
    by = np.zeros(len(texts), np.int64)
    for number, other in enumerate(formats[1:], 1):
        more, their = read_time(texts, other)
        fits, known = more != NEVER, micros != NEVER
        for i in np.flatnonzero(fits & known & ~absent & ((more != micros) | (their != zones))).tolist():
            ways = ((micros[i], formats[by[i]]), (more[i], other))
            said = " and ".join(f"{format_instant(int(at))[:-1]} by {way or 'iso'}" for at, way in ways)
            reason = f"{name}: {texts[i].as_py()[:80]!r} is {said}, and nothing tells which"
            faults.setdefault(i, reason)
        new = fits & ~known
        micros, zones, by = (
            np.where(new, more, micros),
            np.where(new, their, zones),
            np.where(new, number, by),
        )
    micros[list(faults)] = NEVER
    form = formats[0]
    if len(formats) > 1:
        like = "is written in none of the formats " + ", ".join(each or "iso" for each in formats)
    elif form in EPOCHS:
        like = f"is no number ({form})"
    else:
        like = f"is not written as {form}" if form else "is not an instant in ISO 8601"
    for i in np.flatnonzero((micros == NEVER) & ~absent).tolist():
        faults.setdefault(i, f"{name}: {texts[i].as_py()[:80]!r} {like}")
    return micros, zones, faults


def _in_range(
    instants: np.ndarray, name: str, absent: np.ndarray, faults: dict[int, str], ambiguous: int = 0
) -> Instants:
    outside = ((instants < EARLIEST) | (instants > LATEST)) & ~absent
    for row in np.flatnonzero(outside).tolist():
        faults.setdefault(row, f"{name}: the instant lies outside the years 1 to 9999 in UTC")
    instants[outside | absent] = NEVER
    return Instants(instants, faults, ambiguous)


def _placed(
    micros: np.ndarray,
    local: np.ndarray,
    name: str,
    absent: np.ndarray,
    zone: str | None,
    ambiguous: str,
    faults: dict[int, str],
) -> Instants:
    """Times of which some are local ones, as instants: the next one where the clock jumps."""
    rows = np.flatnonzero(local & (micros >= EARLIEST) & (micros <= LATEST))
    if zone is None or not len(rows):
        return _in_range(micros, name, absent, faults)
    said = pa.array(micros[rows]).cast(pa.timestamp("us"))
    first, last = (
        pc.assume_timezone(said, zone, ambiguous=which, nonexistent="latest").cast(pa.int64()).to_numpy()
        for which in ("earliest", "latest")
    )
    micros[rows] = last if ambiguous == "last" else first
    twice = rows[first != last]
    if ambiguous == "reject":
        micros[twice] = NEVER
        absent = absent | np.isin(np.arange(len(micros)), twice)
        for row, when in zip(twice.tolist(), said.filter(pa.array(first != last)).to_pylist(), strict=True):
            faults[row] = f"{name}: {when} comes twice in {zone}, where the clock is put back"
        twice = twice[:0]
    return _in_range(micros, name, absent, faults, len(twice))


def _stamps(column, name, absent, zone, ambiguous) -> Instants:
    has_zone = pa.types.is_timestamp(column.type) and column.type.tz is not None
    if not has_zone and zone is None:
        what = "dates" if pa.types.is_date(column.type) else "timestamps without a time zone"
        raise InputError(
            f"the column {name!r} has {what}",
            hint="give the column a zone, such as timestamp[us, tz=UTC]; or let a map say"
            f' "penstock:time": {{"instant": "{name}", "timezone": "UTC"}}',
        )
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    per = {"s": 0, "ms": 0, "us": 1, "ns": 1000}[column.type.unit]
    counts = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False).copy()
    faults: dict[int, str] = {}
    if per:
        micros = counts // per
    else:
        factor = SECOND if column.type.unit == "s" else 1000
        micros = _scaled(counts, factor)
    return _placed(micros, ~absent & (not has_zone), name, absent, zone, ambiguous, faults)


def _scaled(counts: np.ndarray, factor: int) -> np.ndarray:
    """Counts times a factor; beyond all instants where that does not fit."""
    fits = (counts >= EARLIEST // factor) & (counts <= LATEST // factor)
    return np.where(fits, counts, 0) * factor + np.where(fits, 0, LATEST + 1)


def _epochs(column, name, absent, format) -> Instants:
    factor = EPOCHS[format]
    if pa.types.is_integer(column.type):
        if pa.types.is_uint64(column.type):
            column = pc.min_element_wise(column, pa.scalar(2**63 - 1, pa.uint64()), skip_nulls=False)
        counts = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        micros = _scaled(counts, factor) if factor else counts // 1000
        return _in_range(micros, name, absent, {})
    counts = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    return _in_range(_rounded(counts, factor), name, absent | np.isnan(counts), {})


def _rounded(counts: np.ndarray, factor: int) -> np.ndarray:
    scaled = np.nan_to_num(counts * factor if factor else counts / 1000, nan=0.0)
    scaled = np.clip(scaled, EARLIEST - 1_000_000.0, LATEST + 1_000_000.0)
    return np.rint(scaled).astype(np.int64)


def read_time(texts: pa.Array, format: str | None) -> tuple[np.ndarray, np.ndarray]:
    """As `read_pattern`, also of counts since 1970."""
    if format not in EPOCHS:
        return read_pattern(texts, format)
    texts = pc.utf8_trim_whitespace(texts)
    whole = pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$").to_numpy(zero_copy_only=False)
    broken = pc.match_substring_regex(texts, r"^-?[0-9]{1,18}\.[0-9]+$").to_numpy(zero_copy_only=False)
    micros = np.full(len(texts), NEVER, np.int64)
    factor = EPOCHS[format]
    counts = pc.filter(texts, pa.array(whole)).cast(pa.int64()).to_numpy()
    micros[whole] = _scaled(counts, factor) if factor else counts // 1000
    counts = pc.filter(texts, pa.array(broken)).cast(pa.float64()).to_numpy()
    micros[broken] = _rounded(counts, factor)
    return micros, np.zeros(len(texts), np.int64)
