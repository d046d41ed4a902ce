"""The triple patterns and paths of a query, and how each of them reaches the answer.

`absent`: on the way to the top its solutions pass the optional or negative side of an
operator, an EXISTS, or an operator that looks at a whole instant (GROUP BY, ORDER BY,
LIMIT): one more match may take an answer away.

`later`: time moves on strictly on the way, because the leaf lies on the earlier side of a
SEQ or OPTIONALSEQ whose later side reads a stream: it ends before the answer ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.nodes import (
    BGP,
    Ask,
    Graph,
    PathPattern,
    Pattern,
    Query,
    SeqJoin,
    SeqRightJoin,
)
from penstock.plan.catalog import ActiveDataset, ActiveGraph
from penstock.plan.matching import LeafPattern
from penstock.plan.reads import reads_stream
from penstock.plan.walk import (
    ABSENCE,
    PER_INSTANT,
    children,
    described,
    exists_patterns,
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A triple pattern or path, the graph it matches, and its way to the answer."""

    pattern: LeafPattern
    graph: ActiveGraph
    absent: bool = False
    later: bool = False


def leaves(
    pattern: Pattern, dataset: ActiveDataset, *, absent: bool = False, later: bool = False
) -> Iterator[Leaf]:
    """All leaves of a pattern, those in EXISTS included, from left to right."""
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
        optional = 0 if isinstance(pattern, SeqRightJoin) else 1
    for place, child in enumerate(children(pattern)):
        earlier = (
            isinstance(pattern, (SeqJoin, SeqRightJoin))
            and place == 0
            and reads_stream(pattern.right, dataset)
        )
        yield from leaves(
            child,
            inside,
            absent=absent or place == optional or isinstance(pattern, PER_INSTANT),
            later=later or earlier,
        )
    for inner in exists_patterns(pattern):
        yield from leaves(inner, inside, absent=True, later=later)


def query_leaves(query: Query, dataset: ActiveDataset) -> Iterator[Leaf]:
    """All leaves of a query; ASK looks at whole instants, DESCRIBE looks up its subjects."""
    yield from leaves(query.pattern, dataset, absent=isinstance(query, Ask))
    for lookup in described(query):
        yield Leaf(lookup, dataset.default, absent=True)
