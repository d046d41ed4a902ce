"""Steps that look at one row at a time, and UNION and DISTINCT."""

from __future__ import annotations

from functools import cached_property

from penstock.algebra.nodes import Expression, tighter
from penstock.plan.analysis.bounds import duration_bound
from penstock.plan.steps.step import (
    SameColumns,
    SameIntervals,
    Step,
    TwoInputs,
    Vars,
    joined,
    step_class,
)
from penstock.plan.system_columns import BEGAN


@step_class
class Rename(SameIntervals):
    """The input's columns under other names, in its order."""

    memoryless = True
    expiry_known = True
    filtered_before = True

    input: Step
    vars: Vars

    @cached_property
    def certain(self) -> frozenset[str]:
        pairs = zip(self.input.vars, self.vars, strict=True)
        return frozenset(new for old, new in pairs if old in self.input.certain)


@step_class
class Filter(SameColumns):
    """Solutions for which the condition holds."""

    memoryless = True
    expiry_known = True

    input: Step
    condition: Expression

    @cached_property
    def longest(self) -> int | None:
        return tighter(self.input.longest, duration_bound(self.condition))


@step_class
class Compute(SameIntervals):
    """Adds a column with the value of an expression (unbound where it is an error).

    `unseeded` are the columns that are no part of the solution's seed for random functions.
    """

    memoryless = True
    expiry_known = True

    input: Step
    var: str
    expression: Expression
    unseeded: frozenset[str] = frozenset()

    @cached_property
    def vars(self) -> Vars:
        return joined(self.input.vars, (self.var,))

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain - {self.var}


@step_class
class Columns(SameIntervals):
    """Keeps these columns in this order."""

    memoryless = True
    expiry_known = True
    filtered_before = True

    input: Step
    vars: Vars

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)


@step_class
class Merge(TwoInputs):
    """UNION."""

    memoryless = True
    expiry_known = True

    left: Step
    right: Step

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.left.certain & self.right.certain

    def gives(self, inputs: tuple) -> object:
        return inputs[0] | inputs[1]


@step_class
class Unique(SameColumns):
    """Each ⟨μ, t, t′⟩ (of an element) once. `subsume`: no timed one whose μ is also there timeless."""

    filtered_before = True

    input: Step
    subsume: bool = False

    @property
    def subsumes(self) -> bool:
        """Whether there can be something to subsume."""
        return self.subsume and self.timed

    @property
    def expiry_known(self) -> bool:
        return not self.subsumes and BEGAN not in self.vars
