"""Joins, and what is decided by absence when the watermark has passed the required solution's end."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from penstock.algebra.nodes import Expression
from penstock.algebra.relations import ANY, HULL, SEQ, IntervalRule, JoinBounds, Relation, Side
from penstock.plan.steps.step import (
    Absence,
    OfInput,
    SameIntervals,
    Step,
    Streams,
    TwoInputs,
    Vars,
    joined,
    step_class,
)


@step_class
class CorrelationTag(SameIntervals):
    """Adds a column that is the same for the same bindings of some columns, unbound ones included.

    It stands for an outer solution where EXISTS substitutes. Compatible is not enough there: what
    was found with a variable unbound says nothing about solutions that bind it.
    """

    memoryless = True
    expiry_known = True

    input: Step
    of: Vars
    tag: str

    @cached_property
    def vars(self) -> Vars:
        return (*self.input.vars, self.tag)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain | {self.tag}


@step_class
class OuterBindings(OfInput):
    """The distinct bindings of some variables of an outer solution, timeless: what EXISTS substitutes."""

    expiry_known = True

    input: Step
    vars: Vars
    query: str  # never shared: a reader that came later would not know what was asked for before

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)

    @property
    def reads_stream(self) -> bool:
        return False

    @property
    def after_the_fact(self) -> bool:
        return False

    @property
    def gives_belated(self) -> bool:
        return True


class Combinations(TwoInputs):
    """The base of steps whose rows are combinations of one of each input, none longer than `within`."""

    within: int | None

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.left.certain | self.right.certain

    def gives(self, inputs: tuple) -> object:
        return inputs[0] & inputs[1]

    @property
    def shared(self) -> Vars:
        right = frozenset(self.right.vars)
        return tuple(var for var in self.left.vars if var in right)

    @property
    def longest(self) -> int | None:
        return self.within


@step_class
class Join(Combinations):
    """Combinations of compatible solutions whose intervals are in the relation.

    `within`: combinations longer than this many µs are of no use to anybody.
    """

    expiry_known = True

    left: Step
    right: Step
    relation: Relation = ANY
    interval: IntervalRule = HULL
    within: int | None = None

    @property
    def name(self) -> str:
        return self.relation.join_name()

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What the two sides know of each other's time."""
        return JoinBounds(self.relation, self.interval, self.within, (self.left.longest, self.right.longest))

    @property
    def after_the_fact(self) -> bool:
        return self._after_the_fact or self.gives_belated

    @property
    def gives_belated(self) -> bool:
        return self.interval is not HULL and self.reads_stream and not self.retractable

    def filtered_input(self, looked_at: frozenset[str]) -> str | None:
        return next((side for side in ("left", "right") if looked_at <= getattr(self, side).certain), None)

    def delayed(self, slot: int) -> bool:
        return self.interval is HULL and self.relation.ends_first((Side.LEFT, Side.RIGHT)[slot])


@step_class
class LeftJoin(Absence):
    """The optional joins: `required` rows with what matches of `optional`, or alone.

    The relation reads (required, optional). Where rows stay, the optional one never ends later.
    The condition may bound the combination's duration: `within` follows from it. Each EXISTS of the
    condition is a column `marks[i]`, true where the combination finds a solution of `sought[i]`.
    `interval`: the hull, or the intersection; LEFT if combinations keep the required row's (DESCRIBE).
    """

    required: Step
    optional: Step
    relation: Relation
    condition: Expression | None = None
    within: int | None = None
    marks: Vars = ()
    sought: tuple[Step, ...] = ()
    instants: Streams = frozenset()
    interval: IntervalRule = HULL
    tags: tuple[tuple[Vars, str], ...] = ()  # as in `CorrelationTag`, of the combinations

    @cached_property
    def vars(self) -> Vars:
        return joined(self.required.vars, self.optional.vars)

    @property
    def name(self) -> str:
        if self.relation.inverted:
            return self.relation.converse.outer_name(Side.LEFT)
        return self.relation.outer_name(Side.RIGHT)

    @property
    def longest(self) -> int | None:
        return None  # the optional row may be much earlier

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What the two sides know of each other's time."""
        longest = (self.required.longest, self.optional.longest)
        return JoinBounds(self.relation, self.interval, self.within, longest)

    def delayed(self, slot: int) -> bool:
        return slot == 1 and self.interval is HULL and self.relation.ends_first(Side.RIGHT)


@step_class
class Minus(Absence):
    """MINUS."""

    required: Step
    absent: Step
    instants: Streams = frozenset()

    @property
    def vars(self) -> Vars:
        return self.required.vars


AFTER = Relation(
    "AFTER",
    (("ls", "<", "rs"), ("re", "<=", "le")),
    "After",
    "the second after the start, by the end",
)


@step_class
class Unless(Absence):
    """Required rows, each until `within` after its end, if nothing of `absent` is between these two."""

    required: Step
    absent: Step
    within: int

    instants: ClassVar[Streams] = frozenset()

    @property
    def vars(self) -> Vars:
        return self.required.vars

    @property
    def longest(self) -> int | None:
        return None if self.required.longest is None else self.required.longest + self.within

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """How what is absent lies to the time from a row's end to its deadline."""
        return JoinBounds(AFTER, longest=(self.within, self.absent.longest))


@step_class
class Next(Combinations):
    """Each left row with the right ones that follow it and end first."""

    waits = True

    left: Step
    right: Step
    within: int | None = None

    instants: ClassVar[Streams] = frozenset()

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What the two sides know of each other's time."""
        return JoinBounds(SEQ, HULL, self.within, (self.left.longest, self.right.longest))

    def filtered_input(self, looked_at: frozenset[str]) -> str | None:
        # Without some on the right, others would be the first.
        return "left" if looked_at <= self.left.certain else None

    def delayed(self, slot: int) -> bool:
        return slot == 0


@step_class
class ExistsMark(Absence):
    """Adds a column that says whether a compatible solution of `sought` has ended by then: EXISTS."""

    required: Step
    sought: Step
    var: str
    instants: Streams = frozenset()

    @cached_property
    def vars(self) -> Vars:
        return (*self.required.vars, self.var)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.required.certain | {self.var}
