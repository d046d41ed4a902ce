"""Making a failing case small enough to be understood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from oracle.cases import Case, StreamData


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A smallest case, by leaving out one thing at a time, that still fails."""
    while True:
        for smaller in simpler(case):
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def simpler(case: Case) -> Iterator[Case]:
    """The case without one query, graph, element or triple, or with fewer batches."""
    for number in range(len(case.queries)):
        if len(case.queries) > 1:
            yield replace(case, queries=_without(case.queries, number))
    for number, graph in enumerate(case.graphs):
        yield replace(case, graphs=_without(case.graphs, number))
        for place in range(len(graph.triples)):
            less = replace(graph, triples=_without(graph.triples, place))
            yield replace(case, graphs=_with(case.graphs, number, less))
    for number, stream in enumerate(case.streams):
        for place in range(len(stream.elements)):
            yield _without_element(case, number, place)
    if len(case.batches) > 1:
        yield replace(case, batches=(tuple(place for batch in case.batches for place in batch),))
        for number in range(len(case.batches) - 1):
            joined = case.batches[number] + case.batches[number + 1]
            rest = (*case.batches[:number], joined, *case.batches[number + 2 :])
            yield replace(case, batches=rest)
    for number, stream in enumerate(case.streams):
        for place, element in enumerate(stream.elements):
            for which in range(len(element.triples)):
                less = replace(element, triples=_without(element.triples, which))
                elements = _with(stream.elements, place, less)
                changed = StreamData(stream.name, elements)
                yield replace(case, streams=_with(case.streams, number, changed))


def _without_element(case: Case, number: int, place: int) -> Case:
    stream = case.streams[number]
    changed = StreamData(stream.name, _without(stream.elements, place))
    batches = tuple(
        tuple(
            (s, e - 1) if s == number and e > place else (s, e) for s, e in batch if (s, e) != (number, place)
        )
        for batch in case.batches
    )
    kept = tuple(batch for batch in batches if batch) or ((),)
    return replace(case, streams=_with(case.streams, number, changed), batches=kept)


def _without(items: tuple, place: int) -> tuple:
    return items[:place] + items[place + 1 :]


def _with(items: tuple, place: int, item) -> tuple:
    return (*items[:place], item, *items[place + 1 :])
