"""What an operator remembers: rows in growable columns, appended, expired, and kept in chunks.

A `Store` is the state of one side of one operator. Each row knows until which watermark it
is needed. What a step appended becomes one immutable chunk of the state store; a chunk is
deleted when its last row is no longer needed. Small chunks are put together, so that there are
never many of them (see `Store.retractable`). Restoring is reading the chunks again.

Where rows can leave (`Store.changing`), a row also says how often and when it is there, and it is
forgotten when it has left. Rows that take others back are put together with them once they are many
(`Store.consolidate`), and then all chunks are written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.algebra.relations import Limit
from penstock.columns.frame import Frame
from penstock.engine.presence import consolidated
from penstock.engine.tuning import TUNING, Tuning
from penstock.timeline import FOREVER, NEVER

if TYPE_CHECKING:
    from penstock.engine.chains import Index

STATIC = -1
_ROW = 4


@dataclass(frozen=True)
class StaticRows:
    """The static rows of a part, as a snapshot has them (`engine/static_snapshot.py`)."""

    count: int
    ids: np.ndarray
    alike: Sequence[np.ndarray]  # start, end, until and chunk, at least as long
    presence: np.ndarray
    indexes: dict[str, tuple[np.ndarray, np.ndarray]]  # nodes and slots by the index's name


@dataclass(frozen=True)
class Retention:
    """Until which watermark rows are needed: as a limit says of each, or always (FOREVER)."""

    limit: Limit = Limit()

    def __call__(self, frame: Frame) -> np.ndarray:
        after_start, after_end = self.limit.after_start, self.limit.after_end
        if after_start is None and after_end is None:
            return np.full(len(frame), FOREVER, np.int64)
        if after_start is None:
            last = frame.end + after_end
        elif after_end is None:
            last = frame.start + after_start
        else:
            last = np.minimum(frame.start + after_start, frame.end + after_end)
        return np.where(frame.timeless_mask(), FOREVER, last)


forever = Retention()
until_end = Retention(Limit(after_end=0))
"""Needed while something that ends with it can still come."""


class RetentionWhilePresent(Retention):
    """Needed until it has left: what comes later is there later."""

    def __call__(self, frame: Frame) -> np.ndarray:
        return frame.until if frame.retractable else forever(frame)


class RetentionUntilPresent(Retention):
    """Needed until the instant from which on it is there has passed."""

    def __call__(self, frame: Frame) -> np.ndarray:
        return frame.since


while_present = RetentionWhilePresent()
until_present = RetentionUntilPresent(Limit(after_end=0))


class Rows:
    """Growable columns of rows that are all timed or all timeless, with the same variables bound.

    Memory that a frame may show is never written again: rows are appended behind it, and those
    that are kept when others go move to new memory. So a frame stays what it is for as long as
    somebody has it.
    """

    def __init__(self, width: int, tuning: Tuning = TUNING, *, changing: bool = False) -> None:
        self.tuning = tuning
        self.presence = np.empty((3 if changing else 0, 0), np.int64)  # weight, since, until
        self.count = 0
        self.generation = 0  # grows when rows were moved: who points at rows must look again
        self.ids = np.empty((width, 0), np.int64)
        self.start = np.empty(0, np.int64)
        self.end = np.empty(0, np.int64)
        self.until = np.empty(0, np.int64)
        self.chunk = np.empty(0, np.int64)  # the first chunk that had the row; it never sinks
        self.current = 0  # the chunk that rows which are appended now will be in
        self.static = (
            0  # the first rows, which are static knowledge of a snapshot (`engine/static_snapshot.py`)
        )
        self.indexes: list[Index] = []  # those over these rows that see no times
        self.prepared: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # nodes and slots that a snapshot has

    def append(self, frame: Frame, until: np.ndarray) -> None:
        first, last = self.count, self.count + len(frame)
        if last > len(self.start):
            capacity = max(self.tuning.room, 2 * last)
            self.ids = _grown(self.ids, capacity, first)
            self.start = _grown(self.start, capacity, first)
            self.end = _grown(self.end, capacity, first)
            self.until = _grown(self.until, capacity, first)
            self.chunk = _grown(self.chunk, capacity, first)
            if len(self.presence):
                self.presence = _grown(self.presence, capacity, first)
        self.ids[:, first:last] = frame.ids
        self.start[first:last] = frame.start
        self.end[first:last] = frame.end
        self.until[first:last] = until
        self.chunk[first:last] = self.current
        if len(self.presence):
            self.presence[:, first:last] = frame.changing().presence
        self.count = last

    def frame(self, vars: tuple[str, ...], rows: np.ndarray | None = None) -> Frame:
        """Some of the rows, or a view of all that are there now."""
        if rows is None:
            n = self.count
            columns = (self.ids[:, :n], self.start[:n], self.end[:n], *self.presence[:, :n])
            return Frame(vars, *map(_read_only, columns))
        presence = self.presence[:, rows] if len(self.presence) else ()
        return Frame(vars, self.ids[:, rows], self.start[rows], self.end[rows], *presence)

    def keep(self, mask: np.ndarray) -> None:
        """Moves the rows of a mask to new memory and forgets the others."""
        kept = np.flatnonzero(mask)
        # As many rows will come as go, mostly; but what a burst needed is given back.
        capacity = max(self.tuning.room, min(len(self.start), 4 * self.count))
        self.ids = _moved(self.ids, kept, capacity)
        self.start = _moved(self.start, kept, capacity)
        self.end = _moved(self.end, kept, capacity)
        self.until = _moved(self.until, kept, capacity)
        self.chunk = _moved(self.chunk, kept, capacity)
        if len(self.presence):
            self.presence = _moved(self.presence, kept, capacity)
        self.count = len(kept)
        self.generation += 1
        self.prepared = {}

    def begin_with(self, static: StaticRows) -> None:
        """Has other static rows from now on; the rows behind them stay."""
        own = np.arange(self.static, self.count)
        frame, until, chunk = self.frame((), own), self.until[own], self.chunk[own]
        self.ids, self.presence, self.count = static.ids, static.presence, static.count
        self.start, self.end, self.until, self.chunk = (column[: static.count] for column in static.alike)
        self.static, self.prepared = static.count, static.indexes
        self.generation += 1
        if len(own):
            self.append(frame, until)
            self.chunk[self.static : self.count] = chunk

    def expire(self, watermark: int) -> None:
        """Forgets what is no longer needed, once that is a good part of the rows."""
        if self.count == 0:
            return
        needed = self.until[: self.count] >= watermark
        gone = self.count - int(needed.sum())
        if gone > self.tuning.expired and gone * 2 > self.count or gone == self.count:
            self.keep(needed)


def _grown(array: np.ndarray, capacity: int, used: int) -> np.ndarray:
    grown = np.empty((*array.shape[:-1], capacity), np.int64)
    grown[..., :used] = array[..., :used]
    return grown


def _moved(array: np.ndarray, kept: np.ndarray, capacity: int) -> np.ndarray:
    moved = np.empty((*array.shape[:-1], capacity), np.int64)
    rows, targets = ([array], [moved]) if array.ndim == 1 else (array, moved)
    for row, target in zip(rows, targets, strict=True):
        row.take(kept, out=target[: len(kept)], mode="clip")  # other modes fill a copy of `out`
    return moved


def _read_only(view: np.ndarray) -> np.ndarray:
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class Chunk:
    """A chunk that the state store has, under the number of its first step's rows."""

    number: int
    level: int  # made of 16 chunks of the level below; 0: of one step
    rows: int
    until: int  # when its last row is needed

    @property
    def key(self) -> str:
        return f"{self.number:09d}.{self.level}"


Part = tuple[int, bool]
"""Which variables are bound (a bit each; one more, if it matters, says that the rows tell when they leave),
and whether the rows are timeless."""


class Store:
    """The remembered rows of one input of an operator, parted by what is bound in them.

    `split` names the variables whose being bound matters (those of the join); with none,
    rows are parted by timeless or not alone.
    """

    def __init__(
        self,
        name: str,
        vars: tuple[str, ...],
        until: Retention,
        split: tuple[str, ...] = (),
        tuning: Tuning = TUNING,
        *,
        changing: bool = False,
    ) -> None:
        self.name = name
        self.changing = changing
        self.tuning = tuning
        self.vars = vars
        self.until = until
        self.split = [vars.index(var) for var in split if var in vars]
        self.leaving_apart = False  # rows of which it is known when they leave are parts of their own
        self.parts: dict[Part, Rows] = {}
        self.before_expiry: Callable[[int], None] = lambda watermark: None
        self._fresh: list[Frame] = []
        self._chunks: list[Chunk] = []  # those in the state store, by number
        self._next = 0
        self._taken_back = 0  # what rows cost that take others back, since they were last put together
        self._rewritten = False  # none of the stored chunks is as the rows are now

    def __len__(self) -> int:
        return sum(rows.count for rows in self.parts.values())

    def size(self) -> tuple[int, int]:
        """The rows that are remembered, static knowledge apart, and the bytes of their columns."""
        rows = [
            (each.count - each.static, len(each.ids) + len(each.presence) + 4) for each in self.parts.values()
        ]
        return sum(count for count, _ in rows), sum(8 * count * width for count, width in rows)

    def divide(self, frame: Frame) -> Iterator[tuple[Part, Frame]]:
        """The frame's rows by part."""
        if not len(frame):
            return
        timeless = frame.timeless_mask()
        usual = not timeless.any() and all(frame.ids[row].all() for row in self.split)
        if usual and not self.leaving_apart:
            yield self.usual, frame
            return
        code = timeless.astype(np.int64)
        for bit, row in enumerate(self.split):
            code |= (frame.ids[row] != 0).astype(np.int64) << (bit + 1)
        if self.leaving_apart:
            code |= (frame.changing().until < FOREVER).astype(np.int64) << (len(self.split) + 1)
        first = int(code[0])
        if (code == first).all():
            yield (first >> 1, bool(first & 1)), frame
            return
        for value in np.unique(code).tolist():
            yield (value >> 1, bool(value & 1)), frame.take(code == value)

    @property
    def usual(self) -> Part:
        """The part of rows with time that have all variables of the join bound."""
        return (1 << len(self.split)) - 1, False

    def part(self, key: Part) -> Rows:
        if key not in self.parts:
            self.parts[key] = Rows(len(self.vars), self.tuning, changing=self.changing)
            self.parts[key].current = self._next
        return self.parts[key]

    def append(self, frame: Frame, *, persist: bool = True) -> None:
        if frame.retractable:
            self.taken_back(_ROW * int(np.count_nonzero(frame.weight < 0)))
        for key, rows in self.divide(frame):
            self.part(key).append(rows, self.until(rows))
        if persist:
            self.note(frame)

    def taken_back(self, cost: int) -> None:
        """Notes what rows cost that take others back: each look at one, and `_ROW` for having it."""
        self._taken_back += cost

    def note(self, frame: Frame) -> None:
        """These rows belong into the next chunk."""
        if len(frame):
            self._fresh.append(frame)

    def bound(self, part: Part) -> set[str]:
        """The split variables that are bound in a part."""
        return {self.vars[row] for bit, row in enumerate(self.split) if part[0] >> bit & 1}

    def rows(self) -> Frame:
        return Frame.concat((rows.frame(self.vars) for rows in self.parts.values()), self.vars)

    def changes_within(self, begin: int, end: int) -> bool:
        """Whether a row comes or leaves at an instant from `begin` to before `end`."""
        return any(
            bool(((times >= begin) & (times < end)).any())
            for rows in self.parts.values()
            for times in rows.presence[1:, : rows.count]
        )

    def take(self, choose: Callable[[Frame], np.ndarray]) -> Frame:
        """Removes the chosen timed rows and returns them. They are no longer needed by `until`."""
        taken = []
        for (_, timeless), rows in self.parts.items():
            if timeless or not rows.count:
                continue
            chosen = choose(rows.frame(self.vars))
            if chosen.any():
                taken.append(rows.frame(self.vars, np.flatnonzero(chosen)))
                rows.keep(~chosen)
        return Frame.concat(taken, self.vars)

    def timeless(self) -> Frame:
        return Frame.concat(
            (rows.frame(self.vars) for (_, none), rows in self.parts.items() if none), self.vars
        )

    def expire(self, watermark: int) -> None:
        """Forgets rows that are no longer needed (some may stay for a while)."""
        self.before_expiry(watermark)
        if self._taken_back > _ROW * self.tuning.taken_back and self._taken_back > len(self):
            self.consolidate(watermark)
        for (_, timeless), rows in self.parts.items():
            if self.changing or not timeless:
                rows.expire(watermark)

    def consolidate(self, watermark: int) -> None:
        """Puts rows together that say when the same solution is there; what it says stays the same.

        Static rows stay as they are: they are no part of the stored state.
        """
        self._taken_back = 0
        self._rewritten = True
        self._fresh = []
        for rows in self.parts.values():
            static = rows.chunk[: rows.count] == STATIC
            kept = consolidated(rows.frame(self.vars, np.flatnonzero(~static)))
            kept = kept.take(kept.until >= watermark)
            rows.keep(static)
            rows.append(kept, self.until(kept))

    # --- chunks in the state store ---

    def rewrite(self) -> None:
        """Stores all rows anew: some have been taken that are still needed by `until`."""
        self._rewritten = True
        self._fresh = []
        for rows in self.parts.values():
            rows.chunk[: rows.count] = self._next

    def forget_fresh(self) -> None:
        """What was appended so far is not part of the stored state."""
        self._fresh = []
        for rows in self.parts.values():
            rows.chunk[: rows.count] = STATIC

    def changes(self, watermark: int) -> tuple[list[tuple[str, Frame]], list[str]]:
        """The new chunk (if any) and the keys of chunks that may go, since the last call.

        What the last step appended is a chunk of level 0. The last 16 chunks of a level become one
        of the next, without the rows that are no longer needed. So a row is written again only
        when its chunk grows to 16 times its size, and of each level at most 15 chunks stay.
        """
        put: list[tuple[str, Frame]] = []
        if self._rewritten:
            return self._all_anew(watermark)
        gone = [chunk.key for chunk in self._chunks if chunk.until < watermark]
        self._chunks = [chunk for chunk in self._chunks if chunk.until >= watermark]
        if self._fresh:
            frame = Frame.concat(self._fresh, self.vars)
            self._fresh = []
            until = self.until(frame)
            needed = until >= watermark
            if needed.any():
                frame = frame.take(needed)
                chunk = Chunk(self._next, 0, len(frame), int(until[needed].max()))
                self._start_chunk(self._next + 1)
                first, level = self._to_merge(chunk)
                if level:
                    merged = self._chunks[first:]
                    gone += [each.key for each in merged]
                    frame = self._rows_since(merged[0].number, watermark)
                    latest = max(chunk.until, *(each.until for each in merged))
                    chunk = Chunk(merged[0].number, level, len(frame), latest)
                    del self._chunks[first:]
                self._chunks.append(chunk)
                put.append((chunk.key, frame))
        return put, gone

    def _all_anew(self, watermark: int) -> tuple[list[tuple[str, Frame]], list[str]]:
        """One chunk of all rows in place of those that are stored."""
        self._rewritten = False
        self._fresh = []
        gone = [chunk.key for chunk in self._chunks]
        self._chunks = []
        frame = self._rows_since(self._next, watermark)  # that is where `consolidate` has put all rows
        if not len(frame):
            return [], gone
        chunk = Chunk(self._next, 0, len(frame), int(self.until(frame).max()))
        self._start_chunk(self._next + 1)
        self._chunks.append(chunk)
        return [(chunk.key, frame)], gone

    def _start_chunk(self, number: int) -> None:
        """Rows that are appended from now on belong to another chunk."""
        self._next = number
        for rows in self.parts.values():
            rows.current = number

    def _to_merge(self, new: Chunk) -> tuple[int, int]:
        """From which chunk on all are to be one with a new one, and its level then (0: none)."""
        first, level, size = len(self._chunks), 0, new.rows
        while True:
            before = first - (self.tuning.together - 1)
            some = self._chunks[max(0, before) : first]
            size += sum(chunk.rows for chunk in some)
            if before < 0 or size > self.tuning.largest_chunk or any(chunk.level != level for chunk in some):
                return first, level
            first, level = before, level + 1

    def _rows_since(self, number: int, watermark: int) -> Frame:
        """The remembered rows of a chunk and all later ones that are still needed."""
        found = []
        for rows in self.parts.values():
            first = int(np.searchsorted(rows.chunk[: rows.count], number))
            needed = first + np.flatnonzero(rows.until[first : rows.count] >= watermark)
            found.append(rows.frame(self.vars, needed))
        return Frame.concat(found, self.vars)

    def restore(self, key: str, frame: Frame, watermark: int) -> None:
        """Takes a chunk back that was put by an earlier run; call in the order of keys."""
        number, _, level = key.partition(".")
        until = self.until(frame)
        latest = int(until.max()) if len(frame) else NEVER
        self._chunks.append(Chunk(int(number), int(level or 0), len(frame), latest))
        self._start_chunk(int(number))
        self.append(frame.take(until >= watermark), persist=False)
        self._start_chunk(int(number) + 1)
