"""Steps put together: unions that are not deep, and exactly the columns that are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.balance import balanced
from penstock.plan.steps import Columns, InlineData, Merge, Step, Vars

UNIT = InlineData((), ((),))
"""One empty, timeless solution."""


def merged(branches: Sequence[Step]) -> Step:
    """The union of steps, as a tree that is not deep."""
    return balanced(branches, Merge)


def columns_of(step: Step, vars: Vars) -> Step:
    """The step with exactly these columns."""
    if isinstance(step, Columns) and set(vars) <= set(step.vars):
        step = step.input
    return step if step.vars == vars else Columns(step, vars)
