"""The same expressions by our functions, by columns, and by pyoxigraph.

An expression is a nested tuple: a name and its arguments, where a string such as `?a` is a variable and
a term is itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal, Inexact, localcontext

import numpy as np
import pyoxigraph as ox

from penstock.algebra.nodes import Call, Var
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.expressions import Evaluator
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, evaluate
from penstock.terms import RDF, XSD, Literal, NamedNode, Term

Written = tuple | str | Literal
Row = tuple[Term | None, ...]

NAMES = ("a", "b", "c")
_INFIX = {"+", "-", "*", "/", "=", "!=", "<", ">", "<=", ">=", "&&", "||"}
_STORE = ox.Store()

CASTS = (
    "string", "boolean", "integer", "decimal", "float", "double", "dateTime", "date", "time",
    "duration", "dayTimeDuration", "yearMonthDuration",
)  # fmt: skip


def call(written: Written) -> Call | Var | Term:
    """The expression as ours."""
    if isinstance(written, (Literal, NamedNode)):
        return written
    if isinstance(written, str):
        return Var(written[1:])
    name, *arguments = written
    if name.startswith("xsd:"):
        name = f"<{XSD.base}{name[4:]}>"
    return Call(name, tuple(map(call, arguments)))


def text(written: Written) -> str:
    """The expression as SPARQL writes it."""
    if not isinstance(written, tuple):
        return str(written)
    name, *arguments = written
    parts = [text(argument) for argument in arguments]
    if name in _INFIX:
        return f"({parts[0]} {name} {parts[1]})"
    if name in ("!", "UMINUS", "UPLUS"):
        return f"({ {'!': '!', 'UMINUS': '-', 'UPLUS': '+'}[name] } {parts[0]})"
    if name in ("IN", "NOTIN"):
        return f"({parts[0]} {'NOT IN' if name == 'NOTIN' else 'IN'} ({', '.join(parts[1:])}))"
    return f"{name}({', '.join(parts)})"


def ours(written: Written, rows: Sequence[Row]) -> list[Term | None]:
    """The values row by row; None for an error."""
    expression = call(written)
    values: list[Term | None] = []
    for row in rows:
        bindings = {name: term for name, term in zip(NAMES, row, strict=False) if term is not None}
        with localcontext() as strict:
            strict.traps[Inexact] = True  # nothing may be rounded by the way
            try:
                values.append(evaluate(expression, bindings.get, EvaluationContext()))
            except ExpressionError:
                values.append(None)
    return values


def by_columns(written: Written, rows: Sequence[Row]) -> tuple[list[Term | None], list[bool]]:
    """The values as the engine computes them over columns, and where the expression holds."""
    table = TermTable()
    width = len(rows[0])
    ids = [[0 if row[i] is None else table.add(row[i]) for row in rows] for i in range(width)]
    times = np.zeros(len(rows), np.int64)
    frame = Frame(NAMES[:width], np.array(ids, np.int64).reshape(width, len(rows)), times, times)
    evaluator = Evaluator(table)
    column = evaluator.column(call(written), frame).tolist()
    return [table.term(id_) if id_ else None for id_ in column], evaluator.holds(
        call(written), frame
    ).tolist()


def theirs(written: Written, rows: Sequence[Row]) -> list[Term | None]:
    """pyoxigraph's values; None for an error."""
    names = " ".join(f"?{name}" for name in NAMES[: len(rows[0])])
    table = " ".join(
        f"({i} {' '.join('UNDEF' if term is None else str(term) for term in row)})"
        for i, row in enumerate(rows)
    )
    query = (
        f"PREFIX xsd: <{XSD.base}> SELECT ?row ?value "
        f"{{ VALUES (?row {names}) {{ {table} }} BIND ({text(written)} AS ?value) }}"
    )
    values: list[Term | None] = [None] * len(rows)
    for solution in _STORE.query(query):
        values[int(solution["row"].value)] = solution["value"]
    return values


def same(one: Term | None, other: Term | None) -> bool:
    """Whether two values are the same but for the lexical form of a number."""
    if one == other:
        return True
    if not isinstance(one, Literal) or not isinstance(other, Literal) or one.datatype != other.datatype:
        return False
    if one.datatype in (XSD.double, XSD.float):
        kind = np.float32 if one.datatype == XSD.float else np.float64
        a, b = kind(one.value), kind(other.value)
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if one.datatype == XSD.decimal:
        return Decimal(one.value) == Decimal(other.value)
    return False


def differences(written: Written, rows: Sequence[Row]) -> Iterable[tuple[Row, Term | None, Term | None]]:
    """Where ours and theirs differ: the arguments and both values."""
    for row, one, other in zip(rows, ours(written, rows), theirs(written, rows), strict=True):
        if not same(one, other):
            yield row, one, other


# --- odd values -------------------------------------------------------------------------------


def _typed(kind: str, texts: str) -> list[Literal]:
    return [Literal(one, datatype=XSD[kind]) for one in texts.split()]


INTEGERS = _typed("integer", "0 1 -1 7 9223372036854775807 -9223372036854775808 9223372036854775808")
INTEGERS += [
    Literal("1" + "0" * 40, datatype=XSD.integer),
    *_typed("int", "-5"),
    *_typed("unsignedByte", "255"),
]
DECIMALS = _typed(
    "decimal", "0.0 -0.0 0.1 -2.5 1.5 99.999 0.000000000000000001 170141183460469231731.687303715884105727"
)
DECIMALS += _typed("decimal", "0.12345678901234567890123456789 123456789012345678901234567890.5")
DOUBLES = _typed("double", "0.0 -0.0 0.1 1.5E0 -2.5 1E308 5E-324 1E22 1.0E21 16777217 NaN INF -INF")
FLOATS = _typed("float", "0.0 -0.0 0.1 1.5 -2.5 16777216 3.4028235E38 1E-45 NaN INF -INF")
ILL = [
    *_typed("integer", "1.0 abc"), *_typed("decimal", "1e3"), *_typed("double", "inf"), *_typed("boolean",
    "TRUE"),
    *_typed("int", "99999999999"), *_typed("unsignedByte", "256"), Literal(" 1 ", datatype=XSD.integer),
    *_typed("dateTime", "2026-02-30T00:00:00Z 2026-01-01T00:00:00+15:00 2026-01-01"),
    *_typed("date", "2026-13-01"), *_typed("duration", "P 1Y P1YT"), *_typed("dayTimeDuration", "P1M"),
    Literal("", datatype=XSD.integer),
]  # fmt: skip
ODD_FORMS = [*_typed("integer", "007 +7 -0"), *_typed("decimal", "+1.50 .5 5."), *_typed("double",
"+1e0 1E+2"),
             *_typed("boolean", "1 0"), *_typed("duration", "PT36H -PT0S P0Y")]  # fmt: skip
BOOLEANS = _typed("boolean", "true false")
STRINGS = [
    Literal(one)
    for one in ("", "a", "abc", "ABC", "é", "e\u0301", "\U0001d54f\U0001f600", "ß", "İ", "a b", "1", "1.5",
    " 1 ", "true",
                "NaN", "INF", "2026-01-31T12:30:00Z", "PT36H", "http://example.org/x", "relative", "\n",
                "en", "a|b", "[", "a+", "a++")
]  # fmt: skip
TAGGED = [
    Literal("", language="en"), Literal("abc", language="en"), Literal("abc", language="de-AT"),
    Literal("1", language="en"), Literal("\U0001d54fb", language="en"),
]  # fmt: skip
MOMENTS = _typed(
    "dateTime",
    "2026-01-31T12:30:00Z 2026-01-31T12:30:00.5+14:00 2026-01-31T12:30:00-05:30 2026-01-31T12:30:00 "
    "2024-02-29T23:59:59.999999Z 0001-01-01T00:00:00Z -0001-12-31T00:00:00Z 9999-12-31T24:00:00Z "
    "12026-01-01T00:00:00.123456789Z 2026-01-31T12:30:00-00:00 0000-01-01T00:00:00Z "
    "2026-01-31T12:30:00.12345678901234567890123456789012345Z",
)
MOMENTS += _typed("date", "2026-01-31 2026-01-31Z 2026-01-31+14:00 -0044-03-15 2024-02-29-05:00")
MOMENTS += _typed("time", "12:30:00 12:30:00.25Z 24:00:00 00:00:00+14:00 23:59:59-05:00")
MOMENTS += _typed("dateTimeStamp", "2026-01-31T12:30:00Z")
DURATIONS = _typed(
    "duration",
    "P1Y2M3DT4H5M6.7S -P1Y PT0S P1M P30D P1000000000D PT0.000000001S PT1.0000000000000000000000000000000001S",
)
DURATIONS += _typed("dayTimeDuration", "PT36H P1D -P1DT12H PT0S PT1.5S")
DURATIONS += _typed("yearMonthDuration", "P14M -P1M P0M P1Y")
OTHERS: list[Term | None] = [
    NamedNode("http://example.org/x"), NamedNode("urn:x"), XSD.integer, XSD.string, RDF.langString,
    Literal("x", datatype=NamedNode("http://example.org/type")), *_typed("gYear", "2026"),
    *_typed("anyURI", "x:y"),
    None,
]  # fmt: skip
ALL: list[Term | None] = [
    *INTEGERS, *DECIMALS, *DOUBLES, *FLOATS, *ILL, *ODD_FORMS, *BOOLEANS, *STRINGS, *TAGGED, *MOMENTS,
    *DURATIONS, *OTHERS,
]  # fmt: skip
HALF = list(dict.fromkeys([*ALL[::2], RDF.langString]))
SOME = [*ALL[::7], Literal(""), Literal("a+"), Literal("a++"), None]

# --- functions --------------------------------------------------------------------------------

UNARY = (
    "STR", "LANG", "DATATYPE", "ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "ABS", "CEIL", "FLOOR", "ROUND",
    "STRLEN", "UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS",
    "TIMEZONE",
    "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "IRI", "!", "UMINUS", "UPLUS", "BOUND", "COALESCE",
    "CONCAT",
    *(f"xsd:{cast}" for cast in CASTS),
)  # fmt: skip
BINARY = (
    "+", "-", "*", "/", "=", "!=", "<", ">", "<=", ">=", "&&", "||", "SAMETERM", "STRSTARTS", "STRENDS",
    "CONTAINS",
    "STRBEFORE", "STRAFTER", "CONCAT", "LANGMATCHES", "REGEX", "STRDT", "STRLANG", "IN", "NOTIN",
    "COALESCE", "SUBSTR",
)  # fmt: skip
TERNARY = ("IF", "SUBSTR", "REPLACE", "IN", "REGEX")
