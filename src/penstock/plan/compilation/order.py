"""Which steps keep the order that ORDER BY gives rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan import steps
from penstock.plan.steps import Step

_IN_ORDER = (steps.Columns, steps.Filter, steps.Compute, steps.Unique)
"""Steps that keep the order of their rows."""


def is_ordered(step: Step) -> bool:
    """Whether rows of one instant come together and in order."""
    while isinstance(step, _IN_ORDER):
        step = step.input
    return isinstance(step, steps.Ordered)


def with_ties(step: Step, vars: tuple[str, ...]) -> Step:
    """The same, where ORDER BY decides ties by the columns that are left in the end."""
    if isinstance(step, _IN_ORDER):
        return replace(step, input=with_ties(step.input, vars))
    return replace(step, ties=vars)  # type: ignore[type-var]
