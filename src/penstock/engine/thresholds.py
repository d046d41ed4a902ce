"""Comparisons of a variable with a constant number, decided from the bits of the ids.

An inline integer or decimal is a sign, a scale and a mantissa. With each sign and scale, the
mantissas for which a comparison with a constant holds are a range; so a look into a table and two
comparisons of integers decide a row, exactly. What is no inline integer or decimal stays open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from penstock.algebra.comparisons import MIRRORED
from penstock.columns import ids
from penstock.columns.frame import Frame
from penstock.jit import njit
from penstock.plan.compilation.sieves import ConstantComparison, Sieve

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
def threshold(test: ConstantComparison) -> Threshold:
    """What a comparison says of the bits of ids."""
    ranges = np.full((_KINDS, 2), _OPEN, np.int64)
    for scale in range(ids.MAX_SCALE + 1):
        bound = test.value * 10**scale
        for tag in (ids.INTEGER, ids.DECIMAL):
            kind = tag << (ids.TAG_SHIFT - ids.SCALE_SHIFT) | scale
            ranges[kind] = _range(test.comparison, bound)
            ranges[kind | _SIGN] = _range(MIRRORED[test.comparison], -bound)
    return Threshold(test.var, test.comparison, ranges)


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


def may_pass(sieve: Sieve, frame: Frame) -> np.ndarray:
    """Which rows of a scan may be of use to one of its readers; the filters still decide."""
    kept = np.zeros(len(frame), bool)
    for reader in sieve:
        passed = np.ones(len(frame), bool)
        for test in reader:
            passed &= threshold(test).may_hold(frame)
        kept |= passed
    return kept
