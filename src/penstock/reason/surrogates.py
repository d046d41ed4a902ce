"""Nodes that stand for literals where RDF has none, as subjects (`rules.rule.SURROGATES`).

Rules derive triples with them to go on from; as of internal graphs, nobody is shown these:
who asks for the values of a property is answered the literals, and not a node beside each.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.columns import hashing, interning
from penstock.columns.ids import HASHED
from penstock.columns.interning import frozen
from penstock.columns.places import LENGTH_BITS
from penstock.columns.terms import TermChunk, TermTable
from penstock.reason.clauses import Clause, constants_in
from penstock.rules.rule import SURROGATES
from penstock.terms import Literal

_BEGINNING = f"<{SURROGATES}".encode()


def makes_surrogates(clauses: Iterable[Clause]) -> bool:
    """Whether these can derive triples with surrogates."""
    return any(
        Literal(SURROGATES) in constants_in(expression)
        for clause in clauses
        for _, expression in clause.binds
    )


def with_surrogates(triples: np.ndarray, terms: TermTable) -> np.ndarray:
    """Which of these triples, ids as (3, n), have a surrogate somewhere."""
    ids = hashing.distinct(triples[triples >= HASHED])
    standing = ids[terms.starting(ids, _BEGINNING)]
    found = np.zeros(triples.shape[1], bool)
    for column in triples:
        found |= hashing.among(column, standing)
    return found


def has_surrogates(terms: TermChunk) -> bool:
    """Whether there are surrogates among some terms."""
    beginning = np.frombuffer(_BEGINNING, np.uint8)
    places = terms.offsets[:-1] << LENGTH_BITS | np.diff(terms.offsets)
    return bool(interning.starting(frozen(terms.data), places, beginning).any())
