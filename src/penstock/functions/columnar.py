"""Expressions over columns of ids, once for each distinct combination of what an expression looks at.

Of a term at which only LANG, DATATYPE, isIRI … look, its kind is what matters, and there are few kinds. What
makes a text or an IRI of others' texts (STR, CONCAT, hashes, IRI) does so for all of them at once; where
that is not certain to be right, it is left to `evaluate`, one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import hashing
from penstock.columns.ids import hash_texts, term_text
from penstock.columns.places import LONGEST
from penstock.columns.terms import TermChunk, TermTable
from penstock.columns.texts import ERROR, UNKNOWN, VALUE, Texts, absolute, alike, joined, lexical
from penstock.functions.builtins import FUNCTIONS, PREDICATES
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, compile_term
from penstock.terms import XSD, Literal, NamedNode, Term

Columns = Mapping[str, np.ndarray]
"""Ids by the name of their variable; 0 is unbound."""

_OF_KIND = frozenset(("BOUND", "DATATYPE", "ISBLANK", "ISIRI", "ISLITERAL", "ISURI", "LANG"))
_HASHES = frozenset(("MD5", "SHA1", "SHA256", "SHA384", "SHA512"))


# --- distinct combinations ---------------------------------------------------------------


def distinct(
    expression: Expression, columns: Columns, terms: TermTable
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Some of the rows, which stand for all, and for each row which of these stands for it.

    There must be a column; beside those of the expression's variables there may be others.
    """
    chosen, numbers = distinct_rows(columns)
    kinds = [name for name in _by_kind(expression) if name in columns]
    if not kinds:
        return chosen, numbers
    for name in kinds:
        chosen[name] = chosen[name][alike(*Texts.of_arrow(terms.texts(chosen[name])))]
    chosen, again = distinct_rows(chosen)
    return chosen, again[numbers]


def distinct_rows(columns: Columns) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The rows, each once, and for each row which of these it is."""
    rows, numbers = hashing.numbered(np.stack(list(columns.values())))
    return {name: column[rows] for name, column in columns.items()}, numbers


@lru_cache(maxsize=4096)
def _by_kind(expression: Expression) -> frozenset[str]:
    """The variables of which an expression wants to know no more than of which kind they are."""
    exact, kinds = _looked_at(expression)
    return frozenset(kinds - exact)


def _looked_at(expression: Expression) -> tuple[set[str], set[str]]:
    """The variables whose values an expression looks at, and those of which it looks at the kind."""
    exact: set[str] = set()
    kinds: set[str] = set()
    if isinstance(expression, Var):
        exact.add(expression.name)
    elif isinstance(expression, Call):
        for argument in expression.args:
            if expression.name in _OF_KIND and isinstance(argument, Var):
                kinds.add(argument.name)
            else:
                below = _looked_at(argument)
                exact |= below[0]
                kinds |= below[1]
    return exact, kinds


# --- texts ----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def is_made_of_texts(expression: Expression) -> bool:
    """Whether `made_of_texts` knows what an expression makes, and it is more than what kinds tell."""
    if not isinstance(expression, Call) or not _looked_at(expression)[0]:
        return False
    if expression.name in ("IRI", "URI") and 1 <= len(expression.args) <= 2:
        made, *base = expression.args
        return isinstance(made, Call) and _is_text(made) and all(isinstance(each, NamedNode) for each in base)
    return _is_text(expression)


def _is_text(expression: Expression) -> bool:
    """Whether an expression is a string, and `_made` knows which."""
    if isinstance(expression, Var):
        return True
    if isinstance(expression, Literal):
        return _plain(expression) is not None
    if not isinstance(expression, Call):
        return False
    name, args = expression.name, expression.args
    if name == "CONCAT" and args:
        return all(map(_is_text, args))
    if name in _HASHES and len(args) == 1:
        return _is_text(args[0])
    return (name == "STR" and len(args) == 1 and isinstance(args[0], Var)) or _is_of_kinds(expression)


def _is_of_kinds(expression: Expression) -> bool:
    exact, kinds = _looked_at(expression)
    return bool(kinds) and not exact and _is_function(expression)


def _is_function(expression: Expression) -> bool:
    """Whether an expression depends on its variables alone: not on the clock, chance, or other patterns."""
    if isinstance(expression, Call):
        known = expression.name in FUNCTIONS or expression.name in PREDICATES
        return known and all(map(_is_function, expression.args))
    return isinstance(expression, Var | Term)


class _Made(NamedTuple):
    """Texts as they stand in N-Triples, where none of their characters is escaped; a constant is only one."""

    texts: Texts
    states: np.ndarray


def made_of_texts(
    expression: Expression, columns: Columns, terms: TermTable
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the values of an expression that is made of texts (0: an error), and where they are known.

    The columns are as `distinct` gives them, with one for each variable.
    """
    iri = expression.name in ("IRI", "URI")
    texts, states = _made(expression.args[0] if iri else expression, columns, terms)
    if iri:
        states = np.where((states == VALUE) & ~absolute(*texts), UNKNOWN, states)
    states = np.where(np.diff(texts.offsets) > LONGEST - 2, UNKNOWN, states)
    there = states == VALUE
    ids = np.zeros(len(texts), np.int64)
    if there.any():
        begin, end = (b"<", b">") if iri else (b'"', b'"')
        made = joined(Texts.of([begin]), texts.take(np.flatnonzero(there)), Texts.of([end]))
        ids[there] = hash_texts(*made, terms.key)
        terms.add_chunk(TermChunk(ids[there], *made))
    return ids, states != UNKNOWN


def _made(expression: Expression, columns: Columns, terms: TermTable) -> _Made:
    """The texts of an expression's values, where these are strings without a language tag."""
    if isinstance(expression, Literal):
        return _Made(Texts.of([_plain(expression)]), np.array([VALUE], np.uint8))
    if isinstance(expression, Var):
        return _lexical(columns[expression.name], terms, plain=True)
    if _is_of_kinds(expression):
        return _of_kinds(expression, columns, terms)
    if expression.name == "STR":
        return _lexical(columns[expression.args[0].name], terms, plain=False)
    parts = [_made(argument, columns, terms) for argument in expression.args]
    states = np.max(np.broadcast_arrays(*(part.states for part in parts)), axis=0)
    texts = joined(*(part.texts for part in parts))
    return _Made(_hashed(expression.name, texts) if expression.name in _HASHES else texts, states)


def _plain(literal: Literal) -> bytes | None:
    """The text of a string without a language tag and without escapes."""
    text = term_text(literal)[1:-1]
    return text if literal.datatype == XSD.string and b"\\" not in text else None


def _lexical(ids: np.ndarray, terms: TermTable, *, plain: bool) -> _Made:
    texts = Texts.of_arrow(terms.texts(ids))
    places, states = lexical(*texts, plain)
    return _Made(texts.at(places), states)


def _of_kinds(expression: Expression, columns: Columns, terms: TermTable) -> _Made:
    """What looks at kinds alone: there are few."""
    kinds = _looked_at(expression)[1]
    few, numbers = distinct(expression, {name: columns[name] for name in kinds}, terms)
    value, context = compile_term(expression), EvaluationContext()
    texts, states = [], []
    for ids in zip(*few.values(), strict=True):
        bound = {name: terms.term(id_) for name, id_ in zip(few, ids, strict=True) if id_}
        try:
            made = value(bound.get, context)
        except ExpressionError:
            text, state = b"", ERROR
        else:
            text = _plain(made) if isinstance(made, Literal) else None
            text, state = (b"", UNKNOWN) if text is None else (text, VALUE)
        texts.append(text)
        states.append(state)
    return _Made(Texts.of(texts).take(numbers), np.array(states, np.uint8)[numbers])


def _hashed(name: str, texts: Texts) -> Texts:
    function = getattr(hashlib, name.lower())
    digests = "".join([function(text).hexdigest() for text in texts.to_arrow().to_pylist()])
    size = 2 * function().digest_size
    return Texts(np.arange(len(texts) + 1) * size, np.frombuffer(digests.encode(), np.uint8))
