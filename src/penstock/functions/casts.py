"""The constructor functions: xsd:integer(…) and its like (SPARQL 1.1, section 17.5)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from penstock.functions import numeric
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import Number
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import (
    Text,
    Value,
    boolean_literal,
    literal_of,
    read,
    value,
    value_of,
)
from penstock.terms import XSD, BlankNode, Literal, NamedNode, Term

Cast = Callable[[Term], Term]


def _source(term: Term, datatype: NamedNode) -> Value:
    """The value to cast; a string has been read as the target type already."""
    found = value(term)
    if isinstance(found, Text) and found.language is None:
        found = read(found.value.strip(" \t\r\n"), datatype.value)
    if found is None or isinstance(found, Text):
        raise _refusal(term, datatype)
    return found


def _refusal(term: Term, datatype: NamedNode) -> ExpressionError:
    return ExpressionError(f"{term} is not an xsd:{datatype.value.rpartition('#')[2]}")


def to_string(term: Term) -> Term:
    """xsd:string: an IRI's text, a value's canonical form, any other literal's lexical form."""
    if isinstance(term, NamedNode):
        return Literal(term.value)
    if isinstance(term, BlankNode):
        raise ExpressionError("a blank node has no string")
    found = value_of(term)
    if isinstance(found, Number):
        return Literal(numeric.as_text(found))
    if isinstance(found, (bool, Moment, Duration)):
        return Literal(literal_of(found).value)
    return Literal(term.value)


def to_boolean(term: Term) -> Term:
    found = _source(term, XSD.boolean)
    if isinstance(found, Number):
        return boolean_literal(bool(found.value) and found.value == found.value)
    if isinstance(found, bool):
        return boolean_literal(found)
    raise _refusal(term, XSD.boolean)


def _to_number(datatype: NamedNode, kind: int) -> Cast:
    def cast(term: Term) -> Term:
        found = _source(term, datatype)
        if isinstance(found, bool):
            found = Number(numeric.INTEGER, int(found))
        if not isinstance(found, Number):
            raise _refusal(term, datatype)
        return literal_of(numeric.cast(found, kind))

    return cast


def _to_derived_integer(datatype: NamedNode) -> Cast:
    to_integer = _to_number(XSD.integer, numeric.INTEGER)

    def cast(term: Term) -> Term:
        text = to_integer(term).value
        if numeric.read_integer(text, datatype.value) is None:
            raise _refusal(term, datatype)
        return Literal(text, datatype=datatype)

    return cast


def _to_moment(kind: str) -> Cast:
    datatype = XSD[kind]

    def cast(term: Term) -> Term:
        found = _source(term, datatype)
        if not isinstance(found, Moment):
            raise _refusal(term, datatype)
        if found.kind == kind:
            return literal_of(found)
        midnight = Decimal(found.days * 86400)
        if (found.kind, kind) == ("date", "dateTime"):
            return literal_of(Moment(kind, found.local, found.zone))
        if (found.kind, kind) == ("dateTime", "date"):
            return literal_of(Moment(kind, midnight, found.zone))
        if (found.kind, kind) == ("dateTime", "time"):
            return literal_of(Moment(kind, numeric.EXACT.subtract(found.local, midnight), found.zone))
        raise _refusal(term, datatype)

    return cast


def _to_duration(kind: str) -> Cast:
    datatype = XSD[kind]

    def cast(term: Term) -> Term:
        found = _source(term, datatype)
        if not isinstance(found, Duration):
            raise _refusal(term, datatype)
        # a cast to a subtype keeps only the part that the subtype has (XPath casting rules)
        months = 0 if kind == "dayTimeDuration" else found.months
        seconds = Decimal(0) if kind == "yearMonthDuration" else found.seconds
        return literal_of(Duration(kind, months, seconds))

    return cast


CASTS: dict[str, Cast] = {
    XSD.string.value: to_string,
    XSD.boolean.value: to_boolean,
    XSD.integer.value: _to_number(XSD.integer, numeric.INTEGER),
    XSD.decimal.value: _to_number(XSD.decimal, numeric.DECIMAL),
    XSD.float.value: _to_number(XSD.float, numeric.FLOAT),
    XSD.double.value: _to_number(XSD.double, numeric.DOUBLE),
}
CASTS |= {XSD[kind].value: _to_moment(kind) for kind in ("dateTime", "date", "time")}
CASTS |= {
    XSD[kind].value: _to_duration(kind) for kind in ("duration", "dayTimeDuration", "yearMonthDuration")
}
CASTS |= {datatype: _to_derived_integer(NamedNode(datatype)) for datatype in numeric.DERIVED_INTEGERS}
