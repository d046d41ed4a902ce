"""Rules as Horn clauses: conjunctions of quad patterns, of which each solution adds some quads.

A rule's WHERE is brought into disjunctive normal form: UNION, a few VALUES, alternatives of a path and both
cases of `?` and `*` each make clauses of their own. `+` and `*` read an auxiliary relation that two
further clauses close. What remains of a clause is joined by the kernel; conditions that it does not
know, BINDs, longer VALUES and invented blank nodes are left to Python (`solutions.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, product

from penstock.algebra import nodes as a
from penstock.algebra.nodes import Call, Expression, Var
from penstock.algebra.relations import ANY
from penstock.errors import QueryError
from penstock.rules.rule import Rule
from penstock.terms import XSD, BlankNode, Literal, NamedNode, Term

INTERNAL = "internal"
"""The graph of auxiliary relations: no term, so no pattern of a user's can name or find it."""

NO_RULE = ""
"""The rule of clauses that only help those of others: what they derive counts for nobody."""

FEW_VALUES = 3
"""As many rows of VALUES make clauses of their own; more are a table that solutions are joined with."""

Position = Term | Var
GraphName = Term | Var | str | None


@dataclass(frozen=True)
class Atom:
    """A quad pattern; `graph` None is the default graph."""

    subject: Position
    predicate: Position
    object: Position
    graph: GraphName = None

    @property
    def positions(self) -> tuple:
        return self.subject, self.predicate, self.object, self.graph

    def variables(self) -> list[Var]:
        return [each for each in self.positions if isinstance(each, Var)]

    def mapped(self, change) -> Atom:
        return Atom(*map(change, self.positions))


@dataclass(frozen=True)
class ValuesTable:
    """VALUES: terms by variable; None is unbound."""

    vars: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]

    def mapped(self, change) -> ValuesTable:
        """With variables renamed, or replaced by terms: rows that do not agree with that are left out."""
        columns: dict[Var, int] = {}
        rows = self.rows
        for place, position in enumerate(map(change, self.vars)):
            if not isinstance(position, Var):
                rows = tuple(row for row in rows if row[place] in (None, position))
            elif position in columns:
                first = columns[position]
                rows = tuple(row for row in rows if row[first] == row[place])
            else:
                columns[position] = place
        return ValuesTable(
            tuple(columns), tuple(tuple(row[place] for place in columns.values()) for row in rows)
        )


@dataclass(frozen=True)
class Clause:
    """If the body holds, under the conditions, so does the head; of a check, it is a contradiction."""

    rule: str
    body: tuple[Atom, ...]
    head: tuple[Atom, ...] = ()
    conditions: tuple[Expression, ...] = ()
    binds: tuple[tuple[Var, Expression], ...] = ()
    tables: tuple[ValuesTable, ...] = ()
    shown: tuple[Var, ...] | None = None  # of a check: what is told of a contradiction

    @property
    def is_check(self) -> bool:
        return self.shown is not None

    def variables(self) -> list[Var]:
        """The variables that the body binds, in the order in which they come."""
        return list(dict.fromkeys(var for atom in self.body for var in atom.variables()))

    @cached_property
    def invents(self) -> bool:
        return any(isinstance(each, BlankNode) for atom in self.head for each in atom.positions)


@dataclass(frozen=True)
class _Case:
    """One disjunct of a pattern."""

    atoms: tuple[Atom, ...] = ()
    conditions: tuple[Expression, ...] = ()
    binds: tuple[tuple[Var, Expression], ...] = ()
    same: tuple[tuple[Position, Position], ...] = ()  # terms and variables that must be one
    nodes: tuple[tuple[Position, GraphName], ...] = ()  # what must occur in a graph, if nothing else binds it
    tables: tuple[ValuesTable, ...] = ()

    def bound(self) -> set[Var]:
        found = {var for atom in self.atoms for var in atom.variables()}
        found |= {var for var, _ in self.binds}
        found |= {var for table in self.tables for var in table.vars}
        found |= {each for pair in self.same for each in pair if isinstance(each, Var)}
        return found

    def and_(self, other: _Case) -> _Case:
        return _Case(
            self.atoms + other.atoms,
            self.conditions + other.conditions,
            self.binds + other.binds,
            self.same + other.same,
            self.nodes + other.nodes,
            self.tables + other.tables,
        )


def clauses_of(rules: Iterable[Rule]) -> list[Clause]:
    """The clauses of some rules, auxiliary ones included; equal ones once."""
    found: dict[Clause, None] = {}
    for rule in rules:
        reader = _Reader(rule.name)
        for insert in rule.inserts:
            template = tuple(
                Atom(quad.triple.subject, quad.triple.predicate, quad.triple.object, quad.graph)
                for quad in insert.insert.template
            )
            for clause in reader.clauses(insert.insert.pattern, template):
                found.setdefault(clause)
        for check in rule.checks:
            pattern, shown = check.query.pattern, check.query.vars
            while isinstance(pattern, a.Project | a.Distinct | a.Reduced):
                pattern = pattern.pattern
            for clause in reader.clauses(pattern, (), shown):
                found.setdefault(clause)
        for clause in reader.auxiliary:
            found.setdefault(clause)
    return list(found)


@dataclass
class _Reader:
    """Reads the patterns of one rule."""

    rule: str
    auxiliary: list[Clause] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def clauses(
        self, pattern: a.Pattern, head: tuple[Atom, ...], shown: tuple[Var, ...] | None = None
    ) -> Iterator[Clause]:
        for case in self._cases(pattern, None):
            yield from self._finished(case, head, shown)

    def _fresh(self) -> Var:
        return Var(f".{next(self._numbers)}")

    # --- patterns --------------------------------------------------------------------

    def _cases(self, pattern: a.Pattern, graph: GraphName) -> list[_Case]:
        match pattern:
            case a.BGP(triples=triples):
                atoms = (Atom(t.subject, t.predicate, t.object, graph) for t in triples)
                return [_Case(tuple(atoms))]
            case a.PathPattern(subject=subject, path=path, object=object_):
                return self._path(subject, path, object_, graph)
            case a.Join(left=left, right=right, relation=relation) if relation == ANY:
                pairs = product(self._cases(left, graph), self._cases(right, graph))
                return [one.and_(other) for one, other in pairs]
            case a.Union_(left=left, right=right):
                return self._cases(left, graph) + self._cases(right, graph)
            case a.Filter(condition=condition, pattern=inner):
                cases = self._cases(inner, graph)
                return [
                    replace(case, conditions=(*case.conditions, *_conjuncts(_seen(condition, case.bound()))))
                    for case in cases
                ]
            case a.Extend(pattern=inner, var=var, expression=expression):
                cases = self._cases(inner, graph)
                return [
                    replace(case, binds=(*case.binds, (var, _seen(expression, case.bound()))))
                    for case in cases
                ]
            case a.Values(vars=vars_, rows=rows) if len(rows) > FEW_VALUES:
                return [_Case(tables=(ValuesTable(vars_, rows),))]
            case a.Values(vars=vars_, rows=rows):
                return [
                    _Case(same=tuple((var, value) for var, value in zip(vars_, row, strict=True) if value))
                    for row in rows
                ]
            case a.Graph(name=name, pattern=inner):
                return self._cases(inner, name)
        word = getattr(pattern, "word", "") or type(pattern).__name__
        raise QueryError(
            f"the rule {self.rule} uses {word}, which a rule cannot",
            hint="what a rule has derived stays derived, so it may not depend on what is absent: "
            "triples, paths, GRAPH, UNION, FILTER, BIND and VALUES are what it may have",
        )

    # --- paths -----------------------------------------------------------------------

    def _path(self, subject: Position, path: a.Path, object_: Position, graph: GraphName) -> list[_Case]:
        match path:
            case NamedNode():
                return [_Case((Atom(subject, path, object_, graph),))]
            case a.Inverse(path=inner):
                return self._path(object_, inner, subject, graph)
            case a.Sequence(left=left, right=right):
                middle = self._fresh()
                pairs = product(
                    self._path(subject, left, middle, graph), self._path(middle, right, object_, graph)
                )
                return [one.and_(other) for one, other in pairs]
            case a.Alternative(left=left, right=right):
                return self._path(subject, left, object_, graph) + self._path(subject, right, object_, graph)
            case a.ZeroOrOne(path=inner):
                return [self._identity(subject, object_, graph), *self._path(subject, inner, object_, graph)]
            case a.OneOrMore(path=inner):
                return [_Case((Atom(subject, self._closed(inner, graph), object_, INTERNAL),))]
            case a.ZeroOrMore(path=inner):
                return [
                    self._identity(subject, object_, graph),
                    *self._path(subject, a.OneOrMore(inner), object_, graph),
                ]
            case a.NegatedSet(forward=forward, backward=backward):
                cases = []
                for members, ends in ((forward, (subject, object_)), (backward, (object_, subject))):
                    if members is not None:
                        predicate = self._fresh()
                        others = tuple(Call("!", (Call("SAMETERM", (predicate, iri)),)) for iri in members)
                        atom = Atom(ends[0], predicate, ends[1], graph)
                        cases.append(_Case((atom,), others))
                return cases
        raise QueryError(f"the rule {self.rule} has a path of a kind that is not known: {path!r}")

    def _identity(self, subject: Position, object_: Position, graph: GraphName) -> _Case:
        """A path without length: between variables it is at every node of the graph, and nowhere else."""
        between = isinstance(subject, Var) and isinstance(object_, Var)
        return _Case(same=((subject, object_),), nodes=((subject, graph),) if between else ())

    def _closed(self, path: a.Path, graph: GraphName) -> NamedNode:
        """The predicate of the auxiliary relation that is a path's transitive closure."""
        if isinstance(graph, Var):
            raise QueryError(
                f"the rule {self.rule} has a path with + or * under GRAPH ?{graph.name}",
                hint="name the graph, or write the recursion as a rule",
            )
        predicate = auxiliary_relation("path", path, graph)
        x, y, z = (Var(name) for name in (".x", ".y", ".z"))
        before = Atom(x, predicate, y, INTERNAL)
        done = Atom(x, predicate, z, INTERNAL)
        if not any(done in clause.head for clause in self.auxiliary):
            inner = _Reader(self.rule)
            for case in inner._path(x, path, z, graph):
                self.auxiliary += inner._finished(case, (done,), None)
            for case in inner._path(y, path, z, graph):
                self.auxiliary += inner._finished(_Case((before,)).and_(case), (done,), None)
            self.auxiliary += inner.auxiliary
        return predicate

    # --- from a case to clauses ------------------------------------------------------

    def _finished(
        self, case: _Case, head: tuple[Atom, ...], shown: tuple[Var, ...] | None
    ) -> Iterator[Clause]:
        """A case with its equalities carried out; nodes that nothing binds range over the graph."""
        one = _united(case.same)
        if one is None:
            return
        in_atoms = {one(var) for atom in case.atoms for var in atom.variables()}
        for node, graph in case.nodes:
            where = one(graph) if isinstance(graph, Var) else graph
            there = (atom for atom in case.atoms if atom.graph == graph or atom.graph == where)
            if not any(one(node) in (one(atom.subject), one(atom.object)) for atom in there):
                for atom in self._occurrences(one(node), graph):
                    more = replace(case, atoms=(*case.atoms, atom))
                    yield from self._finished(more, head, shown)
                return
        named = {var: one(var) for var in case.bound()}
        bound = {each for each in named.values() if isinstance(each, Var)} & in_atoms

        def change(position):
            return named.get(position, position) if isinstance(position, Var) else position

        binds, conditions = [], list(case.conditions)
        for var, expression in case.binds:
            target = change(var)
            if target in bound or not isinstance(target, Var):  # it is bound already: the two must agree
                value = self._fresh()
                binds.append((value, expression))
                agree = Call("||", (Call("!", (Call("BOUND", (value,)),)), Call("SAMETERM", (value, target))))
                conditions.append(agree)
            else:
                binds.append((target, expression))
                bound.add(target)
        body = tuple(dict.fromkeys(atom.mapped(change) for atom in case.atoms))
        made = Clause(
            self.rule,
            body,
            tuple(atom.mapped(change) for atom in head),
            tuple(dict.fromkeys(changed(each, named) for each in conditions)),
            tuple((var, changed(expression, named)) for var, expression in binds),
            tuple(table.mapped(change) for table in case.tables),
            None if shown is None else tuple(shown),
        )
        # What was replaced by a term or another variable is told all the same, and names invented nodes.
        kept_names = shown if shown is not None else _visible(named) if made.invents else ()
        others = tuple((var, named[var]) for var in kept_names if named.get(var, var) != var)
        yield from without_products(replace(made, binds=(*made.binds, *others)))

    def _occurrences(self, var: Position, graph: GraphName) -> tuple[Atom, Atom]:
        return (
            Atom(var, self._fresh(), self._fresh(), graph),
            Atom(self._fresh(), self._fresh(), var, graph),
        )


def auxiliary_relation(kind: str, *what: object) -> NamedNode:
    """The predicate of an auxiliary relation: the same for the same."""
    return NamedNode(f"urn:penstock:{kind}#{hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()}")


def _visible(vars_: Iterable[Var]) -> list[Var]:
    """The variables that the author of a rule has written, in an order."""
    return sorted((var for var in vars_ if not var.name.startswith(".")), key=lambda var: var.name)


def _conjuncts(condition: Expression) -> list[Expression]:
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for each in condition.args for part in _conjuncts(each)]
    return [condition]


_NOT_THERE = Var(".unbound")
TRUE = Literal("true", datatype=XSD.boolean)


def _seen(expression: Expression, bound: set[Var]) -> Expression:
    """An expression as its own group sees it: variables from outside are unbound in it."""
    outside = {var: _NOT_THERE for var in variables_in(expression) if var not in bound}
    return changed(expression, outside) if outside else expression


def variables_in(expression: Expression) -> set[Var]:
    if isinstance(expression, Var):
        return {expression}
    if isinstance(expression, Call):
        return set().union(*(variables_in(each) for each in expression.args))
    return set()


def constants_in(expression: Expression) -> set[Term]:
    if isinstance(expression, Call):
        return set().union(*(constants_in(each) for each in expression.args))
    return set() if isinstance(expression, Var) else {expression}


def changed(expression: Expression, named: dict[Var, Position]) -> Expression:
    """An expression with variables renamed, or replaced by terms."""
    if isinstance(expression, Var):
        return named.get(expression, expression)
    if isinstance(expression, Call):
        args = tuple(changed(each, named) for each in expression.args)
        if expression.name == "BOUND" and not isinstance(args[0], Var):
            return TRUE
        return Call(expression.name, args)
    return expression


def _united(same: Sequence[tuple[Position, Position]]):
    """What each variable becomes when some are one; None if two different terms would have to be."""
    parent: dict[Position, Position] = {}

    def find(position):
        while position in parent:
            position = parent[position]
        return position

    for left, right in same:
        one, other = find(left), find(right)
        if one == other:
            continue
        if isinstance(one, Var):
            parent[one] = other
        elif isinstance(other, Var):
            parent[other] = one
        else:
            return None
    return find


# --- premises that share no variable -------------------------------------------------------

_COLUMNS = 2  # values that an auxiliary relation has room for: a subject and an object


def without_products(clause: Clause) -> Iterator[Clause]:
    """A clause, and those of parts of its body that share no variable with the rest.

    Who joins them goes through all combinations of their solutions. But all that such a part contributes is
    the values of variables that something else asks for. It is found by a clause of its own, as an auxiliary
    relation, so that there are as many combinations as conclusions. These may ask for different ones, so each
    has a clause.
    """
    parts = _connected(clause.body)
    if len(parts) == 1 or clause.invents:  # nodes are named after whole solutions
        yield clause
        return
    if len(clause.head) > 1:
        for atom in clause.head:
            yield from without_products(replace(clause, head=(atom,)))
        return
    body: list[Atom] = []
    conditions = clause.conditions
    for part in parts:
        own = list(dict.fromkeys(var for atom in part for var in atom.variables()))
        inner = tuple(each for each in conditions if variables_in(each) and variables_in(each) <= set(own))
        asked = _asked(replace(clause, conditions=tuple(each for each in conditions if each not in inner)))
        kept = [var for var in own if var in asked]
        as_predicate = clause.is_check and any(atom.predicate in kept for atom in part)
        if len(kept) == len(own) or len(kept) > _COLUMNS or as_predicate:
            body += part
            continue
        relation = auxiliary_relation("part", part, inner, kept)
        subject, object_ = [*kept, relation, relation][:_COLUMNS]
        found = Atom(subject, relation, object_, INTERNAL)
        yield Clause(NO_RULE, part, (found,), inner)
        body.append(found)
        conditions = tuple(each for each in conditions if each not in inner)
    yield replace(clause, body=tuple(body), conditions=conditions)


def _asked(clause: Clause) -> set[Var]:
    """The variables that something but the body of a clause looks at."""
    found = {var for atom in clause.head for var in atom.variables()} | set(clause.shown or ())
    expressions = [*clause.conditions, *(expression for _, expression in clause.binds)]
    return found.union(*map(variables_in, expressions), *(table.vars for table in clause.tables))


def _connected(body: Sequence[Atom]) -> list[tuple[Atom, ...]]:
    """The parts of a body between which no variable is shared."""
    parts: list[tuple[set[Var], tuple[Atom, ...]]] = []
    for atom in body:
        vars_, atoms = set(atom.variables()), (atom,)
        for part in [each for each in parts if each[0] & vars_]:
            parts.remove(part)
            vars_, atoms = vars_ | part[0], (*part[1], *atoms)
        parts.append((vars_, atoms))
    return [atoms for _, atoms in parts]
