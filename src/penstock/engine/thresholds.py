"""Comparisons of a variable with a constant number, decided from the bits of the ids.

An inline integer or decimal is a sign, a scale and a mantissa. With each sign and scale, the
mantissas for which a comparison with a constant holds are a range; so a look into a table and two
comparisons of integers decide a row, exactly. What is no inline integer or decimal stays open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from penstock.algebra.comparisons import MIRRORED
from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import ids
from penstock.columns.frame import Frame
from penstock.engine.network import Network
from penstock.jit import njit
from penstock.plan import steps
from penstock.terms import Literal

MOST = 64
"""More tests of a row than this cost more than they save."""

_KINDS = 1 << (63 - ids.SCALE_SHIFT)  # tag, sign and scale in front of the mantissa
_SIGN = ids.SIGN_BIT >> ids.SCALE_SHIFT
_OPEN = -1  # as the first mantissa of a range: nothing is known
_EMPTY = (1, 0)


@dataclass(frozen=True, eq=False)
class Threshold:
    """`var ≶ constant`: the range of mantissas for which it holds, by the bits in front of them."""

    var: str
    comparison: str
    ranges: np.ndarray

    def decide(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Where it holds, where that is open, and how many are open."""
        true, unknown = np.empty(len(column), np.bool_), np.empty(len(column), np.bool_)
        count = _decide(column, self.ranges, self.comparison == "!=", true, unknown)
        return true, unknown, count

    def may_hold(self, frame: Frame) -> np.ndarray:
        true, unknown, count = self.decide(frame.column(self.var))
        return true | unknown if count else true


@lru_cache(maxsize=1024)
def threshold(expression: Expression) -> Threshold | None:
    """The comparison of a variable with an integer or decimal constant that an expression is, if it is."""
    if not isinstance(expression, Call) or expression.name not in MIRRORED:
        return None
    name, (one, other) = expression.name, expression.args
    if isinstance(other, Var):
        one, other, name = other, one, MIRRORED[name]
    if not isinstance(one, Var) or not isinstance(other, Literal):
        return None
    tag = ids.TAG_OF_DATATYPE.get(other.datatype.value)
    if tag not in (ids.INTEGER, ids.DECIMAL) or not ids.inline_id(other.value, tag):
        return None
    ranges = np.full((_KINDS, 2), _OPEN, np.int64)
    for scale in range(ids.MAX_SCALE + 1):
        bound = Fraction(other.value) * 10**scale
        for tag in (ids.INTEGER, ids.DECIMAL):
            kind = tag << (ids.TAG_SHIFT - ids.SCALE_SHIFT) | scale
            ranges[kind] = _range(name, bound)
            ranges[kind | _SIGN] = _range(MIRRORED[name], -bound)
    return Threshold(one.name, name, ranges)


def _range(comparison: str, bound: Fraction) -> tuple[int, int]:
    """The first and the last mantissa for which it holds (for `!=`: for which it does not)."""
    first, last = 0, ids.MANTISSA_MASK
    if comparison in ("=", "!="):
        first, last = math.ceil(bound), math.floor(bound)
    elif comparison == "<":
        last = math.ceil(bound) - 1
    elif comparison == "<=":
        last = math.floor(bound)
    elif comparison == ">":
        first = math.floor(bound) + 1
    else:
        first = math.ceil(bound)
    first, last = max(first, 0), min(last, ids.MANTISSA_MASK)
    return (first, last) if first <= last else _EMPTY


@njit(cache=True)
def _decide(column, ranges, outside, true, unknown):
    count = 0
    for i in range(column.size):
        id_ = np.uint64(column[i])
        kind = id_ >> np.uint64(ids.SCALE_SHIFT)  # unsigned, so that it counts from the front for sure
        mantissa = np.int64(id_ & np.uint64(ids.MANTISSA_MASK))
        first = ranges[kind, 0]
        inside = (mantissa >= first) & (mantissa <= ranges[kind, 1])
        unknown[i] = first < 0
        true[i] = (first >= 0) & (inside != outside)
        count += first < 0
    return count


# --- what no reader of a scan can use --------------------------------------------------------


class Sieve:
    """Rows of a scan that may pass the filters of one of its readers; each reader asks all its own."""

    def __init__(self, readers: Sequence[Sequence[Threshold]]) -> None:
        alone: dict[tuple[str, str], Threshold] = {}
        self.readers: list[Sequence[Threshold]] = []
        for reader in readers:
            if len(reader) > 1 or reader[0].comparison in ("=", "!="):
                self.readers.append(reader)
                continue
            # Of comparisons in one direction the weakest says it all.
            [test] = reader
            side = (test.var, test.comparison[0])
            alone[side] = _weaker(alone[side], test) if side in alone else test
        self.readers += [[test] for test in alone.values()]
        self.tests = sum(map(len, self.readers))

    def may_pass(self, frame: Frame) -> np.ndarray:
        """Which rows may be of use; the filters still decide."""
        kept = np.zeros(len(frame), bool)
        for reader in self.readers:
            passed = reader[0].may_hold(frame)
            for test in reader[1:]:
                passed &= test.may_hold(frame)
            kept |= passed
        return kept


def _weaker(one: Threshold, other: Threshold) -> Threshold:
    """Holds where one of two comparisons in the same direction holds."""
    first, last = one.ranges.copy().T
    empty = first > last
    first[empty], last[empty] = other.ranges[empty].T
    wider = other.ranges[:, 0] <= other.ranges[:, 1]
    first[wider] = np.minimum(first, other.ranges[:, 0])[wider]
    last[wider] = np.maximum(last, other.ranges[:, 1])[wider]
    return Threshold(one.var, one.comparison, np.stack([first, last], axis=1))


def sieves(net: Network) -> dict[int, Sieve]:
    """The scans (by their place) of which all readers filter by constants, and their sieves."""
    found = {}
    outgoing = net.outgoing()
    for place, step in enumerate(net.steps):
        if not isinstance(step, steps.Scan) or not outgoing[place]:
            continue
        readers = [_tests(net, outgoing, edge.target) for edge in outgoing[place]]
        if all(readers) and (sieve := Sieve(readers)).tests <= MOST:
            found[place] = sieve
    return found


def _tests(net: Network, outgoing: list, place: int) -> list[Threshold]:
    """The thresholds that all rows must pass which leave a filter, or the filters that follow it."""
    tests = []
    step = net.steps[place]
    while isinstance(step, steps.Select):
        test = threshold(step.condition)
        tests += [test] if test is not None else []
        if len(outgoing[place]) != 1:
            break
        [edge] = outgoing[place]
        place, step = edge.target, net.steps[edge.target]
    return tests
