"""When a continuous query is evaluated, and what it gives then: reports and stream operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.windows import Kind, StreamOperator, Tick
from penstock.columns.frame import Frame
from penstock.columns.ids import instant_ids
from penstock.columns.instants import sorted_unique
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext, RowOperator
from penstock.engine.presence import consolidated, numbered
from penstock.engine.store import while_present
from penstock.engine.windows.contents import cut, last_close, presence, shown_bounds, still_shown_until
from penstock.engine.windows.marks import (
    EVERY_INSTANT,
    MOST,
    Marks,
    Progression,
    RestrictedProgression,
    asked_regularly,
    covered,
    too_many,
)
from penstock.engine.windows.report_deltas import ReportDeltas
from penstock.plan.sources import WindowSource
from penstock.plan.steps import Evaluated, Reported
from penstock.plan.steps.windowing import filled
from penstock.plan.system_columns import PLACE
from penstock.timeline import FOREVER, NEVER

FIRST, LAST, BEGUN, EVALUATED = 1, 2, 3, 4
"""What a query knows of its time: the first end of an element, the last instant of its windows so far, since
when it has been evaluated, and when that was last (where it matters)."""


class Milestones:
    """A few instants that a query remembers, by number. A new one takes back the one before."""

    def __init__(self, operator: BlockingOperator) -> None:
        self.store = operator.store("milestones", (PLACE,), while_present)
        self.at: dict[int, int] = {}

    def restored(self) -> None:
        rows = consolidated(self.store.rows().changing())
        rows = rows.take(rows.until == FOREVER)
        self.at = dict(zip((-rows.column(PLACE)).tolist(), rows.end.tolist(), strict=True))

    def put(self, number: int, instant: int) -> None:
        before = self.at.get(number)
        if before == instant:
            return
        times = [instant] if before is None else [before, instant]
        weight = np.array([-1, 1][-len(times) :], np.int64)
        ends = np.array(times, np.int64)
        since, until = np.full(len(times), NEVER + 1, np.int64), np.full(len(times), FOREVER, np.int64)
        ids = np.full((1, len(times)), -number, np.int64)
        self.store.append(Frame((PLACE,), ids, ends, ends, weight, since, until))
        self.at[number] = instant


class WindowReport:
    """The instants at which one of the windows of a query reports."""

    def __init__(self, operator: EvaluatedOperator, number: int, window: WindowSource) -> None:
        self.window = window
        self.report = operator.step.report
        self.counts = window.spec.kind is Kind.TRIPLES
        self.regular = asked_regularly(self.report, window.spec)
        self.content = None  # when elements are shown
        self.changes = None  # that are seen when it is asked
        if self.report.non_empty:
            self.content = operator.store(f"content{number}", (), while_present)
        if self.report.change:
            self.changes = ReportDeltas(operator, f"changes{number}", ())

    def take(self, ends: np.ndarray) -> None:
        """Takes in the ends of elements that have a triple; of the last triples, when they close."""
        if self.counts:
            since, until = ends, np.full(len(ends), FOREVER, np.int64)
        else:
            since, until = presence(self.window.spec, ends)
        there = since < until
        ends, since, until = ends[there], since[there], until[there]
        if not len(ends):
            return
        ones = np.ones(len(ends), np.int64)
        rows = Frame((), np.empty((0, len(ends)), np.int64), ends, ends, ones, since, until)
        if self.changes is not None:
            self.changes.add(rows)
        if self.content is not None:
            # Of a window that never gets empty again it is enough to know since when.
            if self.counts:
                rows = rows.take(np.arange(len(rows)) < (not len(self.content)))
            self.content.append(rows)

    def marks(self, begin: int, end: int, clock: ReportSpan) -> Marks:
        """When it reports, at instants from `begin` to before `end`."""
        asked = self._asked(clock)
        listed = asked.listed
        if self.changes is not None:
            listed, asked = self._seen(begin, end, asked), Marks(asked.low, end - 1)
        if self.content is not None:
            shown = self.content.rows().changing()
            listed = listed[covered(listed, shown.since, shown.until)]
            since, until = (np.clip(each, asked.low, asked.high + 1) for each in (shown.since, shown.until))
            regular = [RestrictedProgression(each, since, until) for each in asked.progressions]
            return Marks(asked.low, asked.high, listed, regular)
        return Marks(asked.low, asked.high, listed, asked.progressions)

    def _seen(self, begin: int, end: int, asked: Marks) -> np.ndarray:
        """When it is asked and its content is another one than when it was last asked."""
        if asked.progressions == (EVERY_INSTANT,):
            return self.changes.instants(max(begin, asked.low), end)
        return sorted_unique(self.changes.carried(begin, end, asked, begun=True).since)

    def _asked(self, clock: ReportSpan) -> Marks:
        """When tick, close and period let it report; with changes also after the last instant of windows."""
        high = clock.end - 1 if self.report.change else clock.high
        marks = Marks(clock.low, high)
        if self.regular is None:
            return marks
        if self.counts and self.report.close:
            listed = clock.closed
        elif self.report.tick is Tick.TUPLE:
            listed = clock.ends
        else:
            return Marks(clock.low, high, marks.listed, (self.regular,))
        listed = listed[self.regular.has(listed)]
        return Marks(clock.low, high, listed[(listed >= clock.low) & (listed <= high)])


class ReportSpan:
    """The stretch of time in which reports are looked for, and what happened to the streams in it."""

    def __init__(self, low: int, high: int, end: int, ends: np.ndarray, closed: np.ndarray) -> None:
        self.low, self.high, self.end = low, high, end
        self.ends, self.closed = ends, closed


class EvaluatedOperator(BlockingOperator):
    """Knows at which instants a query is evaluated."""

    def __init__(self, step: Evaluated, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.milestones = Milestones(self)
        self.reports = [WindowReport(self, number, window) for number, window in enumerate(step.windows)]

    def restored(self) -> None:
        self.milestones.restored()

    def marks(self, clock: Clock, counted: list[Frame]) -> Marks | None:
        """The instants of this step at which some window reports; None before the first element."""
        ends = clock.instants(frozenset().union(*(window.numbers for window in self.step.windows)))
        at = self.milestones.at
        if len(ends) and FIRST not in at:
            self.milestones.put(FIRST, int(ends[0]))
        if FIRST not in at:
            return None
        if len(ends):
            self.milestones.put(LAST, max(at.get(LAST, NEVER), self._last(clock)))
        low = max(clock.before, at[FIRST])
        high = clock.now - 1 if clock.now < FOREVER else at[LAST]
        listed, regular = [], dict[Progression | RestrictedProgression, None]()
        counts = iter(counted)
        for each in self.reports:
            shown = clock.instants(frozenset(map(filled, each.window.numbers)))
            if each.counts:
                shown = _entering(next(counts))
            if each.content is not None or each.changes is not None:
                each.take(shown)
            found = each.marks(clock.before, clock.now, ReportSpan(low, high, clock.now, ends, shown))
            listed.append(found.listed)
            regular |= dict.fromkeys(found.progressions)
        # Changes are reported after the last instant of the windows, too; then all that reports is listed.
        return Marks(low, clock.now - 1 if self.step.report.change else high, _union(listed), tuple(regular))

    def _last(self, clock: Clock) -> int:
        """The last instant up to which windows are reported that have something of this step's elements."""
        found, period = [NEVER], self.step.report.period or 1
        for window in self.step.windows:
            ends = clock.instants(window.numbers)
            if not len(ends):
                continue
            found.append(int(ends[-1]))
            last = int(last_close(window.spec, ends).max())
            if last > NEVER:
                asked = -(-last // period) * period
                found.append(asked if asked < still_shown_until(window.spec, last) else last)
        return max(found)


class ReportedOperator(EvaluatedOperator):
    """Gives at each instant at which a window reports what the stream operator makes of the answers then.

    RSTREAM looks at what is there. ISTREAM and DSTREAM look at the changes alone, so their cost follows
    what has come and left.
    """

    def __init__(self, step: Reported, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.context = context
        self.whole = step.operator is StreamOperator.RSTREAM
        if self.whole:
            self.content = self.store("content", step.answers, while_present)
        else:
            self.changes = ReportDeltas(self, "changes", step.input.vars)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        answers, *counted = inputs
        if len(answers):
            if self.whole:
                self.content.append(answers.project(self.step.answers).changing())
            else:
                self.changes.add(answers)
        if clock.first or clock.now == clock.before:
            return
        marks = self.marks(clock, counted)
        if marks is None:
            return
        begun = BEGUN in self.milestones.at
        found = self._all(marks) if self.whole else [self._new_or_gone(clock, marks, begun)]
        yield from map(self._bounded, found)
        if self.step.cuts and not self.whole:
            [latest] = marks.before(np.array([clock.now]), self.milestones.at.get(EVALUATED, NEVER)).tolist()
            if latest > NEVER:
                self.milestones.put(EVALUATED, latest)
        if not begun:
            # From the first evaluation on, what was always there has been seen.
            [first] = marks.next(np.array([marks.low], np.int64)).tolist()
            if first < FOREVER:
                self.milestones.put(BEGUN, first)

    def _all(self, marks: Marks) -> Iterator[Frame]:
        """RSTREAM: all that is there at each mark, in portions."""
        rows = self.content.rows().changing()
        rows = consolidated(rows.take(self._mine(rows.since)))
        rows = rows.take(rows.weight > 0)
        most, count = self.context.tuning.pairs, 0
        for instants in marks.portions(rows.since, rows.until, most):
            first, last = (np.searchsorted(instants, times) for times in (rows.since, rows.until))
            change = np.bincount(first, minlength=len(instants) + 1)
            change -= np.bincount(last, minlength=len(instants) + 1)
            answers = np.cumsum(np.cumsum(change)[:-1])  # up to each instant
            count += int(answers[-1])
            if count > MOST:
                raise too_many(count, int(marks.low), int(instants[-1]))
            ends = np.searchsorted(answers, np.arange(most, int(answers[-1]) + most, most))
            ends = np.unique(np.minimum(ends + 1, len(instants)))
            for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                there = np.flatnonzero((first < end) & (last > begin))
                begins = np.maximum(first[there], begin)
                times = np.minimum(last[there], end) - begins
                found = rows.take(np.repeat(there, times))
                at = instants[np.arange(len(found)) + np.repeat(begins - (np.cumsum(times) - times), times)]
                yield _given(cut(found.project(self.step.answers), self.step.cuts, at), found.weight, at)

    def _new_or_gone(self, clock: Clock, marks: Marks, begun: bool) -> Frame:
        """ISTREAM: what is there more often than at the mark before; DSTREAM: less often."""
        sign = -1 if self.step.operator is StreamOperator.DSTREAM else 1
        found = self.changes.carried(
            clock.before, clock.now, marks, begun=begun, ever=not self.context.number, sign=sign
        )
        weight = found.weight * sign
        found, weight = found.take(weight > 0), weight[weight > 0]
        if not len(found):
            return Frame.empty(self.step.answers)
        at = found.since
        if self.step.cuts:  # what is gone is shown as it was the last time
            gone = self.step.operator is StreamOperator.DSTREAM
            seen = marks.before(at, self.milestones.at.get(EVALUATED, NEVER)) if gone else at
            found = cut(found, self.step.cuts, seen)
        return _given(found.project(self.step.answers), weight, at)

    def _bounded(self, frame: Frame) -> Frame:
        """The rows with the bounds of what the windows show at their instants, if somebody asks for them."""
        if not self.step.bounds:
            return frame
        if not len(frame):
            return Frame.empty(self.step.vars)
        bounds = shown_bounds([window.spec for window in self.step.windows], frame.since)
        for name, which in self.step.bounds:
            frame = frame.extended(name, instant_ids(bounds[which]))
        return frame.project(self.step.vars)

    def _mine(self, since: np.ndarray) -> np.ndarray:
        """Every shard has what follows from static knowledge alone; only the first gives it."""
        return since > NEVER if self.context.number else np.ones(len(since), bool)


class StreamedOperator(RowOperator):
    """What is given at an instant comes at once, and is a graph for each start: a triple is in it once."""

    def apply(self, frame: Frame) -> Frame:
        frame = as_given(frame, triples=True)
        numbers = numbered(np.vstack([frame.ids, frame.start, frame.end]))
        first = np.unique(numbers, return_index=True)[1]
        return frame if len(first) == len(frame) else frame.take(np.sort(first))


def _entering(frame: Frame) -> np.ndarray:
    """The instants at which rows come."""
    return sorted_unique(frame.since[frame.weight > 0]) if frame.retractable else np.empty(0, np.int64)


def _union(instants: list[np.ndarray]) -> np.ndarray:
    return instants[0] if len(instants) == 1 else sorted_unique(np.concatenate(instants))


def _given(frame: Frame, times: np.ndarray, at: np.ndarray) -> Frame:
    """Rows as often as they are given, each there at its instant only."""
    rows = np.repeat(np.arange(len(frame)), times)
    rows = rows[np.argsort(at[rows], kind="stable")]
    found = frame.take(rows)
    return found.present(np.ones(len(rows), np.int64), at[rows], at[rows] + 1)


def as_given(frame: Frame, *, triples: bool) -> Frame:
    """What a query gives, with intervals as others see them; `triples` end when they are known."""
    timeless = frame.timeless_mask()
    start = np.where(timeless, frame.since, frame.start)
    end = frame.since if triples else np.where(timeless, frame.since, frame.end)
    return Frame(frame.vars, frame.ids, start, end)
