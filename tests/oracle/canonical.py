"""Answers in a form that two systems can compare: terms as N-Triples, blank nodes by their use.

A blank node is named after what is said with it in all answers of the query, refined round by
round. Blank nodes that this cannot tell apart (they would have to lie symmetrically) share
a name: equal answers are always found equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from penstock.terms import BlankNode, Term

Row = tuple[tuple[tuple[str, str], ...], int | None, int | None]
"""((variable, term as N-Triples)… sorted by name), start, end; None: timeless."""

ROUNDS = 4


def canonical(rows: Iterable[tuple[Mapping[str, Term], int | None, int | None]]) -> Counter[Row]:
    """The multiset of answers (bindings, start, end), independent of blank node labels."""
    rows = [(dict(bindings), start, end) for bindings, start, end in rows]
    names = {term: "" for bindings, _, _ in rows for term in bindings.values() if _is_blank(term)}
    for _ in range(ROUNDS if names else 0):
        names = {blank: _described(blank, rows, names) for blank in names}
    return Counter(_row(bindings, start, end, names) for bindings, start, end in rows)


def _is_blank(term: Term) -> bool:
    return isinstance(term, BlankNode)


def _described(blank: BlankNode, rows: list, names: dict) -> str:
    about = sorted(
        repr(_row(bindings, start, end, {**names, blank: "self"}))
        for bindings, start, end in rows
        if blank in bindings.values()
    )
    return blake2b(repr(about).encode(), digest_size=6).hexdigest()


def _row(bindings: dict, start: int | None, end: int | None, names: dict) -> Row:
    return (
        tuple(
            sorted(
                (name, f"_:{names[term]}" if _is_blank(term) else str(term))
                for name, term in bindings.items()
            )
        ),
        start,
        end,
    )
