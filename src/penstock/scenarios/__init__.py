"""Scenarios: generated streams and the queries that find something in them.

`penstock demo` runs one of them. A scenario is a folder with its queries and a generator of its
streams, so that it needs no download and always tells the same story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import UsageError
from penstock.scenarios import stock_market, vienna
from penstock.scenarios.scenario import Data, Scenario

__all__ = ["SCENARIOS", "Data", "Scenario", "find_scenario"]


def _stock_market(seed: int = stock_market.SEED) -> Scenario:
    def write(directory: Path) -> Data:
        folder = directory / "stream"
        folder.mkdir()
        stock_market.write_stream(folder, seed)
        return Data(((None, folder),))

    return Scenario(
        name="stock-market",
        title="Six queries of the EP-SPARQL paper over seven weeks of a small stock market",
        about=f"The stream is {stock_market.WEEKS} files of N-Quads, read as if it came in live. Every match"
        " shows the interval, from start to end, in which it happened.",
        queries=_queries(stock_market.__file__, stock_market.QUERIES),
        write=write,
        batch_bytes=4_000,
    )


def _vienna(**size: int) -> Scenario:
    city = vienna.Vienna(**size)
    return Scenario(
        name="vienna",
        title=city.title,
        about=f"{len(city.public_transport):,} delays and arrivals of {len(city.city.vehicles):,} vehicles"
        f" and {len(city.locations):,} locations of {len(city.city.passengers):,} passengers are read as if"
        " they came in live; the network is known. Every match shows the interval in which it happened.",
        queries=_queries(vienna.__file__, vienna.QUERIES),
        write=city.write,
        batch_bytes=100_000,
        tell=city.tell,
    )


def _queries(module: str, queries: Mapping[str, str]) -> tuple[tuple[Path, str], ...]:
    return tuple((Path(module).parent / file, seeks) for file, seeks in queries.items())


SCENARIOS: dict[str, tuple[Callable[..., Scenario], tuple[str, ...]]] = {
    "stock-market": (_stock_market, ("seed",)),
    "vienna": (_vienna, ("stops", "lines", "minutes", "passengers", "seed")),
}
"""How each is made, and of which numbers."""


def find_scenario(name: str, **numbers: int) -> Scenario:
    """The scenario of that name; a UsageError says which there are, and which numbers it takes."""
    name = name.replace("_", "-").lower()
    if name not in SCENARIOS:
        raise UsageError(f"there is no scenario {name!r}", hint=f"there is {', '.join(sorted(SCENARIOS))}")
    make, takes = SCENARIOS[name]
    for number in numbers:
        if number not in takes:
            options = ", ".join(f"--{each}" for each in takes)
            raise UsageError(f"the scenario {name} has no --{number}", hint=f"it has {options}")
    return make(**numbers)
