"""What runs a step: one operator where rows stay, another where they can leave again.

A step that is in no table for its rows is refused by its name: an operator for rows that stay would take
a row that leaves for one more.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.algebra.base import UnknownNode
from penstock.engine import absence, constructing, following, instants, operators, paths
from penstock.engine.changing import CHANGING
from penstock.engine.expanding import ExpandOperator
from penstock.engine.operators import Operator
from penstock.engine.repetitions import RepetitionsBetweenOperator
from penstock.engine.windows import IN_WINDOWS, WINDOWS
from penstock.plan import steps
from penstock.plan.steps import RepetitionsBetween, Step

_LINEAR: dict[type[Step], Callable[..., Operator]] = {
    steps.Scan: operators.ScanOperator,
    steps.InlineData: operators.TableOperator,
    steps.Rename: operators.RenameOperator,
    steps.Filter: operators.FilterOperator,
    steps.Compute: operators.ComputeOperator,
    steps.Columns: operators.ColumnsOperator,
    steps.Merge: operators.MergeOperator,
    steps.CorrelationTag: operators.CorrelationTagOperator,
    steps.Join: operators.JoinOperator,
    steps.Expand: ExpandOperator,
    **IN_WINDOWS,
}
"""What becomes of a row does not depend on whether it leaves: it leaves in all that came of it."""

_STAYING: dict[type[Step], Callable[..., Operator]] = {
    **_LINEAR,
    steps.Unique: operators.UniqueOperator,
    steps.OuterBindings: operators.OuterBindingsOperator,
    steps.PathWalk: paths.PathWalkOperator,
    steps.Sliced: operators.SlicedOperator,
    steps.LeftJoin: absence.LeftJoinOperator,
    steps.Minus: absence.MinusOperator,
    steps.ExistsMark: absence.ExistsMarkOperator,
    steps.Unless: following.UnlessOperator,
    steps.Next: following.NextOperator,
    steps.Aggregated: instants.AggregatedOperator,
    steps.Ordered: instants.OrderedOperator,
    steps.Asked: instants.AskedOperator,
    steps.Constructed: constructing.ConstructedOperator,
    steps.PerElement: operators.ScanOperator,
    RepetitionsBetween: RepetitionsBetweenOperator,
}
_LEAVING: dict[type[Step], Callable[..., Operator]] = {**_LINEAR, **CHANGING, **WINDOWS}


def operator_of(step: Step) -> Callable[..., Operator]:
    """What runs a step, by whether its rows, or those of its inputs, can leave."""
    leave = step.retractable or any(below.retractable for below in step.inputs)
    found = (_LEAVING if leave else _STAYING).get(type(step))
    if found is None:
        raise UnknownNode(step, f"how it runs where rows {'can leave' if leave else 'stay'}")
    return found
