"""Equality by representatives: of things that are the same, one stands in the rows for all.

If clauses make a predicate (owl:sameAs, say) symmetric, and replace by it in every position, each row is
there once for each combination of things that are the same, and so is each solution of each clause.
Here these clauses are left out; the kernel normalises rows, and `closing.py` gives out what the
rows stand for. All this is as if materialised:

* A clause without conditions has a solution in the normalised rows exactly if it has one in all rows.
* What conditions, BINDs and invented nodes look at is tried with everything that a row stands for
  (`solutions.py`), as soon as it can stand for more than itself.
* Literals are nobody's equals, as they are no subjects: that something is the same as a literal puts the
  literal beside it as an object, and no more.
* Named graphs are not replaced in. Most internal graphs are none the less closed under replacement, as
  they are derived from what is. Where that could make a difference, the texts run as they are (`Apart`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.algebra.nodes import Call, Var
from penstock.reason.clauses import INTERNAL, NO_RULE, Atom, Clause, variables_in
from penstock.reason.shapes import transitive_step
from penstock.terms import BlankNode, NamedNode, Term


class Apart(Exception):
    """Things that are the same must be told apart: the texts have to run as they are."""


@dataclass(frozen=True)
class Equality:
    """What is kept by representatives, and what would not bear it."""

    predicate: NamedNode
    clauses: tuple[Clause, ...]  # those that are left to be run
    rigid: frozenset[Term]  # what may not be the same as anything else
    fragile: frozenset[NamedNode]  # predicates in named graphs whose rows may not be about what has equals

    def with_named_graphs(self) -> Equality:
        """The same where triples of named graphs are given, which are not closed under replacement."""
        if any(
            isinstance(atom.predicate, Var)
            for clause in self.clauses
            for atom in clause.body
            if atom.graph is not None
        ):
            raise Apart
        return _analysed(self.predicate, list(self.clauses), given=True)

    def normalised(self, name) -> tuple[Clause, ...]:
        """The clauses with every constant by another name, but for named graphs, where they are rigid."""
        return tuple(
            replace(
                clause,
                body=tuple(_named(atom, name) for atom in clause.body),
                head=tuple(_named(atom, name) for atom in clause.head),
            )
            for clause in self.clauses
        )


def _named(atom: Atom, name) -> Atom:
    return atom if atom.graph is not None else Atom(*map(name, atom.positions[:3]))


def depends(clause: Clause) -> set[Var]:
    """The variables of which it matters for a clause which of several equals they are."""
    if clause.invents:
        return set(clause.variables())
    expressions = [*clause.conditions, *(expression for _, expression in clause.binds)]
    looked_at = set().union(*map(variables_in, expressions), *(table.vars for table in clause.tables))
    return looked_at & set(clause.variables())


def equality_in(clauses: Iterable[Clause]) -> Equality | None:
    """The equality that some clauses define, if they do."""
    clauses = tuple(clauses)
    for predicate in dict.fromkeys(filter(None, map(_symmetric, clauses))):
        left, roles = [], set()
        for clause in clauses:
            kept = []
            for atom in clause.head:
                role = _role(replace(clause, head=(atom,)), predicate)
                if role is None:
                    kept.append(atom)
                else:
                    roles.add(role)
            if kept or clause.is_check:
                left.append(replace(clause, head=tuple(kept)))
        if roles >= {"symmetric", 0, 1, 2}:
            return _analysed(predicate, [*left, _literals(predicate)])
    return None


def _symmetric(clause: Clause) -> NamedNode | None:
    """The predicate that a clause makes symmetric."""
    if len(clause.body) == 1 and _only_joins(clause):
        [atom] = clause.body
        x, y = atom.subject, atom.object
        if isinstance(x, Var) and isinstance(y, Var) and x != y and isinstance(atom.predicate, NamedNode):
            if atom.graph is None and Atom(y, atom.predicate, x) in clause.head:
                return atom.predicate
    return None


def _only_joins(clause: Clause) -> bool:
    return not (clause.is_check or clause.conditions or clause.binds or clause.tables or clause.invents)


def _role(clause: Clause, predicate: NamedNode):
    """What a clause does for an equality: "symmetric", "transitive", or the position where it replaces."""
    if not _only_joins(clause):
        return None
    [head] = clause.head
    if _symmetric(clause) == predicate and head.predicate == predicate:
        return "symmetric"
    if len(clause.body) != 2:
        return None
    if transitive_step(clause) is not None and head.predicate == predicate:
        return "transitive"
    for equal, triple in (clause.body, clause.body[::-1]):
        if equal.predicate != predicate or equal.graph is not None or triple.graph is not None:
            continue
        if len(set(triple.variables())) != 3:
            continue
        for position in range(3):
            old = triple.positions[position]
            for one, other in ((equal.subject, equal.object), (equal.object, equal.subject)):
                if position == 2 and one is equal.object:
                    continue  # a literal would be replaced, by what is the same as it
                if one == old and isinstance(other, Var) and other not in triple.variables():
                    replaced = [*triple.positions]
                    replaced[position] = other
                    if head == Atom(*replaced):
                        return position
    return None


def _literals(predicate: NamedNode) -> Clause:
    """What remains of replacing objects: literals have no rows of their own to be normalised to."""
    s, p, o, literal = (Var(f".{name}") for name in ("s", "p", "o", "l"))
    return Clause(
        NO_RULE,
        (Atom(o, predicate, literal), Atom(s, p, o)),
        (Atom(s, p, literal),),
        (Call("ISLITERAL", (literal,)),),
    )


# --- named graphs ------------------------------------------------------------------------------


def _analysed(predicate: NamedNode, clauses: list[Clause], *, given: bool = False) -> Equality | None:
    named = [atom for clause in clauses for atom in (*clause.body, *clause.head) if atom.graph is not None]
    if any(isinstance(atom.predicate, Var) for clause in clauses for atom in clause.head if atom.graph):
        return None
    rigid = {predicate} | {
        each
        for atom in named
        for each in atom.positions
        if isinstance(each, NamedNode) or not isinstance(each, Var | str | BlankNode | None)
    }
    whole = _whole(clauses, given=given)
    partial = {atom.predicate for atom in named} - whole
    fragile: set = set()
    for clause in clauses:
        atoms = [atom for atom in clause.body if atom.graph is not None and atom.predicate not in whole]
        particular = depends(clause) | set(clause.shown or ())
        for atom in atoms:
            vars_ = atom.variables()
            if (
                len(atoms) > 1
                or isinstance(atom.predicate, Var)
                or len(set(vars_)) < len(vars_)
                or particular & set(vars_)
            ):
                fragile |= partial if isinstance(atom.predicate, Var) else {atom.predicate}
    fragile = {each for each in fragile if not isinstance(each, Var)}
    return Equality(predicate, tuple(clauses), frozenset(rigid), frozenset(fragile))


def _whole(clauses: list[Clause], *, given: bool) -> set:
    """The relations in named graphs that have, with a row, all rows with others that are the same in it."""
    whole = {
        atom.predicate
        for clause in clauses
        for atom in clause.head
        if atom.graph == INTERNAL or (atom.graph is not None and not given)
    }
    before = None
    while before != whole:
        before = set(whole)
        for clause in clauses:
            for atom in clause.head:
                vars_ = atom.variables()
                if atom.graph is not None and (
                    not _only_joins(clause)
                    or len(set(vars_)) < len(vars_)
                    or any(each.graph is not None and each.predicate not in whole for each in clause.body)
                ):
                    whole.discard(atom.predicate)
    return whole
