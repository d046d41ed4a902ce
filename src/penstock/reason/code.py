"""Clauses as arrays: what the kernel runs.

Each clause is there once for each atom of its body, as a *variant*: that atom takes the row that is
new, the others are looked up, in an order in which as much as possible is bound. Variants are found
by the predicate of the new row, and where the atom has a constant object, by both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns.hashing import placed
from penstock.columns.ids import id_of
from penstock.reason.clauses import INTERNAL, Atom, Clause
from penstock.reason.quads import BASE, BLANK, IRI, LITERAL
from penstock.reason.shapes import copied_edge, transitive_step
from penstock.terms import RDF, BlankNode, Literal, Term

WORKINGS_ID = -1

# The first number of a step says what it is.
ATOM, EXISTS, SAME, DIFFERENT, IS, IS_NOT = range(6)
# Atoms: step, index, whether it stands before the new row's atom, then of each position how it is and what,
# and of a leading atom its predicate's entry, or -1 - its pair's slot; of the new row's atom itself, whether
# it takes edges alone, in place of whether it stands before.
CONSTANT, BOUND, FREE, EQUAL = range(4)
LEADING = 11
LITERAL_ALONE = 12  # 1 if what the atom binds as an object has to be a literal
STEP_WIDTH = 13
# *Leading* atoms are looked up first: those about nothing but the new row's predicate, or if that is a
# constant, its object. What they are is then the same for all new rows with the same predicate (and object).
ALONE, BY_PREDICATE, BY_OBJECT = range(3)
# What a clause makes, if its head is an edge: a path of edges, or as much of a path as the edge was that it
# is made of (which stands behind its heads).
NEW_PATH, COPIED = 1, 2
HEAD_WIDTH = 12

KINDS = {"ISIRI": IRI, "ISBLANK": BLANK, "ISLITERAL": LITERAL}


class Code(NamedTuple):
    """The arrays; `first` and `last` are places in the array that the name says."""

    steps: np.ndarray  # (n, STEP_WIDTH)
    variants: np.ndarray  # (n, 5): clause, first and last step, what leading atoms depend on, the step behind
    heads: np.ndarray  # (n, HEAD_WIDTH): of each position how it is, what, and of a constant its kind
    clauses: (
        np.ndarray
    )  # (n, 6): rule, first and last head, whether solutions are given out, variables, paths
    masks: np.ndarray  # of each index, the positions that it is over
    keys: np.ndarray  # predicates, by the number of their entry, from 1 on
    entries: np.ndarray  # a hash table of these
    lists: np.ndarray  # variants
    places: (
        np.ndarray
    )  # (n, 6) of each entry: first and last in lists, bits of indexes, and whether there are
    # pairs, leading atoms match its rows, and such depend on its objects
    pairs: np.ndarray  # (n, 2) predicates and objects, in a hash table
    pair_places: np.ndarray  # (n, 3) first and last in lists (first -1: free), if leading atoms match rows
    most: int  # variables or steps that a clause has


@dataclass(frozen=True, eq=False)
class Compiled:
    """Clauses, and the code of the same."""

    clauses: tuple[Clause, ...]
    rules: tuple[str, ...]
    code: Code
    constants: tuple[Term, ...]  # whose texts derived quads may need
    facts: tuple[Clause, ...]  # clauses without a body: what holds anyway
    leading: np.ndarray  # (n, 2): the predicates of leading atoms, and their objects or 0

    def is_leading(self, rows: np.ndarray) -> np.ndarray:
        """Which of the rows leading atoms may match, as far as predicate and object say."""
        predicates, objects = self.leading.T
        found = np.isin(rows[:, 1], predicates[objects == 0])
        for predicate in np.unique(predicates[objects != 0]).tolist():
            those = objects[(predicates == predicate) & (objects != 0)]
            found |= (rows[:, 1] == predicate) & np.isin(rows[:, 2], those)
        return found


def compiled(
    clauses: Iterable[Clause], key: int, *, transitive: bool = True, renaming: bool = False
) -> Compiled:
    """The code of clauses, for ids by the key of a run.

    `transitive` has clauses that close a relation under composition make each pair once for each edge,
    and not for each node between; `renaming` has indexes in which all rows are found that are about a thing.
    """
    clauses = tuple(clauses)
    compiler = ClauseCompiler(tuple(each for each in clauses if each.body), key, transitive)
    if renaming:
        for mask in (1, 4):
            compiler.every |= 1 << compiler.masks.setdefault(mask, len(compiler.masks))
    return compiler.result(tuple(each for each in clauses if not each.body))


def native(condition: Expression, clause: Clause) -> bool:
    """Whether the kernel itself can look at a condition: it is about terms that atoms bind."""
    if isinstance(condition, Call) and condition.name == "!":
        [condition] = condition.args
    if not isinstance(condition, Call) or not (condition.name in KINDS or condition.name == "SAMETERM"):
        return False
    if condition.name in KINDS and not isinstance(condition.args[0], Var):
        return False
    bound = clause.variables()
    return all(
        each in bound if isinstance(each, Var) else not isinstance(each, Call) for each in condition.args
    )


def in_python(clause: Clause) -> bool:
    """Whether solutions of a clause are given out: to look at further, to invent, or to report."""
    return (
        clause.is_check
        or bool(clause.binds)
        or bool(clause.tables)
        or clause.invents
        or not all(native(each, clause) for each in clause.conditions)
    )


_Dispatching = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class ClauseCompiler:
    """Makes the arrays of clauses; `support.py` makes others of them."""

    def __init__(self, clauses: tuple[Clause, ...], key: int, transitive: bool) -> None:
        self.clauses = clauses
        self.transitive = transitive and any(transitive_step(clause) is not None for clause in clauses)
        self.key = key
        self.rules = tuple(dict.fromkeys(clause.rule for clause in clauses))
        self.constants: dict[Term, int] = {}
        self.masks: dict[int, int] = {}  # mask → index
        self.every: int = 0  # bits of indexes that all rows enter
        self.bits: dict[int, int] = {}  # predicate → bits of indexes that its rows enter
        self.steps: list[list[int]] = []
        self.heads: list[list[int]] = []
        self.variants: list[list] = []
        self.leading: dict[int, tuple[int, int]] = {}  # step → predicate, and object or 0, of a leading atom
        self.any: list[int] = []  # variants that any row may begin
        self.by_predicate: dict[int, list[int]] = {}
        self.by_pair: dict[tuple[int, int], list[int]] = {}

    def id(self, term: Term | str | None) -> int:
        if term is None:
            return 0
        if term == INTERNAL:
            return WORKINGS_ID
        if term not in self.constants:
            self.constants[term] = id_of(term, self.key)
        return self.constants[term]

    def result(self, facts: tuple[Clause, ...]) -> Compiled:
        about = []
        most = 1
        for number, clause in enumerate(self.clauses):
            slots = {var: slot for slot, var in enumerate(clause.variables())}
            first = len(self.heads)
            if not in_python(clause):
                self.heads += [self._head(atom, slots) for atom in clause.head if is_bound(atom, slots)]
            last = len(self.heads)
            paths, edge = self._paths(clause, slots)
            conditional = any(native(each, clause) for each in clause.conditions)
            about.append(
                (
                    self.rules.index(clause.rule),
                    first,
                    last,
                    in_python(clause),
                    len(slots),
                    paths,
                    conditional,
                )
            )
            for delta in range(len(clause.body)):
                begin = len(self.steps)
                leading = self._variant(clause, delta, slots, edge)
                self._dispatch(clause.body[delta], len(self.variants))
                self.variants.append([number, begin, len(self.steps), *leading])
                most = max(most, len(slots), len(self.steps) - begin)
        dispatching = self._dispatching()
        code = Code(
            table_of(self.steps, STEP_WIDTH),
            table_of(self.variants, 5),
            table_of(self.heads, HEAD_WIDTH),
            table_of(about, 7),
            np.array(list(self.masks), np.int64),
            *dispatching,
            most + 1,
        )
        leading = table_of(list(set(self.leading.values())), 2)
        return Compiled(self.clauses, self.rules, code, tuple(self.constants), facts, leading)

    def _paths(self, clause: Clause, slots: dict[Var, int]) -> tuple[int, int | None]:
        """Whether a clause makes paths, and the place of the atom of its body that takes edges alone."""
        if not self.transitive or in_python(clause):
            return 0, None
        place = transitive_step(clause)
        if place is not None:
            return NEW_PATH, place
        edge = copied_edge(clause)
        if edge is None:
            return 0, None
        self.heads.append(self._head(edge, slots))
        return COPIED, None

    # --- one variant ---------------------------------------------------------------------

    def _variant(
        self, clause: Clause, delta: int, slots: dict[Var, int], edge: int | None
    ) -> tuple[int, int]:
        """Adds the steps of a variant: what its leading atoms depend on, and the place behind them."""
        new = clause.body[delta]
        waiting = [each for each in clause.conditions if native(each, clause)]
        left = [place for place in range(len(clause.body)) if place != delta]
        bound: set[Var] = set()

        def take(place: int) -> None:
            atom = clause.body[place]
            self._atom(atom, slots, bound, before=place < delta, new=place == delta, edge=place == edge)
            self.steps[-1][LITERAL_ALONE] = int(Call("ISLITERAL", (atom.object,)) in waiting)
            bound.update(atom.variables())

        def check(known: set[Var]) -> None:
            for condition in [each for each in waiting if variables_of(each) <= known]:
                waiting.remove(condition)
                self.steps.append(self._condition(condition, slots))

        take(delta)
        how = BY_PREDICATE if isinstance(new.predicate, Var) else BY_OBJECT
        known = {new.predicate if how == BY_PREDICATE else new.object}
        behind = 0
        while leading := [place for place in left if leads(clause.body[place], known, bound)]:
            place = min(leading, key=lambda each: (cost_of(clause.body[each], known), each))
            left.remove(place)
            atom = clause.body[place]
            object_ = 0 if isinstance(atom.object, Var) else self.id(atom.object)
            self.leading[len(self.steps)] = self.id(atom.predicate), object_
            take(place)
            known.update(atom.variables())
            check(known)
            behind = len(self.steps)
        check(bound)
        while left:
            place = min(left, key=lambda each: (cost_of(clause.body[each], bound), each))
            left.remove(place)
            take(place)
            check(bound)
        return how if behind else ALONE, behind

    def _atom(
        self, atom: Atom, slots: dict[Var, int], bound: set[Var], *, before: bool, new: bool, edge: bool
    ) -> None:
        step = [ATOM, 0, int(edge if new else before)]
        mask, free = 0, set()
        for bit, position in zip((1, 2, 4, 8), atom.positions, strict=True):
            if isinstance(position, Var):
                if position in bound:
                    step += [BOUND, slots[position]]
                    mask |= bit
                elif position in free:
                    step += [EQUAL, slots[position]]
                else:
                    step += [FREE, slots[position]]
                    free.add(position)
            else:
                step += [CONSTANT, self.id(position)]
                if bit < 8:
                    mask |= bit
        if not new:
            if mask & 7 == 7 and step[9] in (CONSTANT, BOUND):
                step[0] = EXISTS
            else:
                step[1] = self._index(mask | BASE if edge else mask, atom.predicate)
        self.steps.append([*step, 0, 0])

    def _index(self, mask: int, predicate) -> int:
        index = self.masks.setdefault(mask, len(self.masks))
        if isinstance(predicate, Var):
            self.every |= 1 << index
        else:
            self.bits[self.id(predicate)] = self.bits.get(self.id(predicate), 0) | 1 << index
        return index

    def _condition(self, condition: Expression, slots: dict[Var, int]) -> list[int]:
        negated = condition.name == "!"
        if negated:
            [condition] = condition.args
        places: list[int] = []
        for argument in condition.args:
            if isinstance(argument, Var):
                places += [BOUND, slots[argument]]
            else:
                places += [CONSTANT, self.id(argument)]
        if condition.name == "SAMETERM":
            return [DIFFERENT if negated else SAME, 0, 0, *places, 0, 0, 0, 0, 0, 0]
        return [IS_NOT if negated else IS, 0, 0, *places, CONSTANT, KINDS[condition.name], 0, 0, 0, 0, 0, 0]

    def _head(self, atom: Atom, slots: dict[Var, int]) -> list[int]:
        row: list[int] = []
        for position in atom.positions:
            if isinstance(position, Var):
                row += [BOUND, slots[position], 0]
            else:
                row += [CONSTANT, self.id(position), kind_of(position)]
        return row

    # --- which variants a row may begin --------------------------------------------------

    def _dispatch(self, atom: Atom, variant: int) -> None:
        if isinstance(atom.predicate, Var):
            self.any.append(variant)
        elif isinstance(atom.object, Var):
            self.by_predicate.setdefault(self.id(atom.predicate), []).append(variant)
        else:
            pair = self.id(atom.predicate), self.id(atom.object)
            self.by_pair.setdefault(pair, []).append(variant)

    def _dispatching(self) -> _Dispatching:
        leading = set(self.leading.values())
        for pair in leading:
            if pair[1]:
                self.by_pair.setdefault(pair, [])
        with_pairs = {predicate for predicate, _ in self.by_pair}
        single = [predicate for predicate, object_ in leading if not object_]
        predicates = list(dict.fromkeys([*self.bits, *self.by_predicate, *with_pairs, *single]))
        lists: list[int] = list(self.any)
        places = [(0, len(lists), self.every, 0, 0, 0)]  # of a predicate that no atom names
        for predicate in predicates:
            first = len(lists)
            lists += [*self.by_predicate.get(predicate, ()), *self.any]
            bits = self.every | self.bits.get(predicate, 0)
            by_object = any(self.variants[each][3] == BY_OBJECT for each in lists[first:])
            pairs = predicate in with_pairs
            places.append((first, len(lists), bits, pairs, (predicate, 0) in leading, pairs or by_object))
        keys = np.array(predicates, np.int64)
        pair_keys = np.array(list(self.by_pair), np.int64).reshape(-1, 2)
        entries, slots = placed(keys[:, None]), placed(pair_keys)
        pairs = np.zeros((len(slots), 2), np.int64)
        pair_places = np.full((len(slots), 3), -1, np.int64)
        for slot, number in enumerate(slots.tolist()):
            if number >= 0:
                pairs[slot] = pair_keys[number]
                first = len(lists)
                pair = tuple(pair_keys[number].tolist())
                lists += self.by_pair[pair]
                pair_places[slot] = first, len(lists), pair in leading
        entry = {predicate: number for number, predicate in enumerate(predicates, 1)}
        pair_slots = {tuple(pair): slot for slot, pair in enumerate(pairs.tolist()) if slots[slot] >= 0}
        for step, (predicate, object_) in self.leading.items():
            place = -1 - pair_slots[predicate, object_] if object_ else entry[predicate]
            self.steps[step][LEADING] = place
        return keys, entries, np.array(lists, np.int64), table_of(places, 6), pairs, pair_places


def kind_of(term) -> int:
    if isinstance(term, Literal):
        return LITERAL
    return BLANK if isinstance(term, BlankNode) else IRI


def table_of(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, width)


def is_bound(atom: Atom, slots: dict[Var, int]) -> bool:
    """Whether all of a head is bound; what is not makes no quad."""
    return all(var in slots for var in atom.variables())


def leads(atom: Atom, known: set[Var], bound: set[Var]) -> bool:
    """Whether an atom is about nothing that is bound but what is known, and about some of that.

    What is of a class is not looked up like this: who does not ask for a certain class asks for data.
    """
    vars_ = set(atom.variables())
    if isinstance(atom.predicate, Var) or (atom.predicate == RDF.type and isinstance(atom.object, Var)):
        return False
    return bool(vars_ & known) and vars_ & bound <= known


def variables_of(condition: Expression) -> set[Var]:
    if isinstance(condition, Var):
        return {condition}
    return set().union(*map(variables_of, condition.args)) if isinstance(condition, Call) else set()


def cost_of(atom: Atom, bound: set[Var]) -> tuple:
    """How late an atom should be looked up: what has most bound goes first, types after the rest."""
    known = [not isinstance(each, Var) or each in bound for each in atom.positions[:3]]
    graph = isinstance(atom.graph, Var) and atom.graph in bound
    many = atom.predicate == RDF.type and isinstance(atom.object, Var) and atom.object not in bound
    return 3 - sum(known) - graph, not (known[0] or known[2]), many
