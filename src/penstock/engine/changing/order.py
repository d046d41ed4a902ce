"""ORDER BY, OFFSET and LIMIT over what is there at an instant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.sets import once, unsubsumed, without_began
from penstock.engine.changing.worlds import Worlds
from penstock.engine.instants import Ordering
from penstock.engine.operators import (
    ComputeOperator,
    FilterOperator,
    OperatorContext,
    RowOperator,
    sliced,
)
from penstock.engine.presence import solutions
from penstock.plan import steps
from penstock.plan.system_columns import WORLD


class OrderedContent(RowOperator):
    """A multiset has no order: what needs one (`SlicedContent`) puts the content in order itself."""

    def __init__(self, step: steps.Ordered, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.timed = False

    def apply(self, frame: Frame) -> Frame:
        return frame


class SlicedContent(ContentOperator):
    """OFFSET and LIMIT: the content is put in order, goes through the steps between, and is cut."""

    def __init__(self, step: steps.Sliced, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        *between, ordered = step.below
        assert isinstance(ordered, steps.Ordered)
        self.ordered = ordered
        self.remember("rows", (*ordered.input.vars, *(var for var, _ in ordered.computed)))
        self.ordering = Ordering(ordered, self.terms)
        self.between = [_between(each, context) for each in reversed(between)]
        self.keys = () if step.tag is None else (step.tag,)

    def taken(self, inputs: list[Frame]) -> list[Frame]:
        [rows] = inputs
        for name, expression in self.ordered.computed:
            rows = rows.extended(name, self.evaluator.column(expression, rows, f"?{name}"))
        return [rows]

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [rows] = contents
        rows = self.ordering.ordered(rows, rows.column(WORLD)).project((*self.ordered.vars, WORLD))
        for apply in self.between:
            rows = apply(rows)
        each = once(rows.take(np.repeat(np.arange(len(rows)), rows.weight)))
        yield sliced(self.step, each, each.column(WORLD))


def _between(step: steps.Step, context: OperatorContext):
    """What a step between ORDER BY and LIMIT makes of rows in order."""
    if isinstance(step, steps.Columns):
        return lambda frame: frame.project((*step.vars, WORLD))
    if isinstance(step, steps.Unique):
        return lambda frame: _first(frame, step.subsume)
    operator = {steps.Filter: FilterOperator, steps.Compute: ComputeOperator}[type(step)]
    return operator(step, "", context).apply


def _first(frame: Frame, subsume: bool) -> Frame:
    """Each solution of a world once, where it comes first; see `steps.Unique`."""
    _, first = np.unique(solutions(without_began(frame)), return_index=True)
    found = once(frame.take(np.sort(first)))
    return unsubsumed(found) if subsume else found
