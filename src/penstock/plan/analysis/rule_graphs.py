"""The graphs that rules write: where what is in them comes from in the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.algebra.nodes import Construct, Describe, Query, is_rule
from penstock.plan.analysis.reads import sources_read
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.sources import (
    RuleGraph,
    Source,
    Sources,
    behind_number,
    changing,
    rule_graphs,
    streams,
    timed,
    written_number,
)


def with_rules(catalog: Catalog, queries: Sequence[Query]) -> Catalog:
    """The catalog with the graphs that the rules among the queries write, as they are."""
    bare = catalog.with_targets(queries)
    origins = _origins(queries, [bare.dataset_of(query) for query in queries])
    written = {target_of(query) for query in queries if is_rule(query)}
    graphs = (
        RuleGraph(
            graph.iri,
            timed(origins.get(graph.iri, ())),
            changing(origins.get(graph.iri, ())),
            written=graph.iri in written,
        )
        for graph in bare.rules
    )
    return replace(bare, rules=tuple(graphs))


def _origins(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> dict[str | None, Sources]:
    """For each graph that rules write the streams and static graphs that it comes from in the end.

    What a continuous query gives comes from nowhere else: it is a stream of its own.
    """
    found: defaultdict[str | None, set[Source]] = defaultdict(set)
    readers: defaultdict[str | None, set[str | None]] = defaultdict(set)
    for query, dataset in zip(queries, datasets, strict=True):
        if is_rule(query):
            target = target_of(query)
            if query.continuous is not None:
                found[target].add(RuleGraph(target, timed=True))
                continue
            for source in sources_read(query.pattern, dataset):
                if isinstance(source, RuleGraph):
                    readers[source.iri].add(target)
                else:
                    found[target].add(source)
    waiting = list(found)
    while waiting:
        graph = waiting.pop()
        for reader in readers[graph]:
            if not found[graph] <= found[reader]:
                found[reader] |= found[graph]
                waiting.append(reader)
    return {graph: frozenset(sources) for graph, sources in found.items()}


def target_of(rule: Construct) -> str | None:
    """The name of the graph that a rule writes."""
    return None if rule.target is None else rule.target.value


@dataclass(frozen=True)
class QueryInstants:
    """The numbers by which the instants of a query are known.

    `asked`: those that it reads, where a graph that rules write is one, whichever rules these are.
    `streams`: those that these come from in the end. What a continuous query gives is such a stream, too.
    """

    asked: frozenset[int]
    streams: frozenset[int]


def instants_of(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> list[QueryInstants]:
    """For each query the streams whose elements' ends are its instants."""
    behind = {
        graph: streams(sources).union(map(written_number, rule_graphs(sources)))
        for graph, sources in _origins(queries, datasets).items()
    }
    found = []
    for query, dataset in zip(queries, datasets, strict=True):
        sources = sources_read(query.pattern, dataset)
        if isinstance(query, Describe):
            sources |= dataset.default
        read, written = streams(sources), rule_graphs(sources)
        in_the_end = read.union(*(behind.get(graph, ()) for graph in written))
        asked = read.union(map(behind_number, written)) if in_the_end else in_the_end
        found.append(QueryInstants(asked, in_the_end))
    return found
