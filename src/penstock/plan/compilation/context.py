"""What holds for a pattern because of where it stands in its query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.nodes import BGP, PathPattern
from penstock.algebra.relations import ANY, EQUALS, Relation
from penstock.algebra.scopes import ELEMENT as ONE_ELEMENT
from penstock.errors import QueryError
from penstock.plan.catalog import ActiveDataset
from penstock.plan.compilation.substitution import Substitution
from penstock.plan.hidden import ELEMENT
from penstock.plan.sources import Sources, Stream


@dataclass(frozen=True)
class Context:
    """What holds for a pattern because of where it stands."""

    dataset: ActiveDataset
    instants: frozenset[int] = frozenset()  # the streams whose elements' ends are instants
    key: str | None = None  # the partition key's variable
    within: int | None = None
    outer: Substitution | None = None  # inside EXISTS, where its pattern is not independent
    element: bool = False  # inside a pattern whose scope is one element

    @property
    def sources(self) -> Sources:
        default = self.dataset.default
        return frozenset(each for each in default if isinstance(each, Stream)) if self.element else default

    @property
    def relation(self) -> Relation:
        """How the intervals of triples are related that a pattern combines: those of one element are one."""
        return EQUALS if self.element else ANY

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns beside those of variables that tell which solutions belong together."""
        return (ELEMENT,) if self.element else ()


def in_scope(leaf: BGP | PathPattern, context: Context) -> Context:
    """The context inside a leaf whose scope is not the stream."""
    if leaf.scope != ONE_ELEMENT:
        raise QueryError(f"a pattern cannot have the scope {leaf.scope}: windows are not built yet")
    return replace(context, element=True)
