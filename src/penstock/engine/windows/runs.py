"""Runs of a repetition over what windows show: lists of solutions, with aggregates over each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.groups import in_worlds
from penstock.engine.changing.worlds import Worlds
from penstock.engine.lists import OF_LISTS, Lists, in_order
from penstock.engine.operators import Surroundings
from penstock.engine.presence import NO_ID, numbered
from penstock.plan.hidden import WORLD, is_variable
from penstock.plan.repetitions import Runs
from penstock.timeline import NEVER


class RunsContent(ContentOperator):
    def __init__(self, step: Runs, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.remember("rows", step.input.vars)
        self.keys = tuple(key for key in step.keys if not is_variable(key))
        self.ordered = any(call.name in OF_LISTS for _, call, _ in step.aggregates)

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [found] = contents
        if not len(found):
            return
        rows = found.take(np.repeat(np.arange(len(found)), found.weight))
        step = self.step
        run = numbered(np.vstack([rows.column(WORLD), *map(rows.column, (*step.keys, *step.chosen))]))
        if self.ordered:
            place = rows.column(step.order)
            begins = np.where(place == 0, NEVER, place)  # those that a window cuts begin together
            ties = [rows.column(var) for var in step.ties]
            order = in_order(run, begins, rows.column(step.member[1]), ties, self.terms)
        else:
            order = np.argsort(run, kind="stable")
        rows, run = rows.take(order), run[order]
        begins, ends = (rows.column(column) - NO_ID for column in step.member)
        first = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
        start, end = (rows.column(column)[first] - NO_ID for column in step.chosen)
        begun, ended = np.minimum.reduceat(begins, first), np.maximum.reduceat(ends, first)
        lists = Lists(first, len(rows), self.terms)
        members = [rows.column(var) for var in step.ties]
        columns = [rows.column(key)[first] for key in step.keys]
        for _, call, column in step.aggregates:
            columns.append(lists.values(call, None if column is None else rows.column(column), members))
        columns += [point + NO_ID for point in (begun, ended)]
        if step.began is not None:
            columns.append(np.minimum.reduceat(rows.column(step.began), first))
        hull = np.minimum(start, begun), np.maximum(end, ended)
        yield in_worlds(Frame(step.vars, np.vstack(columns), *hull), rows.column(WORLD)[first], worlds)
