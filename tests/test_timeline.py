"""Lengths of time: of any size, and always such that an instant plus one of them is an int64."""

from __future__ import annotations

from datetime import date

import pytest

from penstock import timeline
from penstock.columns import calendar as compiled
from penstock.errors import InputError
from penstock.runtime.detection.watermark import Watermark
from penstock.timeline import DAY, LONGEST, NEVER, SECOND, parse_duration, parse_instant, saturated


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("PT0.0000019999999999999999999999999999999999S", 1),
        ("0.9999999999999999999999999999999999s", SECOND - 1),
        ("-PT0.0000019S", -1),
        ("P1000000000D", LONGEST),
        ("-P1000000000D", -LONGEST),
        (f"PT{'9' * 6000}S", LONGEST),
        (f"{'9' * 6000}ms", LONGEST),
        ("P3660000D", LONGEST),
        ("P3659999DT23H59M59.999999S", LONGEST - 1),
    ],
)
def test_a_duration_of_any_size_is_read(text: str, micros: int):
    assert parse_duration(text) == micros


def test_a_duration_with_months_has_no_length():
    with pytest.raises(InputError):
        parse_duration("P1M")


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_the_longest_duration_can_be_added_to_any_instant(instant: str):
    for length in (LONGEST, -LONGEST):
        assert abs(parse_instant(instant) + length) < 2**62
    assert saturated(2**200) == LONGEST and saturated(-(2**200)) == -LONGEST and saturated(DAY) == DAY


def test_a_lateness_of_any_size_keeps_the_watermark_an_instant():
    clock = Watermark(parse_duration("P1000000000D"))
    assert NEVER < clock.advance({0: parse_instant("0001-01-01T00:00:00Z")}, []) < 0


def test_the_calendar_is_that_of_datetime_and_goes_on_beyond_it():
    first = date(1970, 1, 1).toordinal()
    for days in [*range(1 - first, date.max.toordinal() - first + 1, 13), date.max.toordinal() - first]:
        there = date.fromordinal(days + first)
        civil = (there.year, there.month, there.day)
        for calendar in (timeline, compiled):
            assert calendar.civil_from_days(days) == civil
            assert calendar.days_from_civil(*civil) == days
    for year, days in ((1900, 28), (2000, 29), (2023, 28), (2024, 29), (-4, 29), (10_000, 29)):
        assert timeline.days_in_month(year, 2) == days == compiled.days_in_month(year, 2)
        assert timeline.days_from_civil(year, 3, 1) - timeline.days_from_civil(year, 2, 1) == days
    assert timeline.days_in_month(2026, 0) == timeline.days_in_month(2026, 13) == 0
    assert timeline.EARLIEST == timeline.days_from_civil(1, 1, 1) * timeline.DAY
    assert timeline.LATEST == timeline.days_from_civil(10_000, 1, 1) * timeline.DAY - 1
