"""What is said of predicates and classes because they are used.

Some clauses derive of a triple only something about its predicate (that it is a property), or about the
class that it says something is of: it depends on the triple's key alone. Static knowledge mostly says
it already. So it is found out once for each key, and not once for each triple, whether it does: elements
whose keys bring nothing new can do without these clauses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.columns import hashing
from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.reason.above import Above
from penstock.reason.clauses import Clause
from penstock.reason.code import compiled
from penstock.reason.evaluation import RuleEvaluation
from penstock.terms import RDF


class VocabularyClauses:
    """Clauses that depend on keys alone, above static knowledge; and keys of which they say nothing new."""

    most = 1 << 18  # keys to remember

    def __init__(self, clauses: Sequence[Clause], static: RuleEvaluation) -> None:
        self._type = id_of(RDF.type, static.terms.key)
        program = compiled(clauses, static.terms.key, transitive=static.options.transitive)
        self._above = Above(program, static)
        self._silent = np.empty((0, 2), np.int64)

    def new(self, rows: np.ndarray, terms: TermTable) -> np.ndarray:
        """The elements of those rows that have keys of which something is said that is not known."""
        keys = rows[:, 1:3] * (1, 0)
        typed = rows[:, 1] == self._type
        keys[typed, 1] = rows[typed, 2]
        silent_predicates = self._silent[self._silent[:, 1] == 0, 0]
        silent_classes = self._silent[self._silent[:, 1] != 0, 1]
        known = hashing.among(keys[:, 0], silent_predicates)
        known[typed] = hashing.among(keys[typed, 1], silent_classes)
        if known.all():
            return np.empty(0, np.int64)
        rows, keys = rows[~known], keys[~known]
        first, numbers = hashing.numbered(keys.T)
        saying = self.saying(keys[first], terms)
        silent = keys[first[~saying]]
        if len(self._silent) + len(silent) > self.most:
            self._silent = self._silent[:0]
        self._silent = np.concatenate([self._silent, silent[: self.most]])
        return np.unique(rows[saying[numbers], 4])

    def saying(self, keys: np.ndarray, terms: TermTable) -> np.ndarray:
        """Of which of the keys, each once, something is said that is not known."""
        rows = np.zeros((len(keys), 5), np.int64)
        rows[:, 0] = keys[:, 0]  # nobody looks at the subject, nor at an object that is no class
        rows[:, 1] = keys[:, 0]
        rows[:, 2] = np.where(keys[:, 1] == 0, keys[:, 0], keys[:, 1])
        rows[:, 4] = np.arange(1, len(keys) + 1)
        quads = self._above.evaluate(rows, terms, self._above.static.options).quads
        found = np.zeros(len(keys), bool)
        found[quads.rows[: quads.count][quads.by[: quads.count] >= 0, 4] - 1] = True
        return found
