"""The triple patterns and paths of a query, and how each of them reaches the answer.

`absent`: on the way to the top its solutions pass the optional or negative side of an
operator, an EXISTS, or an operator that looks at a whole instant (GROUP BY, ORDER BY,
LIMIT): one more match may take an answer away.

`later`: time moves on strictly on the way, because the leaf lies on the earlier side of a
SEQ or OPTIONALSEQ whose later side always has an interval: it ends before the answer ends.
(A timeless later side would leave the answer the leaf's own interval.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.nodes import (
    BGP,
    Ask,
    Graph,
    Join,
    OuterJoin,
    PathPattern,
    Pattern,
    Query,
)
from penstock.algebra.relations import HULL, Side
from penstock.plan.analysis.matching import LeafPattern
from penstock.plan.analysis.reads import Templates, can_be_timeless, reads_stream
from penstock.plan.analysis.walk import (
    ABSENCE,
    PER_INSTANT,
    children,
    described,
    exists_patterns,
    required_and_other,
)
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import Sources


@dataclass(frozen=True, slots=True)
class Leaf:
    """A triple pattern or path, what it reads, and its way to the answer."""

    pattern: LeafPattern
    sources: Sources
    absent: bool = False
    later: bool = False


def leaves(
    pattern: Pattern,
    dataset: ActiveDataset,
    derived: Templates = (),
    *,
    absent: bool = False,
    later: bool = False,
    in_exists: bool = False,
) -> Iterator[Leaf]:
    """All leaves of a pattern, those in EXISTS included, from left to right.

    `derived` are the template triples that rules can make without an interval.
    """
    if isinstance(pattern, BGP):
        for triple in pattern.triples:
            yield Leaf(triple, dataset.default, absent, later)
        return
    if isinstance(pattern, PathPattern):
        yield Leaf(pattern, dataset.default, absent, later)
        return
    inside = dataset.within(pattern.name) if isinstance(pattern, Graph) else dataset
    optional = None
    if isinstance(pattern, ABSENCE):
        optional = 0 if required_and_other(pattern)[0] is not pattern.left else 1
    for place, child in enumerate(children(pattern)):
        moves_on = later or _moves_on(pattern, place, dataset, derived, in_exists)
        yield from leaves(
            child,
            inside,
            derived,
            absent=absent or place == optional or isinstance(pattern, PER_INSTANT),
            later=moves_on,
            in_exists=in_exists,
        )
    for inner in exists_patterns(pattern):
        yield from leaves(inner, inside, derived, absent=True, later=later, in_exists=True)


def _moves_on(
    pattern: Pattern, place: int, dataset: ActiveDataset, derived: Templates, in_exists: bool
) -> bool:
    """Whether a side of an operator always ends before the operator's solution does."""
    if not isinstance(pattern, (Join, OuterJoin)):
        return False
    side = (Side.LEFT, Side.RIGHT)[place]
    if not pattern.relation.ends_first(side):
        return False
    if isinstance(pattern, Join):
        other = children(pattern)[1 - place]
        return pattern.interval is HULL and not can_be_timeless(other, dataset, derived, in_exists=in_exists)
    # A timeless required side stands for an interval at each instant if the optional one is timed.
    return side is pattern.optional and reads_stream(children(pattern)[place], dataset)


def query_leaves(query: Query, dataset: ActiveDataset, derived: Templates = ()) -> Iterator[Leaf]:
    """All leaves of a query; ASK looks at whole instants, DESCRIBE looks up its subjects."""
    yield from leaves(query.pattern, dataset, derived, absent=isinstance(query, Ask))
    for lookup in described(query):
        yield Leaf(lookup, dataset.default, absent=True)
