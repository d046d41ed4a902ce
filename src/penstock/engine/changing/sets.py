"""Sets of solutions that can leave: each is there while it is there at least once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.hashing import Slots
from penstock.engine import kernels
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.expiry_queue import RowChanges
from penstock.engine.changing.maintained import LastAnswers, Maintained
from penstock.engine.changing.slots import Records, covered, grown
from penstock.engine.changing.worlds import Worlds
from penstock.engine.constructing import ConstructTemplate
from penstock.engine.operators import Operator, OperatorContext
from penstock.engine.paths import Walking, walk_columns
from penstock.engine.presence import numbered, solutions
from penstock.engine.store import Store, forever
from penstock.plan import steps
from penstock.plan.steps import PathWalk, Step
from penstock.plan.system_columns import BEGAN, WORLD
from penstock.timeline import NEVER


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


class UniqueAtInstants(ContentOperator):
    """Each solution once, where it depends on others: on timeless ones, or on which of them began first."""

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.remember("rows", step.vars)
        self.keys = tuple(var for var in step.vars if var != BEGAN)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [found] = contents
        if getattr(self.step, "subsume", False):
            found = unsubsumed(found)
        yield once(first_begun(found))


class UniqueContent(Maintained):
    """Each solution while it is there at all.

    Where rows say when they leave, so do the answers: a row shows its solution from when those before it
    no longer do. Otherwise solutions are counted.
    """

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.counts = step.emits_retractions
        self.remember("rows", step.vars, leaving=self.counts)

    def forget(self) -> None:
        self.slots = Slots(len(self.step.vars) + 2 * self.step.timed)
        self.times = np.zeros(0, np.int64)  # how often, or until when each solution is there
        self.answers = LastAnswers(0)
        self.limit = self.tuning.expired  # slots, before it is looked which of them are needed

    def changed(self, events: list[RowChanges]) -> Iterator[Frame]:
        [events] = events
        rows = events.rows
        times = (rows.start, rows.end) if self.step.timed else ()
        slot = self.slots.of([*rows.ids, *times], len(rows))
        self.times = grown(self.times, self.slots.count, 0 if self.counts else NEVER)
        if not self.counts:
            since = covered(slot, rows.since, rows.until, self.times)
            new = since < rows.until
            yield once(rows.present(rows.weight, since, rows.until).take(new))
            return
        self.answers.room(self.slots.count)
        records = Records(slot, events.time, self.answers.last)
        there = records.added_up(records.of, events.change, self.times) > 0
        slot, _, *presence = self.answers.changes(records, there, np.empty((0, len(records)), np.int64))
        keys = self.slots.keys(slot)
        ids = keys[: len(self.step.vars)]
        if self.step.timed:
            yield Frame(self.step.vars, ids, *keys[-2:], *presence)
        else:
            yield Frame.timeless(self.step.vars, ids).present(*presence)

    def tidy(self, watermark: int) -> None:
        if self.slots.count <= self.limit:
            return
        kept = np.flatnonzero(self.times if self.counts else self.times >= watermark)
        self.slots.keep(kept)
        self.times = self.times[kept]
        if self.counts:
            self.answers.keep(kept)
        self.limit = 2 * len(kept) + self.tuning.expired


def unsubsumed(frame: Frame) -> Frame:
    """Without the timed rows whose bindings (and world) are also there timeless."""
    timeless = frame.timeless_mask()
    if not timeless.any():
        return frame
    bindings = numbered(without_began(frame).ids)
    return frame.take(timeless | ~np.isin(bindings, bindings[timeless]))


class OuterBindingsContent(UniqueContent):
    def taken(self, inputs: list[Frame]) -> list[Frame]:
        [frame] = inputs
        bindings = Frame.timeless(self.step.vars, frame.project(self.step.vars).ids)
        return [bindings.present(*frame.changing().presence)]


class _Constructing(Operator):
    """What is remembered of solutions are the triples that a template makes of them."""

    def __init__(self, step: steps.Constructed, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.template = ConstructTemplate(step, self.terms)

    def taken(self, inputs: list[Frame]) -> list[Frame]:
        return [self.template.triples(inputs[0])]


class ConstructedContent(_Constructing, UniqueContent):
    pass


class ConstructedAtInstants(_Constructing, UniqueAtInstants):
    pass


def unique_content(step: steps.Unique, name: str, context: OperatorContext) -> Operator:
    return (UniqueContent if step.expiry_known else UniqueAtInstants)(step, name, context)


def constructed_content(step: steps.Constructed, name: str, context: OperatorContext) -> Operator:
    return (ConstructedContent if step.expiry_known else ConstructedAtInstants)(step, name, context)


class PathWalkContent(ContentOperator):
    """Walks of an automaton: what an edge that leaves or comes is connected with is walked again."""

    def __init__(self, step: PathWalk, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
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
