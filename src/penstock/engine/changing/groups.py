"""GROUP BY and ASK over what is there at an instant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.worlds import Worlds
from penstock.engine.expressions import FALSE, TRUE
from penstock.engine.instants import Aggregating
from penstock.engine.operators import Surroundings
from penstock.plan import steps
from penstock.plan.hidden import WORLD


class AggregatedContent(ContentOperator):
    """A group is what is there of it at an instant, with the hull of its rows."""

    def __init__(self, step: steps.Aggregated, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.aggregating = Aggregating(step, self.terms)
        self.remember("rows", (*step.input.vars, *(var for var, _ in step.computed)))
        self.keys = step.keys
        if step.groups is not None:
            self.remember("groups", step.keys)

    def taken(self, inputs: list[Frame]) -> list[Frame]:
        rows, *groups = inputs
        for name, expression in self.step.computed:
            rows = rows.extended(name, self.evaluator.column(expression, rows, f"?{name}"))
        return [rows, *(frame.project(self.step.keys) for frame in groups)]

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        rows, *groups = contents
        each = rows.take(np.repeat(np.arange(len(rows)), rows.weight))
        given = groups[0] if groups else None
        found, world = self.aggregating.groups(
            each.project(each.vars[:-1]), each.column(WORLD),
            None if given is None else given.project(self.step.keys),
            None if given is None else given.column(WORLD),
        )  # fmt: skip
        yield in_worlds(found, world, worlds)


class AskedContent(ContentOperator):
    always = True

    def __init__(self, step: steps.Asked, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.remember("rows", step.input.vars)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        world = np.arange(1, len(worlds) + 1)
        answers = np.where(np.isin(world, contents[0].column(WORLD)), TRUE, FALSE)
        yield in_worlds(Frame.timeless(("answer",), answers[None, :]), world, worlds)


def in_worlds(frame: Frame, world: np.ndarray, worlds: Worlds) -> Frame:
    """New rows, each once in a world."""
    once = np.ones(len(frame), np.int64)
    return frame.extended(WORLD, world).present(once, worlds.since[world - 1], worlds.until[world - 1])
