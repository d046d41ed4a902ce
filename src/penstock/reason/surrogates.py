"""Nodes that stand for literals where RDF has none, as subjects (`rules.rule.SURROGATES`).

Rules derive triples with them to go on from; as of the workings in named graphs, nobody is shown these:
who asks for the values of a property is answered the literals, and not a node beside each.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.columns import interning
from penstock.columns.ids import HASHED
from penstock.columns.interning import frozen
from penstock.columns.terms import TermTable
from penstock.reason.clauses import Clause, constants_in
from penstock.rules.rule import SURROGATES
from penstock.terms import Literal


def makes_surrogates(clauses: Iterable[Clause]) -> bool:
    """Whether these can derive triples with surrogates."""
    return any(
        Literal(SURROGATES) in constants_in(expression)
        for clause in clauses
        for _, expression in clause.binds
    )


def with_surrogates(triples: np.ndarray, terms: TermTable) -> np.ndarray:
    """Which of these triples, ids as (3, n), have a surrogate somewhere."""
    ids = interning.distinct(np.ascontiguousarray(triples).reshape(-1), HASHED)
    standing = frozen(ids[terms.starting(ids, f"<{SURROGATES}".encode())])
    found = np.zeros(triples.shape[1], bool)
    for column in triples:
        found |= interning.among(frozen(column), standing)
    return found
