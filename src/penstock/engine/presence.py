"""How often and when solutions are there: rows that say it of the same solution, put together."""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame
from penstock.plan.system_columns import BEGAN
from penstock.timeline import FOREVER

NO_ID = -(2**62)
"""Added to an instant it is no id of a term: so instants stand in columns."""


def numbered(columns: np.ndarray) -> np.ndarray:
    """A number for each row (a column of the array); equal rows have equal numbers."""
    numbers = np.zeros(columns.shape[1], np.int64)
    if columns.shape[1] > 1 and len(columns):
        order = np.lexsort(columns)
        ordered = columns[:, order]
        numbers[order[1:]] = np.cumsum((ordered[:, 1:] != ordered[:, :-1]).any(axis=0))
    return numbers


def solutions(frame: Frame) -> np.ndarray:
    """A number for each row; the same for the same ⟨μ, t, t′⟩."""
    return numbered(np.vstack([frame.ids, frame.start, frame.end]))


def uncut(frame: Frame) -> np.ndarray:
    """When rows began before windows cut them."""
    if BEGAN not in frame.vars:
        return frame.start
    began = frame.column(BEGAN)
    return np.where(began != 0, began - NO_ID, frame.start)


def consolidated(frame: Frame) -> Frame:
    """The same multiplicities at every instant, by the fewest rows that follow one another in time."""
    if not len(frame):
        return frame
    code = solutions(frame)
    leaving = np.flatnonzero(frame.until < FOREVER)
    row = np.concatenate([np.arange(len(frame)), leaving])
    time = np.concatenate([frame.since, frame.until[leaving]])
    change = np.concatenate([frame.weight, -frame.weight[leaving]])
    code = code[row]
    order = np.lexsort((time, code))
    row, time, change, code = row[order], time[order], change[order], code[order]
    first = np.ones(len(code), bool)
    first[1:] = (code[1:] != code[:-1]) | (time[1:] != time[:-1])
    first = np.flatnonzero(first)
    net = np.add.reduceat(change, first)
    kept = net != 0
    first, net = first[kept], net[kept]
    row, time, code = row[first], time[first], code[first]
    if not len(row):
        return frame.take(row)
    another = np.ones(len(code), bool)
    another[1:] = code[1:] != code[:-1]
    total = np.cumsum(net)
    begun = np.flatnonzero(another)
    level = total - np.repeat(total[begun] - net[begun], np.diff(np.append(begun, len(code))))
    until = np.append(time[1:], FOREVER)
    until[:-1][another[1:]] = FOREVER
    there = level != 0
    return frame.take(row[there]).present(level[there], time[there], until[there])
