"""Lists of rows in columns, each a stretch of them, and aggregates over each of them.

Stretches may overlap: whatever can be said of all lists at once costs as much as there are rows and lists,
however long the lists are. That is how many members they have, their first and last ones, sums, which are
exact, and extremes. Of other values each list is asked by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.algebra.nodes import Aggregate
from penstock.columns import ids as term_ids
from penstock.columns.terms import TermTable
from penstock.engine.changing.slots import Records
from penstock.engine.changing.sums import Sums
from penstock.engine.presence import numbered
from penstock.functions.aggregates import aggregate
from penstock.functions.ordering import total_key
from penstock.functions.values import integer_literal
from penstock.jit import njit
from penstock.timeline import FOREVER

_TOGETHER = 1 << 20
"""Members of lists that are put one after the other at a time."""


def in_order(
    group: np.ndarray, begins: np.ndarray, ends: np.ndarray, ties: Sequence[np.ndarray], terms: TermTable
) -> np.ndarray:
    """Rows by their group, begin, end, and the terms of some columns, unbound first."""
    order = np.lexsort([ends, begins, group])
    times = np.vstack([group, begins, ends])[:, order]
    same = (times[:, 1:] == times[:, :-1]).all(axis=0)
    if not ties or not same.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    rows = order[tied]
    ranks = np.zeros((len(ties), len(order)), np.int64)
    for rank, column in zip(ranks, ties, strict=True):
        rank[rows] = _ranks(column[rows], terms)[0]
    return np.lexsort([*ranks[::-1], ends, begins, group])


def _ranks(ids: np.ndarray, terms: TermTable) -> tuple[np.ndarray, np.ndarray]:
    """For each id its place in the order of terms, unbound first; and which ids are at these places."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    tags = term_ids.tags(distinct)
    order = None
    if ((tags == term_ids.INTEGER) | (tags == term_ids.DECIMAL)).all():
        mantissa = distinct & term_ids.MANTISSA_MASK
        nearest = mantissa / 10.0 ** (distinct >> term_ids.SCALE_SHIFT & 31)
        nearest = np.where(distinct & term_ids.SIGN_BIT, -nearest, nearest)
        order = np.argsort(nearest)
        if (nearest[order[1:]] == nearest[order[:-1]]).any():  # 1 and 1.0
            order = None
    if order is None:
        keys = [total_key(terms.term(id_) if id_ else None) for id_ in distinct.tolist()]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    ranks = np.empty(len(distinct), np.int64)
    ranks[order] = np.arange(len(distinct))
    return ranks[inverse.reshape(-1)], distinct[order]


class Lists:
    """Lists, none of them empty, over columns: of rows from `begin` to before `end` each."""

    def __init__(self, begin: np.ndarray, end: np.ndarray, terms: TermTable) -> None:
        self.begin = begin
        self.end = end
        self.terms = terms

    def values(self, call: Aggregate, values: np.ndarray | None, members: Sequence[np.ndarray]) -> np.ndarray:
        """The ids of an aggregate over each list, given its argument for each row.

        For COUNT(*) there is none; `members` are the columns that tell different members apart.
        """
        if call.name == "FIRST":
            return values[self.begin]
        if call.name == "LAST":
            return values[self.end - 1]
        if call.distinct:
            return self._of_distinct(call, values, members if values is None else [values])
        return self._of_all(call, values)

    def least(self, column: np.ndarray) -> np.ndarray:
        """The least number of each list."""
        return _least(column, self.begin, self.end)

    def _sums(self, column: np.ndarray) -> np.ndarray:
        """The sum of each list."""
        total = np.append(0, np.cumsum(column))
        return total[self.end] - total[self.begin]

    def _of_distinct(
        self, call: Aggregate, values: np.ndarray | None, columns: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Over lists without members that are there already: put one after the other, some at a time."""
        found = np.zeros(len(self.begin), np.int64)
        sizes = self.end - self.begin
        number = numbered(np.vstack(columns)) if len(columns) else np.zeros(self.end.max(), np.int64)
        portion = (np.cumsum(sizes) - sizes) // _TOGETHER
        for some in np.split(np.arange(len(found)), np.flatnonzero(np.diff(portion)) + 1):
            of = np.repeat(np.arange(len(some)), sizes[some])
            before = np.cumsum(sizes[some]) - sizes[some]
            rows = np.arange(len(of)) + np.repeat(self.begin[some] - before, sizes[some])
            _, first = np.unique(numbered(np.vstack([number[rows], of])), return_index=True)
            first = np.sort(first)
            of, rows = of[first], rows[first]
            begin, end = (np.searchsorted(of, np.arange(len(some)), side) for side in ("left", "right"))
            lists = Lists(begin, end, self.terms)
            found[some] = lists._of_all(call, None if values is None else values[rows])
        return found

    def _of_all(self, call: Aggregate, values: np.ndarray | None) -> np.ndarray:
        if values is None:
            return self._integers(self.end - self.begin)
        if call.name == "COUNT":
            return self._integers(self._sums(values != 0))
        if call.name in ("MIN", "MAX", "SAMPLE"):
            return self._extremes(call, values)
        if call.name in ("SUM", "AVG"):
            return self._totals(call, values)
        return self._one_by_one(call, values)

    def _one_by_one(self, call: Aggregate, values: np.ndarray) -> np.ndarray:
        found = np.zeros(len(self.begin), np.int64)
        terms: dict[int, object] = {0: None}
        for place, (begin, end) in enumerate(zip(self.begin.tolist(), self.end.tolist(), strict=True)):
            own = values[begin:end].tolist()
            for id_ in set(own).difference(terms):
                terms[id_] = self.terms.term(id_)
            term = aggregate(call, [terms[id_] for id_ in own])
            found[place] = 0 if term is None else self.terms.add(term)
        return found

    def _integers(self, numbers: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(numbers, return_inverse=True)
        ids = self.terms.add_all([integer_literal(number) for number in distinct.tolist()])
        return ids[inverse.reshape(-1)]

    def _extremes(self, call: Aggregate, values: np.ndarray) -> np.ndarray:
        """By the places of members in the order of terms; SAMPLE is the first of those that have a value."""
        ranks, ordered = _ranks(values, self.terms)
        if call.name == "MAX":
            found = ordered[-self.least(-ranks)]
        elif call.name == "MIN":
            found = ordered[self.least(ranks)]
        else:
            least = self.least(np.where(values == 0, FOREVER, ranks))
            found = np.append(ordered, 0)[np.minimum(least, len(ordered))]
        if call.name != "SAMPLE":
            found = np.where(self._sums(values == 0) > 0, 0, found)
        return found

    def _totals(self, call: Aggregate, values: np.ndarray) -> np.ndarray:
        """From sums up to each row; lists with members that are not added up are asked one by one."""
        records = Records(np.zeros(len(values), np.int64), np.arange(len(values)), np.full(1, -1, np.int64))
        sums = Sums(self.terms, mean=call.name == "AVG")
        sums.room(1)
        odd = np.zeros(len(values), bool)
        odd[sums.add(records, records.of, np.ones(len(values), np.int64), values)] = True
        plain = self._sums(odd) == 0
        found = np.zeros(len(plain), np.int64)
        found[plain] = sums.between(self.begin[plain], self.end[plain])
        others = np.flatnonzero(~plain)
        found[others] = Lists(self.begin[others], self.end[others], self.terms)._one_by_one(call, values)
        return found


@njit(cache=True)
def _least(column, begin, end):
    """The least number in each of some stretches, none of them empty, by a tree over all numbers."""
    size = column.size
    tree = np.empty(2 * size, np.int64)
    tree[size:] = column
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    found = np.empty(begin.size, np.int64)
    for i in range(begin.size):
        low, high = begin[i] + size, end[i] + size
        least = tree[low]
        while low < high:
            if low & 1:
                least = min(least, tree[low])
                low += 1
            if high & 1:
                high -= 1
                least = min(least, tree[high])
            low >>= 1
            high >>= 1
        found[i] = least
    return found
