"""From literals to the values that operators compute with, and back.

`value_of` reads a literal once and remembers it: streams repeat their numbers and times.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Union

from penstock.functions import numeric, temporal
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import Number
from penstock.functions.temporal import Duration, Moment
from penstock.terms import RDF, XSD, Literal, Term

TRUE = Literal("true", datatype=XSD.boolean)
FALSE = Literal("false", datatype=XSD.boolean)


class Text(NamedTuple):
    """A string, with a language tag or without."""

    value: str
    language: str | None


LONGEST = 4000
"""A number or time that is written with more characters is taken as ill-typed."""

Value = Union[Number, bool, Text, Moment, Duration]

_STRING, _LANG_STRING = XSD.string.value, RDF.langString.value
_BOOLEAN = XSD.boolean.value
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

_NUMBERS = {
    XSD.integer.value: numeric.read_integer,
    XSD.decimal.value: numeric.read_decimal,
    XSD.float.value: numeric.read_float,
    XSD.double.value: numeric.read_double,
}
_MOMENTS = {XSD[kind].value: kind for kind in ("dateTime", "date", "time")}
_MOMENTS[XSD.dateTimeStamp.value] = "dateTime"
_DURATIONS = {XSD[kind].value: kind for kind in ("duration", "dayTimeDuration", "yearMonthDuration")}


def read(text: str, datatype: str) -> Value | None:
    """The value of a lexical form in a datatype; None if it is ill-typed or unknown."""
    if datatype == _STRING:
        return Text(text, None)
    if len(text) > LONGEST:
        return None
    reader = _NUMBERS.get(datatype)
    if reader is not None:
        return reader(text)
    if datatype == _BOOLEAN:
        return _BOOLEANS.get(text)
    if datatype in _MOMENTS:
        moment = temporal.read_moment(text, _MOMENTS[datatype])
        if moment and moment.zone is None and datatype == XSD.dateTimeStamp.value:
            return None
        return moment
    if datatype in _DURATIONS:
        return temporal.read_duration(text, _DURATIONS[datatype])
    if datatype in numeric.DERIVED_INTEGERS:
        return numeric.read_integer(text, datatype)
    return None


@lru_cache(maxsize=1 << 16)
def value_of(literal: Literal) -> Value | None:
    """The value of a literal; None if it is ill-typed or of a datatype we do not know."""
    if literal.language is not None:
        return Text(literal.value, literal.language)
    return read(literal.value, literal.datatype.value)


def literal_of(value: Value) -> Literal:
    """The canonical literal of a value."""
    if isinstance(value, Number):
        return numeric.number_literal(value)
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, Text):
        return text_literal(value.value, value.language)
    try:
        if isinstance(value, Moment):
            return temporal.moment_literal(value)
        return temporal.duration_literal(value)
    except ValueError:  # Python does not write integers of many thousand digits
        raise ExpressionError("a time that is out of range") from None


def text_literal(text: str, language: str | None = None) -> Literal:
    return Literal(text) if language is None else Literal(text, language=language)


def integer_literal(value: int) -> Literal:
    return Literal(str(value), datatype=XSD.integer)


def boolean_literal(value: bool) -> Literal:
    return TRUE if value else FALSE


def is_numeric_datatype(datatype: str) -> bool:
    return datatype in _NUMBERS or datatype in numeric.DERIVED_INTEGERS


# --- arguments that must be of one kind --------------------------------------------------


def value(term: Term) -> Value:
    """The value of a term that must be a well-typed literal of a known datatype."""
    if isinstance(term, Literal):
        found = value_of(term)
        if found is not None:
            return found
    raise ExpressionError(f"{term} has no value")


def number(term: Term) -> Number:
    if isinstance(term, Literal):
        found = value_of(term)
        if isinstance(found, Number):
            return found
    raise ExpressionError(f"{term} is not a number")


def integer(term: Term) -> int:
    found = number(term)
    if found.kind == numeric.INTEGER:
        return int(found.value)
    raise ExpressionError(f"{term} is not an xsd:integer")


def string(term: Term) -> Literal:
    """A string literal (section 17.4.3.1): xsd:string or with a language tag."""
    if isinstance(term, Literal) and (term.language is not None or term.datatype.value == _STRING):
        return term
    raise ExpressionError(f"{term} is not a string")


def simple(term: Term) -> str:
    """The text of a string without a language tag."""
    if isinstance(term, Literal) and term.language is None and term.datatype.value == _STRING:
        return term.value
    raise ExpressionError(f"{term} is not a simple literal")


def literal(term: Term) -> Literal:
    if isinstance(term, Literal):
        return term
    raise ExpressionError(f"{term} is not a literal")


def effective_boolean(term: Term) -> bool:
    """The effective boolean value (section 17.2.2)."""
    if term == TRUE:
        return True
    if term == FALSE:
        return False
    if not isinstance(term, Literal):
        raise ExpressionError(f"{term} is neither true nor false")
    found = value_of(term)
    if isinstance(found, Number):
        return found.value == found.value and bool(found.value)
    if isinstance(found, bool):
        return found
    if isinstance(found, Text):
        return bool(found.value)
    if found is None:
        datatype = term.datatype.value
        if datatype == _BOOLEAN or is_numeric_datatype(datatype):
            return False
    raise ExpressionError(f"{term} is neither true nor false")
