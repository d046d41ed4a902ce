"""Repetitions over streams: choices of what begins and ends one, each with aggregates over it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.relations import JoinBounds, Side
from penstock.columns.frame import Frame
from penstock.engine.absence import AbsenceOperator
from penstock.engine.lists import Lists, in_order
from penstock.engine.operators import Clock, Matcher, OperatorContext
from penstock.engine.presence import NO_ID
from penstock.engine.store import Retention
from penstock.plan.steps import RepetitionsBetween
from penstock.plan.steps.repetitions import INSIDE, are_ordered, looked_at
from penstock.timeline import NEVER


class RepetitionsBetweenOperator(AbsenceOperator):
    """A choice waits until the watermark has passed its end: what is late may belong to its repetition.

    Members are remembered once, whatever the number of choices that they may belong to, and a repetition is
    put together when its choice is answered.
    """

    def __init__(self, step: RepetitionsBetween, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.columns = looked_at(step.aggregates, step.ties)
        vars = tuple(dict.fromkeys((*step.shared, *self.columns)))
        until = Retention(step.join_bounds.latest_end(Side.RIGHT))
        store = self.store("repetition", vars, until, step.shared)
        self.members = Matcher(store, step.required.vars, step.shared, JoinBounds(INSIDE))
        self.matchers.append(self.members)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, members = inputs
        self.members.store.append(members.project(self.members.store.vars))
        due = self.waiting.due(required, clock)
        if not self.step.aggregates:
            yield due.take(self._found(due))
            return
        begin, size = 0, 256  # choices that are looked at together
        while begin < len(due):
            some = due.take(np.arange(begin, min(begin + size, len(due))))
            choice, members = self._members(some)
            begin += len(some)
            size = max(1, self.tuning.pairs * len(some) // max(1, len(choice)))
            if len(choice):
                yield self._aggregated(some, choice, members)

    def _gaps(self, due: Frame) -> Frame:
        """The choices with the intervals that their repetitions are strictly inside of."""
        start, end = (due.column(column) - NO_ID for column in self.step.gap)
        return Frame(due.vars, due.ids, start, end)

    def _found(self, due: Frame) -> np.ndarray:
        """Which choices have a repetition."""
        found = np.zeros(len(due), bool)
        for rows, _, _ in self.members.pairs(self._gaps(due)):
            found[rows] = True
        return found

    def _members(self, due: Frame) -> tuple[np.ndarray, Frame]:
        """All members of the repetitions of some choices, and the choice that each belongs to."""
        choices, members = [np.empty(0, np.int64)], []
        for rows, partners, which in self.members.pairs(self._gaps(due)):
            choices.append(rows)
            members.append(partners.take(which).project(self.columns))
        return np.concatenate(choices), Frame.concat(members, self.columns)

    def _aggregated(self, due: Frame, choice: np.ndarray, members: Frame) -> Frame:
        if are_ordered(self.step.aggregates):
            begins = np.where(members.timeless_mask(), NEVER, members.start)
            ties = [members.column(var) for var in self.step.ties]
            order = in_order(choice, begins, members.end, ties, self.terms)
        else:
            order = np.argsort(choice, kind="stable")
        choice, members = choice[order], members.take(order)
        first = np.flatnonzero(np.append(True, choice[1:] != choice[:-1]))
        lists = Lists(first, np.append(first[1:], len(choice)), self.terms)
        found = due.take(choice[first])
        tie_columns = [members.column(var) for var in self.step.ties]
        for var, call, column in self.step.aggregates:
            values = None if column is None else members.column(column)
            found = found.extended(var, lists.values(call, values, tie_columns))
        return found
