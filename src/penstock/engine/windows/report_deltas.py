"""Changes that are seen only at certain instants: what a relation looks like to who looks now and then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.instants import sorted_unique
from penstock.engine.changing.sets import without_began
from penstock.engine.operators import BlockingOperator
from penstock.engine.presence import NO_ID, numbered, uncut
from penstock.engine.store import Rows, while_present
from penstock.engine.windows.marks import Marks
from penstock.plan.system_columns import AT, BEGAN
from penstock.timeline import FOREVER, NEVER


class Changes(NamedTuple):
    """Changes of the same kind of some rows of a store: how many more of each there are, and when."""

    rows: Rows
    vars: tuple[str, ...]
    which: np.ndarray
    weight: np.ndarray
    at: np.ndarray


class ReportDeltas:
    """Carries each change of a relation to the first mark that is not before it.

    A row that comes and one that leaves are a change each, of its weight, with its instant. A change
    that has passed without a mark since is put down again at the watermark.
    """

    def __init__(self, operator: BlockingOperator, side: str, vars: tuple[str, ...]) -> None:
        self.vars = vars
        self.rows = operator.store(side, vars, while_present)
        # With a column for the instant, or changes of one solution at several would be put together.
        self.passed = operator.store(f"{side}-passed", (*vars, AT), while_present)

    def add(self, frame: Frame) -> None:
        """New rows of the relation, none of which changes anything that has passed."""
        self.rows.append(frame.project(self.vars).changing())

    def carried(
        self, begin: int, end: int, marks: Marks, *, begun: bool, ever: bool = True, sign: int = 0
    ) -> Frame:
        """The changes that marks before `end` show, added up: `weight` says how many more, `since` when.

        `begun`: there has been a mark before; what was always there was seen then. `ever`: that counts.
        `sign`: only what there is more of (1) or less (-1) is asked for, and may come in several rows.
        """
        changes = self._changes(begin, end, always=ever and not begun)
        if not changes:
            return Frame.empty(self.vars).changing()
        weight, at = (
            np.concatenate(columns) for columns in zip(*(each[-2:] for each in changes), strict=True)
        )
        [latest] = marks.before(np.array([end]), NEVER).tolist()
        late = at > latest
        if late.any() and end < FOREVER:
            again = np.full(np.count_nonzero(late), end, np.int64)
            passed = self._frame(changes, late).extended(AT, again + NO_ID)
            self.passed.append(passed.present(weight[late], again, again + 1))
        kept = np.flatnonzero(~late) if latest > NEVER else np.empty(0, np.int64)
        if sign:
            ends = np.concatenate([each.rows.end[each.which] for each in changes])
            kept = kept[_may_matter(ends[kept], weight[kept] * sign)]
        found, seen = self._frame(changes, kept), marks.next(np.maximum(at[kept], begin))
        found = found.present(weight[kept], seen, seen)
        together = _meeting(found, sign) if sign else np.ones(len(found), bool)
        if together.all():
            return _added_up(found)
        alone = found.take(~together & (found.weight * sign > 0))
        return Frame.concat([alone, _added_up(found.take(together))], self.vars).changing()

    def instants(self, begin: int, end: int) -> np.ndarray:
        """When something comes or leaves, from `begin` to before `end`, if nothing does both at once."""
        found = self._changes(begin, end, always=False)
        return sorted_unique(np.concatenate([np.empty(0, np.int64), *(each.at for each in found)]))

    def _changes(self, begin: int, end: int, *, always: bool) -> list[Changes]:
        """What comes and leaves at instants from `begin` to before `end`; `always`: and what always was."""
        found = []
        for rows in self.rows.parts.values():
            weight, since, until = rows.presence[:, : rows.count]
            came = (since >= begin) & (since < end)
            came = np.flatnonzero((came & (since != NEVER)) | (always & (since == NEVER)))
            left = np.flatnonzero((until >= begin) & (until < end))
            found.append(Changes(rows, self.vars, came, weight[came], since[came]))
            found.append(Changes(rows, self.vars, left, -weight[left], until[left]))
        for rows in self.passed.parts.values():
            weight, since, _ = rows.presence[:, : rows.count]
            which = np.flatnonzero((since >= begin) & (since < end))
            found.append(Changes(rows, self.passed.vars, which, weight[which], since[which]))
        return [each for each in found if len(each.which)]

    def _frame(self, changes: list[Changes], chosen: np.ndarray) -> Frame:
        """The rows of some of the changes, by their numbers (in order) or a mask."""
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(chosen)
        found, first = [], 0
        for each in changes:
            last = first + len(each.which)
            mine = chosen[slice(*np.searchsorted(chosen, (first, last)))]
            found.append(each.rows.frame(each.vars, each.which[mine - first]))
            first = last
        return Frame.concat(found, self.vars).changing()


def _may_matter(ends: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Which changes matter to what there is more of: what takes a solution back ends when it does."""
    more = weight > 0
    return more | (ends >= ends[more].min()) if more.any() else more


def _meeting(changes: Frame, sign: int) -> np.ndarray:
    """Which changes may take each other back: those that do end and are seen at the same instants."""
    together = np.zeros(len(changes), bool)
    more = changes.weight * sign > 0
    if not more.all():
        code = changes.end * np.int64(0x9E3779B97F4A7C1) + changes.since
        less = np.flatnonzero(~more)
        less = less[_among(code[less], sorted_unique(code[more]))]
        together[less] = True
        together[more] = _among(code[more], sorted_unique(code[less]))
    return together


def _among(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Which values are among others, which are in order."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return ordered[places] == values


def _added_up(changes: Frame) -> Frame:
    """The changes, those of the same solution at the same instant as one, if they do not cancel out.

    Solutions that began together before windows cut them are the same; of several, those that are cut most
    are new or gone.
    """
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
