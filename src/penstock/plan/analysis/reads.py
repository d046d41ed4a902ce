"""What a pattern depends on: streams, the absence of solutions, the instants of the query.

Decision 0001: a pattern *reads a stream* if it has a triple pattern or path in an active
graph with at least one stream. A solution is *timeless* if it comes from static knowledge
alone. Where absence or an operator per instant meets timeless solutions, they stand for one
solution at each instant of the query, so these operators *need the instants*.

The optional argument `derived` of these functions lists the template triples that rules can
make timelessly, each with the graph that it is written into.
"""

from __future__ import annotations

from penstock.algebra.facts import once
from penstock.algebra.nodes import (
    BGP,
    Ask,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    PathPattern,
    Pattern,
    Query,
    TriplePattern,
    Values,
    Var,
)
from penstock.algebra.relations import IntervalRule
from penstock.plan.analysis.matching import LeafPattern, can_match, look_ups, may_have_no_length
from penstock.plan.analysis.walk import (
    ABSENCE,
    PER_INSTANT,
    children,
    exists_patterns,
    required_and_other,
)
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import Sources, rule_graphs, timed
from penstock.terms import NamedNode

Templates = tuple[tuple[str | None, TriplePattern], ...]


def inside(pattern: Pattern, dataset: ActiveDataset) -> tuple[ActiveDataset, ...]:
    """The dataset that the patterns below a node look at; under `GRAPH ?g` one after the other."""
    return dataset.each_within(pattern.name) if isinstance(pattern, Graph) else (dataset,)


@once
def reads_stream(pattern: Pattern, dataset: ActiveDataset) -> bool:
    """Whether a triple pattern or path in it, also inside EXISTS, may match a stream."""
    if isinstance(pattern, BGP):
        return bool(pattern.triples) and timed(dataset.default)
    if isinstance(pattern, PathPattern):
        return timed(dataset.default)
    parts = children(pattern) + exists_patterns(pattern)
    return any(reads_stream(part, seen) for seen in inside(pattern, dataset) for part in parts)


@once
def sources_read(pattern: Pattern, dataset: ActiveDataset) -> Sources:
    """The sources that triple patterns and paths of it read."""
    if isinstance(pattern, BGP):
        return dataset.default if pattern.triples else frozenset()
    if isinstance(pattern, PathPattern):
        return dataset.default
    parts = children(pattern) + exists_patterns(pattern)
    return frozenset().union(
        *(sources_read(part, seen) for seen in inside(pattern, dataset) for part in parts)
    )


def absence_depends_on(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns whose solutions a node needs to know absent: its other side, its EXISTS."""
    inner = exists_patterns(pattern)
    return (required_and_other(pattern)[1], *inner) if isinstance(pattern, ABSENCE) else inner


@once
def depends_on_absence(pattern: Pattern, dataset: ActiveDataset | None = None) -> bool:
    """Whether an OPTIONAL, MINUS or EXISTS (or a temporal one) decides about solutions.

    With a dataset, only absence in streams counts: static knowledge is known from the start.
    """
    others = absence_depends_on(pattern)
    parts = children(pattern) + exists_patterns(pattern)
    if dataset is None:
        return bool(others) or any(depends_on_absence(part) for part in parts)
    return _absence_in_stream(pattern, dataset) or any(
        depends_on_absence(part, seen) for seen in inside(pattern, dataset) for part in parts
    )


@once
def can_be_timeless(
    pattern: Pattern, dataset: ActiveDataset, derived: Templates = (), *, in_exists: bool = False
) -> bool:
    """Whether a pattern may have a solution without an interval.

    `in_exists`: terms may be substituted for its variables, also for the ends of a path.
    """
    if isinstance(pattern, BGP):
        return all(_matches_timeless(triple, dataset, derived) for triple in pattern.triples)
    if isinstance(pattern, PathPattern):
        fixed_end = not (isinstance(pattern.subject, Var) and isinstance(pattern.object, Var))
        if (fixed_end or in_exists) and may_have_no_length(pattern.path):
            return True
        return _matches_timeless(pattern, dataset, derived)
    if isinstance(pattern, Values):
        return bool(pattern.rows)
    if isinstance(pattern, Join):
        if pattern.interval is IntervalRule.INSTANT:
            return True
        sides = {IntervalRule.LEFT: (pattern.left,), IntervalRule.RIGHT: (pattern.right,)}
        return all(
            can_be_timeless(side, dataset, derived, in_exists=in_exists)
            for side in sides.get(pattern.interval, children(pattern))
        )
    if isinstance(pattern, ABSENCE):
        required, _ = required_and_other(pattern)
        return not _absence_in_stream(pattern, dataset) and can_be_timeless(
            required, dataset, derived, in_exists=in_exists
        )
    if isinstance(pattern, (Filter, Extend)) and _absence_in_stream(pattern, dataset):
        return False
    if isinstance(pattern, PER_INSTANT) and reads_stream(pattern, dataset):
        return False
    if isinstance(pattern, Group):
        return True
    return any(
        can_be_timeless(child, seen, derived, in_exists=in_exists)
        for seen in inside(pattern, dataset)
        for child in children(pattern)
    )


def _matches_timeless(leaf: LeafPattern, dataset: ActiveDataset, derived: Templates) -> bool:
    """Whether a leaf may match a static triple, or one that a rule derives from static ones."""
    for look_up in look_ups(leaf):
        if dataset.static_may_have(look_up.predicate if isinstance(look_up.predicate, NamedNode) else None):
            return True
    written = rule_graphs(dataset.default) if derived else ()
    return any(graph in written and can_match(triple, leaf) for graph, triple in derived)


def _absence_in_stream(pattern: Pattern, dataset: ActiveDataset) -> bool:
    """Whether the node itself asks for the absence of solutions that a stream can give."""
    return any(reads_stream(other, dataset) for other in absence_depends_on(pattern))


def expands_timeless(
    pattern: Pattern, dataset: ActiveDataset, derived: Templates = (), *, in_exists: bool = False
) -> bool:
    """Whether timeless solutions below this very node stand for one at each instant."""
    if isinstance(pattern, PER_INSTANT):
        return reads_stream(pattern, dataset) and can_be_timeless(
            pattern.pattern, dataset, derived, in_exists=in_exists
        )
    if not _absence_in_stream(pattern, dataset):
        return False
    below = required_and_other(pattern)[0] if isinstance(pattern, ABSENCE) else pattern.pattern
    return can_be_timeless(below, dataset, derived, in_exists=in_exists)


@once
def needs_instants(
    pattern: Pattern, dataset: ActiveDataset, derived: Templates = (), *, in_exists: bool = False
) -> bool:
    """Whether some operator must answer at instants at which nothing else matched.

    That is an implicit group over a stream (it has a row at each instant, also an empty one),
    and every operator that spreads timeless solutions over the instants. A GROUP BY, ORDER BY
    or LIMIT over timed solutions alone has nothing to say at other instants.
    """
    if isinstance(pattern, Group) and not pattern.keys and reads_stream(pattern, dataset):
        return True
    if expands_timeless(pattern, dataset, derived, in_exists=in_exists):
        return True
    return any(
        needs_instants(part, seen, derived, in_exists=below)
        for seen in inside(pattern, dataset)
        for parts, below in ((children(pattern), in_exists), (exists_patterns(pattern), True))
        for part in parts
    )


def query_needs_instants(query: Query, dataset: ActiveDataset, derived: Templates = ()) -> bool:
    """`needs_instants` for a whole query: ASK answers at every instant."""
    if isinstance(query, Ask) and reads_stream(query.pattern, dataset):
        return True
    return needs_instants(query.pattern, dataset, derived)
