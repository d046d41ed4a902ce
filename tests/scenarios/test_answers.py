"""The six queries of the paper have exactly these answers on the scenario's stream.

`expected/` holds them as CSV. They come from the oracle, which derives them again in the slow
test; blank nodes are all written `_:`, because their labels mean nothing.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from penstock.scenarios import find_scenario, stock_market

EXPECTED = Path(__file__).parent / "expected"
NAMES = [path.stem for path, _ in find_scenario("stock-market").queries]


def expected(name: str) -> Counter:
    with (EXPECTED / f"{name}.csv").open() as file:
        return Counter(tuple(row) for row in csv.reader(file))


def test_every_query_finds_something():
    assert NAMES == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert all(expected(name).total() > 1 for name in NAMES)


def test_the_falls_are_those_that_a_person_would_find():
    """Query (1) once more, in plain Python."""
    prices: dict[str, list[tuple[int, float]]] = {}
    for element in stock_market.generate():
        for subject, predicate, value in element.triples:
            if predicate.endswith("#hasStockPrice>"):
                prices.setdefault(subject, []).append((element.instant, float(value.split('"')[1])))
    days = 24 * 3600 * 1_000_000
    found = [
        company
        for company, seen in prices.items()
        for at1, price1 in seen
        for at2, price2 in seen
        for at3, price3 in seen
        if at1 < at2 < at3 and price2 < price1 * 0.7 and price3 > price1 * 1.05
        if at3 - at1 < 30 * days
    ]
    assert found == ["<http://example.org/stock#borealis>"] * 3
    assert expected("q1").total() - 1 == len(found)


def test_by_the_engine():
    from docs import by_engine
    from oracle.cases import Element
    from penstock.columns.ids import parse_term
    from penstock.languages import parse_query

    elements = [
        Element(
            tuple(tuple(parse_term(term.encode()) for term in t) for t in e.triples),
            e.instant,
            e.instant,
        )
        for e in stock_market.generate()
    ]
    queries = [parse_query(path.read_text()) for path, _ in find_scenario("stock-market").queries]
    answers = by_engine.run(queries, [], elements, shards=2)
    for name, (header, rows) in zip(NAMES, answers, strict=True):
        found = Counter([tuple(header)])
        for row, times in rows.items():
            found[*("_:" if cell.startswith("_:") else cell for cell in row)] += times
        assert found == expected(name), name


@pytest.mark.slow
def test_by_the_definitions():
    from oracle.closure import closure
    from oracle.evaluate import Effort
    from oracle.model import TimedDataset, stream_of
    from oracle.queries import evaluate_query
    from penstock.algebra import Construct
    from penstock.columns.ids import parse_term
    from penstock.languages import parse_query
    from penstock.sinks.answers import plain_text
    from penstock.timeline import format_instant

    effort = Effort(limit=10**12)
    elements = [
        ([tuple(parse_term(term.encode()) for term in t) for t in e.triples], e.instant, e.instant)
        for e in stock_market.generate()
    ]
    queries = [parse_query(path.read_text()).query for path, _ in find_scenario("stock-market").queries]
    rules = [query for query in queries if isinstance(query, Construct)]
    dataset = closure(rules, TimedDataset(default=(stream_of(elements),)), effort=effort)
    for name, query in zip(NAMES, queries, strict=True):
        answers = evaluate_query(query, dataset, effort=effort)
        rows = Counter([(*answers.columns, "start", "end")])
        for one in answers.rows:
            terms = [str(one.value(column) or "") for column in answers.columns]
            cells = ["_:" if term.startswith("_:") else plain_text(term) for term in terms]
            rows[*cells, format_instant(one.start), format_instant(one.end)] += 1
        assert rows == expected(name), name
