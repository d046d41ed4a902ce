"""Property paths: the pairs that a path connects, closed under composition with hull."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
        self.after = Partners(store, [0], 2, meeting)
        self.before = Partners(store, [1], 2, meeting)

    def foresee(self) -> None:
        for partners in (self.after, self.before):
            partners.foresee()

    def closed(self, frame: Frame) -> Iterator[Frame]:
        """Adds pairs; gives those that are new and what follows from them."""
        new = self.seen.add(frame)
        while len(new):
            yield new
            after = self.after.of(new, [1], 2)
            before = self.before.of(new, [0], 2)
            longer = [together(mine, other, [mine.ids[0], other.ids[1]]) for mine, other in after]
            longer += [together(mine, other, [other.ids[0], mine.ids[1]]) for mine, other in before]
            new = self.seen.add(Frame.concat(longer, frame.vars)) if longer else Frame.empty(frame.vars)


def together(mine: Frame, other: Frame, columns: Sequence[np.ndarray], skipped: int = 2) -> Frame:
    """What is made of rows that meet: these columns and the further ones of `mine`, with the hull."""
    # Further columns are equal in both, but for the element of a timeless row, which is unbound.
    own, others = mine.ids[skipped:], other.ids[len(other.ids) - len(mine.ids) + skipped :]
    return Frame(
        mine.vars,
        np.vstack([*columns, np.where(own != 0, own, others)]),
        np.minimum(mine.start, other.start),
        np.maximum(mine.end, other.end),
    )


class Partners:
    """The rows of a store that others meet: equal in some columns, and in the further ones of both.

    The further columns of the store begin at `further`.
    """

    def __init__(self, store: Store, columns: list[int], further: int, meeting: Meeting) -> None:
        self.store = store
        self.meeting = meeting
        self.columns = columns
        self.further = further
        self._indexes: dict[tuple, Index] = {}

    def of(self, frame: Frame, columns: list[int], further: int) -> Iterator[tuple[Frame, Frame]]:
        """The frame's rows and their partners, side by side, in portions."""
        timeless = frame.timeless_mask()
        for none in (False, True):
            chosen = frame.take(timeless == none)
            for (_, other), rows in self.store.parts.items():
                if not (len(chosen) and rows.count):
                    continue
                timed = not (none or other)
                index = self._index(rows, timed)
                keys = [*columns, *_apart(frame.vars, further, timed)]
                for i, j in probe_pairs(chosen, keys, index, self.meeting):
                    yield chosen.take(i), rows.frame(self.store.vars, j)

    def foresee(self) -> None:
        """Makes the index of timeless rows, which rows with time meet too."""
        for (_, timeless), rows in self.store.parts.items():
            if timeless and rows.count:
                self._index(rows, timed=False).sync()

    def _index(self, rows: Rows, timed: bool) -> Index:
        key = (id(rows), timed)
        if key not in self._indexes:
            columns = [*self.columns, *_apart(self.store.vars, self.further, timed)]
            self._indexes[key] = Index(rows, columns, timed=timed)
        return self._indexes[key]


def _apart(vars: Sequence[str], first: int, timed: bool) -> list[int]:
    """The columns that are equal in rows which meet: what is timeless is in every element."""
    return [at for at in range(first, len(vars)) if timed or vars[at] != hidden.ELEMENT]
