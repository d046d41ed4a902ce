"""The direct semantics of OWL 2, for queries: what its words mean in them, as for the rules.

    SELECT ?x { ?x a [ owl:unionOf ( :Cat :Dog ) ] }

A class expression, written with blank nodes, is not looked for in the data: it says which class is meant. So
its triples leave the query and are told to the rules, which then derive who belongs to the class. In the
query there is a name for it, which no variable is ever bound to. And variables that stand for classes are
bound to classes that have a name, not to expressions in the data.

This comes with the rules of `owl2-direct`, without which an expression of a query would not be recognised as
the same as one in the data. Else a query looks for triples as it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from penstock.algebra.nodes import BGP, Call, Filter, Node, ParsedQuery, TriplePattern, Var
from penstock.rules.rule import Rule
from penstock.terms import RDF, NamedNode, Namespace, Term

OWL = Namespace("http://www.w3.org/2002/07/owl#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
NAMES = "urn:penstock:expression#"
REGIME = "owl2-direct"

Triple = tuple[Term, Term | Var, Term]

_BOOLEAN = (OWL.intersectionOf, OWL.unionOf, OWL.oneOf, OWL.complementOf)
_RESTRICTING = (
    *(OWL.someValuesFrom, OWL.allValuesFrom, OWL.hasValue, OWL.hasSelf),
    *(OWL.minCardinality, OWL.maxCardinality, OWL.cardinality),
    *(OWL.minQualifiedCardinality, OWL.maxQualifiedCardinality, OWL.qualifiedCardinality),
)
_MORE = (OWL.onProperty, OWL.onClass, OWL.onDataRange)
_CELL = (RDF.first, RDF.rest)
_SAYING = frozenset((*_BOOLEAN, *_RESTRICTING, *_MORE, *_CELL))
_KINDS = (OWL.Class, OWL.Restriction, RDFS.Class)
_CLASS_SUBJECT = (RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith, OWL.complementOf)
_CLASS_OBJECT = (*_CLASS_SUBJECT, RDF.type, RDFS.domain, RDFS.range, OWL.someValuesFrom, OWL.allValuesFrom)


def with_direct_semantics(
    queries: Sequence[ParsedQuery], rules: Sequence[Rule]
) -> tuple[list[ParsedQuery], tuple[Triple, ...]]:
    """The queries with names for the class expressions in them, and the triples that say what these are.

    Only expressions that are complete, without a variable, and that the rules know are taken.
    """
    if not any(REGIME in dict(rule.regimes) for rule in rules):
        return list(queries), ()
    known = _read(rules)
    lifted = [_lifted(each.query, known) for each in queries]
    triples = tuple(dict.fromkeys(triple for _, said in lifted for triple in said))
    names = tuple(dict.fromkeys(term for triple in triples for term in triple if _is_name(term)))
    changed = [_unseen(_named(query), names) for query, _ in lifted]
    return [replace(each, query=query) for each, query in zip(queries, changed, strict=True)], triples


def _named(query: Node) -> Node:
    """A query whose variables for classes are bound to names only."""

    def named(bgp: BGP) -> Node:
        vars_ = dict.fromkeys(
            term
            for triple in bgp.triples
            for term, places in ((triple.subject, _CLASS_SUBJECT), (triple.object, _CLASS_OBJECT))
            if isinstance(term, Var) and not term.hidden and triple.predicate in places
        )
        return _filtered(bgp, [Call("ISIRI", (var,)) for var in vars_])

    return _mapped(query, named)


# --- what is a class expression --------------------------------------------------------------


def _lifted(query: Node, known: frozenset[Term]) -> tuple[Node, list[Triple]]:
    """A query with names for its expressions, and their triples."""
    named: dict[Var, NamedNode] = {}
    said: list[Triple] = []
    for bgp in _bgps(query):
        found = _Expressions(bgp, known)
        named |= found.named
        said += found.said

    def without(bgp: BGP) -> BGP:
        return replace(bgp, triples=tuple(t for t in bgp.triples if not _tells(t, named)))

    if not named:
        return query, []
    return _substituted(_mapped(query, without), named), said


class _Expressions:
    """The class expressions of a group of triples."""

    def __init__(self, bgp: BGP, known: frozenset[Term]) -> None:
        self.about: dict[Var, list[TriplePattern]] = {}
        for triple in bgp.triples:
            if isinstance(triple.subject, Var) and triple.subject.hidden:
                self.about.setdefault(triple.subject, []).append(triple)
        self.known = known
        self.named: dict[Var, NamedNode] = {}
        self.said: list[Triple] = []
        uses = [
            var for triple in bgp.triples if not _telling(triple) for var in (triple.subject, triple.object)
        ]
        for var in dict.fromkeys(uses):
            if isinstance(var, Var) and not self._is_cell(var) and self._is_expression(var, ()):
                self._name(var)

    def _is_cell(self, node: Term | Var) -> bool:
        return any(triple.predicate in _CELL for triple in self.about.get(node, ()))

    def _is_expression(self, node: Term | Var, above: tuple) -> bool:
        """Whether a node is an expression or the cell of a list that says all about itself."""
        stated = [triple for triple in self.about.get(node, ()) if _telling(triple)]
        if node in above or not stated:
            return False
        predicates = {triple.predicate for triple in stated}
        complete = predicates & {*_BOOLEAN} or (OWL.onProperty in predicates and predicates & {*_RESTRICTING})
        if not (complete or predicates == {*_CELL}) or not predicates - {RDF.type, *_CELL} <= self.known:
            return False
        inner = (triple.object for triple in stated)
        return all(not isinstance(o, Var) or self._is_expression(o, (*above, node)) for o in inner)

    def _name(self, node: Var) -> NamedNode:
        """The name of an expression: the same for what says the same."""
        if node not in self.named:
            stated = [
                (
                    triple.predicate,
                    self._name(triple.object) if isinstance(triple.object, Var) else triple.object,
                )
                for triple in self.about[node]
                if _telling(triple)
            ]
            text = "\n".join(sorted(f"{predicate} {object_}" for predicate, object_ in stated))
            name = NamedNode(NAMES + hashlib.blake2b(text.encode(), digest_size=8).hexdigest())
            self.named[node] = name
            self.said += [(name, predicate, object_) for predicate, object_ in stated]
            if not {predicate for predicate, _ in stated} & {*_CELL}:
                self.said.append((name, RDF.type, OWL.Class))
        return self.named[node]


def _telling(triple: TriplePattern) -> bool:
    """Whether a triple says what its subject is, as an expression or a list."""
    hidden = isinstance(triple.subject, Var) and triple.subject.hidden
    return hidden and (
        triple.predicate in _SAYING or (triple.predicate == RDF.type and triple.object in _KINDS)
    )


def _tells(triple: TriplePattern, named: dict[Var, NamedNode]) -> bool:
    return triple.subject in named and _telling(triple)


def _is_name(term: Term) -> bool:
    return isinstance(term, NamedNode) and term.value.startswith(NAMES)


def _read(rules: Iterable[Rule]) -> frozenset[Term]:
    """The terms that the rules look for."""
    patterns = (each.insert.pattern for rule in rules for each in rule.inserts)
    return frozenset(term for each in patterns for term in _terms(each) if isinstance(term, NamedNode))


# --- changing queries --------------------------------------------------------------------------


def _unseen(query: Node, names: tuple[NamedNode, ...]) -> Node:
    """A query none of whose variables is bound to one of these names."""
    if not names:
        return query

    def hiding(bgp: BGP) -> Node:
        vars_ = dict.fromkeys(
            term for t in bgp.triples for term in (t.subject, t.object) if isinstance(term, Var)
        )
        return _filtered(bgp, [Call("NOTIN", (var, *names)) for var in vars_])

    return _mapped(query, hiding)


def _filtered(bgp: BGP, conditions: Sequence[Call]) -> Node:
    made: Node = bgp
    for condition in conditions:
        made = Filter(condition, made)
    return made


def _bgps(node: object) -> Iterator[BGP]:
    if isinstance(node, BGP):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from _bgps(each)
    elif isinstance(node, Node):
        for field in fields(node):
            yield from _bgps(getattr(node, field.name))


def _terms(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        for each in node:
            yield from _terms(each)
    elif isinstance(node, Node) and is_dataclass(node):
        for field in fields(node):
            yield from _terms(getattr(node, field.name))
    else:
        yield node


def _mapped(node, change):
    """The same with every group of triples changed."""
    if isinstance(node, BGP):
        return change(node)
    return rebuilt(node, lambda part: _mapped(part, change))


def _substituted(node, named: dict[Var, NamedNode]):
    if isinstance(node, Var):
        return named.get(node, node)
    return rebuilt(node, lambda part: _substituted(part, named))


def rebuilt(node, change):
    """A node with its parts changed; itself, if none was."""
    if isinstance(node, tuple):
        made = tuple(map(change, node))
        return node if all(one is other for one, other in zip(made, node, strict=True)) else made
    if not isinstance(node, Node):
        return node
    parts = {field.name: change(getattr(node, field.name)) for field in fields(node)}
    if all(parts[name] is getattr(node, name) for name in parts):
        return node
    return replace(node, **parts)
