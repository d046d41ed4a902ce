"""Runs of a repetition: lists of solutions, with aggregates over each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.groups import in_worlds
from penstock.engine.changing.worlds import Worlds
from penstock.engine.operators import Surroundings
from penstock.engine.presence import NO_ID, numbered
from penstock.functions.aggregates import aggregate
from penstock.functions.ordering import total_key
from penstock.plan.hidden import WORLD, is_variable
from penstock.plan.windowing import Runs
from penstock.terms import XSD, Literal
from penstock.timeline import NEVER


class RunsContent(ContentOperator):
    def __init__(self, step: Runs, name: str, surroundings: Surroundings) -> None:
        super().__init__(step, name, surroundings)
        self.remember("rows", step.input.vars)
        self.keys = tuple(key for key in step.keys if not is_variable(key))

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [found] = contents
        if not len(found):
            return
        rows = found.take(np.repeat(np.arange(len(found)), found.weight))
        step = self.step
        begins, ends, order = (rows.column(column) for column in (*step.member, step.order))
        run = numbered(np.vstack([rows.column(WORLD), *map(rows.column, (*step.keys, *step.chosen))]))
        ties = [self._ranks(rows.column(var)) for var in reversed(step.ties)]
        rows = rows.take(np.lexsort([*ties, ends, np.where(order == 0, NEVER, order), run]))
        begins, ends = (rows.column(column) - NO_ID for column in step.member)
        run = np.sort(run)
        first = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
        start, end = (rows.column(column)[first] - NO_ID for column in step.chosen)
        start = np.minimum(start, np.minimum.reduceat(begins, first))
        end = np.maximum(end, np.maximum.reduceat(ends, first))
        ids = np.zeros((len(step.vars), len(first)), np.int64)
        for place, key in enumerate(step.keys):
            ids[place] = rows.column(key)[first]
        members = np.split(np.arange(len(rows)), first[1:])
        for place, (_, call, column) in enumerate(step.aggregates, len(step.keys)):
            values = None if column is None else rows.column(column)
            ids[place] = [self._value(call, values, each) for each in members]
        yield in_worlds(Frame(step.vars, ids, start, end), rows.column(WORLD)[first], worlds)

    def _value(self, call, values: np.ndarray | None, rows: np.ndarray) -> int:
        if values is None:
            return self.terms.add(Literal(str(len(rows)), datatype=XSD.integer))
        if call.name in ("FIRST", "LAST"):
            return int(values[rows[0 if call.name == "FIRST" else -1]])
        found = aggregate(call, [self.terms.term(id_) if id_ else None for id_ in values[rows].tolist()])
        return 0 if found is None else self.terms.add(found)

    def _ranks(self, ids: np.ndarray) -> np.ndarray:
        """For each id, its place in the order of terms; what is unbound comes first."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        keys = [total_key(self.terms.term(id_) if id_ else None) for id_ in distinct.tolist()]
        ranks = np.empty(len(keys), np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return ranks[inverse.reshape(-1)]
