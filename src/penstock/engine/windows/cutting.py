"""Rows as windows cut them, at the instants at which their query is evaluated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.windows import Kind
from penstock.columns.frame import Frame
from penstock.engine.changing.worlds import Worlds
from penstock.engine.operators import Clock, OperatorContext
from penstock.engine.store import while_present
from penstock.engine.windows.contents import cut, reaches_until
from penstock.engine.windows.reporting import EvaluatedOperator
from penstock.plan.steps import Cut
from penstock.plan.system_columns import WORLD
from penstock.timeline import FOREVER


class CutOperator(EvaluatedOperator):
    """A row that is cut is another one at each evaluation; as long as it is not, it is one row."""

    def __init__(self, step: Cut, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.rows = self.store("rows", step.vars, while_present)  # while they are cut

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        new, *counted = inputs
        spec = self.step.spec
        if spec.kind is Kind.LANDMARK:  # it always begins at the same instant
            if len(new):
                yield cut(new, (spec,), np.full(len(new), FOREVER, np.int64))
            return
        if len(new):
            new = new.changing()
            reaches = np.clip(reaches_until(spec, new.start), new.since, new.until)
            yield new.present(new.weight, new.since, reaches).take(new.since < reaches)
            self.rows.append(new.present(new.weight, reaches, new.until).take(reaches < new.until))
        if clock.first or clock.now == clock.before:
            return
        marks = self.marks(clock, counted)
        if marks is None or not len(self.rows):
            return
        rows = self.rows.rows().changing()
        instants = marks.during(rows.since, rows.until)
        if not len(instants):
            return
        worlds = Worlds.of(np.zeros(len(instants), np.int64), instants, begins=True)
        found = worlds.content(rows, np.zeros(len(rows), np.int64))
        at = worlds.since[found.column(WORLD) - 1]
        found = cut(found.project(self.step.vars), (spec,), at)
        yield found.present(found.weight, at, at + 1)
