"""Scenarios: a generated stream and the queries that find something in it.

`penstock demo` runs one of them. A scenario is a folder with its queries (.rq) and a
generator of its stream, so that it needs no download and always tells the same story.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UsageError
from penstock.scenarios import stock_market


@dataclass(frozen=True)
class Scenario:
    """A story to watch: what each query looks for, and the stream in which it finds it."""

    name: str
    title: str
    queries: tuple[tuple[Path, str], ...]  # a file, and what it looks for in one sentence
    write_stream: Callable[[Path], list[Path]]


def _stock_market() -> Scenario:
    folder = Path(stock_market.__file__).parent
    return Scenario(
        name="stock-market",
        title="Six queries of the EP-SPARQL paper over seven weeks of a small stock market",
        queries=tuple((folder / file, seeks) for file, seeks in stock_market.QUERIES.items()),
        write_stream=stock_market.write_stream,
    )


SCENARIOS = {"stock-market": _stock_market}


def find_scenario(name: str) -> Scenario:
    """The scenario of that name; a UsageError says which there are."""
    make = SCENARIOS.get(name.replace("_", "-").lower())
    if make is None:
        raise UsageError(f"there is no scenario {name!r}", hint=f"there is {', '.join(sorted(SCENARIOS))}")
    return make()
