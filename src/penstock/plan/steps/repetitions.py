"""The steps of repetitions in sequences (decision 0013): lists of solutions, with aggregates over each."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from penstock.algebra.nodes import Aggregate
from penstock.algebra.relations import HULL, JoinBounds, Relation
from penstock.algebra.windows import WindowSpec
from penstock.plan.steps.step import Absence, Step, Vars, step_class

INSIDE = Relation(
    "INSIDE", (("ls", "<", "rs"), ("re", "<", "le")), "Inside", "with the second strictly inside"
)

Aggregates = tuple[tuple[str, Aggregate, str | None], ...]
"""Results, aggregates, and the columns that have their arguments."""


def are_ordered(aggregates: Aggregates) -> bool:
    """Whether aggregates depend on the order of members."""
    return any(call.name in ("FIRST", "LAST") for _, call, _ in aggregates)


def looked_at(aggregates: Aggregates, ties: Vars) -> Vars:
    """The columns of members that aggregates look at; `ties` are those that tell members apart."""
    found = dict.fromkeys(column for _, _, column in aggregates if column is not None)
    if are_ordered(aggregates) or any(call.distinct and column is None for _, call, column in aggregates):
        found |= dict.fromkeys(ties)
    return tuple(found)


@step_class
class RepetitionsBetween(Absence):
    """Choices of single members, each with aggregates over the repetition that lies inside its gap.

    `required` are the choices, each with the instants between which its repetition lies in the columns
    `gap` of `Stamped`. What has no time beside it has none. In the list, members without time stand first,
    the others by start, end and `ties`. `within`: longer choices are of no use to anybody.
    """

    required: Step
    repetition: Step
    gap: tuple[str, str]
    ties: Vars
    aggregates: Aggregates
    within: int | None = None

    instants: ClassVar[frozenset[int]] = frozenset()

    @cached_property
    def vars(self) -> Vars:
        return (*self.required.vars, *(var for var, _, _ in self.aggregates))

    def gives(self, inputs: tuple) -> object:
        return inputs[0] & inputs[1]

    @property
    def shared(self) -> Vars:
        return tuple(var for var in self.required.vars if var in self.repetition.vars)

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What choices and members know of each other's time."""
        return JoinBounds(INSIDE, HULL, self.within, (self.required.longest, self.repetition.longest))

    def delayed(self, slot: int) -> bool:
        return slot == 1


@step_class
class Repetitions(Step):
    """The same over rows that can leave, in a window: without a gap's first or last instant (None), its
    repetition reaches as far as the window.

    Between two members of a sequence a repetition is settled: what is in it has come when the later one
    comes, and leaves after the earlier one. In the list members stand by start, end and `ties`; `cuts` are
    windows that cut their starts, if that can change this. `hull` are the names of columns that get the
    first start and the last end of the repetition itself. `began` is the column that says when a member began
    before a window cut it, if there is one: the earliest counts.
    """

    chosen: Step
    repetition: Step
    gap: tuple[str | None, str | None]
    ties: Vars
    aggregates: Aggregates
    hull: tuple[str, str]
    cuts: tuple[WindowSpec, ...] = ()
    began: str | None = None

    def gives(self, inputs: tuple) -> object:
        return inputs[0] & inputs[1]

    @property
    def settled(self) -> bool:
        return None not in self.gap

    @property
    def expiry_known(self) -> bool:
        return self.settled

    @property
    def keys(self) -> Vars:
        return tuple(var for var in self.chosen.vars if var not in self.gap)

    @cached_property
    def vars(self) -> Vars:
        began = () if self.began is None else (self.began,)
        return (*self.keys, *(var for var, _, _ in self.aggregates), *self.hull, *began)

    @property
    def shared(self) -> Vars:
        return tuple(var for var in self.chosen.vars if var in self.repetition.vars)

    @property
    def certain(self) -> frozenset[str]:
        return self.chosen.certain & frozenset(self.keys)

    @property
    def timed(self) -> bool:
        return True
