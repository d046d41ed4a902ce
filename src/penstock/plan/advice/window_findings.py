"""What probably was not meant about the windows of a query: further warnings of `penstock check`.

window-gaps         a window that slides by more than its width: what falls between is in none
unbounded-window    a window that nothing ever leaves
unread-window       a window that no pattern looks at; it reports all the same
hides-itself        !{ B } in a SEQ, where what comes before or after it is such a B itself
equal-readings      COUNT, SUM or AVG over a window as a graph, where equal readings of two elements are one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.algebra.base import Vars, variables_among
from penstock.algebra.nodes import (
    Aggregate,
    EventSequence,
    ParsedQuery,
    PathPattern,
    Pattern,
    TriplePattern,
    Var,
)
from penstock.algebra.windows import Kind, View, WindowSpec
from penstock.errors import Finding
from penstock.plan.analysis.leaves import Leaf, leaves
from penstock.plan.analysis.variables import of_expression, possible
from penstock.plan.analysis.walk import children, nodes, subexpressions
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.sources import Stream, WindowSource, static_graphs
from penstock.plan.wording import in_words
from penstock.terms import NamedNode
from penstock.timeline import format_duration

_COUNTING = ("COUNT", "SUM", "AVG")


def window_findings(parsed: ParsedQuery, dataset: ActiveDataset, catalog: Catalog) -> Iterator[Finding]:
    """The findings about the windows of a query, each where it says what it holds."""
    continuous = parsed.query.continuous
    if continuous is None:
        return
    read = {node.graph for node in nodes(parsed.query.pattern) if node.graph is not None}
    places = parsed.window_places or (None,) * len(continuous.windows)
    for window, place in zip(continuous.windows, places, strict=True):
        spec = window.spec
        if spec.kind is Kind.LANDMARK:
            yield Finding(
                "unbounded-window",
                "nothing ever leaves this window, so what is remembered grows without end",
                "give it a width, as far as the query looks back",
                place,
            )
        elif spec.slide > max(spec.width, 1):
            yield Finding(
                "window-gaps",
                f"the window slides by {_length(spec, spec.slide)} and is {_length(spec, spec.width)} wide: "
                "what falls between two windows is in none",
                "a slide as long as the window has no gaps",
                place,
            )
        if window.name is not None and window.name not in read:
            yield Finding(
                "unread-window",
                f"no pattern looks at the window {window.name}; when it reports, the query is evaluated "
                "all the same",
                f"read it with WINDOW {window.name} {{ … }}, or leave it out",
                place,
            )

    if continuous.view is View.GRAPH:
        yield from _equal_readings(parsed, dataset, catalog)
    else:
        yield from _hides_itself(parsed)


def _hides_itself(parsed: ParsedQuery) -> Iterator[Finding]:
    """What must not lie between two members, and one of these always is: ends count as between."""
    spans = dict(parsed.spans)
    for node in nodes(parsed.query.pattern):
        if not isinstance(node, EventSequence) or node.absent in (None, 0, len(node.members) - 1):
            continue
        absent = node.members[node.absent].pattern
        shared = frozenset().union(*(possible(each.pattern) for each in node.members if each.single))
        beside = (node.members[node.absent - 1], node.members[node.absent + 1])
        if any(each.single and _are_in(absent.leaves, _triples(each.pattern), shared) for each in beside):
            yield Finding(
                "hides-itself",
                "what stands beside this negated member matches it, and an end counts as between: where"
                " events are instants, nothing is found",
                "the last event before another one is LAST of a repetition:"
                " SEQ({ … }+ (LAST(?v) AS ?v), { … })",
                next(
                    (spans[var] for var in sorted(possible(absent) - shared, key=str) if var in spans), None
                ),
            )


def _triples(pattern: Pattern) -> tuple[TriplePattern | PathPattern, ...]:
    """The triples of a member, below its filters."""
    while not pattern.leaves and len(pattern.parts) == 1:
        [pattern] = pattern.parts
    return pattern.leaves


def _are_in(
    some: Sequence[TriplePattern | PathPattern], others: Sequence[TriplePattern | PathPattern], kept: Vars
) -> bool:
    """Whether all of some triples are among others, if variables that are not `kept` may be any term."""
    if not all(isinstance(each, TriplePattern) for each in some) or not some:
        return False

    def fits(place: int, terms: dict) -> bool:
        return place == len(some) or any(
            fits(place + 1, found)
            for other in others
            if isinstance(other, TriplePattern)
            and (found := _named(some[place], other, kept, terms)) is not None
        )

    return fits(0, {})


def _named(one: TriplePattern, other: TriplePattern, kept: Vars, terms: dict) -> dict | None:
    """What the variables of a triple stand for if it is another one; None if it cannot be."""
    found = dict(terms)
    for wanted, term in zip(one, other, strict=True):
        free = isinstance(wanted, Var) and wanted not in kept
        if (found.setdefault(wanted, term) if free else wanted) != term:
            return None
    return found


def _equal_readings(parsed: ParsedQuery, dataset: ActiveDataset, catalog: Catalog) -> Iterator[Finding]:
    """Sums and counts of what windows show, where no triple tells two elements apart."""
    spans = dict(parsed.spans)
    for node in nodes(parsed.query.pattern):
        counting = [
            part
            for expression in node.expressions
            for part in subexpressions(expression)
            if isinstance(part, Aggregate) and part.name in _COUNTING and not part.distinct
        ]
        if not counting:
            continue
        (below,) = children(node)
        seen = [
            leaf
            for leaf in leaves(below, dataset)
            if not leaf.absent
            and _variables(leaf) <= possible(below)
            and any(isinstance(source, WindowSource) for source in leaf.sources)
        ]
        if seen and all(_may_repeat(leaf, seen, node.names, catalog) for leaf in seen):
            names = in_words(dict.fromkeys(each.name for each in counting))
            yield Finding(
                "equal-readings",
                f"{names} over a window as a graph: a triple that two elements state is there once, so equal"
                " readings count once",
                "give each reading a node of its own, as in { ?reading :of ?sensor ; :value ?v } (a map"
                " without aboutUrl makes one for each row); or say DISTINCT in the aggregate, if it is meant",
                next((spans[var] for each in counting for var in _used(each) if var in spans), None),
            )


def _used(aggregate: Aggregate) -> Vars:
    return of_expression(aggregate.argument) if aggregate.argument is not None else frozenset()


def _variables(leaf: Leaf) -> Vars:
    return variables_among((leaf.pattern.subject, leaf.pattern.object))


def _may_repeat(leaf: Leaf, others: Sequence[Leaf], keys: Vars, catalog: Catalog) -> bool:
    """Whether two elements may state a triple that a pattern matches.

    Where nobody knows, a subject that is described by several patterns, and by which is not grouped, is
    taken for a reading; unless static graphs describe it: elements bring no reading that these know.
    """
    streams = [each for source in leaf.sources if isinstance(source, WindowSource) for each in source.streams]
    known = [catalog.streams[each.place].repeats if isinstance(each, Stream) else None for each in streams]
    if known and None not in known:
        return any(known)
    subject = leaf.pattern.subject
    described = sum(other.pattern.subject == subject and not _is_static(other, catalog) for other in others)
    return not isinstance(subject, Var) or subject in keys or described < 2


def _is_static(leaf: Leaf, catalog: Catalog) -> bool:
    """Whether static graphs are known to have triples with the predicate of a pattern."""
    predicate = leaf.pattern.predicate if isinstance(leaf.pattern, TriplePattern) else None
    known = (catalog.graphs[place].predicates for place in static_graphs(leaf.sources))
    return isinstance(predicate, NamedNode) and any(predicate.value in each for each in known if each)


def _length(spec: WindowSpec, length: int) -> str:
    return f"{length} triples" if spec.kind is Kind.TRIPLES else format_duration(length)
