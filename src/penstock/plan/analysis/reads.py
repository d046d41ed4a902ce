"""What a pattern depends on: streams, the absence of solutions, the instants of the query.

Decision 0001: a pattern *reads a stream* if it has a triple pattern or path in an active
graph with at least one stream. A solution is *timeless* if it comes from static knowledge
alone. Where absence or an operator per instant meets timeless solutions, they stand for one
solution at each instant of the query, so these operators *need the instants*.

The optional argument `derived` of these functions has the look-ups of the pattern that find a
triple which a rule makes timelessly, each with the graph that it is written into.
"""

from __future__ import annotations

from penstock.algebra.facts import once
from penstock.algebra.nodes import Ask, PathPattern, Pattern, Query, is_nested
from penstock.algebra.scopes import STREAM
from penstock.plan.analysis.automata import anywhere
from penstock.plan.analysis.unification import LeafPattern, LookUp, look_ups, may_have_no_length
from penstock.plan.analysis.walk import children, exists_patterns
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import Sources, only_streams, rule_graphs, timed
from penstock.terms import NamedNode

LookUps = frozenset[tuple[str | None, LookUp]]
"""Look-ups in graphs that rules write."""


def inside(pattern: Pattern, dataset: ActiveDataset) -> tuple[ActiveDataset, ...]:
    """The dataset that the patterns below a node look at; under `GRAPH ?g` one after the other."""
    return (dataset,) if pattern.graph is None else dataset.each_within(pattern.graph)


def leaf_sources(pattern: Pattern, dataset: ActiveDataset) -> Sources:
    """What the triples and paths of a node read: elements are in streams only."""
    if pattern.scope == STREAM:
        return dataset.default
    return only_streams(dataset.default)


@once
def reads_stream(pattern: Pattern, dataset: ActiveDataset) -> bool:
    """Whether a triple pattern or path in it, also inside EXISTS, may match a stream."""
    if pattern.leaves and timed(leaf_sources(pattern, dataset)):
        return True
    parts = children(pattern) + exists_patterns(pattern)
    return any(reads_stream(part, seen) for seen in inside(pattern, dataset) for part in parts)


@once
def sources_read(pattern: Pattern, dataset: ActiveDataset) -> Sources:
    """The sources that triple patterns and paths of it read."""
    own = leaf_sources(pattern, dataset) if pattern.leaves else frozenset()
    parts = children(pattern) + exists_patterns(pattern)
    return own.union(*(sources_read(part, seen) for seen in inside(pattern, dataset) for part in parts))


def absence_depends_on(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns whose solutions a node needs to know absent: its other side, its EXISTS."""
    inner = exists_patterns(pattern)
    return inner if pattern.absent is None else (children(pattern)[pattern.absent], *inner)


@once
def can_be_timeless(
    pattern: Pattern, dataset: ActiveDataset, derived: LookUps = frozenset(), *, in_exists: bool = False
) -> bool:
    """Whether a pattern may have a solution without an interval.

    `in_exists`: terms may be substituted for its variables, also for the ends of a path.
    """
    if pattern.leaves:
        if pattern.scope != STREAM:
            return False
        return all(_matches_timeless(leaf, dataset, derived, in_exists) for leaf in pattern.leaves)
    if absence_in_stream(pattern, dataset) or (pattern.per_instant and reads_stream(pattern, dataset)):
        return False
    return any(
        pattern.can_be_timeless(
            tuple(can_be_timeless(part, seen, derived, in_exists=in_exists) for part in children(pattern))
        )
        for seen in inside(pattern, dataset)
    )


def _matches_timeless(leaf: LeafPattern, dataset: ActiveDataset, derived: LookUps, in_exists: bool) -> bool:
    """Whether a leaf may match a static triple, or one that a rule derives from static ones, or none."""
    if isinstance(leaf, PathPattern) and is_nested(leaf.path):
        if anywhere(leaf.path):
            return True
    elif isinstance(leaf, PathPattern) and may_have_no_length(leaf.path):
        if in_exists or len(leaf.names) < len({leaf.subject, leaf.object}):  # an end is a term
            return True
    written = rule_graphs(dataset.default) if derived else ()
    for look_up in look_ups(leaf):
        if dataset.static_may_have(look_up.predicate if isinstance(look_up.predicate, NamedNode) else None):
            return True
        if any((graph, look_up) in derived for graph in written):
            return True
    return False


def absence_in_stream(pattern: Pattern, dataset: ActiveDataset) -> bool:
    """Whether the node itself asks for the absence of solutions that a stream can give."""
    return any(reads_stream(other, dataset) for other in absence_depends_on(pattern))


def expands_timeless(
    pattern: Pattern, dataset: ActiveDataset, derived: LookUps = frozenset(), *, in_exists: bool = False
) -> bool:
    """Whether timeless solutions below this very node stand for one at each instant."""
    by_instants = pattern.per_instant and reads_stream(pattern, dataset)
    if not by_instants and (pattern.per_instant or not absence_in_stream(pattern, dataset)):
        return False
    return can_be_timeless(pattern.required, dataset, derived, in_exists=in_exists)


@once
def needs_instants(
    pattern: Pattern, dataset: ActiveDataset, derived: LookUps = frozenset(), *, in_exists: bool = False
) -> bool:
    """Whether some operator must answer at instants at which nothing else matched.

    That is an implicit group over a stream (it has a row at each instant, also an empty one),
    and every operator that spreads timeless solutions over the instants. A GROUP BY, ORDER BY
    or LIMIT over timed solutions alone has nothing to say at other instants.
    """
    if pattern.always_answers and reads_stream(pattern, dataset):
        return True
    if expands_timeless(pattern, dataset, derived, in_exists=in_exists):
        return True
    return any(
        needs_instants(part, seen, derived, in_exists=below)
        for seen in inside(pattern, dataset)
        for parts, below in ((children(pattern), in_exists), (exists_patterns(pattern), True))
        for part in parts
    )


def query_needs_instants(query: Query, dataset: ActiveDataset, derived: LookUps = frozenset()) -> bool:
    """`needs_instants` for a whole query: ASK answers at every instant."""
    if isinstance(query, Ask) and reads_stream(query.pattern, dataset):
        return True
    return needs_instants(query.pattern, dataset, derived)
