"""Lengths of time: of any size, and always such that an instant plus one of them is an int64."""

from __future__ import annotations

import pytest

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
