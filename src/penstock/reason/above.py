"""Clauses that run above static knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.algebra.nodes import Var
from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.reason.code import Compiled
from penstock.reason.evaluation import Options, RuleEvaluation


@dataclass
class Above:
    """A program, above static knowledge that is closed under all rules, their internal graphs included."""

    compiled: Compiled
    static: RuleEvaluation

    @cached_property
    def below(self) -> tuple[np.ndarray, ...] | None:
        return self.static.linked(self.compiled.code, self._predicates()) if self.static.quads.count else None

    def _predicates(self) -> np.ndarray | None:
        """Those of static rows that clauses look up, or derive; None: any."""
        asked = [atom for clause in self.compiled.clauses if len(clause.body) > 1 for atom in clause.body]
        asked += [atom for clause in self.compiled.clauses for atom in clause.head]
        if any(isinstance(atom.predicate, Var) for atom in asked):
            return None
        ids = [id_of(each, self.static.terms.key) for each in {atom.predicate for atom in asked}]
        return np.array(ids, np.int64)

    def evaluate(self, rows: np.ndarray, terms: TermTable, options: Options) -> RuleEvaluation:
        """Rows of elements, and all that follows from them."""
        evaluation = RuleEvaluation(self.compiled, terms, options, self.below, 2 * len(rows) + 64)
        evaluation.add(rows, explicit=True)
        return evaluation
