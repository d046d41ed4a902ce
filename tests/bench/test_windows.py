"""The bench of windows compares answers with the peer, and shrinks with everything in it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from penstock.bench import windows
from penstock.bench.windows import Sizes

SIZES = Sizes(elements=3_000, sensors=200, rooms=4, slide=3, batch=500)


@pytest.mark.sample(0)
def test_every_ratio_is_measured_beside_the_peer():
    figures = list(windows.kernel(SIZES))
    assert [figure["unit"] for figure in figures] == ["µs/element", "rows", "MB"] * len(windows.RATIOS)
    assert all(figure["peer_value"] > 0 for figure in figures[::3])
    assert all(figure["value"] > 1000 for figure in figures[1::3])  # a row for each slide at least


def test_other_averages_are_no_figure():
    at = {1: {"http://example.org/room/0": Decimal("0.333333333333333333")}}
    windows.compare({1: {"http://example.org/room/0": Decimal(1) / 3}}, at)
    for others in ({}, {1: {}}, {1: {"http://example.org/room/0": Decimal("0.334")}}):
        with pytest.raises(AssertionError, match="pyoxigraph"):
            windows.compare(others, at)


def test_sizes_shrink_together():
    assert Sizes().scaled(0.01) == Sizes(100_000, 10_000, 2, 10, 1_000)
    assert Sizes().scaled(0.01).slides == Sizes().slides


@pytest.mark.sample(0)
def test_averages_beside_what_pandas_makes_anew():
    [found] = windows.averages(replace(SIZES, elements=50 * SIZES.elements))
    assert found["peer"] == "pandas, anew"
    assert found["value"] > 0
