"""The physical plan: what the engine executes, step by step.

Steps are frozen values, as algebra nodes are: equal steps are one operator at run time,
however many queries they come from. Each step knows the columns it gives (`vars`), which
of them are always bound (`certain`), and whether its rows depend on a stream.
"""

from penstock.plan.steps.instants import Aggregated, Asked, Ordered, Sliced
from penstock.plan.steps.joins import (
    CorrelationTag,
    ExistsMark,
    Join,
    LeftJoin,
    Minus,
    Next,
    OuterBindings,
    Unless,
)
from penstock.plan.steps.leaves import InlineData, PerElement, Scan, Triple
from penstock.plan.steps.repetitions import Repetitions, RepetitionsBetween
from penstock.plan.steps.results import TRIPLE, Constructed
from penstock.plan.steps.rows import Columns, Compute, Filter, Merge, Rename, Unique
from penstock.plan.steps.step import Step, Streams, Vars
from penstock.plan.steps.walks import Expand, PathWalk
from penstock.plan.steps.windowing import (
    AntiJoin,
    Begun,
    Counted,
    Cut,
    DerivedScan,
    During,
    Earliest,
    Evaluated,
    Latest,
    Matched,
    Reported,
    Retimed,
    Stamped,
    StatedScan,
    Streamed,
    Timeless,
    Windowed,
)

__all__ = [
    "TRIPLE",
    "Streams",
    "Aggregated",
    "AntiJoin",
    "Asked",
    "Begun",
    "Columns",
    "Compute",
    "Constructed",
    "CorrelationTag",
    "Counted",
    "Cut",
    "DerivedScan",
    "During",
    "Earliest",
    "Evaluated",
    "ExistsMark",
    "Expand",
    "Filter",
    "Join",
    "Latest",
    "LeftJoin",
    "Matched",
    "Merge",
    "Minus",
    "Next",
    "Ordered",
    "OuterBindings",
    "PathWalk",
    "PerElement",
    "Rename",
    "Reported",
    "Retimed",
    "Repetitions",
    "RepetitionsBetween",
    "Scan",
    "Sliced",
    "Stamped",
    "StatedScan",
    "Step",
    "Streamed",
    "Triple",
    "InlineData",
    "Timeless",
    "Unique",
    "Unless",
    "Vars",
    "Windowed",
]
