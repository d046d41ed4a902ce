"""OPTIONAL, MINUS and EXISTS where rows can leave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.relations import ENDED, JoinBounds
from penstock.columns.frame import Frame
from penstock.engine.absence import Combining, Since
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.worlds import Worlds
from penstock.engine.expressions import FALSE, TRUE
from penstock.engine.operators import Matcher, OperatorContext
from penstock.engine.store import Store, forever
from penstock.plan import steps
from penstock.plan.steps import Step, Vars
from penstock.plan.system_columns import WORLD


class AbsenceContent(ContentOperator):
    """A required side, and others in which its rows look for partners, world by world."""

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        for number, below in enumerate(step.inputs):
            self.remember(f"content{number}", below.vars)
        certain = frozenset.intersection(*(below.certain for below in step.inputs))
        self.keys = tuple(var for var in step.inputs[0].vars if var in certain)

    def since(self, frame: Frame, vars: Vars) -> Since:
        """Since when there are partners for rows with these columns."""
        shared = tuple(var for var in vars if var in frame.vars)
        store = Store("", shared, forever, shared, self.tuning, changing=True)
        found = Since(store, vars, shared, JoinBounds(ENDED))
        found.add(frame)
        return found


class LeftJoinContent(AbsenceContent):
    def __init__(self, step: steps.LeftJoin, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.combining = Combining(step, (*step.vars, WORLD), self.evaluator, self.terms.key)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        required, optional, *sought = contents
        shared = tuple(var for var in required.vars if var in optional.vars)
        store = Store("", optional.vars, forever, shared, self.tuning, changing=True)
        store.append(optional, persist=False)
        partners = Matcher(store, required.vars, shared, self.step.join_bounds)
        looked_for = [self.since(frame, self.combining.seeking) for frame in sought]
        return self.combining.combined(required, partners, looked_for)


class MinusContent(AbsenceContent):
    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        required, absent = contents
        yield required.take(~self.since(absent, required.vars).found(required, sharing=True))


class ExistsMarkContent(AbsenceContent):
    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        required, sought = contents
        found = self.since(sought, required.vars).found(required)
        yield required.extended(self.step.var, np.where(found, TRUE, FALSE))
