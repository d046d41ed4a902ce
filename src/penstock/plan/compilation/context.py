"""What holds for a pattern because of where it stands in its query."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.catalog import ActiveDataset
from penstock.plan.compilation.substitution import Substitution
from penstock.plan.sources import Sources


@dataclass(frozen=True)
class Context:
    """What holds for a pattern because of where it stands."""

    dataset: ActiveDataset
    instants: frozenset[int] = frozenset()  # the streams whose elements' ends are instants
    key: str | None = None  # the partition key's variable
    within: int | None = None
    outer: Substitution | None = None  # inside EXISTS, where its pattern is not independent

    @property
    def sources(self) -> Sources:
        return self.dataset.default
