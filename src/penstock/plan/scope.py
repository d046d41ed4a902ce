"""What holds for a pattern because of where it stands in its query."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.plan.catalog import ActiveDataset, ActiveGraph
from penstock.plan.steps import Step


@dataclass(frozen=True)
class Scope:
    """What holds for a pattern because of where it stands."""

    dataset: ActiveDataset
    instants: frozenset[int] = frozenset()  # the streams whose elements' ends are instants
    key: str | None = None  # the partition key's variable
    within: int | None = None
    outer: Step | None = None  # inside EXISTS: the solutions whose bindings are substituted
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """Inside EXISTS: the tags (by name, of which columns) by which it is tied to the outer side."""

    @property
    def graph(self) -> ActiveGraph:
        return self.dataset.default
