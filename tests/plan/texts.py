"""Queries for the tests of the analyses, written as texts with the usual prefixes."""

from __future__ import annotations

from penstock.algebra import Pattern, Query
from penstock.languages import parse_query
from penstock.plan.analysis.bounds import inherit
from penstock.plan.analysis.walk import children
from penstock.terms import NamedNode

PREFIXES = """PREFIX : <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


def iri(name: str) -> NamedNode:
    return NamedNode("http://example.org/" + name)


def query(text: str) -> Query:
    return parse_query(PREFIXES + text).query


def pattern(text: str) -> Pattern:
    """The pattern inside `WHERE { … }`, without the projection of the query around it."""
    return query(f"CONSTRUCT {{}} WHERE {{ {text} }}").pattern


# The paper's rule that carries count and sum of prices along, query (5).
SLIDING_SUM = """
CONSTRUCT { _:aaa :hasCount ?count . _:aaa :hasSum ?sum } WHERE {
  SELECT (?prevcount + 1 AS ?count) (?prevsum + ?price AS ?sum) {
    { { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum } SEQ { :ACME :price ?price } }
    EQUALSOPTIONAL
    { { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum } SEQ { :ACME :price ?inbetween }
      SEQ { :ACME :price ?price } }
    FILTER (!BOUND(?inbetween) && getDURATION() < "P10D"^^xsd:duration)
  }
}"""


def push_bounds(pattern: Pattern, bound: int | None = None) -> dict[tuple[int, ...], int | None]:
    """The bound of every node, by its place: () is the top, (1, 0) its right child's left."""
    found = {(): bound}
    parts = zip(children(pattern), inherit(pattern, bound), strict=True)
    for i, (child, below) in enumerate(parts):
        found |= {(i, *place): each for place, each in push_bounds(child, below).items()}
    return found
