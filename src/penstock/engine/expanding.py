"""Paths over static triples: walked from the nodes that rows have, by breadth-first search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.engine.store import forever
from penstock.jit import njit
from penstock.plan.steps import Expand


class ExpandOperator(BlockingOperator):
    """Finds for each row where walks lead from its node. All triples are there before the first row is.

    Nothing is remembered of walks: what is found from a node is the same as often as it is asked for.
    """

    def __init__(self, step: Expand, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.edges = [self.store(f"labels{i}", label.vars, forever) for i, label in enumerate(step.labels)]
        self.walked = 0  # steps of walks that were taken
        self._graph: tuple[list[tuple[int, int]], ProductGraph] | None = None

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        rows, *labels = inputs
        for store, frame in zip(self.edges, labels, strict=True):
            store.append(frame)
        if len(rows):
            yield from self._expanded(rows)

    def _expanded(self, rows: Frame) -> Iterator[Frame]:
        step, graph = self.step, self._product()
        begins, order, groups = _grouped(graph.numbers(rows.column(step.begin)))
        known = step.end in step.input.vars
        ends = graph.numbers(rows.column(step.end))[order] if known else np.empty(0, np.int64)
        for row, node in graph.reached(begins, groups, ends, self.tuning.pairs):
            found = rows.take(order[row])
            yield found if known else found.extended(step.end, graph.nodes[node])
        self.walked += graph.taken()

    def _product(self) -> ProductGraph:
        """The graph of the static triples that are known now."""
        parts = [rows for store in self.edges for rows in store.parts.values()]
        version = [(rows.generation, rows.count) for rows in parts]
        if self._graph is None or self._graph[0] != version:
            self._graph = version, ProductGraph(self.step, [store.timeless().ids for store in self.edges])
        return self._graph[1]


def _grouped(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct numbers, the rows by number, and where those of each begin (and the last ones end)."""
    order = np.argsort(numbers, kind="stable")
    distinct, first = np.unique(numbers[order], return_index=True)
    return distinct, order, np.append(first, len(order))


class ProductGraph:
    """The product of an automaton and a graph, of which a vertex is a state at a node.

    Only vertices that an edge touches have a number, so all of it is as large as the edges are many.
    """

    def __init__(self, step: Expand, labels: list[np.ndarray]) -> None:
        self.nodes = np.unique(np.concatenate([ids.reshape(-1) for ids in labels]))
        count = len(self.nodes)
        ends = [np.searchsorted(self.nodes, ids) for ids in labels]
        heads = [ends[label][0] + source * count for source, label, _ in step.transitions]
        tails = [ends[label][1] + target * count for _, label, target in step.transitions]
        head, tail = np.concatenate(heads), np.concatenate(tails)
        first, last = {0}, step.accepting
        if step.backwards:
            head, tail, first, last = tail, head, last, first
        self.vertices, numbers = np.unique(np.concatenate([head, tail]), return_inverse=True)
        head, tail = numbers.reshape(2, -1)
        self.first = np.array(sorted(first), np.int64) * count
        self.tails = tail[np.argsort(head, kind="stable")]
        self.offsets = np.append(0, np.cumsum(np.bincount(head, minlength=len(self.vertices))))
        states, self.node = np.divmod(self.vertices, max(count, 1))
        self.accepting = np.isin(states, sorted(last))
        # Which search has come to a vertex last, and which has given a node; then what it has found.
        self._come = np.zeros(len(self.vertices), np.int64)
        self._given = np.zeros(count, np.int64)
        self._queue = np.empty(len(self.vertices), np.int64)
        self._found = np.empty(count, np.int64)
        self._searches = np.zeros(2, np.int64)  # how many there were, and the edges they went along

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """The numbers of nodes; -1 if a term is none."""
        return _places(self.nodes, ids)

    def taken(self) -> int:
        """How many edges searches went along since it was last asked."""
        taken, self._searches[1] = int(self._searches[1]), 0
        return taken

    def reached(
        self, begins: np.ndarray, groups: np.ndarray, ends: np.ndarray, most: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows, and nodes that walks lead to from their begin, in portions.

        Group i are the rows from groups[i] to before groups[i + 1]; they begin at node begins[i]. If
        there are `ends`, one for each row, only these are looked for.
        """
        starts = _places(self.vertices, begins[:, None] + self.first)
        starts[begins < 0] = -1
        cursor = np.array([0, 0, 0, -1], np.int64)
        room = min(most, max(1024, 2 * len(begins)))
        while cursor[0] < len(begins):
            out = np.empty((2, room), np.int64)
            count = _search(
                starts, groups, ends, cursor, self.offsets, self.tails, self.node, self.accepting,
                self._come, self._given, self._queue, self._found, self._searches, out,
            )  # fmt: skip
            if count:
                yield out[0, :count], out[1, :count]
            room = most


def _places(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where values stand in an ordered array; -1 if they do not."""
    if not len(ordered):
        return np.full(values.shape, -1, np.int64)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[places] == values, places, -1)


@njit(cache=True)
def _search(
    starts, groups, ends, cursor, offsets, tails, node, accepting, come, given, queue, found, searches, out
):
    """Searches from the starts of each group; puts (row, node) into `out` until all is done or it is full.

    The cursor is the group, the row and the place in what was found where it goes on, and how much was
    found for the group (-1: nothing was searched yet).
    """
    count = 0
    while cursor[0] < starts.shape[0]:
        group = cursor[0]
        if cursor[3] < 0:
            searches[0] += 1
            search, waiting, reached = searches[0], 0, 0
            for k in range(starts.shape[1]):
                if starts[group, k] >= 0:
                    queue[waiting] = starts[group, k]
                    come[queue[waiting]] = search
                    waiting += 1
            at = 0
            while at < waiting:
                vertex = queue[at]
                at += 1
                searches[1] += offsets[vertex + 1] - offsets[vertex]
                for edge in range(offsets[vertex], offsets[vertex + 1]):
                    there = tails[edge]
                    if come[there] != search:
                        come[there] = search
                        queue[waiting] = there
                        waiting += 1
                        if accepting[there] and given[node[there]] != search:
                            given[node[there]] = search
                            found[reached] = node[there]
                            reached += 1
            cursor[1], cursor[2], cursor[3] = groups[group], 0, reached
        while cursor[1] < groups[group + 1] and cursor[3] > 0:
            row = cursor[1]
            if ends.size:
                if count == out.shape[1]:
                    return count
                if ends[row] >= 0 and given[ends[row]] == searches[0]:
                    out[0, count], out[1, count] = row, ends[row]
                    count += 1
            else:
                while cursor[2] < cursor[3]:
                    if count == out.shape[1]:
                        return count
                    out[0, count], out[1, count] = row, found[cursor[2]]
                    count += 1
                    cursor[2] += 1
                cursor[2] = 0
            cursor[1] += 1
        cursor[0] += 1
        cursor[3] = -1
    return count
