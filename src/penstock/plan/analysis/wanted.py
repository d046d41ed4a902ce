"""Which triples queries can match at all: what rules need to derive for them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.algebra import nodes as a
from penstock.algebra.nodes import ParsedQuery, Query
from penstock.plan.analysis.unification import AnyBut, look_ups
from penstock.plan.analysis.walk import described, nodes
from penstock.terms import RDF, NamedNode, Term

Wanted = frozenset[tuple[Term | None, Term | None]]
"""Predicates, and of rdf:type also classes; None: any."""

EVERYTHING: Wanted = frozenset({(None, None)})


def wanted(queries: Iterable[ParsedQuery]) -> Wanted:
    """The patterns of triples that the queries look for."""
    found = {each for query in queries for each in _patterns(query.query)}
    return EVERYTHING if (None, None) in found else frozenset(found)


def _patterns(query: Query) -> Iterator[tuple[Term | None, Term | None]]:
    for triple in described(query):
        yield _key(triple.predicate, triple.object)
    for leaf in (leaf for node in nodes(query.pattern) for leaf in node.leaves):
        if isinstance(leaf, a.PathPattern) and not a.is_nested(leaf.path):
            yield from _steps(leaf.path)
        else:
            yield from (_key(look_up.predicate, look_up.object) for look_up in look_ups(leaf))


def _key(predicate: a.TermOrVar | AnyBut, object_: a.TermOrVar) -> tuple[Term | None, Term | None]:
    if isinstance(predicate, a.Var | AnyBut):
        return None, None
    if predicate == RDF.type and not isinstance(object_, a.Var):
        return predicate, object_
    return predicate, None


def _steps(path: a.Path) -> Iterator[tuple[Term | None, Term | None]]:
    """The triples that a path goes along. A path of no step ends at everything that is anywhere."""
    if isinstance(path, NamedNode):
        yield path, None
    elif isinstance(path, a.Inverse | a.OneOrMore):
        yield from _steps(path.path)
    elif isinstance(path, a.Sequence | a.Alternative):
        yield from _steps(path.left)
        yield from _steps(path.right)
    else:
        yield None, None
