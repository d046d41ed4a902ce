"""The table of built-in functions whose value depends on their arguments alone.

`PREDICATES` answer with a Python bool, so that conditions need no literal in between;
`FUNCTIONS` answer with a term. What looks at the solution, the clock or chance, and what
treats errors in its own way, is in `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from penstock.functions import numeric, operators, strings
from penstock.functions.casts import CASTS
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import DECIMAL, Number
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import (
    integer_literal,
    literal,
    literal_of,
    number,
    simple,
    value,
    value_of,
)
from penstock.terms import RDF, BlankNode, Literal, NamedNode, Term

MANY = 1 << 30


class Function(NamedTuple):
    """A Python function over terms and how many arguments it takes."""

    apply: Callable[..., Term]
    least: int
    most: int


class Predicate(NamedTuple):
    """The same for one that answers with true or false."""

    apply: Callable[..., bool]
    least: int
    most: int


# --- terms -------------------------------------------------------------------------------


def str_(term: Term) -> Term:
    if isinstance(term, BlankNode):
        raise ExpressionError("a blank node has no string")
    return Literal(term.value)


def lang(term: Term) -> Term:
    return Literal(literal(term).language or "")


def datatype(term: Term) -> Term:
    return literal(term).datatype


def strdt(text: Term, iri: Term) -> Term:
    if not isinstance(iri, NamedNode):
        raise ExpressionError(f"{iri} is not a datatype")
    if iri == RDF.langString:
        raise ExpressionError("rdf:langString needs a language tag")
    return Literal(simple(text), datatype=iri)


def strlang(text: Term, tag: Term) -> Term:
    try:
        return Literal(simple(text), language=simple(tag))
    except ValueError:
        raise ExpressionError(f"{tag} is not a language tag") from None


def is_iri(term: Term) -> bool:
    return isinstance(term, NamedNode)


def is_blank(term: Term) -> bool:
    return isinstance(term, BlankNode)


def is_literal(term: Term) -> bool:
    return isinstance(term, Literal)


def is_numeric(term: Term) -> bool:
    return isinstance(term, Literal) and isinstance(value_of(term), Number)


def same_term(left: Term, right: Term) -> bool:
    return left == right


# --- numbers -----------------------------------------------------------------------------


def _numeric(function: Callable[[Number], Number]) -> Callable[[Term], Term]:
    return lambda term: literal_of(function(number(term)))


# --- dates and times ---------------------------------------------------------------------


def _moment(term: Term, *kinds: str) -> Moment:
    found = value(term)
    if isinstance(found, Moment) and found.kind in kinds:
        return found
    raise ExpressionError(f"{term} is not an xsd:{' or xsd:'.join(kinds)}")


def _date_part(index: int) -> Callable[[Term], Term]:
    return lambda term: integer_literal(_moment(term, "dateTime", "date").date[index])


def _clock_part(index: int) -> Callable[[Term], Term]:
    return lambda term: integer_literal(_moment(term, "dateTime", "time").clock[index])


def seconds(term: Term) -> Term:
    return literal_of(Number(DECIMAL, _moment(term, "dateTime", "time").clock[2]))


def timezone(term: Term) -> Term:
    """TIMEZONE: the offset as an xsd:dayTimeDuration; an error where there is none."""
    zone = _moment(term, "dateTime", "date", "time").zone
    if zone is None:
        raise ExpressionError(f"{term} has no time zone")
    return literal_of(Duration("dayTimeDuration", 0, Decimal(zone * 60)))


def tz(term: Term) -> Term:
    """TZ: the time zone as it is written, empty where there is none."""
    if _moment(term, "dateTime", "date", "time").zone is None:
        return Literal("")
    text = literal(term).value
    return Literal("Z" if text.endswith("Z") else text[-6:])


# --- the tables --------------------------------------------------------------------------

PREDICATES: dict[str, Predicate] = {
    "=": Predicate(operators.equal, 2, 2),
    "!=": Predicate(operators.not_equal, 2, 2),
    "<": Predicate(operators.less, 2, 2),
    ">": Predicate(operators.greater, 2, 2),
    "<=": Predicate(operators.not_greater, 2, 2),
    ">=": Predicate(operators.not_less, 2, 2),
    "SAMETERM": Predicate(same_term, 2, 2),
    "ISIRI": Predicate(is_iri, 1, 1),
    "ISURI": Predicate(is_iri, 1, 1),
    "ISBLANK": Predicate(is_blank, 1, 1),
    "ISLITERAL": Predicate(is_literal, 1, 1),
    "ISNUMERIC": Predicate(is_numeric, 1, 1),
    "STRSTARTS": Predicate(strings.starts, 2, 2),
    "STRENDS": Predicate(strings.ends, 2, 2),
    "CONTAINS": Predicate(strings.contains, 2, 2),
    "LANGMATCHES": Predicate(strings.language_matches, 2, 2),
    "REGEX": Predicate(strings.matches, 2, 3),
}

FUNCTIONS: dict[str, Function] = {
    "+": Function(operators.add, 2, 2),
    "-": Function(operators.subtract, 2, 2),
    "*": Function(operators.multiply, 2, 2),
    "/": Function(operators.divide, 2, 2),
    "UPLUS": Function(operators.plus, 1, 1),
    "UMINUS": Function(operators.minus, 1, 1),
    "STR": Function(str_, 1, 1),
    "LANG": Function(lang, 1, 1),
    "DATATYPE": Function(datatype, 1, 1),
    "STRDT": Function(strdt, 2, 2),
    "STRLANG": Function(strlang, 2, 2),
    "ABS": Function(_numeric(numeric.absolute), 1, 1),
    "CEIL": Function(_numeric(numeric.ceiling), 1, 1),
    "FLOOR": Function(_numeric(numeric.floor), 1, 1),
    "ROUND": Function(_numeric(numeric.round_half_up), 1, 1),
    "STRLEN": Function(strings.strlen, 1, 1),
    "SUBSTR": Function(strings.substr, 2, 3),
    "UCASE": Function(strings.ucase, 1, 1),
    "LCASE": Function(strings.lcase, 1, 1),
    "STRBEFORE": Function(strings.before, 2, 2),
    "STRAFTER": Function(strings.after, 2, 2),
    "ENCODE_FOR_URI": Function(strings.encode_for_uri, 1, 1),
    "CONCAT": Function(strings.concat, 0, MANY),
    "REPLACE": Function(strings.replace, 3, 4),
    "YEAR": Function(_date_part(0), 1, 1),
    "MONTH": Function(_date_part(1), 1, 1),
    "DAY": Function(_date_part(2), 1, 1),
    "HOURS": Function(_clock_part(0), 1, 1),
    "MINUTES": Function(_clock_part(1), 1, 1),
    "SECONDS": Function(seconds, 1, 1),
    "TIMEZONE": Function(timezone, 1, 1),
    "TZ": Function(tz, 1, 1),
    "MD5": Function(strings.hash_function("md5"), 1, 1),
    "SHA1": Function(strings.hash_function("sha1"), 1, 1),
    "SHA256": Function(strings.hash_function("sha256"), 1, 1),
    "SHA384": Function(strings.hash_function("sha384"), 1, 1),
    "SHA512": Function(strings.hash_function("sha512"), 1, 1),
}
FUNCTIONS |= {f"<{iri}>": Function(cast, 1, 1) for iri, cast in CASTS.items()}
