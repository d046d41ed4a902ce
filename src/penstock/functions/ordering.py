"""The order of terms for ORDER BY, MIN and MAX (SPARQL 1.1, section 15.1).

Unbound comes first, then blank nodes, IRIs and literals; literals of one type by value. What
SPARQL leaves open is fixed here, so that every run and every partition agrees: literal
types come in the order numbers, booleans, strings, tagged strings, dateTimes, dates, times,
durations, all others; NaN precedes all numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from penstock.functions.numeric import Number
from penstock.functions.temporal import Duration, Moment, reach
from penstock.functions.values import Text, value_of
from penstock.terms import BlankNode, Literal, NamedNode, Term

_MOMENTS = {"dateTime": 4, "date": 5, "time": 6}


@lru_cache(maxsize=1 << 16)
def order_key(term: Term | None) -> tuple:
    """The sort key of a term. Literals with equal values (1, 1.0) have equal keys.

    That is what ORDER BY needs to look at its next condition; for a total order, in which
    only the same term is equal, use `total_key`.
    """
    if term is None:
        return (0,)
    if isinstance(term, BlankNode):
        return (1, term.value)
    if isinstance(term, NamedNode):
        return (2, term.value)
    if isinstance(term, Literal):
        return (3, *_literal_key(term))
    return (4, str(term))


@lru_cache(maxsize=1 << 16)
def total_key(term: Term | None) -> tuple:
    """A key under which two terms are equal only if they are the same term."""
    key = order_key(term)
    if isinstance(term, Literal):
        return key, term.datatype.value, term.value, term.language or ""
    return (key,)


def _literal_key(literal: Literal) -> tuple:
    value = value_of(literal)
    if isinstance(value, Number):
        nan = value.value != value.value
        return (0, 0, 0) if nan else (0, 1, value.value)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, Text):
        if value.language is None:
            return (2, value.value)
        return (3, value.value, value.language)
    if isinstance(value, Moment):
        return (_MOMENTS[value.kind], value.utc)
    if isinstance(value, Duration):
        # where XSD orders two durations, it does so from all four reference months
        return (7, sum(map(Fraction, reach(value))), value.months)
    return (8, literal.datatype.value, literal.value)
