"""What the kernel leaves to Python of a clause's solutions: conditions, BINDs, blank nodes that are invented.

Expressions are evaluated once for each distinct combination of what they look at. An invented blank
node is named after its rule, its label and the solution: the same solution has the same node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns.ids import HASHED, UNBOUND
from penstock.columns.terms import TermTable
from penstock.columns.texts import Texts, joined
from penstock.functions.columnar import Columns, distinct, distinct_rows, is_made_of_texts, made_of_texts
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, Lookup, compile_term, compile_truth
from penstock.reason.classes import Classes
from penstock.reason.clauses import INTERNAL, Clause, ValuesTable, variables_in
from penstock.reason.code import KINDS, WORKINGS_ID, native
from penstock.reason.equality import depends
from penstock.reason.quads import BLANK, IRI, LITERAL
from penstock.reason.witnesses import Witnesses
from penstock.terms import BlankNode, Literal, NamedNode, Term


class Solutions:
    """The solutions of one clause as columns of ids by variable, in growing knowledge of their terms."""

    def __init__(
        self,
        clause: Clause,
        columns: np.ndarray,
        elements: np.ndarray,
        terms: TermTable,
        classes: Classes | None = None,
        witnesses: Witnesses | None = None,
    ) -> None:
        self.clause = clause
        self.columns = dict(zip(clause.variables(), columns.T, strict=True))
        self.elements = elements
        self.terms = terms
        self.invented: dict[BlankNode, np.ndarray] = {}  # by label, once the head was made
        self.classes = classes
        self.witnesses = witnesses if witnesses is not None and clause in witnesses.variables else None

    def completed(self) -> Solutions:
        """With BINDs bound, joined with VALUES, and only those for which the conditions hold.

        What narrows them down is done as soon as it can be.
        """
        if self.classes:
            self._tell_apart()
        binds = list(self.clause.binds)
        tables = list(self.clause.tables)
        conditions = [each for each in self.clause.conditions if not native(each, self.clause)]
        later = {var for var, _ in binds} | {var for table in tables for var in table.vars}
        while binds or tables or conditions:
            ready = next((each for each in conditions if not variables_in(each) & later), None)
            if ready is not None:
                conditions.remove(ready)
                self._keep(self._holds(ready))
                continue
            bound = {var for var, _ in binds}
            table = next((each for each in tables if not bound & set(each.vars)), None)
            if table is not None:
                tables.remove(table)
                self._join(table)
            else:
                var, expression = binds.pop(0)
                if not conditions:
                    self._choose_witnesses()
                self.columns[var] = self._values(expression)
            later = {var for var, _ in binds} | {var for each in tables for var in each.vars}
        self._choose_witnesses()
        return self

    def _choose_witnesses(self) -> None:
        """If a few solutions are enough, goes on with these, as soon as it is known which."""
        if self.witnesses is not None and self.columns.keys() >= set(self.witnesses.variables[self.clause]):
            self._keep(self.witnesses.new(self.clause, self.columns))
            self.witnesses = None

    def _join(self, table: ValuesTable) -> None:
        """Joins with VALUES, which has few rows."""
        chosen = []
        values: dict[Var, list] = {var: [] for var in table.vars}
        for row in table.rows:
            fits = np.ones(len(self.elements), bool)
            for var, term in zip(table.vars, row, strict=True):
                if term is not None and var in self.columns:
                    column = self.columns[var]
                    fits &= (column == self.terms.add(term)) | (column == UNBOUND)
            if not fits.any():
                continue
            rows = np.flatnonzero(fits)
            chosen.append(rows)
            for var, term in zip(table.vars, row, strict=True):
                known = self.columns[var][rows] if var in self.columns else np.zeros(len(rows), np.int64)
                values[var].append(
                    np.where(known == UNBOUND, 0 if term is None else self.terms.add(term), known)
                )
        self._keep(np.concatenate([np.empty(0, np.int64), *chosen]))
        for var, parts in values.items():
            self.columns[var] = np.concatenate([np.empty(0, np.int64), *parts])

    def _tell_apart(self) -> None:
        """Where it matters which of those that are the same a variable is, has solutions for all of them.

        What is only compared with others needs no more of each kind than there are to compare with, unless
        it is shown.
        """
        clause = self.clause
        by_id = [each for each in clause.conditions if native(each, clause)]
        compared = set().union(*map(variables_in, by_id))
        others = [each for each in clause.conditions if each not in by_id]
        others += [each for _, each in clause.binds]
        whole = set().union(*map(variables_in, others), *(table.vars for table in clause.tables))
        whole |= set(clause.shown or ())
        if clause.invents:
            whole |= set(self.columns)
        for condition in [*by_id, *by_id]:  # what is compared with what is needed whole is needed whole
            if whole & variables_in(condition):
                whole |= variables_in(condition)
        named = {self.terms.add(each) for call in by_id for each in _constants(call)}
        predicates = {atom.predicate for atom in clause.body}
        for var in sorted(depends(clause), key=lambda each: each.name):
            most = 0 if var in whole else len(compared)
            places, ids = self.classes.stands_for(
                self.columns[var], iris=var in predicates, most=most, named=tuple(sorted(named))
            )
            self._keep(places)
            self.columns[var] = ids
        for condition in by_id:
            self._keep(self._by_id(condition))

    def _by_id(self, condition: Expression) -> np.ndarray:
        """For which solutions a condition holds that the kernel knows."""
        if condition.name == "!":
            return ~self._by_id(condition.args[0])
        columns = [self._ids(each, {}) for each in condition.args]
        if condition.name == "SAMETERM":
            return columns[0] == columns[1]
        return np.equal(kinds_of(columns[0], self.terms), KINDS[condition.name])

    def _keep(self, chosen: np.ndarray) -> None:
        if chosen.dtype == np.bool_ and chosen.all():
            return
        self.columns = {var: column[chosen] for var, column in self.columns.items()}
        self.elements = self.elements[chosen]

    # --- expressions ------------------------------------------------------------------------

    def _holds(self, condition: Expression) -> np.ndarray:
        """For which solutions a condition holds."""
        columns, numbers = self._distinct(condition)
        truth, context = compile_truth(condition), EvaluationContext()

        def holds(lookup: Lookup) -> bool:
            try:
                return truth(lookup, context)
            except ExpressionError:
                return False

        return np.array([holds(lookup) for lookup in self._lookups(columns)], bool)[numbers]

    def _values(self, expression: Expression) -> np.ndarray:
        """The ids of an expression's values; unbound where it has none."""
        columns, numbers = self._distinct(expression)
        if not is_made_of_texts(expression):
            return self._one_by_one(expression, columns)[numbers]
        found, known = made_of_texts(expression, columns, self.terms)
        if not known.all():
            rest = {name: ids[~known] for name, ids in columns.items()}
            found[~known] = self._one_by_one(expression, rest)
        return found[numbers]

    def _one_by_one(self, expression: Expression, columns: Columns) -> np.ndarray:
        value, context = compile_term(expression), EvaluationContext()

        def term(lookup: Lookup) -> Term | None:
            try:
                return value(lookup, context)
            except ExpressionError:
                return None

        found = [term(lookup) for lookup in self._lookups(columns)]
        ids = np.full(len(found), UNBOUND, np.int64)
        ids[[each is not None for each in found]] = self.terms.add_all([t for t in found if t is not None])
        return ids

    def _distinct(self, expression: Expression) -> tuple[Columns, np.ndarray]:
        """What an expression looks at, each combination once, and which of them each solution has."""
        unbound = np.zeros(len(self.elements), np.int64)
        vars_ = sorted(variables_in(expression), key=lambda var: var.name)
        columns = {var.name: self.columns.get(var, unbound) for var in vars_}
        return distinct(expression, columns, self.terms) if columns else ({}, unbound)

    def _lookups(self, columns: Columns) -> Iterator[Lookup]:
        """What variables are bound to, for each row of columns; once, if there is none."""
        if not columns:
            yield lambda _: None
            return
        seen = np.unique(np.concatenate(list(columns.values())))
        seen = seen[seen != UNBOUND]
        terms = dict(zip(seen.tolist(), self.terms.terms(seen), strict=True))
        for row in zip(*(ids.tolist() for ids in columns.values()), strict=True):
            yield {name: terms[id_] for name, id_ in zip(columns, row, strict=True) if id_ != UNBOUND}.get

    # --- heads ------------------------------------------------------------------------------

    def quads(self) -> tuple[np.ndarray, np.ndarray, int]:
        """What the head makes of them: rows, their flags, how many were no quads."""
        rows, flags, dropped = [], [], 0
        labels = {each for atom in self.clause.head for each in atom.positions if isinstance(each, BlankNode)}
        self.invented = {label: self._invented(label) for label in sorted(labels, key=str)}
        for atom in self.clause.head:
            made, kinds = [], []
            for position in atom.positions:
                ids = self._ids(position, self.invented)
                made.append(ids)
                kinds.append(kinds_of(ids, self.terms))
            bound = np.all([column != UNBOUND for column in made[:3]], axis=0)
            if isinstance(atom.graph, Var):
                bound &= made[3] != UNBOUND
            begins = (kinds[0] != LITERAL) | (made[3] == WORKINGS_ID)  # a path may begin at a literal
            legal = bound & begins & (kinds[1] == IRI) & (kinds[3] != LITERAL)
            dropped += int((bound & ~legal).sum())
            rows.append(np.stack([*made, self.elements], axis=1)[legal])
            flags.append((kinds[0] | kinds[2] << 2 | kinds[3] << 4)[legal])
        if not rows:
            return np.empty((0, 5), np.int64), np.empty(0, np.uint8), 0
        return np.concatenate(rows), np.concatenate(flags), dropped

    def _ids(self, position, invented: dict[BlankNode, np.ndarray]) -> np.ndarray:
        if isinstance(position, Var):
            return self.columns.get(position, np.zeros(len(self.elements), np.int64))
        if isinstance(position, BlankNode):
            return invented[position]
        if position is None or position == INTERNAL:
            id_ = 0 if position is None else WORKINGS_ID
        else:
            id_ = self.terms.add(position)
        return np.full(len(self.elements), id_, np.int64)

    def _invented(self, label: BlankNode) -> np.ndarray:
        """A node for each solution."""
        vars_ = sorted((var for var in self.columns if not var.name.startswith(".")), key=lambda v: v.name)
        if not vars_:
            vars_ = sorted(self.columns, key=lambda v: v.name)
        columns, numbers = dict[str, np.ndarray](), np.zeros(len(self.elements), np.int64)
        if vars_:
            columns, numbers = distinct_rows({var.name: self.columns[var] for var in vars_})
        seed = hashlib.blake2b(f"{self.clause.rule} {label}".encode(), digest_size=16).digest()
        made = [
            hashlib.blake2b(solution, key=seed, digest_size=12).hexdigest()
            for solution in self._written(columns)
        ]
        return self.terms.add_texts([f"_:r{name}".encode() for name in made])[numbers]

    def _written(self, columns: Columns) -> list[bytes]:
        """The texts of each row of columns; once nothing, if there is none."""
        if not columns:
            return [b""]
        parts: list[Texts] = []
        for ids in columns.values():
            unbound = Texts.of([b"", b"-"]).take((ids == UNBOUND).astype(np.int64))
            parts += [Texts.of([b" "]), Texts.of_arrow(self.terms.texts(ids)), unbound]
        return joined(*parts[1:]).to_arrow().to_pylist()


def _constants(call: Call) -> Iterator[Term]:
    for each in call.args:
        if isinstance(each, Call):
            yield from _constants(each)
        elif isinstance(each, (NamedNode, BlankNode, Literal)):
            yield each


def kinds_of(ids: np.ndarray, terms: TermTable) -> np.ndarray:
    """Whether each id is an IRI, a blank node or a literal."""
    kinds = np.zeros(len(ids), np.uint8)
    kinds[(ids > 0) & (ids < HASHED)] = LITERAL
    hashed = ids >= HASHED
    if hashed.any():
        first = terms.first_bytes(ids[hashed])
        kinds[hashed] = np.where(first == ord('"'), LITERAL, np.where(first == ord("_"), BLANK, IRI))
    return kinds
