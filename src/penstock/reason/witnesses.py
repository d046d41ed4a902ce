"""Surrogates of a few literals that witness what follows from those of all.

Nobody is shown triples with surrogates (`surrogates.py`). If rules take them one at a time, then what can be
seen of their consequences depends on a property and a datatype, and not on who has the value or what it is:

* what follows from `x p S` without S follows from `x p literal` as well, from which `x p S` has come;
* what follows from `S a C` without S is about C, and which C are there for S is said of p and the datatype.

So one literal for each property and datatype is enough. All this is read from the clauses (`witnesses_in`),
but for what data alone can say: that no surrogate has become part of an axiom (`Witnesses.suffice`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import hashing
from penstock.columns.ids import id_of
from penstock.reason.clauses import Atom, Clause, Position, constants_in, variables_in
from penstock.reason.quads import DEAD, LITERAL, Quads
from penstock.rules.rule import SURROGATES
from penstock.terms import RDF, XSD, Literal, NamedNode

_TOTAL = frozenset(("CONCAT", "IRI", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "STR"))


@dataclass
class Witnesses:
    """Of each clause that makes surrogates, the variables that a witness is for, and those that there are."""

    variables: dict[Clause, tuple[Var, ...]]
    surrogates: dict[Clause, Var]
    vocabulary: np.ndarray  # predicates of axioms: what clauses look up beside the triple that they take
    type: int  # the id of rdf:type
    _known: dict[Clause, set[tuple[int, ...]]] = field(default_factory=dict)
    _made: list[np.ndarray] = field(default_factory=list)

    def new(self, clause: Clause, columns: dict[Var, np.ndarray]) -> np.ndarray:
        """Of solutions of a clause, those that witness something new."""
        keys = np.stack([columns[var] for var in self.variables[clause]])
        first, _ = hashing.numbered(keys)
        known = self._known.setdefault(clause, set())
        found = [row for row in first.tolist() if tuple(keys[:, row].tolist()) not in known]
        known.update(tuple(keys[:, row].tolist()) for row in found)
        return np.array(found, np.int64)

    def note(self, clause: Clause, columns: dict[Var, np.ndarray]) -> None:
        """Takes in the surrogates that witnesses have got."""
        if clause in self.surrogates:
            self._made.append(np.unique(columns[self.surrogates[clause]]))

    def suffice(self, quads: Quads) -> bool:
        """Whether, in all that follows, surrogates are values of properties and instances of classes only."""
        made = np.unique(np.concatenate([np.empty(0, np.int64), *self._made]))
        rows, flags = quads.rows[: quads.count], quads.flags[: quads.count]
        subject, predicate, object_ = (hashing.among(rows[:, place], made) for place in range(3))
        some = np.flatnonzero((subject | predicate | object_) & (flags < DEAD))
        subject, predicate, object_ = subject[some], predicate[some], object_[some]
        literal = flags[some] >> 2 & 3 == LITERAL
        is_type = rows[some, 1] == self.type
        is_axiom = is_type | np.isin(rows[some, 1], self.vocabulary)
        return not (predicate | subject & (object_ | literal | ~is_type) | object_ & is_axiom).any()


def witnesses_in(clauses: Iterable[Clause], key: int) -> Witnesses | None:
    """What witnesses are for, if all that clauses do with surrogates can be told from a few."""
    variables: dict[Clause, tuple[Var, ...]] = {}
    surrogates: dict[Clause, Var] = {}
    vocabulary: set[Position] = set()
    for clause in clauses:
        if any(atom.graph is not None for atom in (*clause.body, *clause.head)):
            return None
        made = _surrogate_of(clause)
        if made is not None:
            surrogates[clause] = made
            subject = clause.body[0].subject
            used = (each for atom in clause.head for each in atom.variables())
            variables[clause] = tuple(dict.fromkeys(each for each in used if each not in (subject, made)))
        elif not _takes_one(clause):
            return None
        vocabulary |= {atom.predicate for atom in clause.body if not _is_open(atom)}
    if not surrogates or not all(variables.values()):
        return None
    ids = np.array(sorted(id_of(each, key) for each in vocabulary), np.int64)
    return Witnesses(variables, surrogates, ids, id_of(RDF.type, key))


def _surrogate_of(clause: Clause) -> Var | None:
    """The variable of the surrogate, if a clause does no more than to make one of a literal.

    Its head says who has the surrogate, by the same property, and of which class it is.
    """
    if len(clause.body) != 1 or clause.is_check or clause.tables or clause.invents:
        return None
    [atom] = clause.body
    subject, predicate, literal = atom.positions[:3]
    if len(set(atom.variables())) != 3 or Call("ISLITERAL", (literal,)) not in clause.conditions:
        return None
    own = {literal} | {var for var, _ in clause.binds}
    if not all(variables_in(each) <= own for each in clause.conditions):
        return None
    if not all(variables_in(each) <= own for _, each in clause.binds):
        return None
    made = [var for var, each in clause.binds if _is_surrogate(each, literal)]
    if len(made) != 1:
        return None
    classes = own - {literal, *made}
    for head in clause.head:
        said = head == Atom(subject, predicate, made[0])
        typed = head.subject == made[0] and head.predicate == RDF.type
        if not said and not (typed and (head.object in classes or isinstance(head.object, NamedNode))):
            return None
    return made[0]


def _is_surrogate(expression: Expression, literal: Var) -> bool:
    """Whether an expression is a surrogate, whatever the literal is."""
    match expression:
        case Call(name="IRI" | "URI", args=(Call(name="CONCAT", args=(first, *_)), *_)):
            return first == Literal(SURROGATES) and _is_total(expression, literal)
    return False


def _is_total(expression: Expression, literal: Var) -> bool:
    """Whether an expression that makes a text has a value, whatever the literal is."""
    if not isinstance(expression, Call):
        return isinstance(expression, NamedNode) or (
            isinstance(expression, Literal) and expression.datatype == XSD.string
        )
    if expression.args == (literal,):
        return expression.name in ("DATATYPE", "LANG", "STR")
    return expression.name in _TOTAL and all(_is_total(each, literal) for each in expression.args)


def _is_open(atom: Atom) -> bool:
    """Whether an atom may take triples with surrogates."""
    return isinstance(atom.predicate, Var) or atom.predicate == RDF.type


def _takes_one(clause: Clause) -> bool:
    """Whether a clause takes a triple with a surrogate only beside axioms, and for what it is a value of."""
    if clause.binds or any(_names_surrogates(each) for each in _constants(clause)):
        return False
    taken = [atom for atom in clause.body if _is_open(atom)]
    if not taken:
        return True
    if len(taken) > 1 or clause.is_check or clause.tables or clause.invents:
        return False
    subject, predicate, object_ = taken[0].positions[:3]
    ends = {each for each in (subject, object_) if isinstance(each, Var)}
    axioms = {var for atom in clause.body if atom is not taken[0] for var in atom.variables()}
    if subject in axioms or subject == object_ or predicate in ends:
        return False
    if any(variables_in(each) & ends for each in clause.conditions):
        return False
    return all(_keeps(head, subject, object_) for head in clause.head)


def _keeps(head: Atom, subject: object, object_: object) -> bool:
    """Whether a head, if it is about the value, says who has it, or that it is of a class, whoever has it."""
    if not isinstance(object_, Var) or object_ not in head.positions:
        return True
    if head.subject == subject and head.object == object_:
        return head.predicate not in (subject, object_)
    return head.subject == object_ and head.predicate == RDF.type and head.object not in (subject, object_)


def _constants(clause: Clause) -> Sequence:
    terms = [each for atom in (*clause.body, *clause.head) for each in atom.positions]
    terms += [each for table in clause.tables for row in table.rows for each in row]
    return [*terms, *set().union(*map(constants_in, clause.conditions))]


def _names_surrogates(term: object) -> bool:
    return isinstance(term, Literal | NamedNode) and term.value.startswith(SURROGATES)
