"""The static knowledge of a program in files, which all processes of a run map, and other versions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.columns.terms import TermChunk
from penstock.engine.digests import digest_of
from penstock.engine.program import Program
from penstock.engine.static_snapshot import SnapshotFile, stored_graphs
from penstock.errors import InputError, QueryError, storing
from penstock.knowledge.graphs import StaticGraph
from penstock.knowledge.versions import version_path, versions_in
from penstock.plan import steps
from penstock.plan.catalog import GraphName
from penstock.plan.planning import Plan, make_plan

SNAPSHOT_FILE = "snapshot.arrow"


def prepared(program: Program, directory: Path) -> Program:
    """The same program with its static knowledge in a file there, which all processes of a run map.

    Of knowledge that changes, versions of an earlier run may be there: they become versions of this
    one, whatever its queries are, and the one that is now is the newest or comes after it.
    """
    if not program.graphs:
        return program
    with storing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    if not program.changing:
        return _written(program, program.graphs, directory / SNAPSHOT_FILE)
    versions = versions_in(directory)
    newest: tuple = ()
    for version in versions:
        place = version_path(directory, version)
        stored = stored_graphs(place)
        newest = _contents(stored)
        _written(program, _in_place_of(stored, program.graphs), place, version)
    if newest != _contents(program.graphs):
        versions.append(versions[-1] + 1 if versions else 0)
        _written(program, program.graphs, version_path(directory, versions[-1]), versions[-1])
    made = program.without_knowledge()
    made.versions, made.graphs = directory, []
    return made.at(versions[-1])


def next_version(program: Program, graphs: Sequence[StaticGraph]) -> int:
    """Writes another version of the static knowledge beside those that are there; its number.

    It is refused if other steps would answer the queries then.
    """
    graphs = [graph.keyed(program.key) for graph in graphs]
    if not _answered_alike(program, graphs):
        raise InputError(
            "it cannot be taken in while the run goes on: it has other named graphs than before, or"
            " triples that a pattern had only in streams so far",
            hint="stop the run and start it again with the same checkpoint",
        )
    version = versions_in(program.versions)[-1] + 1
    _written(program, graphs, version_path(program.versions, version), version)
    return version


def _written(program: Program, graphs: Sequence[StaticGraph], path: Path, version: int = 0) -> Program:
    """The same program with static knowledge in a file."""
    made = program.without_knowledge()
    made.graphs, made.version = list(graphs), version
    snapshot = made.new_snapshot()
    if program.reasoning is not None or program.changing:
        knowledge = made.knowledge
        if program.reasoning is not None:
            knowledge = replace(knowledge, found=program.reasoning(knowledge).found)
        snapshot = snapshot.with_graphs(knowledge)
    made.file = SnapshotFile.written(snapshot, path, digest_of(*program.digests), _contents(graphs))
    made.graphs = []
    return made


def _answered_alike(program: Program, graphs: Sequence[StaticGraph]) -> bool:
    """Whether the same steps would answer the queries if these graphs were known."""
    names = tuple(GraphName(graph.iri, _may_have(program, graph)) for graph in graphs)
    queries = program.plan.queries
    kept = {i: key for i, (_, key) in enumerate(_answering(program.plan))}
    catalog, called = replace(program.plan.catalog, graphs=names), [query.name for query in queries]
    parsed = [query.parsed for query in queries]
    try:
        plan = make_plan(parsed, catalog, called, feeds=program.plan.feeds, keys=kept)
    except QueryError:  # rows would have to be spread in another way
        return False
    return _answering(plan) == _answering(program.plan)


def _may_have(program: Program, graph: StaticGraph) -> frozenset[str] | None:
    """The predicates that a graph has, or had when the plan was made: that holds for less, too."""
    found = graph.predicates()
    for planned in program.plan.catalog.graphs:
        if planned.iri == graph.iri:
            found = None if found is None or planned.predicates is None else found | planned.predicates
    return found


def _answering(plan: Plan) -> list[tuple[steps.Step, str | None]]:
    """The steps that answer each query, and the key by which its rows are spread."""
    return [(query.step, query.key.column) for query in plan.queries]


def _contents(graphs: Sequence[StaticGraph]) -> tuple[tuple[str | None, str], ...]:
    """What tells versions of static knowledge apart."""
    return tuple((graph.iri, graph.digest) for graph in graphs)


def _in_place_of(graphs: Sequence[StaticGraph], others: Sequence[StaticGraph]) -> list[StaticGraph]:
    """The graphs with the names of others, in their order; empty where there is none of a name."""
    rest = list(graphs)
    found = []
    for other in others:
        same = next((graph for graph in rest if graph.iri == other.iri), None)
        if same is not None:
            rest.remove(same)
        found.append(same or StaticGraph(other.iri, np.empty((3, 0), np.int64), TermChunk(), other.key))
    return found
