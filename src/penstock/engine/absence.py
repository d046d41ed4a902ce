"""The operators that depend on absence: they answer for a solution when nothing can come any more.

A required row waits until the watermark has passed its end; then every row of the other side
that could matter is there. Where the other side reads no stream, there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.relations import ENDED, JoinBounds, Side
from penstock.columns.frame import Frame, Pairs
from penstock.engine.chains import probe_pairs
from penstock.engine.expressions import FALSE, TRUE, Evaluator
from penstock.engine.operators import BlockingOperator, Clock, Matcher, OperatorContext, tags_of
from penstock.engine.store import Retention, Store, forever, until_end
from penstock.plan import steps
from penstock.plan.steps import Step


class Waiting:
    """Rows until their instant has passed; timeless ones stand for each instant."""

    def __init__(
        self, store: Store, depends_on_stream: bool, streams: steps.Streams, passed: Store | None = None
    ) -> None:
        self.store = store
        self.streams = streams
        self.depends_on_stream = depends_on_stream
        self.passed = passed  # where rows may come belated: the instants that they stand for, too

    def due(self, frame: Frame, clock: Clock) -> Frame:
        """Adds new rows; takes out those that can be decided now."""
        if not self.depends_on_stream:
            return frame
        instants = clock.instants(self.streams)
        found = []
        if self.passed is not None:
            found = [at_instants(frame.take(frame.timeless_mask()), self.passed.rows().end)]
            self.passed.append(Frame((), np.empty((0, len(instants)), np.int64), instants, instants))
        self.store.append(frame)
        found.append(self.store.take(lambda rows: rows.end < clock.now))
        found.append(at_instants(self.store.timeless(), instants))
        return Frame.concat(found, self.store.vars)


def at_instants(frame: Frame, instants: np.ndarray) -> Frame:
    """Each timeless row at each instant t, with the interval [t, t]."""
    times = np.repeat(instants, len(frame))
    return Frame(frame.vars, np.tile(frame.ids, len(instants)), times, times)


def waiting(operator: BlockingOperator, side: str, rows: Step, depends_on_stream: bool) -> Waiting:
    """What an operator holds back of an input until it can be decided."""
    store = operator.store(side, rows.vars, until_end, waits=True)
    passed = None
    if depends_on_stream and operator.step.belated:
        passed = operator.store(f"{side}-instants", (), forever)
    return Waiting(store, depends_on_stream, operator.step.instants, passed)


class Since(Matcher):
    """Since when there are solutions with some bindings: all that EXISTS and MINUS ask of them.

    Of the rows with the same bindings the one that ended first says as much as all of them, so
    there are about as many rows as different bindings, however long the stream.
    """

    def add(self, frame: Frame) -> None:
        """Remembers the rows that ended earlier than those known with their bindings."""
        for part, rows in self.store.divide(frame.project(self.store.vars)):
            order = np.lexsort((rows.end, *rows.ids))
            ordered = rows.take(order)
            first = np.ones(len(ordered), bool)
            first[1:] = (ordered.ids[:, 1:] != ordered.ids[:, :-1]).any(axis=0)
            earliest = ordered.take(first)
            known = np.zeros(len(earliest), bool)
            if part in self.store.parts:
                keys = self.store.vars
                index = self._index(part, self.store.parts[part], keys, timed=not part[1])
                for i, _ in probe_pairs(earliest, list(range(len(keys))), index, self.join_bounds):
                    known[i] = True
            self.store.append(earliest.take(~known))

    def found(self, frame: Frame, *, sharing: bool = False) -> np.ndarray:
        """Which rows of a frame have a partner; `sharing`: with which they share a bound variable."""
        found = np.zeros(len(frame), bool)
        for rows, _, _ in self.pairs(frame, sharing=sharing):
            found[rows] = True
        return found


class AbsenceOperator(BlockingOperator):
    """A required side that waits, and other sides in which it looks for partners."""

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        depends = any(other.reads_stream for other in step.inputs[1:])
        self.waiting = waiting(self, "required", step.required, depends)
        self.matchers: list[Matcher] = []

    def build_static_indexes(self) -> None:
        for matcher in self.matchers:
            matcher.build_static_indexes()

    def since(self, side: str, other: Step, vars: tuple[str, ...]) -> Since:
        """Remembers since when another input has partners for rows with these columns."""
        shared = tuple(var for var in vars if var in other.vars)
        since = Since(self.store(side, shared, forever, shared), vars, shared, JoinBounds(ENDED))
        self.matchers.append(since)
        return since


class LeftJoinOperator(AbsenceOperator):
    """LeftJoin, SeqRightJoin, EqLeftJoin."""

    def __init__(self, step: steps.LeftJoin, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        shared = tuple(var for var in step.required.vars if var in step.optional.vars)
        store = self.store(
            "optional", step.optional.vars, Retention(step.join_bounds.latest_end(Side.RIGHT)), shared
        )
        self.optional = Matcher(store, step.required.vars, shared, step.join_bounds)
        self.matchers.append(self.optional)
        self.combining = Combining(step, step.vars, self.evaluator, self.terms.key)
        self.sought = [
            self.since(f"sought{i}", sought, self.combining.seeking) for i, sought in enumerate(step.sought)
        ]

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, optional, *sought = inputs
        self.optional.store.append(optional)
        for matcher, frame in zip(self.sought, sought, strict=True):
            matcher.add(frame)
        due = self.waiting.due(required, clock)
        if len(due):
            yield from self.combining.combined(due, self.optional, self.sought)


class Combining:
    """Required rows with what matches of the optional ones, or alone."""

    def __init__(self, step: steps.LeftJoin, vars: tuple[str, ...], evaluator: Evaluator, key: int) -> None:
        self.step = step
        self.vars = vars
        self.seeking = vars + tuple(tag for _, tag in step.tags)
        self.evaluator = evaluator
        self.key = key

    def combined(self, due: Frame, optional: Matcher, sought: list[Since]) -> Iterator[Frame]:
        """All combinations of rows for which the condition holds, and each row that has none."""
        matched = np.zeros(len(due), bool)
        for rows, partners, which in optional.pairs(due):
            interval = self._interval(due, rows, partners, which)
            both: Frame = Pairs(due, rows, partners, which, self.vars, interval)
            if self.step.condition is not None:
                holds = self.evaluator.holds(self.step.condition, self._marked(both, sought))
                rows, both = rows[holds], both.take(holds)
            matched[rows] = True
            yield both
        yield due.take(~matched).project(self.vars)

    def _interval(self, due: Frame, rows: np.ndarray, partners: Frame, which: np.ndarray) -> tuple[str, str]:
        """Where combinations of some rows have theirs from; all of a side are timeless, or none is."""
        sides = (Side.LEFT, due, rows[:1]), (Side.RIGHT, partners, which[:1])
        return self.step.join_bounds.interval_of(
            side for side, frame, first in sides if (frame.start[first] > frame.end[first]).any()
        )

    def _marked(self, frame: Frame, sought: list[Since]) -> Frame:
        tagged = frame
        for columns, tag in self.step.tags:
            tagged = tagged.extended(tag, tags_of(frame, columns, self.key))
        for var, matcher in zip(self.step.marks, sought, strict=True):
            found = matcher.found(tagged.project(self.seeking))
            frame = frame.extended(var, np.where(found, TRUE, FALSE))
        return frame


class MinusOperator(AbsenceOperator):
    """MINUS."""

    def __init__(self, step: steps.Minus, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.absent = self.since("absent", step.absent, step.required.vars)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, absent = inputs
        self.absent.add(absent)
        due = self.waiting.due(required, clock)
        yield due.take(~self.absent.found(due, sharing=True))


class ExistsMarkOperator(AbsenceOperator):
    """EXISTS as a column."""

    def __init__(self, step: steps.ExistsMark, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.sought = self.since("sought", step.sought, step.required.vars)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, sought = inputs
        self.sought.add(sought)
        due = self.waiting.due(required, clock)
        yield due.extended(self.step.var, np.where(self.sought.found(due), TRUE, FALSE))
