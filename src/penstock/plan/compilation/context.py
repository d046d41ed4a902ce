"""What holds for a pattern because of where it stands in its query."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.relations import ANY, EQUALS, Relation
from penstock.plan.catalog import ActiveDataset
from penstock.plan.compilation.substitution import Substitution
from penstock.plan.sources import Sources, WindowSource, only_streams, static
from penstock.plan.system_columns import BEGAN, ELEMENT


@dataclass(frozen=True)
class Context:
    """What holds for a pattern because of where it stands."""

    dataset: ActiveDataset
    instants: frozenset[int] = frozenset()  # the streams whose elements' ends are instants
    key: str | None = None  # the partition key's variable
    within: int | None = None
    outer: Substitution | None = None  # inside EXISTS, where its pattern is not independent
    event: bool = False  # the whole query looks at one element, and static knowledge
    element: bool = False  # inside a pattern whose scope is one element
    window: WindowSource | None = None  # inside WINDOW, whose patterns look at one element at a time
    began: bool = False  # where windows cut first: solutions tell when they began before (BEGAN)
    element_column: str | None = None  # the column in which such a pattern tells the element

    @property
    def sources(self) -> Sources:
        return only_streams(self.dataset.default) if self.element else self.dataset.default

    @property
    def static(self) -> bool:
        """Whether patterns read static graphs alone, and are asked for no more than their pairs."""
        plain = self.outer is None and not self.hidden
        return plain and static(self.sources)

    @property
    def passing(self) -> frozenset[int]:
        """The streams whose instants operators must know: an element is all there is at once."""
        return frozenset() if self.event else self.instants

    @property
    def relation(self) -> Relation:
        """How the intervals of triples are related that a pattern combines: those of one element are one."""
        return EQUALS if self.element else ANY

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns beside those of variables that solutions keep to the end."""
        return (BEGAN,) if self.began else ()

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns beside those of variables that tell which solutions belong together."""
        return (ELEMENT,) if self.element or self.event else ()
