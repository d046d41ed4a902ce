"""The table of cases through the engine: what a query over windows gives, whatever the batches are."""

from __future__ import annotations

import pytest

from agreement.window_runs import given_by_engine
from oracle.cases import Case, GraphData, StreamData
from oracle.notation import elements, short, triples
from oracle.vocabulary import iri
from oracle.window_generator import WindowCase
from oracle.window_model import StreamOperator
from penstock.columns.ids import parse_term
from windows.cases import CASES, STREAM, WindowTable, continuous, instant


def case_of(table: WindowTable, operator: StreamOperator, together: int) -> WindowCase:
    """A case of the table in batches of so many elements, and in as many others (by its seed)."""
    stream = StreamData(STREAM, tuple(sorted(elements(table.stream), key=lambda each: each.end)))
    graphs = [GraphData(iri(name), triples(text)) for name, text in table.named.items()]
    if table.static:
        graphs.append(GraphData(None, triples(table.static)))
    places = [(0, number) for number in range(len(stream.elements))]
    batches = tuple(tuple(places[first : first + together]) for first in range(0, len(places), together))
    query = continuous(table, operator)
    return WindowCase(Case(together, (stream,), tuple(graphs), (), 0, batches), query, table.query)


@pytest.mark.parametrize("together", [1, 2, 100])
@pytest.mark.parametrize("operator", StreamOperator, ids=lambda each: each.value)
@pytest.mark.parametrize("table", CASES, ids=lambda table: table.title)
def test_what_a_query_over_windows_gives(table: WindowTable, operator: StreamOperator, together: int):
    found: dict[int, list[str]] = {}
    given = given_by_engine(
        case_of(table, operator, together), shards=together % 3 + 1, restore=together == 2
    )
    for (at, (bindings, _, _)), count in given.items():
        terms = [short(parse_term(text.encode())).removeprefix(":") for _, text in bindings]
        found.setdefault(at, []).extend(count * terms)
    rows = {"RSTREAM": table.rstream, "ISTREAM": table.istream, "DSTREAM": table.dstream}[operator.value]
    expected = {instant(at): sorted(text.split()) for at, text in rows.items() if text}
    assert {at: sorted(terms) for at, terms in found.items()} == expected
