"""The operators that depend on absence: they answer for a solution when nothing can come any more.

A required row waits until the watermark has passed its end; then every row of the other side
that could matter is there. Where the other side reads no stream, there is nothing to wait for.
"""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame, combine
from penstock.engine.expressions import FALSE, TRUE
from penstock.engine.operators import Clock, Matcher, Operator, Surroundings, is_belated, tags_of
from penstock.engine.store import Store, Until, forever, until_end, until_out_of_reach
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


def waiting(operator: Operator, side: str, rows: Step, depends_on_stream: bool) -> Waiting:
    """What an operator holds back of an input until it can be decided."""
    store = operator.store(side, rows.vars, until_end, waits=True)
    passed = None
    if depends_on_stream and is_belated(operator.step):
        passed = operator.store(f"{side}-instants", (), forever)
    return Waiting(store, depends_on_stream, operator.step.instants, passed)


class AbsenceOperator(Operator):
    """A required side that waits, and other sides in which it looks for partners."""

    def __init__(self, step: Step, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        depends = any(other.reads_stream for other in step.inputs[1:])
        self.waiting = waiting(self, "required", step.required, depends)

    def partners(
        self,
        side: str,
        other: Step,
        vars: tuple[str, ...],
        when: str,
        until: Until = forever,
        *,
        bindings_only: bool = False,
    ) -> Matcher:
        """Remembers another input, to find partners in it for rows with these columns."""
        shared = tuple(var for var in vars if var in other.vars)
        columns = shared if bindings_only else other.vars
        return Matcher(self.store(side, columns, until, shared), vars, shared, when)

    @staticmethod
    def found(matcher: Matcher, frame: Frame, *, sharing: bool = False) -> np.ndarray:
        """Which rows of the frame have a partner at all."""
        found = np.zeros(len(frame), bool)
        for rows, _ in matcher.pairs(frame, sharing=sharing):
            found[rows] = True
        return found


class OuterOperator(AbsenceOperator):
    """LeftJoin, SeqRightJoin, EqLeftJoin."""

    def __init__(self, step: steps.Outer, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        until = until_end if step.when == "eq" else until_out_of_reach(step.within)
        self.optional = self.partners("optional", step.optional, step.required.vars, step.when, until)
        self._seeking = step.vars + tuple(tag for _, tag in step.tags)
        self.sought = [
            self.partners(f"sought{i}", sought, self._seeking, "ended", bindings_only=True)
            for i, sought in enumerate(step.sought)
        ]

    def advance(self, inputs: list[Frame], clock: Clock) -> Frame:
        required, optional, *sought = inputs
        self.optional.store.append(optional)
        for matcher, frame in zip(self.sought, sought, strict=True):
            matcher.store.append(frame.project(matcher.store.vars))
        due = self.waiting.due(required, clock)
        if not len(due):
            return Frame.empty(self.step.vars)
        matched = np.zeros(len(due), bool)
        answers = []
        for rows, partners in self.optional.pairs(due, self.step.within):
            required = due.take(rows)
            both = combine(required, partners, self.step.vars)
            if self.step.describes:
                both = Frame(both.vars, both.ids, required.start, required.end)
            if self.step.condition is not None:
                holds = self.evaluator.holds(self.step.condition, self._marked(both))
                rows, both = rows[holds], both.take(holds)
            matched[rows] = True
            answers.append(both)
        answers.append(due.take(~matched))
        return Frame.concat(answers, self.step.vars)

    def _marked(self, frame: Frame) -> Frame:
        tagged = frame
        for columns, tag in self.step.tags:
            tagged = tagged.extended(tag, tags_of(frame, columns))
        for var, matcher in zip(self.step.marks, self.sought, strict=True):
            found = self.found(matcher, tagged.project(self._seeking))
            frame = frame.extended(var, np.where(found, TRUE, FALSE))
        return frame


class WithoutOperator(AbsenceOperator):
    """MINUS."""

    def __init__(self, step: steps.Without, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.absent = self.partners("absent", step.absent, step.required.vars, "ended", bindings_only=True)

    def advance(self, inputs: list[Frame], clock: Clock) -> Frame:
        required, absent = inputs
        self.absent.store.append(absent.project(self.absent.store.vars))
        due = self.waiting.due(required, clock)
        return due.take(~self.found(self.absent, due, sharing=True))


class MarkOperator(AbsenceOperator):
    """EXISTS as a column."""

    def __init__(self, step: steps.Mark, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.sought = self.partners("sought", step.sought, step.required.vars, "ended", bindings_only=True)

    def advance(self, inputs: list[Frame], clock: Clock) -> Frame:
        required, sought = inputs
        self.sought.store.append(sought.project(self.sought.store.vars))
        due = self.waiting.due(required, clock)
        return due.extended(self.step.var, np.where(self.found(self.sought, due), TRUE, FALSE))
