"""The content of relations that change, at all instants of a step at once.

A *world* is a group of rows between two of the group's changes. What an operator answers is the same
at all its instants, so it is enough to look at each world once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine import kernels
from penstock.engine.presence import consolidated, numbered, solutions
from penstock.plan.system_columns import WORLD
from penstock.timeline import FOREVER


@dataclass
class Worlds:
    """The worlds of the groups that change in a step, ordered by group and instant.

    World `first[g]` is group g as it was before its first change in the step (there is none in the
    step that begins a run); the others begin with a change each.
    """

    groups: np.ndarray  # the groups that change, in order
    first: np.ndarray  # the first world of each, and the number of worlds
    instant: np.ndarray  # by world, one of its instants
    earlier: np.ndarray  # by world, whether it is what was before
    since: np.ndarray
    until: np.ndarray

    def __len__(self) -> int:
        return len(self.instant)

    @staticmethod
    def of(groups: np.ndarray, instants: np.ndarray, *, begins: bool = False) -> Worlds:
        """The worlds of groups that change at these instants (a pair may be there more than once)."""
        order = np.lexsort((instants, groups))
        groups, instants = groups[order], instants[order]
        new = np.ones(len(groups), bool)
        new[1:] = (groups[1:] != groups[:-1]) | (instants[1:] != instants[:-1])
        groups, instants = groups[new], instants[new]
        another = np.ones(len(groups), bool)
        another[1:] = groups[1:] != groups[:-1]
        begun = np.flatnonzero(another)
        until = np.append(instants[1:], FOREVER)
        until[:-1][another[1:]] = FOREVER
        if begins:
            earlier = np.zeros(len(groups), bool)
            return Worlds(groups[begun], np.append(begun, len(groups)), instants, earlier, instants, until)
        earlier = np.zeros(len(groups) + len(begun), bool)
        earlier[begun + np.arange(len(begun))] = True
        instant, since, ends = (np.empty(len(earlier), np.int64) for _ in range(3))
        instant[~earlier], instant[earlier] = instants, instants[begun] - 1
        since[~earlier], since[earlier] = instants, instants[begun]
        ends[~earlier], ends[earlier] = until, FOREVER
        first = np.append(np.flatnonzero(earlier), len(earlier))
        return Worlds(groups[begun], first, instant, earlier, since, ends)

    def content(self, frame: Frame, groups: np.ndarray) -> Frame:
        """What is there in each world of rows with these groups, with a column that says in which.

        Each solution once per world, `weight` being how often it is there; what was taken back more
        often than it came is not there.
        """
        at = np.searchsorted(self.groups, groups)
        at[at == len(self.groups)] = 0
        mine = np.flatnonzero(self.groups[at] == groups)
        frame = frame.take(mine)
        rows, worlds = kernels.spread_rows(at[mine], frame.since, frame.until, self.first, self.instant)
        code = numbered(np.vstack([solutions(frame)[rows], worlds]))
        times = np.zeros(int(code.max()) + 1 if len(code) else 0, np.int64)
        np.add.at(times, code, frame.weight[rows])
        one = np.empty(len(times), np.int64)
        one[code] = np.arange(len(code))
        there = times > 0
        rows, worlds = rows[one[there]], worlds[one[there]]
        found = frame.take(rows).present(times[there], self.since[worlds], self.until[worlds])
        return found.extended(WORLD, worlds + 1)  # 0 would be: unbound

    def changes(self, frame: Frame) -> Frame:
        """What rows of worlds change at the instants of their groups."""
        at = frame.column(WORLD) - 1
        vars = tuple(var for var in frame.vars if var != WORLD)
        weight = np.where(self.earlier[at], -frame.weight, frame.weight)
        found = frame.project(vars).present(weight, self.since[at], self.until[at])
        return consolidated(found)
