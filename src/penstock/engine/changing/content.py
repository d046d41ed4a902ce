"""What all operators over the content at an instant have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine import kernels
from penstock.engine.changing.worlds import Worlds
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.engine.store import while_present
from penstock.plan.steps import Step, Vars
from penstock.plan.system_columns import WORLD
from penstock.timeline import NEVER


class ContentOperator(BlockingOperator):
    """Answers pointwise: at each instant for what is there at it.

    Changes that arrive in a step are not before the watermark, so what is there before the new
    watermark is known when the step is taken: changes at these instants are given, later ones wait.
    """

    always = False  # it answers even if nothing was ever there
    keys: Vars = ()  # columns that all inputs have; rows that differ in them do not matter to each other

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.timed = True

    def remember(self, side: str, vars: Vars) -> None:
        """An input of the operator, with the columns that it keeps of it."""
        self.store(side, vars, while_present)

    def taken(self, inputs: list[Frame]) -> Sequence[Frame]:
        """What is remembered of new rows of the inputs."""
        return inputs

    def groups(self, frames: list[Frame]) -> list[np.ndarray]:
        """For each row of each input its group: rows of different ones do not matter to each other."""
        return [self._hashed(frame) for frame in frames]

    def _hashed(self, frame: Frame) -> np.ndarray:
        hashes = np.zeros(len(frame), np.int64)
        if self.keys and len(frame):
            kernels.tag_rows(np.stack([frame.column(key) for key in self.keys]), 0, hashes)
        return hashes

    @abstractmethod
    def at(self, contents: list[Frame], worlds: Worlds) -> Iterable[Frame]:
        """The answers in each world, given what is there of each input (column WORLD says where)."""

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        begin, end = stretch(clock)
        for store, frame in zip(self.stores, self.taken(inputs), strict=True):
            store.append(not_before(frame.changing(), begin))
        beginning = clock.first and self.always
        if not beginning and not any(store.changes_within(begin, end) for store in self.stores):
            return
        frames = [store.rows().changing() for store in self.stores]
        found = [
            (number, times, np.flatnonzero((times >= begin) & (times < end)))
            for number, frame in enumerate(frames)
            for times in (frame.since, frame.until)
        ]
        groups = self.groups(frames)
        changed = [groups[number][rows] for number, _, rows in found]
        instants = [times[rows] for _, times, rows in found]
        if beginning:
            changed.append(np.zeros(1, np.int64))
            instants.append(np.full(1, NEVER, np.int64))
        worlds = Worlds.of(np.concatenate(changed), np.concatenate(instants), begins=clock.first)
        contents = [worlds.content(frame, own) for frame, own in zip(frames, groups, strict=True)]
        answers = Frame.concat(self.at(contents, worlds), (*self.step.vars, WORLD))
        if len(answers):
            yield worlds.changes(answers)


def stretch(clock: Clock) -> tuple[int, int]:
    """The instants of a step: from the first to before the second."""
    return (NEVER, NEVER + 1) if clock.first else (max(clock.before, NEVER + 1), max(clock.now, NEVER + 1))


def not_before(frame: Frame, instant: int) -> Frame:
    """The rows as they are from an instant on.

    Only what EXISTS substitutes of solutions that stay can begin earlier: it is timeless, and
    matters to nothing that was there before it came.
    """
    if not len(frame) or int(frame.since.min()) >= instant:
        return frame
    frame = frame.present(frame.weight, np.maximum(frame.since, instant), frame.until)
    return frame.take(frame.since < frame.until)
