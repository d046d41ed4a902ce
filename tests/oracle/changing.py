"""Relations that change: what queries answer at each instant, if rows of streams can leave.

A *changing relation* is a function from instants to multisets of timed solutions. A change says that
an occurrence is there `weight` times (more) at every instant of [since, until). An operator over changing
relations is applied pointwise: (A op B)(t) = A(t) op B(t), where `oracle.evaluate` says what op is. So
what a query answers at t is simply what it answers over what is there at t: aggregates, ORDER BY and
ASK look at all of it, and a timeless solution stays timeless.

What never leaves is there from its end on. A pattern that reads nothing that changes means what it
always means, and its solutions are there from their end on as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from oracle.closure import ROUNDS_AT_MOST, NoClosure, closure
from oracle.evaluate import Effort, Scope, evaluate_pattern
from oracle.model import ActiveGraph, Occurrence, Solution, Source, StaticGraph, Stream, TimedDataset
from oracle.queries import Answers, evaluate_form, evaluate_query, occurrences_of
from oracle.reading import chosen, default_graph, instants_of, streams_read
from penstock.algebra import Construct, Describe, Pattern, Query
from penstock.terms import NamedNode


@dataclass(frozen=True)
class Change:
    """An occurrence is there `weight` times more at the instants of [since, until); None: for ever."""

    occurrence: Occurrence
    since: int
    until: int | None = None
    weight: int = 1

    def holds(self, instant: int) -> bool:
        return self.since <= instant and (self.until is None or instant < self.until)


@dataclass(frozen=True)
class History:
    """A stream whose occurrences leave again: what was said about when they are there."""

    changes: tuple[Change, ...]

    def at(self, instant: int) -> frozenset[Occurrence]:
        """What is there: a stream is a set."""
        times: Counter[Occurrence] = Counter()
        for change in self.changes:
            if change.holds(instant):
                times[change.occurrence] += change.weight
        return frozenset(occurrence for occurrence, count in times.items() if count > 0)


@dataclass(frozen=True)
class Shown(Stream):
    """What a stream shows at some instant; `number` says which stream it is."""

    number: int = 0
    changes: bool = False


DERIVED = -1
"""The number of what rules derive."""


@dataclass(frozen=True)
class ChangingDataset:
    """Streams that change and streams that do not, static graphs, and which names they have."""

    streams: tuple[Stream | History, ...]
    graphs: tuple[StaticGraph, ...]
    stream_names: tuple[NamedNode | None, ...]
    graph_names: tuple[NamedNode | None, ...]

    def _of(self, streams: list[Stream]) -> TimedDataset:
        """The dataset with these streams: all in the default graph, and static graphs without a name."""
        named: dict[NamedNode, ActiveGraph] = {}
        default: list[Source] = [*streams]
        for source, name in zip(streams, self.stream_names, strict=True):
            if name is not None:
                named[name] = (*named.get(name, ()), source)
        for source, name in zip(self.graphs, self.graph_names, strict=True):
            if name is None:
                default.append(source)
            else:
                named[name] = (*named.get(name, ()), source)
        return TimedDataset(tuple(default), named)

    def at(self, instant: int) -> TimedDataset:
        """What is there at an instant."""
        return self._of(
            [
                Shown(stream.at(instant), frozenset(), number=number, changes=True)
                if isinstance(stream, History)
                else Shown(stream.before(instant + 1).occurrences, stream.instants, number=number)
                for number, stream in enumerate(self.streams)
            ]
        )

    def staying(self) -> TimedDataset:
        """All that never leaves."""
        nothing = Stream(frozenset(), frozenset())
        return self._of(
            [
                Shown(stream.occurrences, stream.instants, number=number)
                for number, each in enumerate(self.streams)
                for stream in [nothing if isinstance(each, History) else each]
            ]
        )


@dataclass(frozen=True)
class At(Scope):
    """A scope at an instant. `staying` has what never leaves, by the numbers of streams."""

    instant: int = 0
    staying: TimedDataset = field(default_factory=TimedDataset)
    wholes: Mapping[int, Stream] = field(default_factory=dict)

    def reads_a_stream(self, node) -> bool:
        """An operator looks at all that is there, once."""
        return False

    def changes(self, node: Pattern) -> bool:
        return any(stream.changes for stream in streams_read(node, self.active, self.dataset))

    def solutions(self, pattern: Pattern) -> list[Solution]:
        if self.changes(pattern):
            return super().solutions(pattern)
        active = tuple(
            self.wholes.get(source.number, source) if isinstance(source, Shown) else source
            for source in self.active
        )
        whole = Scope(self.staying, active, self.instants, self.now, self.base, self.effort)
        return [
            each for each in evaluate_pattern(pattern, whole) if each.timeless or each.end <= self.instant
        ]


def answers_at(
    queries: Iterable[Query],
    dataset: ChangingDataset,
    instant: int,
    *,
    now: int = 0,
    effort: Effort | None = None,
) -> list[Answers]:
    """What each of the queries answers at an instant; CONSTRUCT queries are rules for all of them."""
    queries, effort = list(queries), effort or Effort()
    rules = [query for query in queries if isinstance(query, Construct)]
    staying, there = dataset.staying(), dataset.at(instant)
    if not any(_changes(rule, there) for rule in rules):
        staying = closure(rules, staying, now=now, effort=effort)
        derived = [
            Shown(s.occurrences, s.instants, number=DERIVED) if isinstance(s, Stream) else s
            for s in staying.derived
        ]
        staying = replace(staying, derived=tuple(derived))
        rules = []
        there = replace(
            there,
            derived=tuple(
                replace(s, occurrences=s.before(instant + 1).occurrences) if isinstance(s, Shown) else s
                for s in derived
            ),
        )
    there = _closed(rules, staying, there, instant, now, effort)
    return [_answers(query, staying, there, instant, now, effort) for query in queries]


def _changes(query: Query, there: TimedDataset) -> bool:
    """Whether a query reads something that changes."""
    own = chosen(there, query.dataset)
    read = streams_read(query.pattern, default_graph(own), own)
    if isinstance(query, Describe):
        read |= {source for source in default_graph(own) if source.is_stream}
    return any(stream.changes for stream in read)


def _closed(
    rules: list[Construct], staying: TimedDataset, there: TimedDataset, instant: int, now: int, effort: Effort
) -> TimedDataset:
    """With what rules that do not feed themselves derive of what is there."""
    if not rules:
        return there
    derived: frozenset[Occurrence] = frozenset()
    for _ in range(ROUNDS_AT_MOST):
        occurrences = frozenset(o for o in derived if o.end is not None)
        timed = Shown(occurrences, frozenset(), number=DERIVED, changes=True)
        timeless = StaticGraph(frozenset(o.triple for o in derived if o.end is None))
        there = replace(there, derived=(timed, timeless))
        found = (occurrences_of(_answers(rule, staying, there, instant, now, effort)) for rule in rules)
        again = frozenset().union(*found)
        if again == derived:
            return there
        derived = again
    raise NoClosure("the rules feed themselves")


def _answers(
    query: Query, staying: TimedDataset, there: TimedDataset, instant: int, now: int, effort: Effort
) -> Answers:
    whole, own = chosen(staying, query.dataset), chosen(there, query.dataset)
    if not _changes(query, there):
        found = evaluate_query(query, staying, now=now, effort=effort)
        return replace(found, rows=tuple(r for r in found.rows if r.timeless or r.end <= instant))
    streams = [*staying.default, *staying.derived]
    wholes = {source.number: source for source in streams if isinstance(source, Shown)}
    scope = At(
        own,
        default_graph(own),
        tuple(instants_of(query, whole)),
        now,
        effort=effort,
        instant=instant,
        staying=whole,
        wholes=wholes,
    )
    return evaluate_form(query, scope)
