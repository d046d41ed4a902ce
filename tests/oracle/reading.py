"""Which streams a pattern reads, and at which instants a query is therefore asked.

"Reads a stream" is a property of the pattern, not of the data in it: a triple pattern or
path in an active graph with at least one stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from oracle.model import ActiveGraph, Stream, TimedDataset
from penstock.algebra import (
    BGP,
    Aggregate,
    Ask,
    Call,
    Construct,
    Dataset,
    Describe,
    Exists,
    Graph,
    Node,
    PathPattern,
    Select,
    Values,
    Var,
)
from penstock.algebra.scopes import STREAM

PATTERN_LEAVES = (BGP, PathPattern, Values)
EXPRESSION_NODES = (Call, Exists, Aggregate)


def children(node) -> Iterator:
    """The patterns and expressions directly inside an algebra node."""
    for each in fields(node):
        yield from _nodes_in(getattr(node, each.name))


def _nodes_in(value) -> Iterator:
    if isinstance(value, tuple):
        for member in value:
            yield from _nodes_in(member)
    elif isinstance(value, Node) and not isinstance(value, (Var, Dataset)):
        yield value


def exists_in(expression) -> list[Exists]:
    """Every EXISTS of an expression, not looking into their patterns."""
    if isinstance(expression, Exists):
        return [expression]
    if isinstance(expression, EXPRESSION_NODES):
        return [found for child in children(expression) for found in exists_in(child)]
    return []


def streams_read(node, active: ActiveGraph, dataset: TimedDataset) -> set[Stream]:
    """The streams in the active graphs of all triple patterns and paths of a pattern."""
    if isinstance(node, BGP) and not node.triples:
        return set()
    if isinstance(node, (BGP, PathPattern)):
        # What rules derive is in no element.
        return {s for s in active if s.is_stream and (node.scope == STREAM or s.elements is not None)}
    if isinstance(node, Values):
        return set()
    if isinstance(node, Graph):
        graphs = dataset.named.values() if isinstance(node.name, Var) else [dataset.named.get(node.name, ())]
        return {s for graph in graphs for s in streams_read(node.pattern, graph, dataset)}
    return {s for child in children(node) for s in streams_read(child, active, dataset)}


def reads_a_stream(node, active: ActiveGraph, dataset: TimedDataset) -> bool:
    return bool(streams_read(node, active, dataset))


def chosen(dataset: TimedDataset, clause: Dataset | None) -> TimedDataset:
    """The dataset that FROM and FROM NAMED leave: exactly those, and what rules derive."""
    if clause is None:
        return dataset
    return TimedDataset(
        tuple(source for name in clause.default for source in dataset.named.get(name, ())),
        {name: dataset.named.get(name, ()) for name in clause.named},
        dataset.derived,
    )


def default_graph(dataset: TimedDataset) -> ActiveGraph:
    return tuple(dataset.default) + tuple(dataset.derived)


def instants_of(query: Select | Construct | Ask | Describe, dataset: TimedDataset) -> list[int]:
    """The instants of a query: those of the streams it reads (dataset clause applied)."""
    read = streams_read(query.pattern, default_graph(dataset), dataset)
    if isinstance(query, Describe):
        read |= {source for source in default_graph(dataset) if source.is_stream}
    return sorted({instant for stream in read for instant in stream.instants})
