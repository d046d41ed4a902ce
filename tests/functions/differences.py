"""Where we differ from pyoxigraph on purpose, each rule with the paragraph that decides it.

A rule looks at a function, its arguments and both values, and says whether it explains them. It is as
narrow as it can be: where it can, it changes what it is about in the arguments and asks both again.
docs/decisions/0007-functions.md has the rules in words.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from functions.second_opinion import Row, ours, same, theirs
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import DECIMAL, INTEGER, Number, format_decimal
from penstock.functions.regex import compiled
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import FALSE, TRUE, effective_boolean, value_of
from penstock.terms import RDF, XSD, Literal, Term

Rule = Callable[[str, Row, Term | None, Term | None], bool]

RULES: dict[str, tuple[str, Rule]] = {}


def rule(name: str, paragraph: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name] = (paragraph, function)
        return function

    return register


def explained(name: str, row: Row, one: Term | None, other: Term | None) -> str | None:
    """The first rule that explains why our value is `one` and theirs `other`; None if none does."""
    for label, (_, function) in RULES.items():
        if function(name, row, one, other):
            return label
    as_they_read = tuple(map(read_by_them, row))
    if as_they_read != row:
        again = _ask(ours, name, as_they_read)
        if same(again, other):
            return LEXICAL
        found = explained(name, as_they_read, again, other)
        return found and f"{LEXICAL}, {found}"
    return None


LEXICAL = "lexical forms"
PARAGRAPHS = {
    LEXICAL: "RDF 1.1 Concepts, 3.3: a literal is a lexical form and a datatype. pyoxigraph keeps values: "
    "`007` becomes `7`, xsd:int becomes xsd:integer, what its readers let through (`inf`, P1YT, 256 as an "
    "xsd:unsignedByte) becomes well-typed.",
}

_VARIABLES = ("?a", "?b", "?c")


def _ask(who: Callable, name: str, row: Row) -> Term | None:
    return who((name, *_VARIABLES[: len(row)]), [row])[0]


@lru_cache(maxsize=None)
def read_by_them(term: Term | None) -> Term | None:
    """A term as pyoxigraph understands it."""
    return None if term is None else _ask(theirs, "COALESCE", (term,))


def _value(term: Term | None):
    return value_of(term) if isinstance(term, Literal) else None


def _numbers(row: Row) -> list[Number]:
    return [found for found in map(_value, row) if isinstance(found, Number)]


# --- what pyoxigraph's numbers and times cannot hold ------------------------------------------

_LEAST, _MOST = -(2**63), 2**63 - 1
_LARGEST_DECIMAL = Decimal(2**127 - 1).scaleb(-18)


def beyond(term: Term | None) -> bool:
    """Whether pyoxigraph has no such value: 64 bits for integers, 128 bits with 18 digits for decimals."""
    found = _value(term)
    if isinstance(found, Number):
        if found.kind == INTEGER:
            return not _LEAST <= found.value <= _MOST
        if found.kind == DECIMAL:
            digits = len(format_decimal(found.value).partition(".")[2])
            return found.value.copy_abs() > _LARGEST_DECIMAL or digits > 18
    if isinstance(found, Duration):
        return not _LEAST <= found.months <= _MOST or beyond(_decimal(found.seconds))
    if isinstance(found, Moment):
        return abs(found.date[0]) > 10**9 or beyond(_decimal(found.local))
    return False


def _decimal(value: Decimal) -> Literal:
    return Literal(format(value, "f"), datatype=XSD.decimal)


@rule(
    "range",
    "XSD 1.1 Part 2, 3.3.3 and 3.4.13: integers and decimals have no largest value; an "
    "implementation may have "
    "limits (5.4), ours are thousands of digits.",
)
def _range(name, row, one, other):
    if any(map(beyond, row)):
        return True
    if name == "SUBSTR" and other is None:
        return any(number.value == _LEAST for number in _numbers(row))  # its positions overflow
    # an intermediate value of theirs overflows before the result does
    dividing = name == "/" and all(number.kind <= DECIMAL for number in _numbers(row))
    return other is None and one is not None and (beyond(one) or (dividing and len(_numbers(row)) == 2))


@rule(
    "digits",
    "XPath F&O 3.1, 4.2 and 19.1.3.3: at least 18 digits; a decimal from a double is the "
    "numerically closest one "
    "that can be represented. Ours has all digits of the double, and 34 of a quotient.",
)
def _digits(name, row, one, other):
    if name not in ("/", "xsd:decimal", "xsd:integer"):
        return False
    a, b = _value(one), _value(other)
    if not (isinstance(a, Number) and isinstance(b, Number) and a.kind == b.kind <= DECIMAL):
        return False
    if name == "/":
        return abs(a.value - b.value) <= max(Decimal(1).scaleb(-18), abs(a.value).scaleb(-33))
    [number] = _numbers(row)
    return (
        a.value == Decimal(number.value).to_integral_value()
        if name == "xsd:integer"
        else a.value == number.value
    )


# --- conditions and comparisons ---------------------------------------------------------------


def _boolean(term: Term | None) -> Term | None:
    """The effective boolean value as a literal, where pyoxigraph sees none."""
    if not isinstance(term, Literal) or _ask(theirs, "!", (term,)) is not None:
        return term
    try:
        return TRUE if effective_boolean(term) else FALSE
    except ExpressionError:
        return term


@rule(
    "effective boolean value",
    "SPARQL 1.1, 17.2.2: an ill-typed number or boolean is false; a plain literal, also one with a "
    "language tag, "
    "is true unless it is empty.",
)
def _ebv(name, row, one, other):
    if name not in ("!", "&&", "||", "IF"):
        return False
    conditions = 1 if name == "IF" else len(row)
    changed = tuple(_boolean(term) for term in row[:conditions]) + row[conditions:]
    if changed == row:
        return False
    again = _ask(theirs, name, changed)
    return same(again, one) or (again is not None and again == read_by_them(one))


_ORDER = ("<", ">", "<=", ">=")
_EQUALITY = ("=", "!=", "IN", "NOTIN")


@rule("NaN", "XPath F&O 3.1, 4.3: a comparison with NaN is false (not an error).")
def _nan(name, row, one, other):
    return (
        name in _ORDER and any(n.value != n.value for n in _numbers(row)) and one == FALSE and other != FALSE
    )


@rule("booleans are ordered", "SPARQL 1.1, 17.3: op:boolean-less-than, op:boolean-greater-than.")
def _booleans(name, row, one, other):
    return (
        name in _ORDER and all(isinstance(_value(t), bool) for t in row) and one is not None and other is None
    )


@rule(
    "no order",
    "SPARQL 1.1, 17.3: < is defined for numbers, simple literals, booleans and dateTimes (here also "
    "for dates, times "
    "and durations). For all else it is an error, also for a term and itself, and for tagged strings.",
)
def _no_order(name, row, one, other):
    tagged = all(isinstance(term, Literal) and term.language for term in row)
    return name in _ORDER and one is None and other is not None and (row[0] == row[1] or tagged)


@rule(
    "implicit time zone",
    "XPath F&O 3.1, 9.4 and 9.8.5: a value without a time zone has the implicit one (ours is UTC). "
    "pyoxigraph takes "
    "XSD's partial order.",
)
def _zone(name, row, one, other):
    moments = [found for found in map(_value, row) if isinstance(found, Moment)]
    if name not in (*_ORDER, *_EQUALITY, "-") or len(moments) < 2:
        return False
    return one is not None and len({moment.zone is None for moment in moments}) == 2


_UNKNOWN = {XSD.gYear, XSD.gYearMonth, XSD.gMonth, XSD.gMonthDay, XSD.gDay}


@rule(
    "gYear and its like",
    "SPARQL 1.1, 17.1 and 17.4.1.7: they are no operand data types; two literals that are not known "
    "to be different "
    "are an error. YEAR and TZ take dateTimes (here also dates and times).",
)
def _unknown(name, row, one, other):
    if not any(isinstance(term, Literal) and term.datatype in _UNKNOWN for term in row):
        return False
    return (
        one is None
        and other is not None
        and name in (*_EQUALITY, *_ORDER, "YEAR", "MONTH", "DAY", "TZ", "TIMEZONE")
    )


# --- times ------------------------------------------------------------------------------------


@rule(
    "arithmetic of times",
    "XPath 3.1, B.2: duration × number, duration ÷ number, duration ÷ duration, duration + moment. "
    "Not in SPARQL 1.1; "
    "EP-SPARQL computes with durations, and writes xsd:duration for all of them.",
)
def _times(name, row, one, other):
    if one is None or other is not None or len(row) != 2:
        return False
    kinds = tuple(type(found) for found in map(_value, row))
    return (name, *kinds) in {
        ("*", Duration, Number), ("*", Number, Duration), ("/", Duration, Number), ("/", Duration, Duration),
        ("+", Duration, Moment),
    }  # fmt: skip


@rule("no months for a time of day", "XPath 3.1, B.2: to an xs:time only an xs:dayTimeDuration can be added.")
def _months(name, row, one, other):
    if name not in "+-" or len(row) != 2 or one is not None:
        return False
    moment, duration = map(_value, row)
    return isinstance(moment, Moment) and moment.kind == "time" and isinstance(duration, Duration)


# --- casts and strings ------------------------------------------------------------------------


@rule(
    "a float as a string", "XPath F&O 3.1, 19.1.2.2: from 1e-6 to 1e6 without an exponent, beyond with one."
)
def _float_text(name, row, one, other):
    [number] = _numbers(row) if len(row) == 1 and _numbers(row) else [None]
    if name != "xsd:string" or number is None or number.kind <= DECIMAL:
        return False
    return float(one.value) == float(other.value) and "E" in one.value and "E" not in other.value


@rule("white space around a value", "XPath F&O 3.1, 19.2: a cast from a string collapses white space first.")
def _white_space(name, row, one, other):
    if not name.startswith("xsd:") or not isinstance(row[0], Literal) or other is not None:
        return False
    stripped = Literal(row[0].value.strip(" \t\r\n"))
    return row[0].datatype == XSD.string and row[0] != stripped and same(_ask(theirs, name, (stripped,)), one)


@rule(
    "a duration as another kind of duration",
    "XPath F&O 3.1, 19.1.4: the cast keeps the part that the target has; a yearMonthDuration becomes PT0S.",
)
def _parts(name, row, one, other):
    durations = ("xsd:dayTimeDuration", "xsd:yearMonthDuration")
    return name in durations and isinstance(_value(row[0]), Duration) and one is not None and other is None


@rule("STRDT makes no rdf:langString", "RDF 1.1 Concepts, 3.3: such a literal has a language tag.")
def _lang_string(name, row, one, other):
    return name == "STRDT" and row[1] == RDF.langString and one is None


@rule(
    "XPath's patterns", "XPath F&O 3.1, 5.6.1: one quantifier after an atom; pyoxigraph's engine takes `a++`."
)
def _patterns(name, row, one, other):
    if name not in ("REGEX", "REPLACE") or one is not None or not isinstance(row[1], Literal):
        return False
    try:
        compiled(row[1].value)
    except ExpressionError:
        return True
    return False


@rule("REPLACE of nothing", "XPath F&O 3.1, 5.6.4: a pattern that matches the empty string is an error.")
def _empty_match(name, row, one, other):
    return name == "REPLACE" and one is None and _ask(ours, "REGEX", (Literal(""), *row[1:2])) == TRUE


@rule(
    "the zone as it is written",
    "SPARQL 1.1, 17.4.5.9: TZ is the time zone part of the argument: `-00:00` stays.",
)
def _written_zone(name, row, one, other):
    return name == "TZ" and one == Literal("-00:00") and other == Literal("Z")


for _label, (_paragraph, _) in RULES.items():
    PARAGRAPHS[_label] = _paragraph
