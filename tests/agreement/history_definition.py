"""What queries of a history give by the definition: that of their languages, over what comes from a batch on.

Left out: queries that read what EP-SPARQL rules, or rules over streams, derive, unless all rules began with
them and stay (in which batch they give it is nothing that a definition says), those that read a stream in
EP-SPARQL that others give, and those that are removed before the end, if they are no continuous ones: of
these it is known which instants have been reported by then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

from agreement.history_runs import TRIPLE, Asked, ByThemselves, compared, counted, given_by_run
from agreement.other_queries import later_part
from oracle.cases import Case, ClosedElement, Element, StreamData
from oracle.closure import NoClosure
from oracle.evaluate import Effort, TooManySolutions
from oracle.generator import solved
from oracle.history_rules import closed, known_in, with_closed_graph
from oracle.outputs import until
from oracle.query_histories import QueryHistory
from oracle.window_generator import LONGEST, knowledge_of, streams_of
from oracle.window_model import ContinuousQuery
from oracle.windows import Clock, Given, as_elements, given
from penstock.algebra import Query
from penstock.algebra.nodes import is_rule
from penstock.errors import QueryError
from penstock.timeline import FOREVER


class ByDefinition(ByThemselves):
    """What each query of a history gives by the oracle."""

    def given(self, query: Asked) -> Counter | None:
        """What a query gives; None: it is left out."""
        asked = self.parsed[query].query
        if asked.continuous is not None:
            found = self._reported(query)
            if found is None:
                return None
            if is_rule(asked):
                return counted(
                    (None, dict(zip(TRIPLE, triple, strict=True)), each.start, each.end)
                    for each in as_elements(found)
                    for triple in each.triples
                )
            return counted(
                (at, row.bindings, row.start, row.end) for at, row, count in found for _ in range(count)
            )
        rules = self._rules_of(query)
        if query.until is not None or rules is None:
            return None
        part = later_part(self._data(query.begin), query.begin, [query.text.text])
        part = replace(part, streams=tuple(map(_stated, part.streams)))
        found, *_ = solved(part, [asked, *rules])
        return counted((None, row.bindings, row.start, row.end) for row in found.rows)

    def _rules_of(self, query: Asked) -> list[Query] | None:
        """The rules over streams beside a query, if all have been there since it began; else None."""
        if not self._read_by(query):
            return []
        rules = {each: self.parsed[each].query for each in self.queries if each.beside(query)}
        rules = {each: rule for each, rule in rules.items() if is_rule(rule) and each is not query}
        if any(each.begin != query.begin or each.until is not None for each in rules):
            return None
        plain = all(rule.target is None and rule.continuous is None for rule in rules.values())
        return [*rules.values()] if plain else None

    def _reported(self, query: Asked) -> list[Given] | None:
        """What a continuous query gives as long as it is there."""
        asked, data = self.parsed[query].query, self._data(query.begin)
        part = later_part(data, query.begin, ())
        streams = {window.stream: [] for window in asked.continuous.windows} | streams_of(part)
        for other, name in self._read_by(query):
            elements = self._stream_of(other, self.times[query.begin])
            if elements is None:
                return None
            [target] = [each for each in streams if each.value == name]
            streams[target] = [*streams[target], *elements]
        how = asked.continuous
        apart = ContinuousQuery(
            replace(asked, continuous=None), how.windows, how.report, how.operator, how.view, how.bounds
        )
        limits = {"until": until(data)}
        if len(Clock(apart, streams, **limits).evaluations()) > LONGEST:
            raise TooManySolutions(f"more than {LONGEST} evaluations")
        limits |= {"now": data.now, "effort": Effort()}
        found = given(apart, streams, knowledge_of(part), **limits)
        end = FOREVER if query.until is None else self.times[query.until]
        return [each for each in found if each[0] < end]

    def _data(self, batch: int) -> Case:
        """What there is for queries that begin with a batch: graphs without a name are closed."""
        data = with_closed_graph(self.history.knowing(batch), self.history.closing(batch))
        return replace(data, streams=self._streams)

    @cached_property
    def _streams(self) -> tuple[StreamData, ...]:
        """The streams, each element with what follows from it in the life that it comes in."""
        data = self.history.data
        came = {place: number for number, batch in enumerate(data.batches) for place in batch}
        return tuple(
            StreamData(
                stream.name,
                tuple(
                    self._closed(element, came.get((number, place), 0))
                    for place, element in enumerate(stream.elements)
                ),
            )
            for number, stream in enumerate(data.streams)
        )

    def _closed(self, element: Element, batch: int) -> ClosedElement:
        """An element and what follows from it, beside what follows from what is known without it."""
        begin, triples = self.history.life(batch), frozenset(element.triples)
        rules, (known, named) = self.history.closing(begin), known_in(self.history.knowing(begin))
        derived = closed(rules, known | triples, named) - closed(rules, known, named) - triples
        return ClosedElement(element.triples, element.start, element.end, derived)

    def _stream_of(self, other: Asked, begin: int) -> list[Element] | None:
        """What a query gives from an instant on; None if no definition says when it gives something."""
        if self.parsed[other].query.continuous is None:
            return None
        found = self._reported(other)
        return None if found is None else as_elements(each for each in found if each[0] >= begin)


def _stated(stream: StreamData) -> StreamData:
    """The stream with what follows from each of its elements among their triples."""
    return StreamData(
        stream.name,
        tuple(
            Element((*each.triples, *sorted(each.derived, key=str)), each.start, each.end)
            for each in stream.elements
        ),
    )


def differs(history: QueryHistory, shards: int, *, restore: bool) -> bool:
    """Whether a run gives something else than each query by itself, or than the definition says."""
    try:
        given = given_by_run(history, shards, restore=restore)
        return any(compared(given, make(history))[1] for make in (ByThemselves, ByDefinition))
    except (QueryError, TooManySolutions, NoClosure):
        return False
