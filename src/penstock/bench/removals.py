"""`penstock bench removals`: triples that leave static knowledge, and its closure with them.

The peer is the closure of what remains, from scratch: what a removal would cost without maintenance. In
the end both must be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock.bench import universities
from penstock.bench.figures import Figure, figure, scale, timed
from penstock.knowledge.graphs import StaticGraph, read_graphs
from penstock.reason.closing import Closure
from penstock.rules.library import ruleset
from penstock.rules.rule import Rule

REMOVALS = 10_000
BATCHES = (1, 100, 1000)


def removals() -> Iterator[Figure]:
    count = max(20, int(REMOVALS * scale()))
    rules = ruleset([universities.REGIME])
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        path = Path(scratch) / "lubm1.nt"
        universities.generated(1, path)
        [data], [ontology] = read_graphs(str(path)), read_graphs(str(universities.ontology()))
    leaving, staying = cut(data, count)
    remaining = StaticGraph(None, staying, data.terms)
    remove(closure_of(rules, ontology, data), leaving[:, :2], 1)  # compiles, or loads what was compiled
    scratch_seconds, expected = timed(lambda: closure_of(rules, ontology, remaining))
    for size in BATCHES:
        closure = closure_of(rules, ontology, data)
        seconds, _ = timed(lambda: remove(closure, leaving, size))  # noqa: B023
        if not same(closure.triples, expected.triples):
            raise RuntimeError(f"removals by {size} left another closure than what remains has")
        each = seconds / -(-leaving.shape[1] // size)
        case = f"{leaving.shape[1]:,} removals, {size:,} at a time: each time"
        yield figure("removals", case, each * 1000, "ms", "from scratch", scratch_seconds * 1000)


def closure_of(rules: list[Rule], *graphs: StaticGraph) -> Closure:
    closure = Closure(rules)
    for graph in graphs:
        closure.add(graph.triples, graph.terms)
    return closure


def cut(data: StaticGraph, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Some triples that leave, in a random order, and those that stay."""
    order = np.random.default_rng(3).permutation(len(data))
    return data.triples[:, order[:count]], data.triples[:, np.sort(order[count:])]


def remove(closure: Closure, leaving: np.ndarray, size: int) -> None:
    for first in range(0, leaving.shape[1], size):
        closure.remove(leaving[:, first : first + size])


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two tables have the same triples, in whatever order."""
    return one.shape == other.shape and bool((_sorted(one) == _sorted(other)).all())


def _sorted(triples: np.ndarray) -> np.ndarray:
    return triples[:, np.lexsort(triples[::-1])]
