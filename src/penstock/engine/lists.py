"""Lists of rows that stand one after the other in columns, and aggregates over each of them.

Whatever can be said of all lists at once is: how many members they have, their first and last ones, sums and
extremes of inline integers and decimals, which are exact. Of other values each list is asked by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from penstock.algebra.nodes import Aggregate
from penstock.columns import ids as term_ids
from penstock.columns.terms import TermTable
from penstock.engine.presence import numbered
from penstock.functions.aggregates import aggregate
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import DECIMAL, INTEGER, Number
from penstock.functions.operators import calculate
from penstock.functions.ordering import total_key
from penstock.functions.values import integer_literal, literal_of

OF_LISTS = ("FIRST", "LAST")
"""The aggregates that depend on the order of members."""
_MOST = 2**62
"""Sums are taken of 64-bit integers as long as they stay below that."""


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
        rank[rows] = _ranks(column[rows], terms)
    return np.lexsort([*ranks[::-1], ends, begins, group])


def _ranks(ids: np.ndarray, terms: TermTable) -> np.ndarray:
    """For each id, its place in the order of terms; what is unbound comes first."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    keys = [total_key(terms.term(id_) if id_ else None) for id_ in distinct.tolist()]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks[inverse.reshape(-1)]


class Lists:
    """Lists, none of them empty, in columns: `first` has the place of each list's first member."""

    def __init__(self, first: np.ndarray, length: int, terms: TermTable) -> None:
        self.first = first
        self.sizes = np.diff(np.append(first, length))
        self.terms = terms

    def values(self, call: Aggregate, values: np.ndarray | None, members: Sequence[np.ndarray]) -> np.ndarray:
        """The ids of an aggregate over each list, given its argument for each member.

        For COUNT(*) there is none; `members` are the columns that tell different members apart.
        """
        if call.name in OF_LISTS:
            return values[self.first if call.name == "FIRST" else self.first + self.sizes - 1]
        if call.distinct:
            lists, rows = self._distinct(members if values is None else [values])
            return lists._of_all(call, None if values is None else values[rows])
        return self._of_all(call, values)

    def _distinct(self, columns: Sequence[np.ndarray]) -> tuple[Lists, np.ndarray]:
        """The lists without members that are there already, and where the others are."""
        of = np.repeat(np.arange(len(self.first)), self.sizes)
        _, rows = np.unique(numbered(np.vstack([*columns, of])), return_index=True)
        rows = np.sort(rows)
        first = np.searchsorted(of[rows], np.arange(len(self.first)))
        return Lists(first, len(rows), self.terms), rows

    def _of_all(self, call: Aggregate, values: np.ndarray | None) -> np.ndarray:
        if values is None:
            return self._integers(self.sizes)
        if call.name == "COUNT":
            return self._integers(np.add.reduceat((values != 0).astype(np.int64), self.first))
        found = np.zeros(len(self.first), np.int64)
        done = np.zeros(len(self.first), bool)
        if call.name in ("SUM", "AVG", "MIN", "MAX"):
            tags = term_ids.tags(values)
            plain = (tags == term_ids.INTEGER) | (tags == term_ids.DECIMAL)
            exact = np.logical_and.reduceat(plain, self.first)
            if exact.any():
                extreme = call.name in ("MIN", "MAX")
                done = (self._extremes if extreme else self._totals)(call, values, exact, found)
        terms: dict[int, object] = {0: None}
        for place in np.flatnonzero(~done).tolist():
            first = self.first[place]
            own = values[first : first + self.sizes[place]].tolist()
            for id_ in set(own).difference(terms):
                terms[id_] = self.terms.term(id_)
            term = aggregate(call, [terms[id_] for id_ in own])
            found[place] = 0 if term is None else self.terms.add(term)
        return found

    def _integers(self, numbers: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(numbers, return_inverse=True)
        ids = self.terms.add_all([integer_literal(number) for number in distinct.tolist()])
        return ids[inverse.reshape(-1)]

    def _extremes(
        self, call: Aggregate, values: np.ndarray, exact: np.ndarray, found: np.ndarray
    ) -> np.ndarray:
        """MIN and MAX, which are among those whose nearest double is; for which lists they are found."""
        mantissa, scale = _numbers(values)
        nearest = mantissa / 10.0**scale
        extreme = (np.minimum if call.name == "MIN" else np.maximum).reduceat(nearest, self.first)
        of = np.repeat(np.arange(len(self.first)), self.sizes)
        rows = np.flatnonzero((nearest == extreme[of]) & exact[of])
        pairs = np.unique(np.vstack([of[rows], values[rows]]), axis=1)
        found[pairs[0]] = pairs[1]
        several = np.unique(pairs[0][1:][pairs[0][1:] == pairs[0][:-1]])  # 1 and 1.0
        choose = min if call.name == "MIN" else max
        begins, ends = (np.searchsorted(pairs[0], several, side).tolist() for side in ("left", "right"))
        for place, begin, end in zip(several.tolist(), begins, ends, strict=True):
            found[place] = choose(
                pairs[1, begin:end].tolist(), key=lambda id_: total_key(self.terms.term(id_))
            )
        return exact

    def _totals(
        self, call: Aggregate, values: np.ndarray, exact: np.ndarray, found: np.ndarray
    ) -> np.ndarray:
        """SUM and AVG, if the sum is not too large; for which lists they are found."""
        mantissa, scale = _numbers(values)
        of = np.repeat(np.arange(len(self.first)), self.sizes)
        scale = np.where(exact[of], scale, 0)
        finest = np.maximum.reduceat(scale, self.first)
        powers = finest[of] - scale
        largest = np.maximum.reduceat(np.abs(mantissa) * 10.0**powers, self.first) * self.sizes
        done = exact & (largest < _MOST)
        kept = done[of]
        scaled = np.where(kept, mantissa, 0) * 10 ** np.where(kept, powers, 0)
        total = np.add.reduceat(scaled, self.first)
        decimal = np.logical_or.reduceat(term_ids.tags(values) == term_ids.DECIMAL, self.first)
        for place in np.flatnonzero(done).tolist():
            whole = int(total[place])
            number = Number(INTEGER, whole)
            if decimal[place]:
                number = Number(DECIMAL, Decimal(whole).scaleb(-int(finest[place])))
            try:
                if call.name == "AVG":
                    number = calculate("/", number, Number(INTEGER, int(self.sizes[place])))
                found[place] = self.terms.add(literal_of(number))
            except ExpressionError:
                found[place] = 0
        return done


def _numbers(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inline integers and decimals as whole numbers, and how many of their digits are behind the point."""
    mantissa = ids & term_ids.MANTISSA_MASK
    return np.where(ids & term_ids.SIGN_BIT, -mantissa, mantissa), ids >> term_ids.SCALE_SHIFT & 31
