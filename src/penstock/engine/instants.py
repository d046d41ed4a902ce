"""The operators that look at all solutions of one instant: aggregates, ORDER BY, ASK."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.nodes import Aggregate
from penstock.columns.frame import Frame
from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermTable
from penstock.engine.absence import waiting
from penstock.engine.expressions import FALSE, TRUE
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.functions.aggregates import aggregate
from penstock.functions.ordering import order_key, total_key
from penstock.plan import steps, system_columns
from penstock.plan.steps import Step
from penstock.terms import XSD, Literal
from penstock.timeline import NEVER, TIMELESS_END, TIMELESS_START


class InstantOperator(BlockingOperator):
    """Collects the rows of each instant until it has passed."""

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.depends_on_stream = step.input.reads_stream
        self.waiting = waiting(self, "waiting", step.input, self.depends_on_stream)

    def due(self, frame: Frame, clock: Clock) -> Frame:
        """The rows whose instant has passed, with the computed columns."""
        due = self.waiting.due(frame, clock)
        for name, expression in getattr(self.step, "computed", ()):
            due = due.extended(name, self.evaluator.column(expression, due, f"?{name}"))
        return due


class AggregatedOperator(InstantOperator):
    def __init__(self, step: steps.Aggregated, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.aggregating = Aggregating(step, self.terms)
        if step.groups is not None:
            self.groups = waiting(self, "groups", step.groups, self.depends_on_stream)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        due = self.due(inputs[0], clock)
        groups = None
        if self.step.groups is not None:
            groups = self.groups.due(inputs[1], clock).project(self.step.keys)
        found, _ = self.aggregating.groups(due, due.end, groups, None if groups is None else groups.end)
        yield found


class Aggregating:
    """The groups of rows that are looked at together, with their aggregates."""

    def __init__(self, step: steps.Aggregated, terms: TermTable) -> None:
        self.step = step
        self.terms = terms

    def groups(
        self, due: Frame, apart: np.ndarray, given: Frame | None, given_apart: np.ndarray | None
    ) -> tuple[Frame, np.ndarray]:
        """A row for each group; `apart` tells which rows are looked at together: it stands beside each.

        Each row of `given` is a group as well, if it has no members.
        """
        step = self.step
        groups = list(self._grouped(due, apart))
        firsts = np.array([rows[0] for rows in groups], np.int64)
        missing, beside = Frame.empty(step.keys), apart[firsts]
        if given is not None:
            lacking = _lacking(given, given_apart, due.take(firsts), beside)
            missing, beside = given.take(lacking), np.concatenate([beside, given_apart[lacking]])
        count, filled = len(groups) + len(missing), len(groups)
        groups += [np.empty(0, np.int64)] * len(missing)
        ids = np.zeros((len(step.vars), count), np.int64)
        start, end = np.empty(count, np.int64), np.empty(count, np.int64)
        start[:filled] = [due.start[rows].min() for rows in groups[:filled]]
        end[:filled] = [due.end[rows].max() for rows in groups[:filled]]
        start[filled:], end[filled:] = missing.start, missing.end
        start[end == TIMELESS_END] = TIMELESS_START
        for i, key in enumerate(step.keys):
            ids[i, :filled] = [due.column(key)[rows[0]] for rows in groups[:filled]]
            ids[i, filled:] = missing.column(key)
        for i, (_, call, argument) in enumerate(step.aggregates, len(step.keys)):
            ids[i] = [self._value(call, argument, due, rows) for rows in groups]
        return Frame(step.vars, ids, start, end), beside

    def _grouped(self, frame: Frame, apart: np.ndarray) -> Iterator[np.ndarray]:
        """The row numbers of each group: looked at together, same keys."""
        if not len(frame):
            return
        columns = [frame.column(key) for key in self.step.keys] + [apart]
        order = np.lexsort(columns)
        changed = np.zeros(len(frame), bool)
        for column in columns:
            ordered = column[order]
            changed[1:] |= ordered[1:] != ordered[:-1]
        yield from np.split(order, np.flatnonzero(changed))

    def _value(self, call: Aggregate, argument: str | None, frame: Frame, rows: np.ndarray) -> int:
        if argument is None:
            if not call.distinct:
                return self.terms.add(Literal(str(len(rows)), datatype=XSD.integer))
            bindings = np.flatnonzero([system_columns.is_variable(var) for var in frame.vars])
            solutions = frame.ids[np.ix_(bindings, rows)].T.tolist()
            return self._term(aggregate(call, [tuple(each) for each in solutions]))
        column = frame.column(argument)[rows].tolist()
        if argument == system_columns.BEGAN:  # an instant, not a term
            return min(filter(None, column), default=0)
        return self._term(aggregate(call, [self.terms.term(id_) if id_ else None for id_ in column]))

    def _term(self, term) -> int:
        return 0 if term is None else self.terms.add(term)


def _lacking(frame: Frame, apart: np.ndarray, others: Frame, others_apart: np.ndarray) -> np.ndarray:
    """The rows for whose bindings there is no other row that is looked at together with them."""
    taken = set(zip(*map(others.column, frame.vars), others_apart, strict=True))
    rows = zip(*frame.ids, apart, strict=True)
    return np.flatnonzero(np.array([row not in taken for row in rows], bool))


class OrderedOperator(InstantOperator):
    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        due = self.due(inputs[0], clock)
        yield Ordering(self.step, self.terms).ordered(due, due.end).project(self.step.vars)


class Ordering:
    """The order that ORDER BY gives rows, which is total but for equal rows."""

    def __init__(self, step: steps.Ordered, terms: TermTable) -> None:
        self.step = step
        self.terms = terms

    def ordered(self, due: Frame, apart: np.ndarray) -> Frame:
        """The rows in order; those that are looked at together, as `apart` tells, lie together."""
        if len(due) < 2:
            return due
        # Last key first, as lexsort wants it: the interval, all columns by name, the keys, what is apart.
        start = np.where(due.timeless_mask(), NEVER, due.start)
        deciding = filter(
            system_columns.is_variable, self.step.vars if self.step.ties is None else self.step.ties
        )
        ties = [self._ranks(due.column(var), total_key) for var in sorted(deciding, reverse=True)]
        keys = []
        for var, descending in reversed(self.step.keys):
            ranks = self._ranks(due.column(var), order_key)
            keys.append(-ranks if descending else ranks)
        return due.take(np.lexsort([due.column(system_columns.BEGAN), due.end, start, *ties, *keys, apart]))

    def _ranks(self, column: np.ndarray, key) -> np.ndarray:
        """For each id, its place in the order of terms; equal keys have equal places."""
        distinct, inverse = np.unique(column, return_inverse=True)
        sort_keys = [key(self.terms.term(id_) if id_ else None) for id_ in distinct.tolist()]
        order = sorted(range(len(sort_keys)), key=sort_keys.__getitem__)
        ranks = np.empty(len(order), np.int64)
        rank = 0
        for place, i in enumerate(order):
            if place and sort_keys[i] != sort_keys[order[place - 1]]:
                rank += 1
            ranks[i] = rank
        return ranks[inverse.reshape(-1)]


class AskedOperator(InstantOperator):
    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        due = self.due(inputs[0], clock)
        instants = sorted_unique(np.concatenate([self._instants(clock), due.end]))
        answers = np.where(np.isin(instants, due.end), TRUE, FALSE)
        start = np.where(instants == TIMELESS_END, TIMELESS_START, instants)
        yield Frame(("answer",), answers[None, :], start, instants)

    def _instants(self, clock: Clock) -> np.ndarray:
        """The instants that pass in this step; without a stream, the one timeless moment."""
        if self.depends_on_stream:
            return clock.instants(self.step.instants)
        return np.full(int(clock.first), TIMELESS_END, np.int64)
