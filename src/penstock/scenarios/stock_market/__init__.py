"""The stock market of the EP-SPARQL paper, section 4.1: six queries and a stream for them.

The companies have closing prices on Mondays, Wednesdays and Fridays, some of them only from
some week on. Each has its story: Borealis falls and recovers, Cinnabar crashes after a
rating agency had marked it down, Dunmore crashes without a warning, Elmwood soars by itself,
and Fairhaven soars because it bought another company. ACME just trades; its
sliding average is kept by two rules.

    stock:acme      stock:hasStockPrice  101.25 .                   one element per price
    stock:rating3   stock:rater stock:pell ; stock:rated stock:cinnabar ; stock:score 6 .
    stock:fairhaven stock:hasAcquired stock:gable .
    stock:window2   stock:hasCount 0 ; stock:hasSum 0.0 .           where an average begins
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from penstock.timeline import DAY, HOUR, MINUTE, format_instant, parse_instant

NAMESPACE = "http://example.org/stock#"
ELEMENTS = "http://example.org/stock/"
XSD = "http://www.w3.org/2001/XMLSchema#"
SEED = 2011  # the paper's year
WEEKS = 7
FIRST_MONDAY = parse_instant("2026-03-02T00:00:00Z")
CLOSING = 17 * HOUR + 30 * MINUTE
TRADING_DAYS = (0, 2, 4)

QUERIES = {
    "q1.rq": "Companies whose price fell by more than 30% and then rose above the old price by"
    " more than 5%, within 30 days.",
    "q2.rq": "Companies that lost more than half of their price, and the rating agency that had"
    " marked them down before, if one had.",
    "q3.rq": "Companies that gained more than 50% within 15 days without having acquired anyone.",
    "q4.rq": "A rule: two ratings by the same agency, the second one worse, make the company"
    " “downrated by” that agency.",
    "q5.rq": "A rule that calls itself: count and sum of ACME's prices, carried on from price to"
    " price for up to 10 days.",
    "q6.rq": "ACME's average price over 10 days, told when the window is full.",
}

# The first trading day and price, and what became of it by trading day (about 1 otherwise).
STORIES: dict[str, tuple[int, float, dict[int, float]]] = {
    "acme": (0, 100.0, {}),
    "borealis": (3, 48.0, {6: 0.90, 7: 0.66, 8: 0.88, 9: 1.12}),
    "cinnabar": (9, 210.0, {12: 0.93, 13: 0.44, 14: 0.52, 15: 0.55, 16: 0.56, 17: 0.55, 18: 0.57,
                            19: 0.56, 20: 0.58}),
    "dunmore": (14, 75.0, {17: 0.97, 18: 0.45, 19: 0.53, 20: 0.56}),
    "elmwood": (5, 20.0, {8: 1.10, 9: 1.28, 10: 1.57, 11: 1.45, 12: 1.42, 13: 1.40, 14: 1.38,
                          15: 1.36, 16: 1.35, 17: 1.36, 18: 1.34, 19: 1.33, 20: 1.34}),
    "fairhaven": (11, 33.0, {14: 1.15, 15: 1.32, 16: 1.62, 17: 1.45, 18: 1.43, 19: 1.42,
                             20: 1.44}),
}  # fmt: skip

# (trading day, hour, agency, company, score)
RATINGS = (
    (1, 9, "pell", "cinnabar", 8),
    (2, 10, "ostrom", "elmwood", 5),
    (4, 9, "ostrom", "cinnabar", 7),
    (7, 11, "pell", "cinnabar", 6),
    (11, 9, "ostrom", "elmwood", 7),
    (13, 9, "pell", "borealis", 6),
)
ACQUISITIONS = ((13, 11, "fairhaven", "gable"),)


@dataclass(frozen=True)
class Element:
    """A few triples that happen at one instant."""

    name: str
    instant: int
    triples: tuple[tuple[str, str, str], ...]  # in N-Triples notation

    def nquads(self) -> str:
        graph = f"<{ELEMENTS}{self.name}#t={format_instant(self.instant)}>"
        return "".join(f"{s} {p} {o} {graph} .\n" for s, p, o in self.triples)


def generate(seed: int = SEED) -> list[Element]:
    """The whole stream in the order of time; the same for the same seed."""
    chance = random.Random(seed)
    elements = [*_prices(chance), *_ratings(), *_acquisitions(), *_windows()]
    return sorted(elements, key=lambda element: (element.instant, element.name))


def write_stream(directory: Path, seed: int = SEED) -> list[Path]:
    """Writes the stream as N-Quads, a file per week, and gives the files in their order."""
    files: dict[int, list[str]] = {}
    for element in generate(seed):
        week = (element.instant - FIRST_MONDAY) // (7 * DAY)
        files.setdefault(week, []).append(element.nquads())
    paths = []
    for week, lines in sorted(files.items()):
        path = directory / f"week-{week + 1}.nq"
        path.write_text("".join(lines), encoding="utf-8")
        paths.append(path)
    return paths


def closing_time(trading_day: int) -> int:
    week, day = divmod(trading_day, len(TRADING_DAYS))
    return FIRST_MONDAY + (7 * week + TRADING_DAYS[day]) * DAY + CLOSING


def _prices(chance: random.Random) -> list[Element]:
    elements = []
    for company, (first_day, first_price, story) in STORIES.items():
        for day in range(first_day, WEEKS * len(TRADING_DAYS)):
            share = story.get(day, 1.0) * (1 + chance.uniform(-0.02, 0.02))
            price = f'"{first_price * share:.2f}"^^<{XSD}decimal>'
            triple = (_iri(company), _iri("hasStockPrice"), price)
            elements.append(Element(f"price/{company}/{day}", closing_time(day), (triple,)))
    return elements


def _ratings() -> list[Element]:
    elements = []
    for number, (day, hour, agency, company, score) in enumerate(RATINGS, start=1):
        rating = _iri(f"rating{number}")
        triples = (
            (rating, _iri("rater"), _iri(agency)),
            (rating, _iri("rated"), _iri(company)),
            (rating, _iri("score"), f'"{score}"^^<{XSD}integer>'),
        )
        elements.append(Element(f"rating/{number}", _at(day, hour), triples))
    return elements


def _acquisitions() -> list[Element]:
    return [
        Element(
            f"acquisition/{company}",
            _at(day, hour),
            ((_iri(company), _iri("hasAcquired"), _iri(bought)),),
        )
        for day, hour, company, bought in ACQUISITIONS
    ]


def _windows() -> list[Element]:
    """Where the averages begin: shortly before the price of each Monday with 10 days to go."""
    elements = []
    for week in range(WEEKS - 1):
        point = _iri(f"window{week + 1}")
        triples = (
            (point, _iri("hasCount"), f'"0"^^<{XSD}integer>'),
            (point, _iri("hasSum"), f'"0.0"^^<{XSD}decimal>'),
        )
        begins = closing_time(week * len(TRADING_DAYS)) - MINUTE
        elements.append(Element(f"window/{week + 1}", begins, triples))
    return elements


def _at(trading_day: int, hour: int) -> int:
    return closing_time(trading_day) - CLOSING + hour * HOUR


def _iri(local: str) -> str:
    return f"<{NAMESPACE}{local}>"
