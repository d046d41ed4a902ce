"""Queries that read each other's output streams, by the definition of decision 0013.

    everything(queries, data)  ->  for each query what it gives

All queries are evaluated over what all of them gave the last time, beginning with nothing, until nothing
changes. Where none reads its own output, that is after as many rounds as the longest chain has queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from oracle.canonical import canonical
from oracle.cases import Case, Element, GivenElement
from oracle.closure import closure
from oracle.evaluate import Effort, TooManySolutions
from oracle.model import Occurrence, Stream, TimedDataset
from oracle.queries import evaluate_query, occurrences_of
from oracle.window_generator import LONGEST, knowledge_of, streams_of
from oracle.window_model import ContinuousQuery
from oracle.windows import Clock, Consequences, Given, as_elements, given
from penstock.algebra import Query
from penstock.algebra.nodes import is_rule
from penstock.terms import NamedNode

Outputs = Mapping[Query, list[Element]]
"""The elements of the streams that queries give; equal queries are one."""


def everything(queries: Sequence[Query], data: Case, follows: Consequences | None = None) -> list[Counter]:
    """What each query gives: ⟨instant, row⟩ of a continuous one, else timed rows, as often as they are."""
    run = Run(tuple(queries), data, follows)
    outputs: Outputs = {}
    for _ in range(len(queries) + 1):
        found = {query: elements_of(query, run, outputs) for query in queries if _gives(query)}
        if found == outputs:
            return [_answers(query, run, outputs) for query in queries]
        outputs = found
    raise ValueError("a query reads its own output")


@dataclass(frozen=True)
class Run:
    """Queries that run together, over which data, and what follows from each element that is not given."""

    queries: tuple[Query, ...]
    data: Case
    follows: Consequences | None = None

    @cached_property
    def dataset(self) -> TimedDataset:
        """What queries without windows read, what follows from elements among their triples."""
        if self.follows is None:
            return self.data.dataset
        streams = tuple(
            replace(each, elements=tuple(map(self._closed, each.elements))) for each in self.data.streams
        )
        return replace(self.data, streams=streams).dataset

    def _closed(self, element: Element) -> Element:
        more = self.follows(frozenset(element.triples))
        return replace(element, triples=(*element.triples, *sorted(more, key=str)))


def _gives(query: Query) -> bool:
    return is_rule(query) and query.target is not None


def elements_of(query: Query, run: Run, outputs: Outputs) -> list[Element]:
    """One element for each evaluation and start; of a rule, one for each interval."""
    if query.continuous is not None:
        return as_elements(_given(query, run, outputs))
    graphs: dict[tuple[int, int], dict] = {}
    found = evaluate_query(query, _closed(run, outputs), now=run.data.now, effort=Effort())
    for each in occurrences_of(found):
        if each.end is not None:  # what follows from static knowledge alone is in no element
            graphs.setdefault((each.start, each.end), {})[each.triple] = None
    return [
        GivenElement(tuple(sorted(triples, key=str)), *interval)
        for interval, triples in sorted(graphs.items())
    ]


def until(data: Case) -> int:
    """The last end of an element of the streams that are given."""
    return max((element.end for batch in data.arriving() for _, element in batch), default=0)


def _given(query: Query, run: Run, outputs: Outputs) -> list[Given]:
    how, data = query.continuous, run.data
    streams: dict[NamedNode, list[Element]] = {window.stream: [] for window in how.windows}
    streams |= streams_of(data)
    for other, elements in outputs.items():
        streams[other.target] = [*streams.get(other.target, ()), *elements]
    taken_apart = ContinuousQuery(query, how.windows, how.report, how.operator, how.view, how.bounds)
    if len(Clock(taken_apart, streams, until=until(data)).evaluations()) > LONGEST:
        raise TooManySolutions(f"more than {LONGEST} evaluations")
    more = {"now": data.now, "effort": Effort(), "until": until(data), "follows": run.follows}
    return given(taken_apart, streams, knowledge_of(data), **more)


def _closed(run: Run, outputs: Outputs) -> TimedDataset:
    """What queries without windows read: a stream that a continuous query gives is a graph with its name."""
    named = dict(run.dataset.named)
    for query, elements in outputs.items():
        if query.continuous is not None:
            occurrences = (Occurrence(*t, each.start, each.end) for each in elements for t in each.triples)
            stream = Stream(frozenset(occurrences), frozenset(each.end for each in elements))
            named[query.target] = (*named.get(query.target, ()), stream)
    rules = [query for query in run.queries if is_rule(query) and query.continuous is None]
    return closure(rules, replace(run.dataset, named=named), now=run.data.now, effort=Effort())


def _answers(query: Query, run: Run, outputs: Outputs) -> Counter:
    if query.continuous is None:
        rows = evaluate_query(query, _closed(run, outputs), now=run.data.now, effort=Effort()).rows
        return canonical((row.bindings, row.start, row.end) for row in rows)
    if _gives(query):
        return canonical(
            (dict(zip(("subject", "predicate", "object"), triple, strict=True)), each.start, each.end)
            for each in outputs[query]
            for triple in each.triples
        )
    by_instant: dict[int, list] = {}
    for instant, row, count in _given(query, run, outputs):
        by_instant.setdefault(instant, []).extend(count * [(row.bindings, row.start, row.end)])
    return Counter(
        {
            (instant, row): count
            for instant, rows in by_instant.items()
            for row, count in canonical(rows).items()
        }
    )
