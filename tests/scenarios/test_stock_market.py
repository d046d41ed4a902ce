"""The stock-market scenario tells the same story every time, and it is a proper stream."""

from __future__ import annotations

import re

import pyoxigraph as ox
import pytest

from penstock.errors import UsageError
from penstock.scenarios import find_scenario, stock_market
from penstock.timeline import parse_instant


def prices(company: str) -> list[float]:
    found = []
    for element in stock_market.generate():
        for subject, predicate, object_ in element.triples:
            if subject.endswith(f"#{company}>") and predicate.endswith("#hasStockPrice>"):
                found.append(float(object_.split('"')[1]))
    return found


def test_the_stream_is_the_same_every_time(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    first = stock_market.write_stream(tmp_path / "a")
    again = stock_market.write_stream(tmp_path / "b")
    assert [path.name for path in first] == [f"week-{week}.nq" for week in range(1, 8)]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert stock_market.generate(1) != stock_market.generate(2)


def test_every_element_carries_its_instant_in_the_order_of_time(tmp_path):
    instants = []
    for path in stock_market.write_stream(tmp_path):
        for quad in ox.parse(path=path, format=ox.RdfFormat.N_QUADS):
            stated = re.search(r"#t=(.*)", quad.graph_name.value)
            assert stated, quad
            instants.append(parse_instant(stated[1]))
    assert len(instants) > 100
    assert instants == sorted(instants)


def test_the_stories_are_there():
    borealis, cinnabar, dunmore = prices("borealis"), prices("cinnabar"), prices("dunmore")
    assert min(borealis) < 0.7 * borealis[0] and max(borealis) > 1.05 * borealis[0]
    assert min(cinnabar) < 0.5 * cinnabar[0] and min(dunmore) < 0.5 * dunmore[0]
    for company in ("elmwood", "fairhaven"):
        assert max(prices(company)) > 1.5 * prices(company)[0]
    assert max(prices("acme")) < 1.05 * min(prices("acme"))


def test_scenarios_are_found_by_name():
    assert find_scenario("stock_market").name == "stock-market"
    with pytest.raises(UsageError, match="no scenario 'weather'"):
        find_scenario("weather")
