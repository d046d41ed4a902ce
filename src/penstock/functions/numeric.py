"""XSD numbers: their values, promotion, exact arithmetic and canonical lexical forms.

Integers are Python ints, decimals exact `Decimal`s, floats and doubles Python floats (a
float is rounded to single precision after each step). Types derived from xsd:integer take
part as integers, as the XPath operators of SPARQL 1.1 section 17.3 ask.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from decimal import Decimal
from typing import NamedTuple

from penstock.functions.errors import ExpressionError
from penstock.terms import XSD, Literal

INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)

_DATATYPES = (XSD.integer, XSD.decimal, XSD.float, XSD.double)


class Number(NamedTuple):
    """A numeric value with the type that promotion looks at."""

    kind: int
    value: int | Decimal | float


# Types derived from xsd:integer, with the least and greatest value (None: no bound).
DERIVED_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    XSD.base + name: bounds
    for name, bounds in {
        "nonPositiveInteger": (None, 0),
        "negativeInteger": (None, -1),
        "long": (-(2**63), 2**63 - 1),
        "int": (-(2**31), 2**31 - 1),
        "short": (-(2**15), 2**15 - 1),
        "byte": (-(2**7), 2**7 - 1),
        "nonNegativeInteger": (0, None),
        "unsignedLong": (0, 2**64 - 1),
        "unsignedInt": (0, 2**32 - 1),
        "unsignedShort": (0, 2**16 - 1),
        "unsignedByte": (0, 2**8 - 1),
        "positiveInteger": (1, None),
    }.items()
}

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPECIAL = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}

_TRAPS = [decimal.InvalidOperation, decimal.Overflow, decimal.DivisionByZero]
# Decimals are added, subtracted and multiplied in this context only: `a + b` and abs(a) round to 28 digits.
# Sums and products are exact; ten thousand digits are enough for anything that is written out.
EXACT = decimal.Context(prec=10_000, traps=[*_TRAPS, decimal.Inexact], Emax=99_999, Emin=-99_999)


# --- lexical form → value ----------------------------------------------------------------


def read_integer(text: str, datatype: str = XSD.integer.value) -> Number | None:
    """The value of an xsd:integer or derived type, or None if the text is not in its space."""
    if not _INTEGER.fullmatch(text):
        return None
    try:
        value = int(text)
    except ValueError:  # Python refuses integers of many thousand digits
        return None
    least, greatest = DERIVED_INTEGERS.get(datatype, (None, None))
    if (least is not None and value < least) or (greatest is not None and value > greatest):
        return None
    return Number(INTEGER, value)


def read_decimal(text: str) -> Number | None:
    if not _DECIMAL.fullmatch(text):
        return None
    value = Decimal(text)
    return Number(DECIMAL, value if value else value.copy_abs())  # no decimal is a negative zero


def read_double(text: str) -> Number | None:
    if text in _SPECIAL:
        return Number(DOUBLE, _SPECIAL[text])
    return Number(DOUBLE, float(text)) if _DOUBLE.fullmatch(text) else None


def read_float(text: str) -> Number | None:
    if text in _SPECIAL:
        return Number(FLOAT, _SPECIAL[text])
    return Number(FLOAT, nearest_single(Decimal(text))) if _DOUBLE.fullmatch(text) else None


def single(value: float) -> float:
    """Rounded to single precision."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_single(exact: int | Decimal) -> float:
    """The float in single precision that is nearest to a number; a double in between must not round it.

    If the double is not exact, its last bit is made odd: then it lies in the middle between two
    floats only if the number itself does.
    """
    value = _float(exact)
    if not value or math.isinf(value):
        return value
    if Decimal(value) != exact:
        if Decimal(value).copy_abs() > Decimal(exact).copy_abs():
            value = math.nextafter(value, 0.0)
        if not struct.unpack("<q", struct.pack("<d", value))[0] & 1:
            value = math.nextafter(value, math.copysign(math.inf, value))
    return single(value)


# --- value → lexical form ----------------------------------------------------------------


def number_literal(number: Number) -> Literal:
    """The literal of a value in its canonical lexical form."""
    return Literal(canonical(number), datatype=_DATATYPES[number.kind])


def canonical(number: Number) -> str:
    kind, value = number
    if kind == INTEGER:
        try:
            return str(value)
        except ValueError:
            raise ExpressionError("an integer with too many digits") from None
    if kind == DECIMAL:
        return format_decimal(value)
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return _scientific(_shortest(value, kind))


def format_decimal(value: Decimal) -> str:
    """Without exponent and without trailing zeros; an integral value without a point."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def as_text(number: Number) -> str:
    """What xsd:string(…) of the number says (XPath casting rules: 1.5, not 1.5E0)."""
    kind, value = number
    if kind < FLOAT or value != value or math.isinf(value):
        return canonical(number)
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if 1e-6 <= abs(value) < 1e6:
        return format_decimal(Decimal(_shortest(value, kind)))
    return canonical(number)


def as_written(number: Number) -> Decimal:
    """A number as a decimal; a float or double as the shortest one that reads back as the same."""
    if number.kind < FLOAT:
        return Decimal(number.value)
    if not math.isfinite(number.value):
        raise ExpressionError(f"{canonical(number)} is not finite")
    return Decimal(_shortest(number.value, number.kind))


def _shortest(value: float, kind: int) -> str:
    """The shortest digits that read back as the same float or double."""
    if kind == FLOAT and math.isfinite(value) and value:
        exact = Decimal(value)
        for digits in range(1, 9):
            for rounding in (decimal.ROUND_HALF_EVEN, decimal.ROUND_CEILING, decimal.ROUND_FLOOR):
                short = decimal.Context(prec=digits, rounding=rounding).create_decimal(exact)
                if nearest_single(short) == value:
                    return str(short)
        return f"{value:.9g}"
    return repr(value)


def _scientific(text: str) -> str:
    """XSD's canonical form of a float: one digit, a point, digits, E, exponent."""
    sign, digits, exponent = Decimal(text).as_tuple()
    shown = "".join(map(str, digits))
    power = len(shown) - 1 + exponent
    fraction = shown[1:].rstrip("0") or "0"
    if not any(digits):
        power = 0
    return f"{'-' if sign else ''}{shown[0]}.{fraction}E{power}"


# --- operators ---------------------------------------------------------------------------


def convert(number: Number, kind: int) -> int | Decimal | float:
    """The value as the type `kind`, which is not lower in the order of promotion."""
    if number.kind == kind:
        return number.value
    if kind == DECIMAL:
        return Decimal(number.value)
    return nearest_single(number.value) if kind == FLOAT else _float(number.value)


def _float(value: int | Decimal | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def arithmetic(operator: str, left: Number, right: Number) -> Number:
    """`left operator right` for + - * /, in the type that promotion gives."""
    kind = max(left.kind, right.kind)
    if kind == INTEGER and operator != "/":
        a, b = left.value, right.value
        if operator == "+":
            return Number(INTEGER, a + b)
        return Number(INTEGER, a - b if operator == "-" else a * b)
    kind = max(kind, DECIMAL)
    a, b = convert(left, kind), convert(right, kind)
    if kind == DECIMAL:
        return Number(DECIMAL, _decimal_arithmetic(operator, a, b))
    if operator == "+":
        value = a + b
    elif operator == "-":
        value = a - b
    elif operator == "*":
        value = a * b
    else:
        value = _divide(a, b)
    return Number(kind, single(value) if kind == FLOAT else value)


def _decimal_arithmetic(operator: str, a: Decimal, b: Decimal) -> Decimal:
    if operator == "+":
        return EXACT.add(a, b)
    if operator == "-":
        return EXACT.subtract(a, b)
    if operator == "*":
        return EXACT.multiply(a, b)
    return divide_decimal(a, b)


def divide_decimal(a: Decimal, b: Decimal) -> Decimal:
    """The quotient, exact if it ends early, else to 34 digits or what the operands have."""
    if not b:
        raise ExpressionError("division by zero")
    digits = max(34, len(a.as_tuple().digits) + 4, len(b.as_tuple().digits) + 4)
    return decimal.Context(prec=digits, traps=_TRAPS, Emax=99_999, Emin=-99_999).divide(a, b)


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def negate(number: Number) -> Number:
    kind, value = number
    return Number(kind, value.copy_negate() if kind == DECIMAL else -value)


def compare(left: Number, right: Number) -> int | None:
    """-1, 0 or 1 after promotion; None where a NaN makes them unordered."""
    kind = max(left.kind, right.kind)
    a, b = left.value, right.value
    if kind >= FLOAT and left.kind != right.kind:
        a, b = convert(left, kind), convert(right, kind)
    if a == b:
        return 0
    if a < b:
        return -1
    return 1 if a > b else None


# --- rounding ----------------------------------------------------------------------------


def absolute(number: Number) -> Number:
    return Number(number.kind, abs(number.value) if number.kind != DECIMAL else number.value.copy_abs())


def ceiling(number: Number) -> Number:
    return _rounded(number, decimal.ROUND_CEILING, math.ceil)


def floor(number: Number) -> Number:
    return _rounded(number, decimal.ROUND_FLOOR, math.floor)


def round_half_up(number: Number) -> Number:
    """To the nearest integer, halves towards positive infinity (fn:round)."""
    kind, value = number
    if kind == INTEGER:
        return number
    if kind == DECIMAL:
        half = EXACT.add(value, Decimal("0.5"))
        return Number(DECIMAL, half.to_integral_value(decimal.ROUND_FLOOR))
    if value != value or math.isinf(value) or value == int(value):
        return number
    below = math.floor(value)
    nearest = below + 1 if value - below >= 0.5 else below
    return Number(kind, math.copysign(float(nearest), value) if nearest == 0 else float(nearest))


def _rounded(number: Number, mode: str, function) -> Number:
    kind, value = number
    if kind == INTEGER:
        return number
    if kind == DECIMAL:
        return Number(DECIMAL, value.to_integral_value(mode))
    if value != value or math.isinf(value):
        return number
    rounded = float(function(value))
    return Number(kind, math.copysign(rounded, value) if rounded == 0 else rounded)


# --- casts between numeric types ---------------------------------------------------------


def cast(number: Number, kind: int) -> Number:
    """The value as another numeric type, also downwards (XPath casting rules)."""
    value = number.value
    if number.kind == kind:
        return number
    if number.kind >= FLOAT and kind <= DECIMAL and (value != value or math.isinf(value)):
        raise ExpressionError(f"{canonical(number)} has no {'integer' if not kind else 'decimal'}")
    if kind == INTEGER:
        return Number(INTEGER, int(value))
    if kind == DECIMAL:  # exactly the value that a float or double has
        return Number(DECIMAL, Decimal(value).copy_abs() if not value else Decimal(value))
    if number.kind == DOUBLE:
        return Number(FLOAT, single(value))
    return Number(kind, convert(number, kind))
