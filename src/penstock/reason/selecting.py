"""Which clauses can contribute to what is wanted, as long as elements bring no ontology.

Atoms in the vocabulary of RDF, RDFS and OWL are about ontologies. They are looked up in the static
knowledge alone: a clause whose axioms are not there derives nothing, and of the others it is then known
what they derive, and from what. From what is wanted, back through these, follows which are needed. What
elements must not bring for this to hold is watched for by *guards*; an element that brings it is
closed with all clauses instead. So the choice is never one of right or wrong, only of speed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.reason.clauses import WORKINGS, Atom, Clause, Table, changed, variables_in
from penstock.reason.closing import Run
from penstock.reason.code import WORKINGS_ID, compiled, in_python
from penstock.reason.quads import KINDS
from penstock.terms import RDF, NamedNode, Term

OF_ONTOLOGIES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
"""The vocabularies in which ontologies are written."""
OF_EVERYTHING = frozenset(
    NamedNode(iri)
    for iri in ("http://www.w3.org/2002/07/owl#Thing", "http://www.w3.org/2000/01/rdf-schema#Resource")
)
"""Classes that say nothing about an ontology."""
ANY = 0
LITERAL = -1  # any object that is a literal
GUARD = "guard"  # what guards are called; no rule's name, for it reports and derives nothing

Wanted = frozenset[tuple[Term | None, Term | None]]
"""Predicates, and of rdf:type also classes; None: any."""
Key = tuple[int, int]
"""Of a triple its predicate, and if that is rdf:type its class; 0: any."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The clauses that are needed, guards among them, and by rule what it derives that is needed."""

    clauses: tuple[Clause, ...]
    predicates: np.ndarray | None  # of all triples that can take part; None: any
    reasons: dict[str, tuple[Key, ...]]
    relations: np.ndarray  # rows of auxiliary relations, which some of the clauses look up


@dataclass(frozen=True)
class _Instance:
    """What a clause derives, and from what, where its axioms are bound.

    What a clause copies has the same predicate in its head and in a premise, whatever that is; `copies`
    are such premises, and whether they have the same object, too.
    """

    clause: int
    heads: tuple[Key, ...]
    premises: tuple[Key, ...]
    copies: tuple[bool, ...] = ()
    workings: tuple[Key, ...] = ()  # of the premises, those that only rules derive
    reflexive: bool = False  # it derives only that things are in relation to themselves
    of_literals: bool = False  # what it copies has literals as objects: it relates two things already
    literal: bool = False  # what it derives has a literal as its object, so no class

    def needs(self, key: Key) -> Iterator[Key]:
        """What it derives something with this key from."""
        yield from self.premises
        for same_object in self.copies:
            if key[0] == ANY and self.of_literals:
                yield ANY, LITERAL
            else:
                yield key[0], key[1] if same_object else ANY


def selected(clauses: Sequence[Clause], closed: Run, wanted: Wanted) -> Selection:
    """The clauses needed for what is wanted, above static knowledge that is closed under all of them."""
    selecting = Selecting(clauses, closed.terms.key)
    known = closed.terms
    questions = compiled(selecting.questions(), known.key)
    for constant in questions.constants:
        known.add(constant)
    run = Run(questions, known, closed.options, capacity=closed.quads.count)
    there = closed.quads.present()
    rows = closed.quads.rows[there]
    run.quads.add(rows, closed.quads.flags[there] & KINDS, explicit=False)
    run.close()
    answers = [(clause, columns[1:]) for clause, _, columns in run.reported]
    named = set(np.unique(rows[rows[:, 3] != 0, 1]).tolist())
    return selecting.selection(answers, wanted, known, named)


class Selecting:
    """The clauses of some rules, in static knowledge that is closed under them."""

    def __init__(self, clauses: Sequence[Clause], key: int) -> None:
        self.key = key
        self.type = id_of(RDF.type, key)
        self._auxiliary = _of_ontologies_alone(clauses)
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
        return about_ontologies(atom) or (atom.graph == WORKINGS and atom.predicate in self._auxiliary)

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
                if atom.graph == WORKINGS:
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
        self,
        answers: Iterable[tuple[Clause, np.ndarray]],
        wanted: Wanted,
        terms: TermTable,
        named: set[int],
    ) -> Selection:
        """What is needed, given the answers to `questions` as columns by variable.

        `named` are predicates that static knowledge has in named graphs and in workings.
        """
        instances = self._instances(answers, terms, named)
        guards = self.guards()
        roots = {
            (ANY if p is None else id_of(p, self.key), ANY if c is None else id_of(c, self.key))
            for p, c in wanted
        }
        watched = [(self._key(guard.body[0], {}), bool(guard.conditions)) for guard in guards]
        roots |= {key for key, apart in watched if not apart}
        # Of relations that everything has to itself, only what relates two things is watched.
        watching: list[int] = []
        for predicate in {key[0] for key, apart in watched if apart}:
            for number, instance in enumerate(instances):
                names = any(head[0] == predicate for head in instance.heads) and not instance.reflexive
                copies = any(head[0] == ANY for head in instance.heads)
                if names or (copies and not (instance.copies and instance.of_literals)):
                    watching.append(number)
                    roots.update(instance.needs((predicate, ANY)))
        for instance in instances:
            if self.clauses[instance.clause].is_check:
                roots.update(instance.premises)  # all of them: a check copies nothing
        needed, used = _needed(instances, roots, watching)
        reasons: dict[str, dict[Key, None]] = {}
        for instance in used:
            heads = reasons.setdefault(self.clauses[instance.clause].rule, {})
            heads.update(dict.fromkeys(instance.heads))
        chosen = {number: self.clauses[number] for number in sorted({each.clause for each in used})}
        relations = [np.empty((0, 5), np.int64)]
        for number in chosen:
            found = self._looked_up(number, instances, used, roots)
            if found is not None:
                chosen[number] = found[0]
                relations.append(found[1])
        predicates = None
        if all(predicate != ANY for predicate, _ in needed):
            predicates = np.array(sorted({predicate for predicate, _ in needed}), np.int64)
        return Selection(
            (*chosen.values(), *guards),
            predicates,
            {rule: tuple(heads) for rule, heads in reasons.items()},
            np.concatenate(relations),
        )

    def _looked_up(
        self, number: int, instances: Sequence[_Instance], used: Sequence[_Instance], roots: set[Key]
    ) -> tuple[Clause, np.ndarray] | None:
        """A clause that leads from classes to classes, if that is closed: only to those that others need.

        Whoever is of a class is then led by it to the classes that are asked for, and to none between.
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
        mine = [each for each in instances if each.clause == number]
        edges = np.array([(each.premises[0][1], each.heads[0][1]) for each in mine], np.int64)
        others = roots | {key for each in used if each.clause != number for key in each.premises}
        if any(each.copies and not each.literal for each in used) or not (edges != ANY).all():
            return None
        if any(predicate == ANY and class_ != LITERAL for predicate, class_ in others):
            return None
        if (self.type, ANY) in others or not _composed(edges):
            return None
        wanted = np.array([class_ for predicate, class_ in others if predicate == self.type], np.int64)
        edges = edges[np.isin(edges[:, 1], wanted)]
        relation = NamedNode(f"urn:penstock:leads#{number}")
        rows = np.zeros((len(edges), 5), np.int64)
        rows[:, [0, 2]], rows[:, 1], rows[:, 3] = edges, id_of(relation, self.key), WORKINGS_ID
        leads = Atom(premise.object, relation, head.object, WORKINGS)
        return Clause(clause.rule, (leads, premise), clause.head), rows

    def _instances(
        self, answers: Iterable[tuple[Clause, np.ndarray]], terms: TermTable, named: set[int]
    ) -> list[_Instance]:
        found: dict[_Instance, None] = {}
        for question, columns in answers:
            number = int(question.rule)
            vars_ = question.shown
            tables = self.clauses[number].tables
            for row in np.unique(columns, axis=1).T.tolist():
                bound = dict(zip(vars_, row, strict=True))
                if all(_allows(table, bound, terms) for table in tables):
                    found.setdefault(self._instance(number, bound))
        for number, axioms in enumerate(self.axioms):
            if not axioms:
                found.setdefault(self._instance(number, {}))
        # What follows from axioms alone is there already.
        saying = (each for each in found if each is not None)
        return _possible([each for each in saying if each.premises or each.copies], named)

    def _instance(self, number: int, bound: dict[Var, int]) -> _Instance | None:
        """What a clause says where its axioms are bound so; None if it then says nothing."""
        clause = self.clauses[number]
        premises = [atom for atom in clause.body if atom not in self.axioms[number]]

        def known(atom: Atom) -> Atom:
            return atom.mapped(lambda each: bound.get(each, each) if isinstance(each, Var) else each)

        if clause.head and set(map(known, clause.head)) <= set(map(known, premises)):
            return None
        copied: list[Atom] = []
        if len(clause.head) == 1 and isinstance(predicate := clause.head[0].predicate, Var):
            if predicate not in bound:
                copied = [atom for atom in premises if atom.predicate == predicate]
        return _Instance(
            number,
            tuple(dict.fromkeys(self._key(atom, bound) for atom in clause.head)),
            tuple(
                dict.fromkeys(
                    self._key(atom, bound, clause.conditions) for atom in premises if atom not in copied
                )
            ),
            tuple(dict.fromkeys(atom.object == clause.head[0].object for atom in copied)),
            tuple(dict.fromkeys(self._key(atom, bound) for atom in premises if atom.graph is not None)),
            bool(clause.head) and all(atom.subject == atom.object for atom in clause.head),
            all(Call("ISLITERAL", (atom.object,)) in clause.conditions for atom in copied),
            bool(clause.head)
            and all(Call("ISLITERAL", (atom.object,)) in clause.conditions for atom in clause.head),
        )

    def _key(self, atom: Atom, bound: dict[Var, int], conditions: Sequence[Expression] = ()) -> Key:
        predicate, object_ = (self._id(each, bound) for each in (atom.predicate, atom.object))
        if predicate == ANY and Call("ISLITERAL", (atom.object,)) in conditions:
            return ANY, LITERAL
        return predicate, object_ if predicate == self.type else ANY

    def _id(self, position, bound: dict[Var, int]) -> int:
        if isinstance(position, Var):
            return bound.get(position, ANY)
        return id_of(position, self.key)


def about_ontologies(atom: Atom) -> bool:
    """Whether an atom is written in the vocabulary of ontologies."""
    if atom.graph is not None or not isinstance(atom.predicate, NamedNode):
        return False
    if atom.predicate == RDF.type:
        return (
            isinstance(atom.object, NamedNode)
            and atom.object.value.startswith(OF_ONTOLOGIES)
            and atom.object not in OF_EVERYTHING
        )
    return atom.predicate.value.startswith(OF_ONTOLOGIES)


def _of_ontologies_alone(clauses: Sequence[Clause]) -> frozenset[NamedNode]:
    """The auxiliary relations that are closed over ontologies only."""
    made: dict[NamedNode, list[Clause]] = defaultdict(list)
    for clause in clauses:
        for atom in clause.head:
            if atom.graph == WORKINGS:
                made[atom.predicate].append(clause)
    alone = set(made)
    while True:
        fit = {
            predicate
            for predicate in alone
            if all(
                about_ontologies(atom) or (atom.graph == WORKINGS and atom.predicate in alone)
                for clause in made[predicate]
                for atom in clause.body
            )
        }
        if fit == alone:
            return frozenset(alone)
        alone = fit


def _renamed(clause: Clause, var: Var, other: Var) -> Clause:
    """A clause in which two variables are one."""

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


def _allows(table: Table, bound: dict[Var, int], terms: TermTable) -> bool:
    """Whether VALUES has a row that agrees with what is bound."""
    places = [place for place, var in enumerate(table.vars) if var in bound]
    return any(
        all(row[place] is None or terms.add(row[place]) == bound[table.vars[place]] for place in places)
        for row in table.rows
    )


def _of_a_class(atom: Atom) -> bool:
    """Whether an atom says that a variable is of a class that a variable stands for."""
    return (
        atom.predicate == RDF.type
        and atom.graph is None
        and isinstance(atom.subject, Var)
        and isinstance(atom.object, Var)
        and atom.subject != atom.object
    )


def _composed(edges: np.ndarray) -> bool:
    """Whether a relation has all compositions of its pairs, but for those of something with itself."""
    ids, numbers = np.unique(edges, return_inverse=True)
    first, last = numbers.reshape(-1, 2).T
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    begin, end = (np.searchsorted(first, last, side) for side in ("left", "right"))
    counts = end - begin
    source = np.repeat(first, counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    target = last[np.repeat(begin, counts) + within]
    apart = source != target
    pairs, known = source[apart] * len(ids) + target[apart], first * len(ids) + last
    return bool(np.isin(pairs, known).all())


def _possible(instances: list[_Instance], named: set[int]) -> list[_Instance]:
    """Those whose workings can be there: static ones with some predicates are, others must be derived."""
    derived = {ANY, *named}
    kept: dict[_Instance, None] = {}
    while True:
        more = [
            each
            for each in instances
            if each not in kept and all(predicate in derived for predicate, _ in each.workings)
        ]
        if not more:
            return list(kept)
        kept.update(dict.fromkeys(more))
        derived.update(predicate for each in more for predicate, _ in each.heads)


def _needed(
    instances: Sequence[_Instance], roots: set[Key], watching: Sequence[int]
) -> tuple[set[Key], list[_Instance]]:
    """All keys that something wanted may depend on, and the instances that derive one of them, or watch."""
    by_head: dict[Key, list[int]] = defaultdict(list)
    by_predicate: dict[int, list[int]] = defaultdict(list)
    for number, instance in enumerate(instances):
        for predicate, class_ in instance.heads:
            by_head[predicate, class_].append(number)
            by_predicate[predicate].append(number)
    used = [False] * len(instances)
    for number in watching:
        used[number] = True
    needed: set[Key] = set()
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        if key in needed:
            continue
        needed.add(key)
        predicate, class_ = key
        if key == (ANY, LITERAL):  # what is said to be of a class is none, nor what is itself a subject
            fitting: Iterable[int] = (
                number
                for number, each in enumerate(instances)
                if not each.reflexive and any(class_ == ANY for _, class_ in each.heads)
            )
        elif predicate == ANY:
            fitting = range(len(instances))
        elif class_ == ANY:
            fitting = by_predicate[predicate] + by_predicate[ANY]
        else:
            others = by_head[predicate, ANY] + by_predicate[ANY]
            fitting = by_head[key] + [number for number in others if not instances[number].literal]
        for number in fitting:
            if instances[number].heads and (instances[number].copies or not used[number]):
                used[number] = True
                waiting += instances[number].needs(key)
    for number, instance in enumerate(instances):
        used[number] |= not instance.heads  # checks: what they need is among the roots
    return needed, [instance for instance, yes in zip(instances, used, strict=True) if yes]
