"""The six queries of the paper, on a stream small enough to be answered by hand."""

from __future__ import annotations

from importlib.resources import files

from oracle.closure import closure
from oracle.model import TimedDataset, stream_of
from oracle.queries import evaluate_query
from penstock.algebra import Construct
from penstock.languages import parse_query
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import DAY

STOCK = "http://example.org/stock#"


def _term(text: str):
    if text.replace(".", "").isdigit():
        return Literal(text, datatype=XSD.decimal if "." in text else XSD.integer)
    return NamedNode(STOCK + text)


def _stream(*lines: str):
    """`day subject predicate object, predicate object…`: one element a line."""
    elements = []
    for line in lines:
        day, subject, rest = line.split(" ", 2)
        pairs = [pair.split() for pair in rest.split(",")]
        triples = [(_term(subject), _term(p), _term(o)) for p, o in pairs]
        elements.append((triples, int(day) * DAY, int(day) * DAY))
    return stream_of(elements)


def _answers(*numbers: int, stream) -> dict[int, list[str]]:
    """What each of these queries answers when they run together, as `values @first-last`."""
    texts = {n: files("penstock.scenarios.stock_market") / f"q{n}.rq" for n in numbers}
    queries = {n: parse_query(path.read_text(encoding="utf-8")).query for n, path in texts.items()}
    rules = [query for query in queries.values() if isinstance(query, Construct)]
    dataset = closure(rules, TimedDataset((stream,)))
    result = {}
    for number, query in queries.items():
        answers = evaluate_query(query, dataset)
        rows = [
            " ".join(_short(row.value(name)) for name in answers.columns if row.value(name))
            + f" @{row.start // DAY}-{row.end // DAY}"
            for row in answers.rows
        ]
        result[number] = sorted(rows)
    return result


def _short(term) -> str:
    if isinstance(term, Literal):
        return f"{float(term.value):g}"
    return term.value.removeprefix(STOCK) if isinstance(term, NamedNode) else "_"


MARKET = _stream(
    "1 rating1 rater pell,rated cinnabar,score 8",
    "2 rating2 rater pell,rated cinnabar,score 6",
    "3 rating3 rater ostrom,rated cinnabar,score 9",  # another agency, and not lower
    "1 beta hasStockPrice 100",
    "3 beta hasStockPrice 60",
    "6 beta hasStockPrice 110",
    "3 cinnabar hasStockPrice 200",
    "5 cinnabar hasStockPrice 90",
    "4 dunmore hasStockPrice 80",
    "6 dunmore hasStockPrice 30",
    "2 elmwood hasStockPrice 20",
    "4 elmwood hasStockPrice 31",
    "20 elmwood hasStockPrice 48",  # 16 days after
    "2 fairhaven hasStockPrice 20",
    "3 fairhaven hasAcquired gable",
    "5 fairhaven hasStockPrice 31",
)


def test_queries_1_to_4_on_a_small_market():
    assert _answers(1, 2, 3, 4, stream=MARKET) == {
        1: ["beta @1-6"],
        2: ["cinnabar pell @1-5", "dunmore @4-6"],
        3: ["beta @3-6", "elmwood @2-4"],
        4: ["cinnabar downratedby pell @1-2"],
    }


def test_without_its_rule_query_2_knows_no_agency():
    assert _answers(2, stream=MARKET) == {2: ["cinnabar @3-5", "dunmore @4-6"]}


def test_queries_5_and_6_keep_a_sliding_average_by_recursion():
    # The window opens on day 4; 10, 20 and 30 are within 10 days of it, 40 is not. The price
    # of day 1 lies 11 days before the sum of day 12: then the average is told.
    stream = _stream(
        "0 acme hasStockPrice 7",
        "1 acme hasStockPrice 5",
        "4 window hasCount 0,hasSum 0.0",
        "5 acme hasStockPrice 10",
        "8 acme hasStockPrice 20",
        "12 acme hasStockPrice 30",
        "16 acme hasStockPrice 40",
    )
    assert _answers(5, 6, stream=stream) == {
        5: [
            "_ hasCount 1 @4-5",
            "_ hasCount 2 @4-8",
            "_ hasCount 3 @4-12",
            "_ hasSum 10 @4-5",
            "_ hasSum 30 @4-8",
            "_ hasSum 60 @4-12",
        ],
        6: ["20 @1-12"],
    }
