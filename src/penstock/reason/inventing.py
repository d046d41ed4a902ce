"""Terms that rules make (blank nodes, values of BIND), and when that has no end.

Many of them are no sign of that: a node for each of a million measurements is made from what was given. But a
term that was made from a term that was made …, and so on, is: its *generation* says how often.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.algebra.nodes import Var
from penstock.columns import interning
from penstock.columns.ids import HASHED, UNBOUND
from penstock.columns.memory import address_of
from penstock.errors import InputError
from penstock.jit import njit
from penstock.reason.clauses import Clause
from penstock.reason.solutions import Solutions

LEAST = 1024  # terms that there is room for at first
LONG = 1 << 20  # bytes of a text that no rule makes of what rules have made, unless it goes on for ever
SHALLOW = 10  # generations that are nothing unusual, however many terms there are


class Inventing:
    """The generations of the terms that rules have made."""

    def __init__(self, most_invented: int, most_generations: int) -> None:
        self.most_invented = most_invented
        self.most_generations = most_generations
        self._generations = interning.new_table(LEAST)  # by id, as a table of places
        self._known = 0
        self.counts: Counter[str] = Counter()

    def note(self, clause: Clause, solutions: Solutions) -> None:
        """Takes in what a clause made of solutions; an InputError if that goes on for ever."""
        made = [*solutions.invented.values(), *_computed(clause, solutions)]
        if not made:
            return
        body = [solutions.columns[var] for var in clause.variables() if var in solutions.columns]
        next_ = self._generation(body, len(solutions.elements)) + 1
        deepest = longest = 0
        for column in made:
            new = column != UNBOUND
            for other in body:
                new &= column != other
            texts = column[new & (next_ > 1) & (column >= HASHED)]
            longest = max(longest, solutions.terms.longest(texts)) if len(texts) else longest
            deepest = max(deepest, self._enter(clause, column[new], next_[new]))
        count = self.counts[clause.rule]
        endless = deepest > self.most_generations or (deepest > SHALLOW and count > self.most_invented)
        if endless or longest > LONG:
            what = "invents blank nodes" if clause.invents else "computes new terms"
            so_far = f"{count:,} so far" if endless else f"one of {longest:,} bytes so far"
            raise InputError(
                f"the rule {clause.rule} {what} without end: {so_far}",
                hint="what it makes lets it make more; let it begin from triples that it does not itself"
                " derive, or bound it by a FILTER",
            )

    def _generation(self, columns: list[np.ndarray], rows: int) -> np.ndarray:
        """The latest generation among the terms of each row."""
        latest = np.zeros(rows, np.int64)
        if self._known:
            for column in columns:
                np.maximum(latest, interning.places_of(self._generations, column), out=latest)
        return latest

    def _enter(self, clause: Clause, ids: np.ndarray, generations: np.ndarray) -> int:
        """Notes of terms, unless they are known, when they came; the latest generation of the others."""
        needed = interning.table_size(self._known + len(ids))
        if needed > len(self._generations):
            self._generations = interning.grown(self._generations, needed // len(self._generations))
        before = self._known
        self._known, deepest = _entered(self._generations, self._known, ids, generations)
        self.counts[clause.rule] += self._known - before
        return deepest


@njit(cache=True)
def _entered(table, known, ids, generations):
    """How many terms are known then, and the latest generation of those that were not."""
    address, mask, deepest = address_of(table), interning.mask_of(table), 0
    for i in range(ids.size):
        slot = interning.slot_of(address, mask, ids[i])
        if table[slot] == 0:
            table[slot], table[slot + 1] = ids[i], generations[i]
            known += 1
            deepest = max(deepest, generations[i])
    return known, deepest


def _computed(clause: Clause, solutions: Solutions) -> list[np.ndarray]:
    """The values of BINDs that the head puts into triples."""
    used = {each for atom in clause.head for each in atom.positions if isinstance(each, Var)}
    return [solutions.columns[var] for var, _ in clause.binds if var in used and var in solutions.columns]
