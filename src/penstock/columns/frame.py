"""Timed solution mappings as columns: the one table that every operator takes and gives.

Where rows can leave again, a row also says how often it is there and when: it adds `weight` to the
multiplicity of ⟨μ, t, t′⟩ at every instant of [since, until). A row that leaves at an instant which
nobody knew before is taken back by one of weight -1 from that instant on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.timeline import FOREVER, TIMELESS_END, TIMELESS_START


@dataclass
class Frame:
    """n solutions: `ids[v, i]` is what solution i binds variable v to (0: unbound).

    A timeless solution has a start after its end, which is neutral in the hull. `weight`, `since` and
    `until` are all there or all None. Without them each row is there once, from its end on (a
    timeless one always), and for ever.
    """

    vars: tuple[str, ...]
    ids: np.ndarray
    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray | None = None
    since: np.ndarray | None = None
    until: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def empty(vars: Sequence[str]) -> Frame:
        none = np.empty(0, np.int64)
        return Frame(tuple(vars), np.empty((len(vars), 0), np.int64), none, none)

    @staticmethod
    def timeless(vars: Sequence[str], ids: np.ndarray) -> Frame:
        n = ids.shape[1]
        return Frame(
            tuple(vars),
            ids,
            np.full(n, TIMELESS_START, np.int64),
            np.full(n, TIMELESS_END, np.int64),
        )

    @staticmethod
    def unit() -> Frame:
        """The one empty, timeless solution."""
        return Frame.timeless((), np.empty((0, 1), np.int64))

    def column(self, var: str) -> np.ndarray:
        """The ids of a variable; all unbound if there is no such column."""
        if var in self.vars:
            return self.ids[self.vars.index(var)]
        return np.zeros(len(self), np.int64)

    def take(self, rows: np.ndarray) -> Frame:
        """The rows of an index array or a boolean mask."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        start = self.start[rows]
        end = start if self.end is self.start else self.end[rows]
        presence = (column[rows] for column in self.presence)
        return Frame(self.vars, np.take(self.ids, rows, axis=1), start, end, *presence)

    def timeless_mask(self) -> np.ndarray:
        return self.start > self.end

    def project(self, vars: Sequence[str]) -> Frame:
        """These columns in this order; a missing one is unbound."""
        if tuple(vars) == self.vars:
            return self
        ids = np.zeros((len(vars), len(self)), np.int64)
        for i, var in enumerate(vars):
            if var in self.vars:
                ids[i] = self.ids[self.vars.index(var)]
        return self.binding(vars, ids)

    def binding(self, vars: Sequence[str], ids: np.ndarray) -> Frame:
        """Other bindings of the same solutions."""
        return Frame(tuple(vars), ids, self.start, self.end, *self.presence)

    def renamed(self, vars: Sequence[str]) -> Frame:
        return self.binding(vars, self.ids)

    def extended(self, var: str, column: np.ndarray) -> Frame:
        return self.binding((*self.vars, var), np.vstack([self.ids, column[None, :]]))

    # --- rows that leave ---

    @property
    def retractable(self) -> bool:
        """Whether it says how often and when its rows are there."""
        return self.weight is not None

    @property
    def presence(self) -> tuple[np.ndarray, ...]:
        """`weight`, `since` and `until`, if they are there."""
        return () if self.weight is None else (self.weight, self.since, self.until)

    def changing(self) -> Frame:
        """The same rows, saying how often and when they are there."""
        return self if self.retractable else self.present(*_always(self.end))

    def present(self, weight: np.ndarray, since: np.ndarray, until: np.ndarray) -> Frame:
        """The rows, there as often and when these columns say."""
        return Frame(self.vars, self.ids, self.start, self.end, weight, since, until)

    @staticmethod
    def concat(frames: Iterable[Frame], vars: Sequence[str]) -> Frame:
        """All rows below each other, with exactly these columns."""
        parts = [frame for frame in frames if len(frame)]
        if not parts:
            return Frame.empty(vars)
        if len(parts) == 1:
            return parts[0].project(vars)
        parts = [part.project(vars) for part in parts]
        if any(part.retractable for part in parts):
            parts = [part.changing() for part in parts]
        return Frame(
            tuple(vars),
            np.concatenate([part.ids for part in parts], axis=1),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            *(np.concatenate(columns) for columns in zip(*(part.presence for part in parts), strict=True)),
        )


def _always(end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often and when rows are there that never leave: once, from their end on."""
    return np.ones(len(end), np.int64), end, np.full(len(end), FOREVER, np.int64)


class Pairs(Frame):
    """Combinations ⟨μ, t, t′⟩ ⋈ ⟨μ′, s, s′⟩ that are put together only where somebody looks.

    Row k combines row `left_rows[k]` of `left` with row `right_rows[k]` of `right`: the union
    of their bindings. A filter that rejects most combinations then never touches the columns it
    does not name. `interval` says where its start and its end are from: from the `left` or the
    `right` row, or the `least` or `greatest` of both, or there is `none`. As it is, the hull. A
    combination is there as often as the product says, while both rows are.
    """

    def __init__(
        self, left: Frame, left_rows: np.ndarray, right: Frame, right_rows: np.ndarray,
        vars: Sequence[str], interval: tuple[str, str] = ("least", "greatest"),
    ) -> None:  # fmt: skip
        self.vars = tuple(vars)
        self.interval = interval
        self.left, self.left_rows = left, left_rows
        self.right, self.right_rows = right, right_rows
        self._ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.left_rows)

    @cached_property
    def start(self) -> np.ndarray:  # type: ignore[override]
        return self._times(self.interval[0], self.left.start, self.right.start, TIMELESS_START)

    @cached_property
    def end(self) -> np.ndarray:  # type: ignore[override]
        return self._times(self.interval[1], self.left.end, self.right.end, TIMELESS_END)

    def _times(self, source: str, left: np.ndarray, right: np.ndarray, none: int) -> np.ndarray:
        if source == "none":
            return np.full(len(self), none, np.int64)
        if source == "left":
            return np.take(left, self.left_rows)
        if source == "right":
            return np.take(right, self.right_rows)
        both = np.take(left, self.left_rows), np.take(right, self.right_rows)
        return np.minimum(*both) if source == "least" else np.maximum(*both)

    @cached_property
    def weight(self) -> np.ndarray | None:  # type: ignore[override]
        return self._combined(np.multiply, 0)

    @cached_property
    def since(self) -> np.ndarray | None:  # type: ignore[override]
        return self._combined(np.maximum, 1)

    @cached_property
    def until(self) -> np.ndarray | None:  # type: ignore[override]
        return self._combined(np.minimum, 2)

    def _combined(self, function: np.ufunc, which: int) -> np.ndarray | None:
        """A column of `presence` for the combinations, if one of the sides has it."""
        if not (self.left.retractable or self.right.retractable):
            return None
        left, right = self.left.changing().presence[which], self.right.changing().presence[which]
        return function(np.take(left, self.left_rows), np.take(right, self.right_rows))

    @property
    def ids(self) -> np.ndarray:  # type: ignore[override]
        if self._ids is None:
            ids = np.empty((len(self.vars), len(self)), np.int64)
            for i, var in enumerate(self.vars):
                ids[i] = self.column(var)
            self._ids = ids
        return self._ids

    def column(self, var: str) -> np.ndarray:
        if self._ids is not None and var in self.vars:
            return self._ids[self.vars.index(var)]
        if var not in self.left.vars and var not in self.right.vars:
            return np.zeros(len(self), np.int64)
        if var not in self.left.vars:
            return np.take(self.right.column(var), self.right_rows)
        mine = np.take(self.left.column(var), self.left_rows)
        if var not in self.right.vars or mine.all():
            return mine
        return np.where(mine != 0, mine, np.take(self.right.column(var), self.right_rows))

    def take(self, rows: np.ndarray) -> Frame:
        left_rows, right_rows = self.left_rows[rows], self.right_rows[rows]
        return Pairs(self.left, left_rows, self.right, right_rows, self.vars, self.interval)
