"""Dates, times and durations: parts, comparison, arithmetic."""

from __future__ import annotations

import pytest

from functions.notation import ERROR, expected, value


def dt(text):
    return f'"{text}"^^xsd:dateTime'


def dur(text):
    return f'"{text}"^^xsd:duration'


def dtd(text):
    return f'"{text}"^^xsd:dayTimeDuration'


def ymd(text):
    return f'"{text}"^^xsd:yearMonthDuration'


def date(text):
    return f'"{text}"^^xsd:date'


def time(text):
    return f'"{text}"^^xsd:time'


MOMENT = dt("2011-01-10T14:45:13.815-05:30")


def cases(*rows):
    return pytest.mark.parametrize(("written", "answer"), rows)


@cases(
    (("YEAR", MOMENT), "2011"),
    (("MONTH", MOMENT), "1"),
    (("DAY", MOMENT), "10"),
    (("HOURS", MOMENT), "14"),
    (("MINUTES", MOMENT), "45"),
    (("SECONDS", MOMENT), "13.815"),
    (("TIMEZONE", MOMENT), dtd("-PT5H30M")),
    (("TZ", MOMENT), '"-05:30"'),
    (("TIMEZONE", dt("2011-01-10T14:45:13Z")), dtd("PT0S")),
    (("TZ", dt("2011-01-10T14:45:13Z")), '"Z"'),
    (("TZ", dt("2011-01-10T14:45:13")), '""'),
    (("TIMEZONE", dt("2011-01-10T14:45:13")), ERROR),
    (("SECONDS", dt("2011-01-10T14:45:13Z")), '"13"^^xsd:decimal'),
    (("YEAR", dt("-0044-03-15T12:00:00Z")), "-44"),
    (("HOURS", dt("1969-12-31T23:59:59.5Z")), "23"),
    (("DAY", dt("2011-01-10T24:00:00Z")), "11"),
    (("YEAR", date("2011-01-10")), "2011"),
    (("HOURS", date("2011-01-10")), ERROR),
    (("YEAR", '"2011"'), ERROR),
    (("YEAR", dt("2011-02-29T00:00:00Z")), ERROR),
    (("YEAR", dt("2011-01-10T25:00:00Z")), ERROR),
)
def test_parts(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("=", dt("2026-01-01T12:00:00Z"), dt("2026-01-01T13:00:00+01:00")), "true"),
    (("=", dt("2026-01-01T12:00:00"), dt("2026-01-01T12:00:00.000Z")), "true"),
    (("<", dt("2026-01-01T12:00:00Z"), dt("2026-01-01T12:00:00.001Z")), "true"),
    ((">", dt("2026-01-01T12:00:00-01:00"), dt("2026-01-01T12:00:00Z")), "true"),
    (("<", date("2026-01-01"), date("2026-01-02")), "true"),
    (("<", time("10:00:00"), time("10:00:01")), "true"),
    (("<", date("2026-01-01"), dt("2026-01-01T12:00:00Z")), ERROR),
    (("=", date("2026-01-01"), dt("2026-01-01T00:00:00Z")), "false"),
    (("<", dt("12000-01-01T00:00:00Z"), dt("2026-01-01T00:00:00Z")), "false"),
)
def test_moments_compare_on_the_time_line(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("=", dur("P1D"), dtd("PT24H")), "true"),
    (("=", dur("P1Y"), ymd("P12M")), "true"),
    (("=", dur("PT0S"), ymd("P0M")), "true"),
    (("=", dur("P1M"), dur("P30D")), "false"),
    (("<", dtd("PT59M"), dur("PT1H")), "true"),
    (("<", dtd("-PT1S"), dtd("PT0S")), "true"),
    (("<=", dtd("PT60S"), dtd("PT1M")), "true"),
    (("<", dur("P1M"), dur("P32D")), "true"),
    ((">", dur("P1M"), dur("P27D")), "true"),
    (("<", dur("P1M"), dur("P30D")), ERROR),
    ((">", dur("P1M"), dur("P30D")), ERROR),
    (("<", ymd("P1Y"), ymd("P13M")), "true"),
    (("<", dur("P1M1D"), dur("P1M2D")), "true"),
    (("<", dur("P1M"), "30"), ERROR),
    (("=", dtd("P1M"), dtd("P1M")), "true"),
    (("<", dtd("P1M"), dtd("P2M")), ERROR),
)
def test_durations_compare_where_their_order_is_fixed(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("+", dt("2026-01-31T12:00:00Z"), dtd("PT36H")), dt("2026-02-02T00:00:00Z")),
    (("+", dt("2026-01-31T12:00:00Z"), ymd("P1M")), dt("2026-02-28T12:00:00Z")),
    (("+", dt("2026-01-31T12:00:00Z"), dur("P1Y1MT1S")), dt("2027-02-28T12:00:01Z")),
    (("+", dur("PT1S"), dt("2026-01-31T12:00:00Z")), dt("2026-01-31T12:00:01Z")),
    (("-", dt("2026-03-31T12:00:00+01:00"), ymd("P1M")), dt("2026-02-28T12:00:00+01:00")),
    (("-", dt("1970-01-01T00:00:00Z"), dtd("PT0.001S")), dt("1969-12-31T23:59:59.999Z")),
    (("-", dt("2026-01-02T00:00:00Z"), dt("2026-01-01T23:00:00-01:00")), dtd("PT0S")),
    (("-", dt("2026-01-02T00:00:00Z"), dt("2026-01-03T00:00:00.5Z")), dtd("-P1DT0.5S")),
    (("-", date("2026-03-01"), date("2026-02-01")), dtd("P28D")),
    (("+", date("2024-02-29"), ymd("P1Y")), date("2025-02-28")),
    (("+", date("2024-02-29"), dtd("PT25H")), date("2024-03-01")),
    (("+", time("23:30:00Z"), dtd("PT1H")), time("00:30:00Z")),
    (("-", time("00:30:00Z"), dtd("PT1H")), time("23:30:00Z")),
    (("+", time("23:30:00Z"), ymd("P1M")), ERROR),
    (("-", time("10:00:00"), time("09:00:00")), dtd("PT1H")),
    (("+", dt("2026-01-31T12:00:00Z"), dt("2026-01-31T12:00:00Z")), ERROR),
    (("+", dt("2026-01-31T12:00:00Z"), "1"), ERROR),
    (("-", dt("2026-01-31T12:00:00Z"), date("2026-01-31")), ERROR),
)
def test_moments_move_by_durations(written, answer):
    assert value(written) == expected(answer)


@cases(
    (("+", dtd("PT1H"), dtd("PT30M")), dtd("PT1H30M")),
    (("-", dtd("PT1H"), dtd("P1D")), dtd("-PT23H")),
    (("+", ymd("P1Y"), ymd("P2M")), ymd("P1Y2M")),
    (("+", ymd("P1Y"), dtd("PT1H")), dur("P1YT1H")),
    (("-", ymd("P1Y"), dtd("PT1H")), ERROR),
    (("*", dtd("PT1H"), "1.5"), dtd("PT1H30M")),
    (("*", "2", dtd("PT1H")), dtd("PT2H")),
    (("*", dtd("PT1H"), "0.5e0"), dtd("PT30M")),
    (("/", dtd("PT1H"), "4"), dtd("PT15M")),
    (("/", dtd("PT1H"), '"0.1"^^xsd:float'), dtd("PT10H")),
    (("/", dtd("PT1H"), "0"), ERROR),
    (("*", dtd("PT1H"), '"NaN"^^xsd:double'), ERROR),
    (("/", dtd("PT1H"), dtd("PT30M")), '"2"^^xsd:decimal'),
    (("/", ymd("P1Y"), ymd("P5M")), '"2.4"^^xsd:decimal'),
    (("/", ymd("P1Y"), dtd("P5D")), ERROR),
    (("*", ymd("P1M"), "2.5"), ymd("P3M")),
    (("UMINUS", dtd("PT1H")), dtd("-PT1H")),
    (("+", dtd("PT1H"), "1"), ERROR),
    (("-", dtd("PT1H"), dtd("PT1H")), dtd("PT0S")),
    (("-", ymd("P1Y"), ymd("P1Y")), ymd("P0M")),
)
def test_arithmetic_of_durations(written, answer):
    assert value(written) == expected(answer)
