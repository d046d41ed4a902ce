"""The engine and the oracle on many cases that are made from seeds, and cases by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from agreement.engine_runs import engine_answers
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.evaluate import TooManySolutions
from oracle.generator import answers
from oracle.vocabulary import EPOCH, TICK, iri
from penstock.algebra.nodes import Query
from penstock.errors import QueryError


def compared(make: Callable[[int], Case], seeds: Iterable[int], refused: str = "recursion") -> Counter[str]:
    """Runs the cases of these seeds, which may be refused for one reason; what became of them."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        case = make(seed)
        try:
            expected = answers(case)
        except TooManySolutions:
            counts["left out"] += 1
            continue
        try:
            found = engine_answers(case, (1, 2, 8)[seed % 3], restore=seed % 2 == 0)
        except QueryError as refusal:
            assert refused in str(refusal), case
            counts["refused"] += 1
            continue
        for mine, theirs in zip(found, expected, strict=True):
            assert mine == theirs, f"{case}\nmissing {theirs - mine}\nsurplus {mine - theirs}"
        counts["agree"] += 1
        counts["with answers"] += any(expected)
    return counts


def triples(text: str) -> tuple:
    """Triples `s p o`, with commas between them."""
    return tuple(tuple(map(iri, triple.split())) for triple in text.split(",") if triple.strip())


def case_by_hand(
    text: str, query: Query, elements: Sequence[str], *, ticks: int, static: str = "", batches: int = 1
) -> Case:
    """A query over elements of triples, two of which begin at a time and last so long, and static ones."""
    made = [
        Element(triples(each), EPOCH + number // 2 * TICK, EPOCH + (number // 2 + ticks) * TICK)
        for number, each in enumerate(elements)
    ]
    graphs = (GraphData(None, triples(static)),) if static else ()
    places = [(0, place) for place in range(len(made))]
    cut = max(1, len(places) // batches)
    taken = tuple(tuple(places[at : at + cut]) for at in range(0, len(places), cut))
    return Case(3, (StreamData(None, tuple(made)),), graphs, (text,), 0, taken, algebra=(query,))
