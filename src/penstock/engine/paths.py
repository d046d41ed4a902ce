"""Property paths: the pairs that a path connects, closed under composition with hull."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.relations import Meeting, Side
from penstock.columns.frame import Frame
from penstock.engine.chains import Index, probe_pairs
from penstock.engine.operators import Clock, Gathering, Seen, Surroundings
from penstock.engine.store import Rows, Store, Until
from penstock.plan import hidden, steps


class ClosureOperator(Gathering):
    """`path+`: composes new pairs with all there are (of the same tag) until nothing new comes."""

    def __init__(self, step: steps.Closure, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        meeting = Meeting(step.relation, within=step.within)
        store = self.store("pairs", step.vars, Until(meeting.latest_end(Side.LEFT)))
        self.composing = Composing(store, meeting)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        yield from self.composing.closed(inputs[0])

    def foresee(self) -> None:
        self.composing.foresee()


class Composing:
    """The pairs of a store, closed under composition; further columns tell apart what does not compose."""

    def __init__(self, store: Store, meeting: Meeting) -> None:
        self.seen = Seen(store, at_once=True)
        # A pair (x, y) is followed by those that begin at y, and preceded by those that end at x.
        self.after = _Composition(store, "x", meeting)
        self.before = _Composition(store, "y", meeting)

    def foresee(self) -> None:
        for composition in (self.after, self.before):
            composition.foresee()

    def closed(self, frame: Frame) -> Iterator[Frame]:
        """Adds pairs; gives those that are new and what follows from them."""
        new = self.seen.add(frame)
        while len(new):
            yield new
            longer = [*self.after.of(new), *self.before.of(new)]
            new = self.seen.add(Frame.concat(longer, frame.vars)) if longer else Frame.empty(frame.vars)


class _Composition:
    """Pairs composed with remembered pairs at one end."""

    def __init__(self, store: Store, end: str, meeting: Meeting) -> None:
        self.store = store
        self.meeting = meeting
        self.column = 0 if end == "x" else 1
        self._indexes: dict[tuple, Index] = {}

    def of(self, frame: Frame) -> Iterator[Frame]:
        timeless = frame.timeless_mask()
        for none in (False, True):
            chosen = frame.take(timeless == none)
            for (_, other), rows in self.store.parts.items():
                if len(chosen) and rows.count:
                    yield from self._compose(chosen, rows, not (none or other))

    def foresee(self) -> None:
        """Makes the index of timeless pairs, which pairs with time are composed with too."""
        for (_, timeless), rows in self.store.parts.items():
            if timeless and rows.count:
                self._index(rows, timed=False).sync()

    def _index(self, rows: Rows, timed: bool) -> Index:
        key = (id(rows), timed)
        if key not in self._indexes:
            self._indexes[key] = Index(rows, [self.column, *self._apart(timed)], timed=timed)
        return self._indexes[key]

    def _apart(self, timed: bool) -> list[int]:
        """The columns that are equal in pairs which compose: what is timeless is in every element."""
        vars = self.store.vars
        return [at for at in range(2, len(vars)) if timed or vars[at] != hidden.ELEMENT]

    def _compose(self, frame: Frame, rows: Rows, timed: bool) -> Iterator[Frame]:
        index = self._index(rows, timed)
        for i, j in probe_pairs(frame, [1 - self.column, *self._apart(timed)], index, self.meeting):
            mine, other = frame.take(i), rows.frame(frame.vars, j)
            first, second = (mine, other) if self.column == 0 else (other, mine)
            # Further columns are equal in both, but for the element of a timeless pair, which is unbound.
            further = np.where(mine.ids[2:] != 0, mine.ids[2:], other.ids[2:])
            yield Frame(
                frame.vars,
                np.vstack([first.ids[0], second.ids[1], further]),
                np.minimum(mine.start, other.start),
                np.maximum(mine.end, other.end),
            )
