"""Terms that rules make (blank nodes, values of BIND), and when that has no end.

Many of them are no sign of that: a node for each of a million measurements is made from what was given. But a
term that was made from a term that was made …, and so on, is: its *generation* says how often.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.algebra.nodes import Var
from penstock.errors import InputError
from penstock.reason.clauses import Clause
from penstock.reason.solutions import Solutions

SHALLOW = 10  # generations that are nothing unusual, however many terms there are


class Inventing:
    """The generations of the terms that rules have made."""

    def __init__(self, most_invented: int, most_generations: int) -> None:
        self.most_invented = most_invented
        self.most_generations = most_generations
        self.generations: dict[int, int] = {}
        self.counts: Counter[str] = Counter()

    def note(self, clause: Clause, solutions: Solutions) -> None:
        """Takes in what a clause made of solutions; an InputError if that goes on for ever."""
        made = [*solutions.invented.values(), *_computed(clause, solutions)]
        if not made:
            return
        body = [solutions.columns[var] for var in clause.variables() if var in solutions.columns]
        next_ = self._generation(body, len(solutions.elements)) + 1
        deepest = 0
        for column in made:
            new = column != 0
            for other in body:
                new &= column != other
            for id_, generation in zip(column[new].tolist(), next_[new].tolist(), strict=True):
                if id_ not in self.generations:
                    self.generations[id_] = generation
                    self.counts[clause.rule] += 1
                    deepest = max(deepest, generation)
        count = self.counts[clause.rule]
        if deepest > self.most_generations or (deepest > SHALLOW and count > self.most_invented):
            what = "invents blank nodes" if clause.invents() else "computes new terms"
            raise InputError(
                f"the rule {clause.rule} {what} without end: {count:,} so far",
                hint="what it makes lets it make more; let it begin from triples that it does not itself"
                " derive, or bound it by a FILTER",
            )

    def _generation(self, columns: list[np.ndarray], rows: int) -> np.ndarray:
        """The latest generation among the terms of each row."""
        latest = np.zeros(rows, np.int64)
        if self.generations:
            for column in columns:
                distinct, numbers = np.unique(column, return_inverse=True)
                of = np.array([self.generations.get(id_, 0) for id_ in distinct.tolist()], np.int64)
                np.maximum(latest, of[numbers], out=latest)
        return latest


def _computed(clause: Clause, solutions: Solutions) -> list[np.ndarray]:
    """The values of BINDs that the head puts into triples."""
    used = {each for atom in clause.head for each in atom.positions if isinstance(each, Var)}
    return [solutions.columns[var] for var, _ in clause.binds if var in used and var in solutions.columns]
