"""The triple patterns and paths of a query, and how each of them reaches the answer.

`absent`: on the way to the top its solutions pass the optional or negative side of an
operator, an EXISTS, a repetition, or an operator that looks at a whole instant (GROUP BY,
ORDER BY, LIMIT): one more match may take an answer away.

`later`: time moves on strictly on the way, because the leaf lies on the earlier side of a
SEQ or OPTIONALSEQ whose later side always has an interval: it ends before the answer ends.
(A timeless later side would leave the answer the leaf's own interval.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.nodes import Ask, Pattern, Query
from penstock.plan.analysis.reads import LookUps, can_be_timeless, leaf_sources, reads_stream
from penstock.plan.analysis.unification import LeafPattern
from penstock.plan.analysis.walk import children, described, exists_patterns
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
    derived: LookUps = frozenset(),
    *,
    absent: bool = False,
    later: bool = False,
    in_exists: bool = False,
) -> Iterator[Leaf]:
    """All leaves of a pattern, those in EXISTS included, from left to right.

    `derived` are its look-ups that find what rules make without an interval.
    """
    for leaf in pattern.leaves:
        yield Leaf(leaf, leaf_sources(pattern, dataset), absent, later)
    inside = dataset if pattern.graph is None else dataset.within(pattern.graph)
    for place, part in enumerate(children(pattern)):
        yield from leaves(
            part,
            inside,
            derived,
            absent=absent or pattern.one_more_takes_away(place),
            later=later or _moves_on(pattern, place, dataset, derived, in_exists),
            in_exists=in_exists,
        )
    for inner in exists_patterns(pattern):
        yield from leaves(inner, inside, derived, absent=True, later=later, in_exists=True)


def _moves_on(
    pattern: Pattern, place: int, dataset: ActiveDataset, derived: LookUps, in_exists: bool
) -> bool:
    """Whether a part of an operator always ends before the operator's solution does."""
    if not pattern.time_moves_on(place):
        return False
    parts = children(pattern)
    if place == pattern.absent:
        # A timeless required side stands for an interval at each instant if the optional one is timed.
        return reads_stream(parts[place], dataset)
    others = parts[:place] + parts[place + 1 :]
    return not any(can_be_timeless(part, dataset, derived, in_exists=in_exists) for part in others)


def query_leaves(query: Query, dataset: ActiveDataset, derived: LookUps = frozenset()) -> Iterator[Leaf]:
    """All leaves of a query; ASK looks at whole instants, DESCRIBE looks up its subjects."""
    yield from leaves(query.pattern, dataset, derived, absent=isinstance(query, Ask))
    for lookup in described(query):
        yield Leaf(lookup, dataset.default, absent=True)
