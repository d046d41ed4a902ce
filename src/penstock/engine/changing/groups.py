"""GROUP BY and ASK over what is there at an instant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.hashing import Slots
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.expiry_queue import RowChanges
from penstock.engine.changing.maintained import LastAnswers, Maintained, Multiplicities
from penstock.engine.changing.slots import Records, grown
from penstock.engine.changing.totals import Hulls, total_of
from penstock.engine.changing.worlds import Worlds
from penstock.engine.expressions import FALSE, TRUE
from penstock.engine.operators import OperatorContext
from penstock.plan import steps
from penstock.plan.system_columns import BEGAN, WORLD, is_variable
from penstock.timeline import TIMELESS_END, TIMELESS_START


class AggregatedContent(Maintained):
    """A group is what is there of it at an instant, with the hull of its rows."""

    def __init__(self, step: steps.Aggregated, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.columns = (*step.input.vars, *(var for var, _ in step.computed))
        arguments = tuple(argument for _, _, argument in step.aggregates if argument is not None)
        self.looks_at_all = any(call.distinct and not call.argument for _, call, _ in step.aggregates)
        if not step.input.emits_retractions and not self.looks_at_all:
            self.columns = tuple(dict.fromkeys((*step.keys, *arguments)))
        self.remember("rows", self.columns)
        if step.groups is not None:
            self.remember("groups", step.keys)

    def taken(self, inputs: list[Frame]) -> list[Frame]:
        rows, *groups = inputs
        for name, expression in self.step.computed:
            rows = rows.extended(name, self.evaluator.column(expression, rows, f"?{name}"))
        return [rows.project(self.columns), *(frame.project(self.step.keys) for frame in groups)]

    def forget(self) -> None:
        step, spare = self.step, self.tuning.expired
        self.slots = Slots(len(step.keys))
        self.members = np.zeros(0, np.int64)  # how many there are of each group
        self.given = np.zeros(0, np.int64)  # groups that are there without members
        self.bindings = [place for place, var in enumerate(self.columns) if is_variable(var)]
        self.totals = [
            total_of(
                call,
                self.terms,
                spare,
                len(self.bindings) if argument is None else 1,
                instants=argument == BEGAN,
            )
            for _, call, argument in step.aggregates
        ]
        self.hulls = Hulls(spare)
        self.intervals = False  # whether a member had one
        self.answers = LastAnswers(len(step.aggregates) + 2)
        self.multiplicities = Multiplicities(len(self.columns), spare)
        self.limit = spare  # groups, before it is looked which of them are there

    def changed(self, events: list[RowChanges]) -> Iterator[Frame]:
        rows, *given = events
        if self.step.input.emits_retractions:
            rows = self.multiplicities.clipped(rows)
            rows = rows.take(np.flatnonzero(rows.change))
        events = [rows, *given]
        slot = self.slots.of(
            [np.concatenate([each.rows.column(key) for each in events]) for key in self.step.keys],
            sum(map(len, events)),
        )
        self._room(self.slots.count)
        time = np.concatenate([each.time for each in events])
        order = np.argsort(time, kind="stable")
        records = Records(slot[order], time[order], self.answers.last)
        of = np.empty(len(order), np.int64)
        of[order] = records.of
        of, of_given = of[: len(rows)], of[len(rows) :]
        there = records.added_up(of, rows.change, self.members) > 0
        start, end = self._hull(records, of, rows)
        if given:
            there |= records.added_up(of_given, given[0].change, self.given) > 0
        found = np.zeros((len(self.totals) + 2, len(records)), np.int64)
        for place, (_, _, argument) in enumerate(self.step.aggregates):
            columns = list(rows.rows.ids[self.bindings]) if argument is None else [rows.rows.column(argument)]
            found[place] = self.totals[place].values(records, of, rows.change, columns)
        found[-2:] = start, end
        slot, answers, *presence = self.answers.changes(records, there, found)
        ids = np.concatenate([self.slots.keys(slot), answers[:-2]])
        yield Frame(self.step.vars, ids, *answers[-2:], *presence)

    def _hull(self, records: Records, of: np.ndarray, events: RowChanges) -> tuple[np.ndarray, np.ndarray]:
        start = np.full(len(records), TIMELESS_START, np.int64)
        end = np.full(len(records), TIMELESS_END, np.int64)
        timed = np.flatnonzero(~events.rows.timeless_mask())
        self.intervals |= bool(len(timed))
        if self.intervals:
            first, last, some = self.hulls.values(
                records, of[timed], events.change[timed], events.rows.start[timed], events.rows.end[timed]
            )
            start[some], end[some] = first[some], last[some]
        return start, end

    def _room(self, count: int) -> None:
        self.members, self.given = grown(self.members, count), grown(self.given, count)
        self.answers.room(count)
        for total in self.totals:
            total.room(count)

    def tidy(self, watermark: int) -> None:
        self.multiplicities.tidy()
        if self.slots.count <= self.limit:
            return
        kept = np.flatnonzero((self.members != 0) | (self.given != 0))
        self.slots.keep(kept)
        self.members, self.given = self.members[kept], self.given[kept]
        self.answers.keep(kept)
        self.hulls.keep(kept)
        for total in self.totals:
            total.keep(kept)
        self.limit = 2 * len(kept) + self.tuning.expired

    def held(self) -> list[np.ndarray]:
        return [self.answers.ids[:-2].reshape(-1)] if self.begun else []


class AskedContent(ContentOperator):
    always = True

    def __init__(self, step: steps.Asked, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.remember("rows", step.input.vars)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        world = np.arange(1, len(worlds) + 1)
        answers = np.where(np.isin(world, contents[0].column(WORLD)), TRUE, FALSE)
        yield in_worlds(Frame.timeless(("answer",), answers[None, :]), world, worlds)


def in_worlds(frame: Frame, world: np.ndarray, worlds: Worlds) -> Frame:
    """New rows, each once in a world."""
    once = np.ones(len(frame), np.int64)
    return frame.extended(WORLD, world).present(once, worlds.since[world - 1], worlds.until[world - 1])
