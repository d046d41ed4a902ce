"""The operators = != < > <= >= + - * / over terms (SPARQL 1.1, section 17.3)."""

from __future__ import annotations

from decimal import DecimalException

from penstock.functions import numeric, temporal
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import Number
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import Text, Value, literal_of, value, value_of
from penstock.terms import Literal, Term


def equal(left: Term, right: Term) -> bool:
    """`=`: by value where both values are known, else sameTerm or an error.

    Literals of two known datatypes with different value spaces are unequal, and so is a tagged
    string to all else. A literal that is ill-typed or of an unknown datatype may or may not be
    equal to another one: an error.
    """
    if left == right:
        found = value_of(left) if isinstance(left, Literal) else None
        return not (isinstance(found, Number) and found.value != found.value)
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return False
    a, b = value_of(left), value_of(right)
    if isinstance(a, Number) and isinstance(b, Number):
        return numeric.compare(a, b) == 0
    if left.language is not None or right.language is not None:
        return False  # a tagged string is no value of any other datatype
    if a is None or b is None:
        raise ExpressionError(f"{left} = {right} is not known")
    if type(a) is not type(b) or isinstance(a, Text):
        return False
    if isinstance(a, Moment):
        return a.kind == b.kind and a.utc == b.utc
    if isinstance(a, Duration):
        return a.months == b.months and a.seconds == b.seconds
    return a == b


def not_equal(left: Term, right: Term) -> bool:
    return not equal(left, right)


def order(left: Term, right: Term) -> int | None:
    """-1, 0 or 1 for two literals of one ordered type; None if a NaN is among them."""
    a, b = value(left), value(right)
    if isinstance(a, Number) and isinstance(b, Number):
        return numeric.compare(a, b)
    if type(a) is type(b):
        if isinstance(a, Text):
            if a.language is None and b.language is None:
                return (a.value > b.value) - (a.value < b.value)
        elif isinstance(a, Moment):
            if a.kind == b.kind:
                return (a.utc > b.utc) - (a.utc < b.utc)
        elif isinstance(a, Duration):
            return temporal.compare_durations(a, b)
        else:
            return (a > b) - (a < b)
    raise ExpressionError(f"{left} and {right} have no order")


def less(left: Term, right: Term) -> bool:
    return order(left, right) == -1


def greater(left: Term, right: Term) -> bool:
    return order(left, right) == 1


def not_greater(left: Term, right: Term) -> bool:
    found = order(left, right)
    return found is not None and found <= 0


def not_less(left: Term, right: Term) -> bool:
    found = order(left, right)
    return found is not None and found >= 0


def calculate(operator: str, a: Value, b: Value) -> Value:
    """`a operator b` over values: numbers, durations, and moments with durations."""
    try:
        return _calculated(operator, a, b)
    except (DecimalException, OverflowError):
        raise ExpressionError(f"the result of {operator} is out of range") from None


def _calculated(operator: str, a: Value, b: Value) -> Value:
    if isinstance(a, Number):
        if isinstance(b, Number):
            return numeric.arithmetic(operator, a, b)
        if operator == "*" and isinstance(b, Duration):
            return temporal.scale(b, a)
    elif isinstance(a, Moment):
        if isinstance(b, Duration) and operator in "+-":
            return temporal.shift(a, b, 1 if operator == "+" else -1)
        if isinstance(b, Moment) and operator == "-":
            return temporal.between(a, b)
    elif isinstance(a, Duration):
        if isinstance(b, Duration):
            if operator in "+-":
                return temporal.add_durations(a, b, 1 if operator == "+" else -1)
            if operator == "/":
                return temporal.ratio(a, b)
        elif isinstance(b, Number) and operator in "*/":
            return temporal.scale(a, b, operator)
        elif isinstance(b, Moment) and operator == "+":
            return temporal.shift(b, a)
    raise ExpressionError(f"no {operator} between these operands")


def add(left: Term, right: Term) -> Term:
    return literal_of(calculate("+", value(left), value(right)))


def subtract(left: Term, right: Term) -> Term:
    return literal_of(calculate("-", value(left), value(right)))


def multiply(left: Term, right: Term) -> Term:
    return literal_of(calculate("*", value(left), value(right)))


def divide(left: Term, right: Term) -> Term:
    return literal_of(calculate("/", value(left), value(right)))


def plus(term: Term) -> Term:
    found = value(term)
    if isinstance(found, (Number, Duration)):
        return literal_of(found)
    raise ExpressionError(f"no + before {term}")


def minus(term: Term) -> Term:
    found = value(term)
    if isinstance(found, Number):
        return literal_of(numeric.negate(found))
    if isinstance(found, Duration):
        return literal_of(temporal.scale(found, Number(numeric.INTEGER, -1)))
    raise ExpressionError(f"no - before {term}")
