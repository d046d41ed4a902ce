"""Paths: the product of an automaton with the graph, walked as far as it leads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.algebra.relations import JoinBounds, Side
from penstock.columns.frame import Frame
from penstock.engine.chains import Index, probe_pairs
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext, Seen, may_grow
from penstock.engine.store import Retention, Rows, Store
from penstock.plan import system_columns
from penstock.plan.steps import PathWalk, Vars
from penstock.plan.system_columns import STATE


class PathWalkOperator(BlockingOperator):
    """Takes walks further that have come to where new edges begin, and new walks as far as they go."""

    def __init__(self, step: PathWalk, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        until = Retention(JoinBounds(step.relation, within=step.within).latest_end(Side.LEFT))
        edges = [self.store(f"edges{i}", label.vars, until) for i, label in enumerate(step.labels)]
        self.walking = Walking(step, edges, self.store("walks", walk_columns(step), until))

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        yield from self.walking.advanced(inputs)

    def build_static_indexes(self) -> None:
        if any(map(may_grow, self.step.inputs)):  # otherwise no row with time can come
            self.walking.build_static_indexes()


def walk_columns(step: PathWalk, *more: str) -> Vars:
    """Where walks began, if that is asked for; where they are, in which state, and what tells them apart."""
    nodes = (".x", ".y") if step.pairs else (".y",)
    return (*nodes, STATE, *step.further, *more)


class Walking:
    """The walks of an automaton along the edges of its labels, each walk once."""

    def __init__(self, step: PathWalk, edges: list[Store], walks: Store) -> None:
        join_bounds = JoinBounds(step.relation, within=step.within)
        self.step = step
        self.vars = walks.vars
        self.node = self.vars.index(".y")
        self.edges = edges
        self.seen = Seen(walks, at_once=True)
        further = self.node + 2
        self.walks = Partners(walks, [self.node, self.node + 1], further, join_bounds)
        self.leading_on = [Partners(store, [0], 2, join_bounds) for store in edges]
        self.further = further
        self.portion = walks.tuning.pairs
        self.given = tuple(var for var in self.vars if var != STATE)
        states = 1 + max(max(source, target) for source, _, target in step.transitions)
        self.accepting = np.isin(np.arange(states), list(step.accepting))
        self.outgoing: dict[int, list[tuple[int, int]]] = {}
        for source, label, target in step.transitions:
            self.outgoing.setdefault(source, []).append((label, target))

    def build_static_indexes(self) -> None:
        for partners in (self.walks, *self.leading_on):
            partners.build_static_indexes()

    def advanced(self, inputs: list[Frame]) -> Iterator[Frame]:
        """Takes new edges of each label (and nodes to start from), gives where walks newly lead."""
        labels = inputs[: len(self.edges)]
        begun = [self._began(frame) for frame in inputs[len(self.edges) :] if len(frame)]
        for store, frame in zip(self.edges, labels, strict=True):
            store.append(frame)
        for source, label, target in self.step.transitions:
            if len(labels[label]):
                begun += self._by_new_edges(labels[label], source, target)
        new = self.seen.add(Frame.concat(begun, self.vars))
        found, count = [], 0
        while len(new):
            found.append(self._accepted(new))
            count += len(found[-1])
            if count > self.portion:  # a round of a long way may find one
                yield Frame.concat(found, found[0].vars)
                found, count = [], 0
            new = Frame.concat(self._led_on(new), self.vars)
        if count:
            yield Frame.concat(found, found[0].vars)

    def _began(self, nodes: Frame) -> Frame:
        """Walks that have not left the nodes to start from."""
        return _in_state(nodes.project((".y", *self.vars[self.further :])), 0, self.vars)

    def _by_new_edges(self, edges: Frame, source: int, target: int) -> Iterator[Frame]:
        if source == 0 and self.step.start is None:
            first = edges if self.step.pairs else edges.project(edges.vars[1:])
            yield _in_state(first, target, self.vars)
        sought = edges.binding(
            (*edges.vars, STATE), np.vstack([edges.ids, np.full(len(edges), source + 1, np.int64)])
        )
        sought = sought.project((".x", ".y", STATE, *edges.vars[2:]))
        for edge, walk in self.walks.of(sought, [0, 2], 3):
            yield self._longer(walk, edge, target)

    def _led_on(self, walks: Frame) -> list[Frame]:
        """The walks that are a step longer and new; most that are found are not, so each portion is asked."""
        longer = []
        states = walks.ids[self.node + 1] - 1
        for source in np.unique(states).tolist():
            if source in self.outgoing:
                there = walks.take(states == source)
                for label, target in self.outgoing[source]:
                    for walk, edge in self.leading_on[label].of(there, [self.node], self.further):
                        longer.append(self.seen.add(self._longer(walk, edge, target)))
        return longer

    def _longer(self, walk: Frame, edge: Frame, target: int) -> Frame:
        state = np.full(len(walk), target + 1, np.int64)
        return together(walk, edge, [*walk.ids[: self.node], edge.ids[1], state], self.further)

    def _accepted(self, walks: Frame) -> Frame:
        walks = walks.take(self.accepting[walks.ids[self.node + 1] - 1])
        return walks.binding(self.given, np.delete(walks.ids, self.node + 1, axis=0))


def _in_state(nodes: Frame, state: int, vars: Vars) -> Frame:
    """Walks that are at these nodes in a state."""
    return nodes.extended(STATE, np.full(len(nodes), state + 1, np.int64)).project(vars)


def together(mine: Frame, other: Frame, columns: Sequence[np.ndarray], skipped: int) -> Frame:
    """What is made of rows that meet: these columns and the further ones of `mine`, with the hull."""
    # Further columns are equal in both, but for the element of a timeless row, which is unbound.
    own, others = mine.ids[skipped:], other.ids[len(other.ids) - len(mine.ids) + skipped :]
    return Frame(
        mine.vars,
        np.vstack([*columns, np.where(own != 0, own, others)]),
        np.minimum(mine.start, other.start),
        np.maximum(mine.end, other.end),
    )


class Partners:
    """The rows of a store that others meet: equal in some columns, and in the further ones of both.

    The further columns of the store begin at `further`.
    """

    def __init__(self, store: Store, columns: list[int], further: int, join_bounds: JoinBounds) -> None:
        self.store = store
        self.join_bounds = join_bounds
        self.columns = columns
        self.further = further
        self._indexes: dict[tuple, Index] = {}

    def of(self, frame: Frame, columns: list[int], further: int) -> Iterator[tuple[Frame, Frame]]:
        """The frame's rows and their partners, side by side, in portions."""
        timeless = frame.timeless_mask()
        for none in (False, True):
            chosen = frame.take(timeless == none)
            for (_, other), rows in self.store.parts.items():
                if not (len(chosen) and rows.count):
                    continue
                timed = not (none or other)
                index = self._index(rows, timed)
                keys = [*columns, *_apart(frame.vars, further, timed)]
                for i, j in probe_pairs(chosen, keys, index, self.join_bounds):
                    yield chosen.take(i), rows.frame(self.store.vars, j)

    def build_static_indexes(self) -> None:
        """Makes the index of timeless rows, which rows with time meet too."""
        for (_, timeless), rows in self.store.parts.items():
            if timeless and rows.count:
                self._index(rows, timed=False).sync()

    def _index(self, rows: Rows, timed: bool) -> Index:
        key = (id(rows), timed)
        if key not in self._indexes:
            columns = [*self.columns, *_apart(self.store.vars, self.further, timed)]
            self._indexes[key] = Index(rows, columns, timed=timed)
        return self._indexes[key]


def _apart(vars: Sequence[str], first: int, timed: bool) -> list[int]:
    """The columns that are equal in rows which meet: what is timeless is in every element."""
    return [at for at in range(first, len(vars)) if timed or vars[at] != system_columns.ELEMENT]
