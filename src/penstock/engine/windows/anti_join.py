"""Absence in what windows show, of NO_HEAD, NO_TAIL and SEQ_WO: rows while nothing hides them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.relations import JoinBounds
from penstock.columns.frame import Frame
from penstock.columns.instants import sorted_unique
from penstock.engine import kernels
from penstock.engine.operators import BlockingOperator, Clock, Matcher, OperatorContext
from penstock.engine.store import Store, while_present
from penstock.engine.windows.contents import reaches_all_until
from penstock.plan.steps import AntiJoin


class AntiJoinOperator(BlockingOperator):
    """Each row is looked at when it comes, and again when something comes that takes it away.

    What hides a row does so while both are there; so of all that is known of its partners follows when
    it will be there, as far as nobody else comes. If somebody does, the difference is given. Rows do not
    matter to each other, and how often they are there does not matter to whether. What is yet to come
    waits: the stores have what was taken into account.
    """

    def __init__(self, step: AntiJoin, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        vars, shared = step.input.vars, step.absent.vars
        self.waiting = [
            self.store(f"{side}-waiting", columns, while_present, waits=True)
            for side, columns in (("required", vars), ("absent", shared))
        ]
        self.absent = self.store("absent", shared, while_present, shared)
        self.partners = Matcher(self.absent, vars, shared, JoinBounds(step.relation))
        if not step.settled:
            self.required = self.store("required", vars, while_present, shared)
            self.hidden = Matcher(self.required, shared, shared, JoinBounds(step.relation.converse))

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        required, absent = (
            due_before(frame.changing(), store, clock.now)
            for frame, store in zip(inputs, self.waiting, strict=True)
        )
        self.absent.append(absent)
        known = 0
        if not self.step.settled:
            before = self._taken_away(absent, clock.before)
            known = len(before)
            self.required.append(required)
            required = Frame.concat([before, required], required.vars).changing()
        if len(required):
            yield self._there(required, known, clock.before)

    def _taken_away(self, absent: Frame, begin: int) -> Frame:
        """The rows that were there, and still are, for which something comes from `begin` on."""
        concerned: dict[int, tuple[Frame, list[np.ndarray]]] = {}
        for _, rows, which in self.hidden.pairs(absent) if len(absent) else ():
            # A part of the store comes again for each combination of what is bound in the others.
            found = concerned.setdefault(rows.start.ctypes.data, (rows, []))[1]
            found.append(which[rows.until[which] > begin])
        found = [rows.take(sorted_unique(np.concatenate(which))) for rows, which in concerned.values()]
        return Frame.concat(found, self.required.vars)

    def _there(self, due: Frame, known: int, begin: int) -> Frame:
        """When rows are there; of the first ones, which were `known`, how else than was given."""
        row, at, before, now = self._events(due, known, begin)
        order = np.argsort(at, kind="stable")
        which, change, since, until = kernels.stretches(
            row[order], at[order], before[order], now[order], due.since, due.until, known
        )
        return due.take(which).present(due.weight[which] * change, since, until)

    def _events(self, due: Frame, known: int, begin: int) -> tuple[np.ndarray, ...]:
        """Partners of rows coming and leaving: row, instant, and how many more there are, before and now."""
        found = []
        reaches = None
        for row, others, which in self.partners.pairs(due):
            since, came = others.since[which], others.since[which] < begin
            if self.step.specs:
                early = np.flatnonzero(others.start[which] < due.start[row])
                if len(early):
                    if reaches is None:
                        reaches = reaches_all_until(self.step.specs, due.start - 1)
                    since[early] = np.maximum(since[early], reaches[row[early]])
            since = np.maximum(since, due.since[row])
            until = np.minimum(others.until[which], due.until[row])
            kept = np.flatnonzero(since < until)
            row, which = row[kept], which[kept]
            found.append((row, since[kept], until[kept], others.weight[which], came[kept] & (row < known)))
        if not found:
            return tuple(np.empty(0, np.int64) for _ in range(4))
        row, since, until, weight, old = map(np.concatenate, zip(*found, strict=True))
        leaving = np.flatnonzero(until < due.until[row])
        now = np.concatenate([weight, -weight[leaving]])
        before = np.where(np.concatenate([old, old[leaving]]), now, 0)
        return np.concatenate([row, row[leaving]]), np.concatenate([since, until[leaving]]), before, now


def due_before(frame: Frame, waiting: Store, now: int) -> Frame:
    """The rows that are there before `now`, of new ones and of those that have waited; the others wait."""
    before = waiting.take(lambda rows: rows.since < now)
    later = frame.since >= now
    if later.any():
        waiting.append(frame.take(later))
        frame = frame.take(~later)
    return Frame.concat([before, frame], frame.vars).changing() if len(before) else frame
