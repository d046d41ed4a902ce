"""Continuous queries over finite streams, by the definitions of decision 0013, instant by instant.

    given(query, streams, knowledge)  ->  [(t, solution, how often), …]

Everything is looked up anew at every instant: which windows there are, what is in them, what the query
answers over that. Instants are whole numbers; what one of them lasts does not matter here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm

from oracle import sequences  # noqa: F401  (SEQ becomes an operator)
from oracle.cases import ClosedElement, Element, GivenElement
from oracle.evaluate import Effort, Scope, evaluate_pattern, with_scope
from oracle.model import (
    ActiveGraph,
    Solution,
    StaticGraph,
    TimedDataset,
    Triple,
    combine,
    compatible,
    solution,
)
from oracle.queries import OBJECT, PREDICATE, SUBJECT, Answers, evaluate_form
from oracle.window_model import (
    Background,
    Bound,
    ContinuousQuery,
    InWindow,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    Timestamp,
    View,
    Window,
    WindowSpec,
)
from penstock.algebra import BGP, Graph, PathPattern, Pattern, Var
from penstock.algebra.scopes import ELEMENT, STREAM
from penstock.functions.ordering import total_key
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import format_instant

Streams = Mapping[NamedNode, Sequence[Element]]
"""The elements of each stream that are in time, in any order."""
Consequences = Callable[[frozenset[Triple]], frozenset[Triple]]
"""What follows from an element's graph."""


@dataclass(frozen=True)
class Held:
    """An element in a window: its number in the stream, what the window has of it, and of its interval."""

    number: int
    triples: frozenset[Triple]
    start: int
    end: int
    began: int

    @property
    def itself(self) -> tuple:
        """The element, whatever the window has cut of its interval."""
        return self.number, self.triples


Content = tuple[Held, ...]


# --- which windows there are ---------------------------------------------------------------


def openings(spec: WindowSpec, low: int, high: int) -> Iterator[int]:
    """The instants of [low, high] at which windows open."""
    base = 0 if spec.start is None else spec.start
    opening = base + -((base - low) // spec.slide) * spec.slide  # the first that is not before `low`
    while opening <= high:
        if spec.start is None or opening >= spec.start:
            yield opening
        opening += spec.slide


def first_instant(spec: WindowSpec, opening: int) -> int:
    """The first instant of the window that opens at `opening`."""
    return opening if spec.opening else opening + 1


def shown_window(spec: WindowSpec, instant: int) -> tuple[int, int] | None:
    """The first and the last instant of the window that is shown at an instant; None: there is none."""
    if spec.kind is Kind.LANDMARK:
        return _landmark(spec, instant)
    latest = instant - spec.width  # what opens by then has closed
    if spec.shows is Shows.PRESENT:  # of those that have the instant, the one that opened first
        chosen = next(openings(spec, latest, instant), None)
        if chosen is None or first_instant(spec, chosen) > instant:
            return None
    else:  # of those that have closed, the last
        chosen = max(openings(spec, latest - spec.slide + 1, latest), default=None)
        if chosen is None:
            return None
    return first_instant(spec, chosen), min(chosen + spec.width, instant)


def _landmark(spec: WindowSpec, instant: int) -> tuple[int, int] | None:
    """[start, the last close]; from ever, if there is no start."""
    closes = [c for c in openings(spec, instant - spec.slide, instant) if c <= instant]
    if not closes:
        return None
    return (-(2**63) if spec.start is None else spec.start), closes[-1]


def closes_at(spec: WindowSpec, instant: int) -> bool:
    """Whether a window over time closes at an instant; a landmark is no window that closes."""
    if spec.kind is Kind.LANDMARK and instant == spec.start:
        return False
    width = 0 if spec.kind is Kind.LANDMARK else spec.width
    return any(o + width == instant for o in openings(spec, instant - width, instant - width))


def last_closing(spec: WindowSpec, end: int) -> list[int]:
    """The last instant at which a window closes that has an end of an element in it; none: no window has.

    A landmark closes first when it has it; of triples, those that are there are counted at once.
    """
    if spec.kind is Kind.TRIPLES:
        return [end]
    if spec.kind is Kind.LANDMARK:
        found = openings(spec, end, end + 2 * spec.slide)
        is_in = spec.start is None or spec.start <= end
        return [close for close in found if is_in and closes_at(spec, close)][:1]
    opened = openings(spec, end - max(spec.slide, 1), end)
    return [o + spec.width for o in opened if first_instant(spec, o) <= end <= o + spec.width][-1:]


# --- what is in them: the stream-to-relation operator ---------------------------------------------


def content(spec: WindowSpec, elements: Sequence[Element], instant: int) -> Content:
    """What a window over a stream shows at an instant: elements that have a triple, cut to the window."""
    known = [(number, each) for number, each in enumerate(elements) if each.end <= instant]
    if spec.kind is Kind.TRIPLES:
        return _last_triples(spec, known)
    window = shown_window(spec, instant)
    if window is None:
        return ()
    first, last = window
    return tuple(
        Held(number, frozenset(each.triples), max(each.start, first), min(each.end, last), each.start)
        for number, each in known
        if each.triples and first <= each.end <= last
    )


def places(known: Iterable[tuple[int, Element]]) -> list[tuple[int, Element, Triple]]:
    """The triples of the elements, one after the other: by end, start, the element's graph, the triple."""

    def key(triple: Triple) -> tuple:
        return tuple(map(total_key, triple))

    def in_element(element: Element) -> list[Triple]:
        return sorted(set(element.triples), key=key)

    ordered = sorted(known, key=lambda k: (k[1].end, k[1].start, [*map(key, in_element(k[1]))]))
    return [(number, each, triple) for number, each in ordered for triple in in_element(each)]


def _last_triples(spec: WindowSpec, known: Iterable[tuple[int, Element]]) -> Content:
    """The places (km − n, km] for the largest km that are there."""
    counted = places(known)
    closed = len(counted) // spec.slide * spec.slide
    inside: dict[int, tuple[Element, set[Triple]]] = {}
    for number, element, triple in counted[max(0, closed - spec.width) : closed]:
        inside.setdefault(number, (element, set()))[1].add(triple)
    return tuple(
        Held(number, frozenset(triples), each.start, each.end, each.start)
        for number, (each, triples) in inside.items()
    )


def same(one: Content, other: Content) -> bool:
    """Whether two contents are the same elements."""
    return {each.itself for each in one} == {each.itself for each in other}


# --- when it reports -----------------------------------------------------------------------


@dataclass(frozen=True)
class Clock:
    """The time of a query over finite streams: from the first end of an element, as long as windows say.

    Of streams that live on in silence, `watermark` is how far time has come. `until`: the last end of an
    element of any stream of the run.
    """

    query: ContinuousQuery
    streams: Streams
    watermark: int | None = None
    until: int | None = None

    @property
    def ends(self) -> list[int]:
        """When elements of the query's streams end."""
        read = {window.stream for window in self.query.windows}
        return sorted({each.end for name in read for each in self.streams[name]})

    def last_instant(self) -> int:
        """Until when windows report: the last end, and C; of living streams, up to now."""
        if self.watermark is not None:
            return self.watermark - 1
        ended = [*self.ends, *([] if self.until is None else [self.until])]
        closed = [
            instant
            for window in self.query.windows
            for element in self.streams[window.stream]
            for close in last_closing(window.spec, element.end)
            for instant in (close, *self._looked_at(window.spec, close))
        ]
        return max([*ended, *closed])

    def _looked_at(self, spec: WindowSpec, close: int) -> list[int]:
        """The first period that is not before a close, if what has closed is shown until then."""
        period = self.query.report.period
        if period is None:
            return []
        instant = -(-close // period) * period
        if spec.kind is not Kind.TIME or instant == close:
            return [instant]
        return [instant] if spec.shows is Shows.CLOSED and instant < close + spec.slide else []

    def moments(self) -> list[int]:
        """Instants at which a report is possible; at all others nothing changes and no window closes."""
        begin, done = self.ends[0], self.last_instant()
        found, period = set(self.ends), self.query.report.period
        if self.query.report.change:  # when it is asked next after the last window has become empty
            slides = [window.spec.slide for window in self.query.windows if window.spec.kind is Kind.TIME]
            timed = [window.spec for window in self.query.windows if window.spec.kind is not Kind.TRIPLES]
            done += max([spec.width + spec.slide for spec in timed], default=0)
            done += lcm(period or 1, *(slide for slide in slides if self.query.report.close))
        if period is not None:
            found |= set(range(-(-begin // period) * period, done + 1, period))
        for window in self.query.windows:
            spec = window.spec
            if spec.kind is Kind.TRIPLES:
                continue
            if spec.continuous:
                found |= {end + spec.width + later for end in self.ends for later in (0, 1)}
                continue
            width = 0 if spec.kind is Kind.LANDMARK else spec.width
            for opening in openings(spec, begin - width - spec.slide, done + spec.slide):
                found |= {opening, opening + 1, opening + width, opening + width + 1}
        return sorted(each for each in found if each >= begin)

    def content(self, window: Window, instant: int) -> Content:
        if instant < self.ends[0]:
            return ()
        return content(window.spec, self.streams[window.stream], instant)

    def reports(self, window: Window) -> list[int]:
        """The instants at which a window reports."""
        report, spec = self.query.report, window.spec
        refused(report, spec)
        done = self.last_instant()
        found, asked = [], None
        for instant in self.moments():
            if not self.asks(window, instant):
                continue
            previous = instant - 1 if self.asks_always else asked
            asked = instant
            shown = self.content(window, instant)
            old = () if previous is None else self.content(window, previous)
            changed = not same(shown, old)
            if report.change and not changed:
                continue
            if report.non_empty and not shown:
                continue
            if instant <= done or report.change:
                found.append(instant)
        return found

    @property
    def asks_always(self) -> bool:
        """Whether it is asked at every instant if it should report."""
        report = self.query.report
        return report.tick is Tick.TIME and not report.close and report.period is None

    def asks(self, window: Window, instant: int) -> bool:
        """Whether tick, close and period let a window report at an instant."""
        report, spec = self.query.report, window.spec
        if report.tick is Tick.TUPLE and instant not in self.ends:
            return False
        if report.period is not None and instant % report.period:
            return False
        if not report.close:
            return True
        if spec.kind is Kind.TRIPLES:
            now, before = (
                len(places((n, e) for n, e in enumerate(self.streams[window.stream]) if e.end <= t))
                for t in (instant, instant - 1)
            )
            return now // spec.slide > before // spec.slide
        return closes_at(spec, instant)

    def evaluations(self) -> list[int]:
        """ET: the instants at which the query is evaluated, because some window reports."""
        if not self.ends:
            return []
        found = {instant for window in self.query.windows for instant in self.reports(window)}
        return sorted(each for each in found if self.watermark is None or each < self.watermark)


def refused(report: Report, spec: WindowSpec) -> None:
    """Raises an error if a window would report at every instant."""
    bounded = report.period is not None or report.change or report.tick is Tick.TUPLE
    if bounded or (report.close and not spec.continuous):
        return
    raise ValueError("the window would report at every instant")


# --- the relation-to-relation part --------------------------------------------------------------------


@dataclass(frozen=True)
class Knowledge:
    """Static graphs, (since when, which ones) in order; the first ones hold from ever: None."""

    versions: tuple[tuple[int | None, TimedDataset], ...] = ((None, TimedDataset()),)

    def at(self, instant: int) -> tuple[int | None, TimedDataset]:
        return [each for each in self.versions if each[0] is None or each[0] <= instant][-1]


@dataclass(frozen=True)
class AtInstant(Scope):
    """Where a pattern of a continuous query is evaluated: what its windows show at an instant."""

    instant: int = 0
    since: int | None = None  # when the static graphs last changed
    contents: Mapping[NamedNode | None, Content] = field(default_factory=dict)
    inside: Content | None = None  # of the window whose elements patterns see

    def reads_a_stream(self, node) -> bool:
        """An operator looks at all that is there, once."""
        return False

    def solutions(self, pattern: Pattern) -> list[Solution]:
        if isinstance(pattern, InWindow):
            return evaluate_pattern(pattern.pattern, replace(self, inside=self.contents[pattern.name]))
        if isinstance(pattern, Background):
            return self.valid(evaluate_pattern(pattern.pattern, self))
        if isinstance(pattern, Timestamp):
            return [self.stamped(pattern, each) for each in evaluate_pattern(pattern.pattern, self)]
        if isinstance(pattern, Graph) and isinstance(pattern.name, Var):
            named = {name: g for name, g in self.dataset.named.items() if name not in self.contents}
            return [one for name in named for one in self.in_named(pattern, name)]
        of_one = isinstance(pattern, (BGP, PathPattern)) or pattern.scope == ELEMENT
        if self.inside is not None and of_one:
            return self.in_elements(pattern, self.inside)
        return super().solutions(pattern)

    def in_named(self, node: Graph, name: NamedNode) -> list[Solution]:
        """GRAPH ?g for one static graph; windows are no graphs that a variable ranges over."""
        is_named = solution({node.name.name: name})
        found = evaluate_pattern(node.pattern, replace(self, active=self.dataset.named[name]))
        return [combine(each, is_named) for each in found if compatible(each, is_named)]

    def in_elements(self, pattern: Pattern, shown: Content) -> list[Solution]:
        """(16): ⟨μ, [t₁, t₂]⟩ such that μ(P) ⊆ g for an element ⟨g, [t₁, t₂]⟩ of the window."""
        everywhere = with_scope(pattern, STREAM)
        result = []
        for held in shown:
            alone = replace(self, inside=None, active=(StaticGraph(held.triples),))
            result += [
                replace(one, start=held.start, end=held.end, began=held.began)
                for one in evaluate_pattern(everywhere, alone)
            ]
        return result

    def valid(self, solutions: list[Solution]) -> list[Solution]:
        """(17): [t₁, t], where the static graphs have not changed since t₁; from ever: timeless."""
        if self.since is None:
            return solutions
        return [replace(each, start=self.since, end=self.instant) for each in solutions]

    def stamped(self, node: Timestamp, one: Solution) -> Solution:
        """With the last end of an element, in any of the windows, that states the triple."""
        triple = tuple(one.value(part.name) if isinstance(part, Var) else part for part in node.triple)
        ends = [held.end for shown in self.contents.values() for held in shown if triple in held.triples]
        if not ends:
            return one
        last = Literal(format_instant(max(ends)), datatype=XSD.dateTime)
        return replace(one, mu=one.mu | {(node.var.name, last)})


def graph_of(shown: Content) -> StaticGraph:
    """The RDF graph that a window is, if time does not matter."""
    return StaticGraph(frozenset().union(*(held.triples for held in shown)))


def answers_at(
    query: ContinuousQuery,
    streams: Streams,
    knowledge: Knowledge,
    instant: int,
    *,
    follows: Consequences | None = None,
    now: int = 0,
    effort: Effort | None = None,
) -> Answers:
    """Ω(t): what the query answers over what its windows show at t, and the static graphs of t."""
    clock = Clock(query, streams)
    shown: dict[Window, Content] = {
        window: _with_consequences(clock.content(window, instant), streams[window.stream], follows)
        for window in query.windows
    }
    since, static = knowledge.at(instant)
    default: ActiveGraph = tuple(static.default)
    named = dict(static.named)
    contents: dict[NamedNode | None, Content] = {}
    for window, held in shown.items():
        contents[window.name] = (*contents.get(window.name, ()), *held)
        if query.view is View.GRAPH and window.name is None:
            default = (*default, graph_of(held))
        elif query.view is View.GRAPH:
            named[window.name] = (graph_of(held),)
    scope = AtInstant(
        TimedDataset(default, named),
        default,
        (),
        now,
        effort=effort or Effort(),
        instant=instant,
        since=since,
        contents=contents,
    )
    return evaluate_form(query.query, scope)


def _with_consequences(shown: Content, elements: Sequence[Element], follows: Consequences | None) -> Content:
    """What follows from an element is in a window as long as the element, or a part of it, is."""
    return tuple(
        replace(held, triples=held.triples | _derived(elements[held.number], follows)) for held in shown
    )


def _derived(element: Element, follows: Consequences | None) -> frozenset[Triple]:
    if isinstance(element, ClosedElement):
        return element.derived
    if follows is None or isinstance(element, GivenElement):
        return frozenset()
    return follows(frozenset(element.triples))


# --- the relation-to-stream operators ----------------------------------------------------------------

Given = tuple[int, Solution, int]


def identity(one: Solution) -> tuple:
    """What makes a solution the same at two instants: a window that moves over its beginning does not."""
    return one.mu, one.uncut, one.end


def difference(one: Sequence[Solution], other: Sequence[Solution]) -> list[Solution]:
    """Those of the first bag that the second does not have as often."""
    left = Counter(map(identity, other))
    result = []
    for each in sorted(one, key=lambda s: -1 if s.start is None else s.start):
        if left[identity(each)] > 0:
            left[identity(each)] -= 1
        else:
            result.append(each)
    return result


OPERATORS: dict[StreamOperator, Callable] = {
    StreamOperator.RSTREAM: lambda now, before: list(now),
    StreamOperator.ISTREAM: difference,
    StreamOperator.DSTREAM: lambda now, before: difference(before, now),
}
"""From the solutions now and at the evaluation before."""


def bounds_at(query: ContinuousQuery, instant: int) -> dict[Bound, int | None]:
    """When the first of the windows opened that are shown at an instant, and when the last closed."""
    shown = [(w.spec, found) for w in query.windows if (found := shown_window(w.spec, instant)) is not None]
    opened = [
        first if spec.opening or spec.kind is Kind.LANDMARK else first - 1 for spec, (first, _) in shown
    ]
    from_ever = -(2**63)
    return {
        Bound.START: None if not opened or from_ever in opened else min(opened),
        Bound.END: max((last for _, (_, last) in shown), default=None),
    }


def with_bounds(query: ContinuousQuery, row: Solution, instant: int) -> Solution:
    """What is given, with the bounds that the query asks for; stream operators have not seen them."""
    found = bounds_at(query, instant)
    told = {
        (name, Literal(format_instant(found[which]), datatype=XSD.dateTime))
        for name, which in query.bounds
        if found[which] is not None
    }
    return replace(row, mu=row.mu | told) if told else row


def given(
    query: ContinuousQuery,
    streams: Streams,
    knowledge: Knowledge | None = None,
    *,
    follows: Consequences | None = None,
    now: int = 0,
    effort: Effort | None = None,
    watermark: int | None = None,
    until: int | None = None,
) -> list[Given]:
    """All that a query gives: (instant, solution, how often), by instants."""
    knowledge, effort = knowledge or Knowledge(), effort or Effort()
    result: list[Given] = []
    before: tuple[Solution, ...] = ()
    for instant in Clock(query, streams, watermark, until).evaluations():
        found = answers_at(query, streams, knowledge, instant, follows=follows, now=now, effort=effort).rows
        rows = Counter(OPERATORS[query.operator](found, before))
        result += [(instant, with_bounds(query, row, instant), count) for row, count in rows.items()]
        before = found
    return result


def as_elements(rows: Iterable[Given]) -> list[Element]:
    """What a CONSTRUCT gives, as the elements of a stream that others read: by instant and start."""
    graphs: dict[tuple[int, int], list[Triple]] = {}
    for instant, row, _ in rows:
        start = instant if row.start is None else row.start
        triple = tuple(row.value(name) for name in (SUBJECT, PREDICATE, OBJECT))
        graphs.setdefault((start, instant), []).append(triple)
    return [GivenElement(tuple(dict.fromkeys(made)), start, end) for (start, end), made in graphs.items()]
