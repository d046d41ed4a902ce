"""Timed solution mappings as columns: the one table that every operator takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.timeline import TIMELESS_END, TIMELESS_START


@dataclass(slots=True)
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
        return Frame(self.vars, self.ids[:, rows], self.start[rows], self.end[rows])

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
        return Frame(
            (*self.vars, var), np.vstack([self.ids, column[None, :]]), self.start, self.end
        )

    @staticmethod
    def concat(frames: Iterable[Frame], vars: Sequence[str]) -> Frame:
        """All rows below each other, with exactly these columns."""
        parts = [frame.project(vars) for frame in frames if len(frame)]
        if not parts:
            return Frame.empty(vars)
        if len(parts) == 1:
            return parts[0]
        return Frame(
            tuple(vars),
            np.concatenate([part.ids for part in parts], axis=1),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
        )


def combine(left: Frame, right: Frame, vars: Sequence[str]) -> Frame:
    """The combination ⟨μ, t, t′⟩ ⋈ ⟨μ′, s, s′⟩ of row i with row i: union of bindings, hull of times."""
    ids = np.empty((len(vars), len(left)), np.int64)
    for i, var in enumerate(vars):
        in_left, in_right = var in left.vars, var in right.vars
        if in_left and in_right:
            a, b = left.column(var), right.column(var)
            ids[i] = np.where(a != 0, a, b)
        elif in_left:
            ids[i] = left.column(var)
        else:
            ids[i] = right.column(var)
    return Frame(
        tuple(vars), ids, np.minimum(left.start, right.start), np.maximum(left.end, right.end)
    )
