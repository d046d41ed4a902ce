"""Exact sums of numbers that come and leave, by group.

Numbers are whole multiples of a power: decimals of a power of 10, doubles and floats of one of 2. Those of
the same type and power are a class; within it whole numbers are added up, so that no order matters and what
leaves leaves nothing behind. A sum is put together, and rounded once, when somebody looks at it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from penstock.columns import ids as term_ids
from penstock.columns.terms import TermTable
from penstock.engine.changing.quotients import quotients
from penstock.engine.changing.slots import Records, grown
from penstock.functions.aggregates import of_sums
from penstock.functions.numeric import DECIMAL, INTEGER, Number
from penstock.functions.values import value_of
from penstock.terms import Literal

Class = tuple[int, int]
"""A type of numbers, and the power of 10 or 2 that its members are multiples of."""

_ZERO = term_ids.INTEGER << term_ids.TAG_SHIFT
_MISSING, _ODD = -1, -2
_KINDS = {term_ids.INTEGER: INTEGER, term_ids.DECIMAL: DECIMAL}
_MOST_CLASSES = 48
_COUNT, _HIGH, _LOW = range(3)  # of a class: how many members, and the sums of both halves of the multiples
_HALF = 32
_SAFE = float(1 << 59)  # a quotient of smaller numbers is written without overflow


class Sums:
    """SUM or, as `mean`, AVG of the groups."""

    def __init__(self, terms: TermTable, *, mean: bool) -> None:
        self.terms = terms
        self.mean = mean
        self.classes: list[Class] = []
        self.numbers: dict[Class, int] = {}  # of the classes
        self.groups = 0
        self.state = np.zeros((0, 3, 0), np.int64)
        self.all = np.zeros(0, np.int64)  # how many members there are
        self.missing = np.zeros(0, np.int64)  # and how many of them have no value
        self._read: dict[int, tuple[int, int]] = {}

    def room(self, count: int) -> None:
        self.groups = max(self.groups, count)
        self.all, self.missing = grown(self.all, count), grown(self.missing, count)
        self.state = grown(self.state, count)

    def keep(self, groups: np.ndarray) -> None:
        self.groups = len(groups)
        self.all, self.missing, self.state = self.all[groups], self.missing[groups], self.state[..., groups]

    # --- members that come and leave ---

    def add(self, records: Records, of: np.ndarray, change: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Takes in members; the places of those that are not added up."""
        class_, multiple = self._classified(ids)
        self._all = records.added_up(of, change, self.all)
        some = np.flatnonzero(class_ == _MISSING)
        self._missing = records.added_up(of[some], change[some], self.missing)
        self._sums = np.zeros((len(self.classes), 3, len(records)), np.int64)
        high, low = multiple >> _HALF, multiple & ((1 << _HALF) - 1)
        for number in range(len(self.classes)):
            some = np.flatnonzero(class_ == number)
            times, mine, state = change[some], of[some], self.state[number]
            self._sums[number, _COUNT] = records.added_up(mine, times, state[_COUNT])
            self._sums[number, _HIGH] = records.added_up(mine, times * high[some], state[_HIGH])
            self._sums[number, _LOW] = records.added_up(mine, times * low[some], state[_LOW])
        return np.flatnonzero(class_ == _ODD)

    def _classified(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of each member, and which multiple it is."""
        class_ = np.where(ids == 0, _MISSING, _ODD)
        multiple = ids & term_ids.MANTISSA_MASK
        multiple = np.where(ids & term_ids.SIGN_BIT, -multiple, multiple)
        tags = term_ids.tags(ids)
        scale = (ids >> term_ids.SCALE_SHIFT) & 31
        exact = (tags == term_ids.INTEGER) | (tags == term_ids.DECIMAL)
        code = np.where(exact, tags << 5 | scale, 0)
        for each in np.flatnonzero(np.bincount(code)).tolist() if len(code) else ():
            if each:
                class_[code == each] = self._number((_KINDS[each >> 5], each & 31))
        others = np.flatnonzero(~exact & (ids != 0))
        if len(others):
            distinct, inverse = np.unique(ids[others], return_inverse=True)
            read = np.array([self._of(id_) for id_ in distinct.tolist()], np.int64)
            class_[others], multiple[others] = read[inverse.reshape(-1)].T
        return class_, multiple

    def _of(self, id_: int) -> tuple[int, int]:
        """The class and the multiple of a term."""
        found = self._read.get(id_)
        if found is None:
            if len(self._read) > 1 << 16:
                self._read.clear()
            split = _split(self.terms.term(id_))
            found = self._read[id_] = (_ODD, 0) if split is None else (self._number(split[0]), split[1])
        return found

    def _number(self, class_: Class) -> int:
        """The number of a class. When there are enough, there are no new ones: members stay in their own."""
        if class_ not in self.numbers:
            if len(self.classes) == _MOST_CLASSES:
                return _ODD
            self.numbers[class_] = len(self.classes)
            self.classes.append(class_)
            self.state = np.concatenate([self.state, np.zeros((1, 3, self.state.shape[2]), np.int64)])
        return self.numbers[class_]

    # --- values ---

    def values(self, records: int, odd: Iterator[dict[int, int]] | None = None) -> np.ndarray:
        """The value at each record that was added last; `odd` are the members that are not added up."""
        found = np.zeros(records, np.int64)
        if odd is not None:
            for record, members in enumerate(odd):
                found[record] = self._value(record, members)
            return found
        for record in np.flatnonzero(~self._easily(found)).tolist():
            found[record] = self._value(record, {})
        return found

    def between(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The values of stretches of the records that were added last, a member each, all of one group."""
        first = np.zeros((*self._sums.shape[:-1], 1), np.int64)
        upto = np.concatenate([first, self._sums], axis=-1)
        self._sums = upto[..., end] - upto[..., begin]
        self._all = end - begin
        missing = np.append(0, self._missing)
        self._missing = missing[end] - missing[begin]
        return self.values(len(begin))

    def _easily(self, found: np.ndarray) -> np.ndarray:
        """Fills in the values of integers and decimals that are not large, all at once; which these are."""
        easy = self._missing == 0
        shown = [i for i, sums in enumerate(self._sums) if sums[_COUNT].any()]
        most = max((self.classes[i][1] for i in shown if self.classes[i][0] <= DECIMAL), default=0)
        total, size = np.zeros(len(found), np.int64), np.zeros(len(found))
        decimals = np.zeros(len(found), bool)
        for (kind, scale), (count, high, low) in ((self.classes[i], self._sums[i]) for i in shown):
            if kind > DECIMAL:
                easy &= count == 0
                continue
            decimals |= (kind == DECIMAL) & (count > 0)
            factor = 10 ** (most - scale)
            size += (np.abs(high * 2.0**_HALF) + np.abs(low)) * factor
            total += ((high << _HALF) + low) * factor
        empty = self._all == 0
        found[empty] = _ZERO
        divisor = 10.0**most * np.maximum(self._all, 1) if self.mean else np.full(len(found), 10.0**most)
        easy &= (size < _SAFE) & (divisor < _SAFE) & ~empty
        divisor = divisor[easy].astype(np.int64)
        datatype = np.where(decimals[easy] | self.mean, term_ids.DECIMAL, term_ids.INTEGER)
        found[easy] = quotients(total[easy], divisor, datatype, self.terms)
        return easy | empty & (self._missing == 0)

    def _value(self, record: int, odd: dict[int, int]) -> int:
        """The value at a record, from its exact sums and what is beside them."""
        if self._missing[record]:
            return 0
        count = int(self._all[record])
        others = [self.terms.term(id_) for id_, times in odd.items() for _ in range(times)]
        sums = [
            (kind, power, (high << _HALF) + low)
            for (kind, power), (times, high, low) in zip(
                self.classes, self._sums[:, :, record].tolist(), strict=True
            )
            if times
        ]
        value = of_sums(sums, others, count if self.mean else None)
        return 0 if value is None else self.terms.add(value)


def _split(term) -> tuple[Class, int] | None:
    """The class and the multiple of a term; None if it is no number, or none that is added up."""
    value = value_of(term) if isinstance(term, Literal) else None
    if not isinstance(value, Number):
        return None
    if value.kind == INTEGER:
        return ((INTEGER, 0), int(value.value)) if abs(value.value) < 1 << 60 else None
    if value.kind == DECIMAL:
        sign, digits, exponent = value.value.as_tuple()
        multiple = int("".join(map(str, digits)))
        if exponent > 0 or exponent < -term_ids.MAX_SCALE or multiple >= 1 << 60:
            return None
        return (DECIMAL, -exponent), -multiple if sign else multiple
    if not math.isfinite(value.value):
        return None
    fraction, exponent = math.frexp(value.value)
    return (value.kind, exponent - 53 if value.value else 0), int(fraction * 2.0**53)
