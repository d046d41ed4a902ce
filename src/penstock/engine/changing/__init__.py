"""The operators that are not linear, where rows can leave.

Each remembers what its inputs say about when which rows are there, and answers for the instants that
the watermark passes: what it would answer for the content at an instant, as far as that is other than
an instant before. Only groups of rows that can matter to each other are looked at again, and only
where one of them changes.
"""

from collections.abc import Callable

from penstock.engine.changing.absence import ExistsMarkContent, LeftJoinContent, MinusContent
from penstock.engine.changing.groups import AggregatedContent, AskedContent
from penstock.engine.changing.order import OrderedContent, SlicedContent
from penstock.engine.changing.sets import (
    OuterBindingsContent,
    PathWalkContent,
    constructed_content,
    unique_content,
)
from penstock.engine.operators import Operator
from penstock.plan import steps
from penstock.plan.steps import PathWalk

CHANGING: dict[type[steps.Step], Callable[..., Operator]] = {
    steps.Unique: unique_content,
    steps.OuterBindings: OuterBindingsContent,
    steps.Constructed: constructed_content,
    PathWalk: PathWalkContent,
    steps.LeftJoin: LeftJoinContent,
    steps.Minus: MinusContent,
    steps.ExistsMark: ExistsMarkContent,
    steps.Aggregated: AggregatedContent,
    steps.Asked: AskedContent,
    steps.Ordered: OrderedContent,
    steps.Sliced: SlicedContent,
}
"""The operators of these steps where rows can leave."""
