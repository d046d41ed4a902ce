"""How rows find each other: chains over some columns of stored rows, and joins over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.algebra.relations import ANY, INTERSECTS, JoinBounds, Side
from penstock.columns.frame import Frame
from penstock.engine import kernels
from penstock.engine.store import Rows
from penstock.timeline import NEVER

NO_PREFILTERS = np.empty((0, 5))
AT_ANY_TIME = JoinBounds(ANY)


def _empty_nodes(count: int, width: int) -> np.ndarray:
    """Room for nodes, each beginning with a cache line if it is one wide."""
    room = np.empty(count * width + 8, np.int64)
    skipped = -(room.ctypes.data // 8) % 8
    return room[skipped : skipped + count * width].reshape(count, width)


class Index:
    """Chains over some key columns of `Rows`.

    `metric` says what the chains' `top` is the largest of: "start" or "end". An index that
    is not `timed` sees all times as 0, for joins in which one side is timeless; one of `presence` sees when
    rows are there as their times.
    """

    def __init__(
        self,
        rows: Rows,
        columns: list[int],
        *,
        with_time: bool = False,
        timed: bool = True,
        metric: str = "end",
        number: int | None = None,
        presence: bool = False,
    ) -> None:
        self.rows = rows
        self.presence = presence
        self.columns = np.array(columns, np.int64)
        self.with_time = with_time
        self.timed = timed
        self.metric = metric
        self.number = -1 if number is None else number  # the column that prefilters compare
        self.generation = rows.generation
        self.linked = self.filled = 0
        self.slots = np.full(64, -1, np.int64)
        self.nodes = _empty_nodes(0, kernels.KEYS + len(self.columns))
        self._shared = False  # nodes and slots are a snapshot's: others look at them too
        if not timed:
            rows.indexes.append(self)
            self._begin_with_image()

    @property
    def name(self) -> str:
        """What tells indexes apart that see no times."""
        return f"{','.join(map(str, self.columns))};{self.number}"

    def _begin_with_image(self) -> None:
        if self.name in self.rows.prepared:
            self.nodes, self.slots = self.rows.prepared[self.name]
            self.linked = self.filled = self.rows.static
            self._shared = True

    def _own(self) -> None:
        """Before anything is written: what was a snapshot's is copied."""
        if self._shared:
            nodes = _empty_nodes(*self.nodes.shape)
            nodes[:] = self.nodes
            self.nodes, self.slots = nodes, self.slots.copy()
            self._shared = False

    def _begin_anew(self) -> None:
        """Forgets all nodes, and gives back the memory if there is far too much of it."""
        self.generation = self.rows.generation
        self.linked = self.filled = 0
        if self._shared or len(self.nodes) > 4 * len(self.rows.start):
            self._shared = False
            self.nodes = _empty_nodes(0, self.nodes.shape[1])
            self.slots = np.full(64, -1, np.int64)
        else:
            self.slots.fill(-1)
        if not self.timed:
            self._begin_with_image()

    def extend(self) -> None:
        """Makes nodes of the rows that are new, and room for them; links none of them."""
        rows, n = self.rows, self.rows.count
        if self.generation != rows.generation:
            self._begin_anew()
        if n > self.filled:
            self._own()
            capacity = len(rows.start)
            if len(self.nodes) < capacity:
                grown = _empty_nodes(capacity, self.nodes.shape[1])
                grown[: self.filled] = self.nodes[: self.filled]
                self.nodes = grown
            start, end = rows.start, rows.end
            if self.presence:
                start = np.maximum(rows.presence[1], -kernels.UNLIMITED // 2)
                end = np.minimum(rows.presence[2] - 1, kernels.UNLIMITED // 2)
            kernels.fill_nodes(
                rows.ids, self.columns, self.number, start, end, self.filled, n, self.timed,
                self.with_time, self.nodes,
            )  # fmt: skip
            self.filled = n
        if len(self.slots) < n:
            linked, self.linked = self.linked, 0
            self.slots = np.full(1 << int(2 * n - 1).bit_length(), -1, np.int64)
            self._link(linked)

    def sync(self) -> None:
        """Links all rows."""
        self.extend()
        if self.linked < self.rows.count:
            self._link(self.rows.count)

    def _link(self, last: int) -> None:
        metric = kernels.START if self.metric == "start" else kernels.END
        kernels.link(self.nodes, metric, self.linked, last, self.slots)
        self.linked = last


def _within(join_bounds: JoinBounds) -> int:
    return kernels.UNLIMITED if join_bounds.longest_hull is None else join_bounds.longest_hull


def _reach(join_bounds: JoinBounds, *, starts: bool = False) -> np.ndarray:
    """For a left and a right row, the least time of partners, after its start and its end.

    `starts`: those of a left row are told by when they start, all others by when they end.
    """
    limits = (
        join_bounds.earliest_start(Side.LEFT) if starts else join_bounds.earliest_end(Side.LEFT),
        join_bounds.earliest_end(Side.RIGHT),
    )
    after = ((limit.after_start, limit.after_end) for limit in limits)
    return np.array([[-kernels.UNLIMITED if each is None else each for each in row] for row in after])


class Pairing:
    """Two parts that join: their chains, and the batch join over them.

    `prefilters` compare the columns `numbers` of the two sides (see `plan.compilation.prefilters`).
    `presence`: rows meet that are there together, whatever their intervals.
    """

    def __init__(
        self,
        left: Rows,
        right: Rows,
        left_keys: list[int],
        right_keys: list[int],
        join_bounds: JoinBounds,
        timeless: bool,
        prefilters: np.ndarray = NO_PREFILTERS,
        numbers: tuple[int | None, int | None] = (None, None),
        *,
        presence: bool = False,
    ) -> None:
        if presence:
            join_bounds, timeless = JoinBounds(INTERSECTS), False
        elif timeless:
            join_bounds = AT_ANY_TIME
        self.mask = join_bounds.mask
        self.within = _within(join_bounds)
        self.sequence = self.mask == kernels.SEQ
        # Where all rows of a key meet, no probe can leave a chain early: their order does not matter.
        self.by_time = self.mask != kernels.ANY or self.within != kernels.UNLIMITED
        self.reach = _reach(join_bounds, starts=self.sequence)
        self.prefilters = prefilters
        equal = join_bounds.relation.same_interval
        self.left = Index(
            left, left_keys, with_time=equal, timed=not timeless, number=numbers[0], presence=presence
        )
        self.right = Index(
            right,
            right_keys,
            with_time=equal,
            timed=not timeless,
            metric="start" if self.sequence else "end",
            number=numbers[1],
            presence=presence,
        )

    def prepare(self) -> None:
        """Links everything that is there before a batch is appended."""
        self.left.sync()
        self.right.sync()

    def join(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Joins the rows appended since `prepare`; yields (left rows, right rows) in portions."""
        left, right = self.left, self.right
        left_first, right_first = left.linked, right.linked
        left.extend()
        right.extend()
        if left.filled == left_first and right.filled == right_first:
            return
        order = kernels.batch_order(
            left.nodes[left_first : left.filled], left_first,
            right.nodes[right_first : right.filled], right_first,
            kernels.START if self.sequence else kernels.END,
            self.by_time,
        )  # fmt: skip
        waiting = right.nodes[:right_first, kernels.START]
        newest = int(waiting.max()) if self.sequence and right_first else NEVER
        yield from _portions(
            lambda cursor, out_left, out_right: kernels.join_batch(
                self.mask, self.within, self.reach, self.prefilters, order, cursor, newest,
                left.nodes, left.slots, right.nodes, right.slots, out_left, out_right,
            ),
            len(order),
            left.rows.tuning.pairs,
        )  # fmt: skip
        left.linked = left.rows.count
        if not self.sequence:
            right.linked = right.rows.count


def probe_pairs(
    frame: Frame, keys: list[int], index: Index, join_bounds: JoinBounds
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(frame rows, indexed rows) that agree on the key and meet in time, in portions."""
    index.sync()
    if not index.timed:
        join_bounds = AT_ANY_TIME
    nodes = _empty_nodes(len(frame), kernels.KEYS + len(keys))
    kernels.fill_nodes(
        frame.ids, np.array(keys, np.int64), -1, frame.start, frame.end, 0, len(frame), index.timed,
        index.with_time, nodes,
    )  # fmt: skip
    mask, within, reach = join_bounds.mask, _within(join_bounds), _reach(join_bounds)
    yield from _portions(
        lambda cursor, out_left, out_right: kernels.probe(
            mask, within, reach, cursor, nodes, index.nodes, index.slots, out_left, out_right
        ),
        len(frame),
        index.rows.tuning.pairs,
    )


def _portions(call: Callable, rows: int, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    cursor = np.array([0, -2], np.int64)
    capacity = min(most, max(1024, 2 * rows))
    while cursor[0] < rows:
        out_left, out_right = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        count = call(cursor, out_left, out_right)
        if count:
            yield out_left[:count], out_right[:count]
        capacity = most
