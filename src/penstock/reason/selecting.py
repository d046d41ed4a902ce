"""Which clauses can contribute to what is wanted, as long as elements bring no ontology.

Atoms in the vocabulary of RDF, RDFS and OWL are about ontologies. They are looked up in the static
knowledge alone: a clause whose axioms are not there derives nothing, and of the others it is then known
what they derive, and from what. From what is wanted, back through these, follows which are needed. What
elements must not bring for this to hold is watched for by *guards*; an element that brings it is
closed with all clauses instead. So the choice is never one of right or wrong, only of speed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import hashing
from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.reason.axioms import about_ontologies, of_ontologies_alone
from penstock.reason.clauses import INTERNAL, Atom, Clause, Position, ValuesTable, changed, variables_in
from penstock.reason.code import WORKINGS_ID, compiled, in_python
from penstock.reason.evaluation import RuleEvaluation
from penstock.reason.instances import ANY, LITERAL, Instances, composed, keys_in, needed, possible
from penstock.reason.quads import KINDS
from penstock.reason.vocabulary import VocabularyClauses
from penstock.terms import RDF, NamedNode, Term

GUARD = "guard"  # what guards are called; no rule's name, for it reports and derives nothing

NOBODY = np.empty(0, np.int64)

Wanted = frozenset[tuple[Term | None, Term | None]]
"""Predicates, and of rdf:type also classes; None: any."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The clauses that are needed, guards among them."""

    clauses: tuple[Clause, ...]
    predicates: np.ndarray | None  # of all triples that can take part; None: any
    rules: frozenset[str]  # whose clauses they are
    numbers: np.ndarray  # of the clauses; of those that look up auxiliary relations, -1 - the number
    relations: np.ndarray  # the rows of these
    vocabulary: tuple[Clause, ...] = ()  # that need not be looked at where vocabulary is known
    declaring: np.ndarray = field(default_factory=lambda: NOBODY)  # their numbers; of classes, -1 - number

    def arrays(self) -> dict[str, np.ndarray]:
        """What another process selects the same by, where static knowledge has the relations."""
        predicates = {} if self.predicates is None else {"predicates": self.predicates}
        return {"clauses": self.numbers, "declaring": self.declaring, **predicates}


def selection_found(clauses: Sequence[Clause], key: int, found: Mapping[str, np.ndarray]) -> Selection:
    """What another process has selected of the same clauses (`Selection.arrays`)."""
    predicates = found["predicates"] if "predicates" in found else None
    no_rows = np.empty((0, 5), np.int64)
    return Selecting(clauses, key).numbered(found["clauses"], predicates, no_rows, found["declaring"])


def selected(clauses: Sequence[Clause], closed: RuleEvaluation, wanted: Wanted) -> Selection:
    """The clauses needed for what is wanted, above static knowledge that is closed under all of them."""
    selecting = Selecting(clauses, closed.terms.key)
    known = closed.terms
    questions = compiled(selecting.questions(), known.key)
    for constant in questions.constants:
        known.add(constant)
    evaluation = RuleEvaluation(questions, known, closed.options, capacity=closed.quads.count)
    there = closed.quads.present()
    rows = closed.quads.rows[there]
    evaluation.quads.add(rows, closed.quads.flags[there] & KINDS, explicit=False)
    evaluation.close()
    answers: dict[Clause, list[np.ndarray]] = defaultdict(list)
    for question, _, columns in evaluation.reported:
        answers[question].append(columns[1:])
    named = np.unique(rows[rows[:, 3] != 0, 1])
    whole = {question: np.concatenate(parts, axis=1) for question, parts in answers.items()}
    return selecting.selection(whole, wanted, closed, named)


class Selecting:
    """The clauses of some rules, in static knowledge that is closed under them."""

    def __init__(self, clauses: Sequence[Clause], key: int) -> None:
        self.key = key
        self.type = id_of(RDF.type, key)
        self._auxiliary = of_ontologies_alone(clauses)
        self._reflexive = {  # relations of everything, not of axioms alone, to itself
            atom.predicate
            for clause in clauses
            if not all(map(about_ontologies, clause.body))
            for atom in clause.head
            if atom.subject == atom.object and isinstance(atom.predicate, NamedNode)
        }
        self.clauses = [part for clause in clauses for part in self._cases(clause)]
        self.axioms = [tuple(filter(self.is_axiom, clause.body)) for clause in self.clauses]

    def is_axiom(self, atom: Atom) -> bool:
        """Whether an atom is about ontologies."""
        if atom.predicate in self._reflexive and atom.subject == atom.object:
            return False  # everything is: it says nothing
        return about_ontologies(atom) or (atom.graph == INTERNAL and atom.predicate in self._auxiliary)

    def _cases(self, clause: Clause) -> list[Clause]:
        """A clause with a relation that is reflexive: once for two things, once for one and the same."""
        for atom in clause.body:
            one, other = atom.subject, atom.object
            apart = Call("!", (Call("SAMETERM", (one, other)),))
            if (
                atom.predicate in self._reflexive
                and isinstance(one, Var)
                and isinstance(other, Var)
                and one != other
                and apart not in clause.conditions
            ):
                same = _renamed(clause, other, one)
                both = replace(clause, conditions=(*clause.conditions, apart))
                return [*self._cases(both), *(self._cases(same) if not _says_nothing(same) else ())]
        return [] if _says_nothing(clause) else [clause]

    def questions(self) -> list[Clause]:
        """For each clause that has axioms, and not only these: where do they hold?"""
        return [
            Clause(
                str(number),
                axioms,
                conditions=tuple(each for each in self.clauses[number].conditions if _about(each, axioms)),
                shown=tuple(dict.fromkeys(var for atom in axioms for var in atom.variables())),
            )
            for number, axioms in enumerate(self.axioms)
            if axioms and len(axioms) < len(self.clauses[number].body)
        ]

    def guards(self) -> list[Clause]:
        """What elements must not bring."""
        found: dict[Clause, None] = {}
        subject, object_, graph = Var("s"), Var("o"), None
        for axioms in self.axioms:
            for atom in axioms:
                if atom.graph == INTERNAL:
                    continue  # derived from such as are watched
                target = object_ if isinstance(atom.object, Var) else atom.object
                conditions = ()
                if atom.predicate in self._reflexive:
                    conditions = (Call("!", (Call("SAMETERM", (subject, target)),)),)
                if atom.predicate != RDF.type:
                    target = object_
                body = (Atom(subject, atom.predicate, target, graph),)
                found.setdefault(Clause(GUARD, body, conditions=conditions, shown=()))
        return list(found)

    def selection(
        self, answers: Mapping[Clause, np.ndarray], wanted: Wanted, closed: RuleEvaluation, named: np.ndarray
    ) -> Selection:
        """What is needed, given the answers to `questions` as columns by variable.

        `named` are predicates that static knowledge has in named graphs and in internal ones.
        """
        instances = self._instances(answers, closed.terms, named)
        guards = self.guards()
        instances, watching, declaring = self._without_declaring(instances, guards, closed)
        pairs = [[ANY if each is None else id_of(each, self.key) for each in pair] for pair in wanted]
        roots = [np.array(pairs, np.int64)]
        roots += [self._key(guard.body[0], {}, 1) for guard in guards if not guard.conditions]
        if len(declaring) and any(False in each.copies for each in instances):
            roots.append(np.array([(self.type, ANY)]))  # what it is of may become of another class
        # Of relations that everything has to itself, only what relates two things is watched.
        for predicate in {id_of(guard.body[0].predicate, self.key) for guard in guards if guard.conditions}:
            for each, watch in zip(instances, watching, strict=True):
                if not each.reflexive:
                    watch |= (each.heads[..., 0] == predicate).any(axis=1)
                if not (each.copies and each.of_literals):
                    watch |= (each.heads[..., 0] == ANY).any(axis=1)
                if each.copies and watch.any():
                    roots.append(np.array([(predicate, ANY)]))
        for each, watch in zip(instances, watching, strict=True):
            watch |= self.clauses[each.clause].is_check
        predicates, used = needed(instances, keys_in(roots), watching)
        roots += [each.premises[watch] for each, watch in zip(instances, watching, strict=True)]
        numbers, relations = [], [np.empty((0, 5), np.int64)]
        for each, some in zip(instances, used, strict=True):
            if some.any():
                found = self._looked_up(each.clause, instances, used, roots)
                numbers.append(each.clause if found is None else -1 - each.clause)
                relations += [] if found is None else [found]
        return self.numbered(
            np.array(numbers, np.int64),
            None if ANY in predicates else predicates,
            np.concatenate(relations),
            declaring,
        )

    def numbered(
        self, numbers: np.ndarray, predicates: np.ndarray | None, relations: np.ndarray, declaring: np.ndarray
    ) -> Selection:
        """The selection of clauses with some numbers."""
        clauses = [self._leading(-1 - each) if each < 0 else self.clauses[each] for each in numbers.tolist()]
        rules = frozenset(clause.rule for clause in clauses)
        return Selection(
            (*clauses, *self.guards()),
            predicates,
            rules,
            numbers,
            relations,
            tuple(self._declaring(each) for each in declaring.tolist()),
            declaring,
        )

    # --- what is said of vocabulary ----------------------------------------------------------

    def _without_declaring(
        self, instances: Sequence[Instances], guards: Sequence[Clause], closed: RuleEvaluation
    ) -> tuple[list[Instances], list[np.ndarray], np.ndarray]:
        """The instances without those that only derive ontologies of keys, and the numbers of these clauses.

        Such are looked at by key (`VocabularyClauses`). So also told are the instances that derive something
        with a key of which they say something, or which is not known before it is derived.
        """
        others, declaring = [], []
        for each in instances:
            by_class, declares = self._declares(each, guards)
            if declares.any():
                declaring.append(-1 - each.clause if by_class else each.clause)
            if not declares.all():
                others.append(each.take(~declares))
        if not declaring:
            return list(instances), [np.zeros(len(each), bool) for each in instances], NOBODY
        keys = keys_in(each.heads for each in others)
        first, numbers = hashing.numbered(keys.T)
        predicate, class_ = keys[first].T
        telling = (predicate == ANY) | ((predicate == self.type) & (class_ == ANY))
        vocabulary = VocabularyClauses([self._declaring(each) for each in declaring], closed)
        telling[~telling] = vocabulary.saying(keys[first[~telling]], closed.terms)
        heads = np.split(telling[numbers], np.cumsum([each.heads[..., 0].size for each in others])[:-1])
        watching: list[np.ndarray] = [
            np.zeros(len(each), bool)  # it has the key of its premise
            if each.copies and False not in each.copies
            else np.asarray(some.reshape(each.heads.shape[:2]).any(axis=1))
            for each, some in zip(others, heads, strict=True)
        ]
        return others, watching, np.array(declaring, np.int64)

    def _declares(self, instances: Instances, guards: Sequence[Clause]) -> tuple[bool, np.ndarray]:
        """Whether a clause looks at classes; which instances derive what is watched, whatever the subject."""
        clause, none = self.clauses[instances.clause], np.zeros(len(instances), bool)
        premises = [atom for atom in clause.body if atom not in self.axioms[instances.clause]]
        if len(premises) != 1 or instances.copies or clause.invents or not clause.head:
            return False, none
        [premise] = premises
        if premise.graph is not None:
            return False, none
        used = [var for atom in (*clause.head, *self.axioms[instances.clause]) for var in atom.variables()]
        used += [var for each in clause.conditions for var in variables_in(each)]
        used += [var for bound, each in clause.binds for var in (bound, *variables_in(each))]
        used += [var for table in clause.tables for var in table.vars]
        if not isinstance(premise.subject, Var) or premise.subject in (*used, *premise.positions[1:]):
            return False, none
        watched = np.ones(len(instances), bool)
        for head in instances.heads.swapaxes(0, 1):
            by = [self._key(guard.body[0], {}, 1)[0] for guard in guards if not guard.conditions]
            fits = [(head[:, 0] == p) & ((c == ANY) | (head[:, 1] == c)) for p, c in by]
            watched &= np.logical_or.reduce([none, *fits])
        if isinstance(premise.object, Var) and premise.object not in (*used, premise.predicate):
            return False, watched
        return True, watched & (instances.premises[:, 0, 0] == self.type)

    def _declaring(self, number: int) -> Clause:
        """A clause that says something of predicates; or of classes, where it is said who is of them."""
        if number >= 0:
            return self.clauses[number]
        clause, axioms = self.clauses[-1 - number], self.axioms[-1 - number]
        [premise] = (atom for atom in clause.body if atom not in axioms)
        return _renamed(clause, premise.predicate, RDF.type) if isinstance(premise.predicate, Var) else clause

    # --- instances ---------------------------------------------------------------------------

    def _leading(self, number: int) -> Clause:
        """A clause that leads from classes to classes, by an auxiliary relation in place of its axioms."""
        clause = self.clauses[number]
        [premise] = (atom for atom in clause.body if atom not in self.axioms[number])
        leads = Atom(premise.object, _relation(number), clause.head[0].object, INTERNAL)
        return Clause(clause.rule, (leads, premise), clause.head)

    def _looked_up(
        self, number: int, instances: Sequence[Instances], used: Sequence[np.ndarray], roots: list[np.ndarray]
    ) -> np.ndarray | None:
        """Of a clause that leads from classes to classes, if that is closed: only to those that others need.

        Whoever is of a class is then led by it to the classes that are asked for, and to none between.
        Rows of an auxiliary relation that says so, or None.
        """
        clause = self.clauses[number]
        premises = [atom for atom in clause.body if atom not in self.axioms[number]]
        if in_python(clause) or len(clause.head) != 1 or len(premises) != 1:
            return None
        [head], [premise] = clause.head, premises
        if head.subject != premise.subject or not all(map(_of_a_class, (head, premise))):
            return None
        if any(not _about(each, self.axioms[number]) for each in clause.conditions):
            return None
        [mine] = (each for each in instances if each.clause == number)
        edges = np.stack([mine.premises[:, 0, 1], mine.heads[:, 0, 1]], axis=1)
        taken = [each.take(some) for each, some in zip(instances, used, strict=True) if some.any()]
        if any(each.copies and not each.literal for each in taken) or not (edges != ANY).all():
            return None
        others = keys_in([*roots, *(each.premises for each in taken if each.clause != number)])
        if ((others[:, 0] == ANY) & (others[:, 1] != LITERAL)).any():
            return None
        wanted = others[others[:, 0] == self.type, 1]
        if (wanted == ANY).any() or not composed(edges):
            return None
        edges = edges[np.isin(edges[:, 1], wanted)]
        rows = np.zeros((len(edges), 5), np.int64)
        rows[:, [0, 2]], rows[:, 1], rows[:, 3] = edges, id_of(_relation(number), self.key), WORKINGS_ID
        return rows

    def _instances(
        self, answers: Mapping[Clause, np.ndarray], terms: TermTable, named: np.ndarray
    ) -> list[Instances]:
        """Of each clause that can say something, where it does."""
        bound = {
            int(question.rule): dict(zip(question.shown, columns, strict=True))
            for question, columns in answers.items()
        }
        bound |= {number: {} for number, axioms in enumerate(self.axioms) if not axioms}
        found = (self._where_bound(number, columns, terms) for number, columns in sorted(bound.items()))
        # What follows from axioms alone is there already.
        saying = [each for each in found if each.premises.shape[1] or each.copies]
        return possible([each.distinct() for each in saying], named)

    def _where_bound(self, number: int, bound: dict[Var, np.ndarray], terms: TermTable) -> Instances:
        """What a clause says where its axioms are bound; an instance for each row of the columns."""
        clause = self.clauses[number]
        count = len(next(iter(bound.values()))) if bound else 1
        saying = np.ones(count, bool)
        for table in clause.tables:
            saying &= _allowed(table, bound, terms, count)
        premises = [atom for atom in clause.body if atom not in self.axioms[number]]
        if clause.head:  # that is not among the premises
            saying &= ~np.logical_and.reduce(
                [
                    np.logical_or.reduce([self._same(head, atom, bound, count) for atom in premises])
                    for head in clause.head
                ]
            )
        copied: list[Atom] = []
        if len(clause.head) == 1 and isinstance(predicate := clause.head[0].predicate, Var):
            if predicate not in bound:
                copied = [atom for atom in premises if atom.predicate == predicate]
        of_literals = {atom for atom in (*clause.head, *clause.body) if _is_literal(atom, clause.conditions)}

        def keys(atoms: Iterable[Atom], conditions: Sequence[Expression] = ()) -> np.ndarray:
            found = [self._key(atom, bound, count, conditions) for atom in atoms]
            return np.stack(found, axis=1) if found else np.empty((count, 0, 2), np.int64)

        return Instances(
            number,
            keys(clause.head),
            keys((atom for atom in premises if atom not in copied), clause.conditions),
            keys(atom for atom in premises if atom.graph is not None)[..., 0],
            tuple(dict.fromkeys(atom.object == clause.head[0].object for atom in copied)),
            reflexive=bool(clause.head) and all(atom.subject == atom.object for atom in clause.head),
            of_literals=of_literals.issuperset(copied),
            literal=bool(clause.head) and of_literals.issuperset(clause.head),
        ).take(saying)

    def _same(self, one: Atom, other: Atom, bound: dict[Var, np.ndarray], count: int) -> np.ndarray:
        """Where two atoms are the same."""
        same = np.ones(count, bool)
        for positions in zip(one.positions, other.positions, strict=True):
            if any(
                isinstance(each, Var) and each not in bound or each in (None, INTERNAL) for each in positions
            ):
                same &= positions[0] == positions[1]
            else:
                same &= self._ids(positions[0], bound) == self._ids(positions[1], bound)
        return same

    def _key(
        self, atom: Atom, bound: dict[Var, np.ndarray], count: int, conditions: Sequence[Expression] = ()
    ) -> np.ndarray:
        """An atom's key in each instance."""
        predicate = np.broadcast_to(self._ids(atom.predicate, bound), count)
        class_ = np.where(predicate == self.type, self._ids(atom.object, bound), ANY)
        if _is_literal(atom, conditions):
            class_[predicate == ANY] = LITERAL
        return np.stack([predicate, class_], axis=1)

    def _ids(self, position, bound: dict[Var, np.ndarray]) -> np.ndarray | int:
        if isinstance(position, Var):
            return bound.get(position, ANY)
        return id_of(position, self.key)


def _renamed(clause: Clause, var: Var, other: Position) -> Clause:
    """A clause in which two variables are one, or one is a term."""

    def change(position):
        return other if position == var else position

    binds = tuple((bound, changed(expression, {var: other})) for bound, expression in clause.binds)
    if clause.shown is not None and var in clause.shown:
        binds = (*binds, (var, other))
    return replace(
        clause,
        body=tuple(dict.fromkeys(atom.mapped(change) for atom in clause.body)),
        head=tuple(atom.mapped(change) for atom in clause.head),
        conditions=tuple(changed(each, {var: other}) for each in clause.conditions),
        binds=binds,
        tables=tuple(table.mapped(change) for table in clause.tables),
    )


def _says_nothing(clause: Clause) -> bool:
    """Whether a clause derives only what it begins from."""
    return not clause.is_check and bool(clause.head) and set(clause.head) <= set(clause.body)


def _about(condition: Expression, axioms: Sequence[Atom]) -> bool:
    """Whether a condition looks at nothing but axioms."""
    return variables_in(condition) <= {var for atom in axioms for var in atom.variables()}


def _allowed(table: ValuesTable, bound: dict[Var, np.ndarray], terms: TermTable, count: int) -> np.ndarray:
    """Where VALUES has a row that agrees with what is bound."""
    allowed = np.zeros(count, bool)
    for row in table.rows:
        fits = np.ones(count, bool)
        for var, term in zip(table.vars, row, strict=True):
            if var in bound and term is not None:
                fits &= bound[var] == terms.add(term)
        allowed |= fits
    return allowed


def _relation(number: int) -> NamedNode:
    """The auxiliary relation by which a clause leads from classes to classes."""
    return NamedNode(f"urn:penstock:leads#{number}")


def _is_literal(atom: Atom, conditions: Sequence[Expression]) -> bool:
    """Whether conditions say that an atom's object is a literal."""
    return Call("ISLITERAL", (atom.object,)) in conditions


def _of_a_class(atom: Atom) -> bool:
    """Whether an atom says that a variable is of a class that a variable stands for."""
    return (
        atom.predicate == RDF.type
        and atom.graph is None
        and isinstance(atom.subject, Var)
        and isinstance(atom.object, Var)
        and atom.subject != atom.object
    )
