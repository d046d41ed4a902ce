"""Sets of solutions that can leave: each is there while it is there at least once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine import kernels
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.worlds import Worlds
from penstock.engine.constructing import Template
from penstock.engine.operators import Surroundings
from penstock.engine.paths import Walking, walk_columns
from penstock.engine.presence import numbered, solutions
from penstock.engine.store import Store, forever
from penstock.plan import steps
from penstock.plan.hidden import BEGAN, WORLD
from penstock.plan.step import Step


def once(frame: Frame) -> Frame:
    """The solutions, each once."""
    return frame.present(np.ones(len(frame), np.int64), frame.since, frame.until)


def first_begun(frame: Frame) -> Frame:
    """Of solutions that are the same as windows cut them the one that began first."""
    if BEGAN not in frame.vars or not len(frame):
        return frame
    order = np.argsort(frame.column(BEGAN), kind="stable")
    _, first = np.unique(solutions(without_began(frame.take(order))), return_index=True)
    return frame.take(order[first])


def without_began(frame: Frame) -> Frame:
    """The solutions as windows cut them, whatever was before."""
    return frame.project(tuple(var for var in frame.vars if var != BEGAN))


class UniqueContent(ContentOperator):
    def __init__(self, step: Step, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.remember("rows", step.vars)
        self.keys = tuple(var for var in step.vars if var != BEGAN)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [found] = contents
        if getattr(self.step, "subsume", False):
            found = unsubsumed(found)
        yield once(first_begun(found))


def unsubsumed(frame: Frame) -> Frame:
    """Without the timed rows whose bindings (and world) are also there timeless."""
    timeless = frame.timeless_mask()
    if not timeless.any():
        return frame
    bindings = numbered(without_began(frame).ids)
    return frame.take(timeless | ~np.isin(bindings, bindings[timeless]))


class DomainContent(UniqueContent):
    def taken(self, inputs: list[Frame]) -> list[Frame]:
        [frame] = inputs
        bindings = Frame.timeless(self.step.vars, frame.project(self.step.vars).ids)
        return [bindings.present(*frame.changing().presence)]


class ConstructedContent(UniqueContent):
    def __init__(self, step: steps.Constructed, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.template = Template(step, self.terms)

    def taken(self, inputs: list[Frame]) -> list[Frame]:
        return [self.template.triples(inputs[0])]


class ReachContent(ContentOperator):
    """Walks of an automaton: what an edge that leaves or comes is connected with is walked again."""

    def __init__(self, step: steps.Reach, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        for number, below in enumerate(step.inputs):
            self.remember(f"edges{number}", below.vars)

    def groups(self, frames: list[Frame]) -> list[np.ndarray]:
        ends = [np.stack([frame.column(_begin(frame)), frame.column(".y")]) for frame in frames]
        nodes, places = np.unique(np.concatenate(ends, axis=1), return_inverse=True)
        parts = kernels.connected(places.reshape(2, -1), len(nodes))
        return np.split(parts, np.cumsum([len(frame) for frame in frames])[:-1])

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        def store(vars: tuple[str, ...]) -> Store:
            return Store("", vars, forever, tuning=self.tuning)

        edges = [store((*label.vars, WORLD)) for label in self.step.labels]
        walking = Walking(self.step, edges, store(walk_columns(self.step, WORLD)))
        found = [Frame(each.vars, each.ids, each.start, each.end) for each in contents]
        for new in walking.advanced(found):
            world = new.column(WORLD) - 1
            yield new.present(np.ones(len(new), np.int64), worlds.since[world], worlds.until[world])


def _begin(frame: Frame) -> str:
    """The column with the node where an edge begins; what walks start from is one node."""
    return ".x" if ".x" in frame.vars else ".y"
