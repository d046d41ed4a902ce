"""What queries of a history give by the definition: that of their languages, over what comes from a batch on.

Left out: queries that read what EP-SPARQL rules derive (in which batch they give it is nothing that a
definition says), those that read a stream in EP-SPARQL that others give, and those that are removed before
the end, if they are no continuous ones: of these it is known which instants have been reported by then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from agreement.history_runs import TRIPLE, Asked, ByThemselves, compared, counted, follows, given_by_run
from agreement.other_queries import later_part
from oracle.cases import Element, StreamData
from oracle.closure import NoClosure
from oracle.evaluate import Effort, TooManySolutions
from oracle.generator import solved
from oracle.outputs import until
from oracle.query_histories import QueryHistory
from oracle.window_generator import LONGEST, knowledge_of, streams_of
from oracle.window_model import ContinuousQuery
from oracle.windows import Clock, Given, as_elements, given
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
        if query.until is not None or self._read_by(query):
            return None
        part = later_part(self.history.knowing(query.begin), query.begin, [query.text.text])
        if self.history.closed:
            part = replace(part, streams=tuple(map(_closed, part.streams)))
        [found] = solved(replace(part, algebra=(asked,)))
        return counted((None, row.bindings, row.start, row.end) for row in found.rows)

    def _reported(self, query: Asked) -> list[Given] | None:
        """What a continuous query gives as long as it is there."""
        asked, data = self.parsed[query].query, self.history.knowing(query.begin)
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
            replace(asked, continuous=None), how.windows, how.report, how.operator, how.view
        )
        limits = {"until": until(data)}
        if len(Clock(apart, streams, **limits).evaluations()) > LONGEST:
            raise TooManySolutions(f"more than {LONGEST} evaluations")
        limits |= {"follows": follows if self.history.closed else None, "now": data.now, "effort": Effort()}
        found = given(apart, streams, knowledge_of(part), **limits)
        end = FOREVER if query.until is None else self.times[query.until]
        return [each for each in found if each[0] < end]

    def _stream_of(self, other: Asked, begin: int) -> list[Element] | None:
        """What a query gives from an instant on; None if no definition says when it gives something."""
        if self.parsed[other].query.continuous is None:
            return None
        found = self._reported(other)
        return None if found is None else as_elements(each for each in found if each[0] >= begin)


def _closed(stream: StreamData) -> StreamData:
    """The stream with what follows from each of its elements."""
    return StreamData(
        stream.name,
        tuple(
            replace(each, triples=(*each.triples, *sorted(follows(frozenset(each.triples)), key=str)))
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
