"""Streams that queries give: to whom it matters when, what reads its own output, and what that does to keys.

A continuous query that constructs a stream feeds others as a rule does (`recursion`). But a window reports by
the ends of all elements of its stream, whatever its patterns look for; so who has a window over what queries
give depends on all of it, and so does a query that answers at its instants.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.nodes import Query, is_rule
from penstock.errors import QueryError
from penstock.plan.analysis.components import Edge, components
from penstock.plan.analysis.keys import NoKey
from penstock.plan.analysis.reads import can_be_timeless, query_needs_instants, sources_read
from penstock.plan.analysis.recursion import Feeding, RuleProgram
from penstock.plan.analysis.rule_graphs import QueryInstants, target_of
from penstock.plan.analysis.walk import nodes
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.sources import static_graphs, written_number


def notified(
    fed: Feeding, catalog: Catalog, datasets: Sequence[ActiveDataset], instants: Sequence[QueryInstants]
) -> tuple[Edge, ...]:
    """Rules, each with a query that must know when it gives something (`instants`: of each query)."""
    writers: dict[int, list[int]] = {}
    for place, query in enumerate(fed.queries):
        if is_rule(query) and query.target is not None:
            writers.setdefault(written_number(query.target.value), []).append(place)
    found: list[Edge] = []
    for place, query in enumerate(fed.queries) if writers else ():
        numbers: frozenset[int] = frozenset()
        if query.continuous is not None:
            shown = (catalog.shown_by(window, timeless=False) for window in query.continuous.windows)
            numbers = frozenset().union(*(window.numbers for window in shown))
        elif query_needs_instants(query, datasets[place], fed.timeless[place]):
            numbers = instants[place].streams
        found += [(writer, place) for number in sorted(numbers) for writer in writers.get(number, ())]
    return tuple(found)


def refuse_own_output(fed: Feeding, names: Sequence[str]) -> None:
    """Refuse a query over windows that reads what follows from its own output.

    What it gives at an instant would depend on what it gives at that instant: the element ends then, and is
    in the window.
    """
    queries = fed.queries
    edges = list(fed.edges())
    for members in components(fed.places, edges):
        first = next((place for place in members if place < len(queries) and queries[place].continuous), None)
        if first is None or len(members) == 1 and (first, first) not in fed.notified:
            continue
        way = [place for place in _circle(first, set(members), edges) if place < len(queries)]
        said = []
        for place in way[:-1]:
            target = target_of(queries[place])
            said += [f"`{names[place]}`", *([] if target is None else [f"<{target}>"])]
        raise QueryError(
            f"`{names[first]}` reads its own output: {' → '.join(said)} → `{names[first]}`. What it gives at "
            "an instant would depend on what it gives at that instant",
            hint="let it, or one of those between, read another stream; a rule of EP-SPARQL may feed itself",
        )


def _circle(first: int, members: set[int], edges: Sequence[Edge]) -> list[int]:
    """A shortest way from a place back to it, among some."""
    came_from: dict[int, int] = {}
    waiting = [first]
    for place in waiting:
        for one, other in edges:
            if one == place and other in members and other not in came_from:
                came_from[other] = place
                waiting.append(other)
    way = [first]
    while len(way) == 1 or way[-1] != first:
        way.append(came_from[way[-1]])
    return way[::-1]


def kept_in_one(
    program: RuleProgram, fed: Feeding, datasets: Sequence[ActiveDataset], names: Sequence[str]
) -> NoKey | None:
    """Why queries that read each other's streams cannot be spread over partitions; None if they can."""
    for writer, reader in fed.notified:
        if reader in program.queries:
            return NoKey(
                f"when `{names[writer]}` gives something, which `{names[reader]}` must know, is known only "
                "where all of it is"
            )
    feeding = {rule for rules, _ in program.meetings for rule in rules}
    for place in feeding:
        query = fed.queries[place]
        if query.continuous is not None and _gives_static(query, datasets[place]):
            return NoKey(f"what `{names[place]}` gives may follow from static knowledge, without a key")
    return None


def _gives_static(query: Query, dataset: ActiveDataset) -> bool:
    """Whether solutions may come from no stream: the first partition gives these, whatever the key is."""
    if static_graphs(sources_read(query.pattern, dataset)) or can_be_timeless(query.pattern, dataset):
        return True
    # VALUES: what finds terms and looks nowhere.
    return any(node.names and not node.parts and not node.leaves for node in nodes(query.pattern))
