"""Changes that are seen only at certain instants: what a relation looks like to who looks now and then."""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.changing.sets import without_began
from penstock.engine.operators import Gathering
from penstock.engine.presence import NO_ID, numbered, uncut
from penstock.engine.store import until_left
from penstock.engine.windows.marks import Marks
from penstock.plan.hidden import AT, BEGAN
from penstock.timeline import FOREVER, NEVER

_EVER = -(2**61)
"""In the place of an instant: what was always there."""


class Carrying:
    """Carries each change of a relation to the first mark that is not before it.

    A row that comes and one that leaves are a change each, of its weight, with its instant. A change
    that has passed without a mark since is put down again at the watermark.
    """

    def __init__(self, operator: Gathering, side: str, vars: tuple[str, ...]) -> None:
        self.vars = vars
        self.store = operator.store(side, (*vars, AT), until_left)

    def add(self, frame: Frame) -> None:
        """New rows of the relation, none of which changes anything that has passed."""
        frame = frame.changing()
        self._put(frame, frame.weight, frame.since)
        leaving = frame.take(frame.until < FOREVER)
        self._put(leaving, -leaving.weight, leaving.until)

    def _put(self, frame: Frame, weight: np.ndarray, at: np.ndarray) -> None:
        if len(frame):
            always = at == NEVER
            at = np.where(always, _EVER, at)
            changes = frame.binding(self.vars, frame.project(self.vars).ids).extended(AT, at + NO_ID)
            self.store.append(changes.present(weight, at, np.where(always, FOREVER, at + 1)))

    def carried(self, begin: int, end: int, marks: Marks, *, begun: bool, ever: bool = True) -> Frame:
        """The changes that marks before `end` show, added up: `weight` says how many more, `since` when.

        `begun`: there has been a mark before; what was always there was seen then. `ever`: that counts.
        """
        found = []
        for rows in self.store.parts.values():
            at = rows.ids[-1, : rows.count] - NO_ID
            chosen = (at >= begin) & (at < end) & (at != _EVER)  # the first step begins at NEVER
            if ever and not begun:
                chosen |= at == _EVER
            if chosen.any():
                found.append(rows.frame(self.store.vars, np.flatnonzero(chosen)))
        changes = Frame.concat(found, self.store.vars)
        if not len(changes):
            return Frame.empty(self.vars).changing()
        at = changes.column(AT) - NO_ID
        seen = marks.next(np.maximum(at, begin))
        late = (seen == FOREVER) & (at != _EVER)
        changes = changes.project(self.vars)
        if late.any() and end < FOREVER:
            passed = changes.take(late)
            self._put(passed, passed.weight, np.full(len(passed), end, np.int64))
        return _added_up(changes.present(changes.weight, seen, seen), seen < FOREVER)


def _added_up(changes: Frame, which: np.ndarray) -> Frame:
    """Some changes, those of the same solution at the same instant as one, if they do not cancel out.

    Solutions that began together before windows cut them are the same; of several, those that are cut most
    are new or gone.
    """
    changes = changes.take(which)
    if not len(changes):
        return changes
    ids = without_began(changes).ids
    code = numbered(np.vstack([ids, uncut(changes), changes.end, changes.since]))
    total = np.zeros(int(code.max()) + 1, np.int64)
    np.add.at(total, code, changes.weight)
    if BEGAN not in changes.vars:
        one = np.empty(len(total), np.int64)
        one[code] = np.arange(len(code))
        kept = total != 0
        changes = changes.take(one[kept])
        return changes.present(total[kept], changes.since, changes.until)
    counting = np.flatnonzero(np.sign(changes.weight) == np.sign(total[code]))
    counting = counting[np.lexsort([-changes.start[counting], code[counting]])]
    code, weight = code[counting], np.abs(changes.weight[counting])
    before = np.cumsum(weight) - weight  # of those in order; then of those of the same solution
    first = np.ones(len(code), bool)
    first[1:] = code[1:] != code[:-1]
    before -= np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), len(code))))
    left = np.clip(np.abs(total[code]) - before, 0, weight)
    counting, left, code = counting[left > 0], left[left > 0], code[left > 0]
    changes = changes.take(counting)
    return changes.present(left * np.sign(total[code]), changes.since, changes.until)
