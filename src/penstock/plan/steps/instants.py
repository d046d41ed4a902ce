"""Steps over all solutions that end at one instant."""

from __future__ import annotations

from functools import cached_property, reduce
from operator import or_

from penstock.algebra.nodes import Aggregate, Expression
from penstock.plan.steps.step import (
    PerInstant,
    SameColumns,
    Step,
    Streams,
    Vars,
    step_class,
)


@step_class
class Aggregated(PerInstant):
    """GROUP BY and its aggregates over columns of the input, or `computed` ones.

    `computed` expressions are evaluated when timeless rows have got their instant. Each row of
    `groups` is a group at every instant, even without members: the implicit group.
    """

    input: Step
    keys: Vars
    aggregates: tuple[tuple[str, Aggregate, str | None], ...]  # result, aggregate, argument column
    instants: Streams = frozenset()
    computed: tuple[tuple[str, Expression], ...] = ()
    groups: Step | None = None

    def gives(self, inputs: tuple) -> object:
        return reduce(or_, inputs)

    @cached_property
    def vars(self) -> Vars:
        return self.keys + tuple(var for var, _, _ in self.aggregates)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.keys)


@step_class
class Ordered(PerInstant, SameColumns):
    """ORDER BY within an instant; without keys, the total order of rows.

    `ties` are the columns that decide between equal rows; None: all of the input's.
    `computed` columns are as in `Aggregated`.
    """

    input: Step
    keys: tuple[tuple[str, bool], ...]  # column, descending
    instants: Streams = frozenset()
    ties: Vars | None = None
    computed: tuple[tuple[str, Expression], ...] = ()


@step_class
class Sliced(SameColumns):
    """OFFSET and LIMIT within an instant; its input is `Ordered` below row-by-row steps.

    `tag`: the column by which they apply to each outer solution of an EXISTS apart, or to each element.
    """

    per_instant = True

    input: Step
    offset: int
    limit: int | None
    tag: str | None = None

    @cached_property
    def below(self) -> tuple[Step, ...]:
        """The steps from its input down to `Ordered`."""
        found = [self.input]
        while not isinstance(found[-1], Ordered):
            found.append(found[-1].input)
        return tuple(found)

    @cached_property
    def inputs(self) -> tuple[Step, ...]:
        # Where rows can leave, order is a matter of each instant: it puts what is there in order itself.
        return (self.below[-1].input,) if self.input.retractable else (self.input,)


@step_class
class Asked(PerInstant):
    """ASK: one boolean at each instant."""

    input: Step
    instants: Streams = frozenset()
    vars = ("answer",)
    certain = frozenset(("answer",))

    def gives(self, inputs: tuple) -> object:
        return True
