"""Triples of a department as lines of N-Triples or N-Quads, put together from pieces of text."""

from __future__ import annotations

import numpy as np

from penstock.jit import njit
from penstock.scenarios.lubm import vocabulary as ub
from penstock.scenarios.lubm.profile import MOST_TRIPLES

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SCHEME = "http://www."
LONGEST_LINE = 512
"""Bytes: the longest names, with indexes of ten digits, are some 330."""
ROOM = MOST_TRIPLES * LONGEST_LINE
"""Bytes that a department's lines can have at most."""

_TEXT = {
    ub.NAME: '"',
    ub.RESEARCH_INTEREST: '"',
    ub.EMAIL: '"',
    ub.TELEPHONE: '"xxx-xxx-xxxx',
    ub.TYPE: f"<{ub.ONTOLOGY}#",
}
_LITERAL = np.array([_TEXT.get(predicate, "<").startswith('"') for predicate in range(len(ub.PREDICATES))])


def _between(predicate: int) -> str:
    """What stands between a subject and the part of the object that varies."""
    iri = RDF_TYPE if predicate == ub.TYPE else f"{ub.ONTOLOGY}#{ub.PREDICATES[predicate]}"
    return f"> <{iri}> {_TEXT.get(predicate, '<')}"


def _joined(pieces: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of text in one array of bytes, and where each begins."""
    sizes = [len(piece) for piece in pieces]
    return np.frombuffer("".join(pieces).encode(), np.uint8), np.cumsum([0, *sizes])


_BETWEEN, _BETWEEN_AT = _joined([_between(predicate) for predicate in range(len(ub.PREDICATES))])
_NAMES, _NAMES_AT = _joined(list(ub.CLASSES))
_BEFORE_UNIVERSITY = np.frombuffer(f"{SCHEME}University".encode(), np.uint8)
_AFTER_UNIVERSITY = np.frombuffer(b".edu", np.uint8)
_SCHEME_SIZE = len(SCHEME)
_QUOTE, _LESS, _GREATER, _SLASH, _AT_SIGN, _ZERO = (ord(sign) for sign in '"<>/@0')


@njit()
def _copy(out, at, text, begin, end):
    for place in range(begin, end):
        out[at + place - begin] = text[place]
    return at + end - begin


@njit()
def _write_number(out, at, number):
    size = 1
    rest = number // 10
    while rest:
        size += 1
        rest //= 10
    for place in range(at + size - 1, at - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return at + size


@njit()
def _write_name(out, at, one):
    """`FullProfessor7`: what a thing is called within its department."""
    class_ = ub.class_of(one)
    at = _copy(out, at, _NAMES, _NAMES_AT[class_], _NAMES_AT[class_ + 1])
    return _write_number(out, at, ub.index_of(one))


@njit()
def _write_thing(out, at, one, place):
    """The IRI of a thing of the department whose own one is `place`."""
    class_ = ub.class_of(one)
    if class_ == ub.UNIVERSITY:
        at = _copy(out, at, _BEFORE_UNIVERSITY, 0, len(_BEFORE_UNIVERSITY))
        at = _write_number(out, at, ub.index_of(one))
        return _copy(out, at, _AFTER_UNIVERSITY, 0, len(_AFTER_UNIVERSITY))
    at = _copy(out, at, place, 0, len(place))
    if class_ == ub.DEPARTMENT:
        return at
    if class_ == ub.PUBLICATION:
        out[at] = _SLASH
        at = _write_name(out, at + 1, ub.author_of(one))
    out[at] = _SLASH
    return _write_name(out, at + 1, one)


@njit()
def write_lines(rows, count, place, ending, out):
    """So many triples as lines into `out`, each with the same ending; how many bytes that are.

    `place` is the department's IRI; the ending is all that follows a triple, with its graph if it has one.
    """
    at = 0
    for row in range(count):
        predicate, object_ = rows[1, row], rows[2, row]
        out[at] = _LESS
        at = _write_thing(out, at + 1, rows[0, row], place)
        at = _copy(out, at, _BETWEEN, _BETWEEN_AT[predicate], _BETWEEN_AT[predicate + 1])
        if predicate == ub.TYPE:
            at = _copy(out, at, _NAMES, _NAMES_AT[object_], _NAMES_AT[object_ + 1])
        elif not _LITERAL[predicate]:
            at = _write_thing(out, at, object_, place)
        elif predicate != ub.TELEPHONE:
            at = _write_name(out, at, object_)
            if predicate == ub.EMAIL:
                out[at] = _AT_SIGN
                at = _copy(out, at + 1, place, _SCHEME_SIZE, len(place))
        out[at] = _QUOTE if _LITERAL[predicate] else _GREATER
        at = _copy(out, at + 1, ending, 0, len(ending))
    return at
