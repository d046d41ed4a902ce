"""Timed solution mappings as columns: the one table that every operator takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.timeline import TIMELESS_END, TIMELESS_START


@dataclass
class Frame:
    """n solutions: `ids[v, i]` is what solution i binds variable v to (0: unbound).

    A timeless solution has a start after its end, which is neutral in the hull.
    """

    vars: tuple[str, ...]
    ids: np.ndarray
    start: np.ndarray
    end: np.ndarray

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
        return Frame(self.vars, np.take(self.ids, rows, axis=1), start, end)

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
        return Frame(tuple(vars), ids, self.start, self.end)

    def renamed(self, vars: Sequence[str]) -> Frame:
        return Frame(tuple(vars), self.ids, self.start, self.end)

    def extended(self, var: str, column: np.ndarray) -> Frame:
        return Frame((*self.vars, var), np.vstack([self.ids, column[None, :]]), self.start, self.end)

    @staticmethod
    def concat(frames: Iterable[Frame], vars: Sequence[str]) -> Frame:
        """All rows below each other, with exactly these columns."""
        parts = [frame for frame in frames if len(frame)]
        if not parts:
            return Frame.empty(vars)
        if len(parts) == 1:
            return parts[0].project(vars)
        parts = [part.project(vars) for part in parts]
        return Frame(
            tuple(vars),
            np.concatenate([part.ids for part in parts], axis=1),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
        )


class Pairs(Frame):
    """Combinations ⟨μ, t, t′⟩ ⋈ ⟨μ′, s, s′⟩ that are put together only where somebody looks.

    Row k combines row `left_rows[k]` of `left` with row `right_rows[k]` of `right`: the union
    of their bindings, the hull of their intervals. A filter that rejects most combinations
    then never touches the columns it does not name. `in_order`: every left row ends before its
    right row starts.
    """

    def __init__(
        self, left: Frame, left_rows: np.ndarray, right: Frame, right_rows: np.ndarray,
        vars: Sequence[str], *, in_order: bool = False,
    ) -> None:  # fmt: skip
        self.vars = tuple(vars)
        self.in_order = in_order
        self.left, self.left_rows = left, left_rows
        self.right, self.right_rows = right, right_rows
        self._ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.left_rows)

    @cached_property
    def start(self) -> np.ndarray:  # type: ignore[override]
        start = np.take(self.left.start, self.left_rows)
        return start if self.in_order else np.minimum(start, np.take(self.right.start, self.right_rows))

    @cached_property
    def end(self) -> np.ndarray:  # type: ignore[override]
        end = np.take(self.right.end, self.right_rows)
        return end if self.in_order else np.maximum(np.take(self.left.end, self.left_rows), end)

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
        return Pairs(self.left, left_rows, self.right, right_rows, self.vars, in_order=self.in_order)
