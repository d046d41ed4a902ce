"""The set functions COUNT, SUM, MIN, MAX, AVG, SAMPLE and GROUP_CONCAT (section 18.5.1).

None of them depends on the order of its input: sums of doubles are rounded once, the
members of GROUP_CONCAT are sorted. So any batching and partitioning gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, DecimalException
from fractions import Fraction

from penstock.algebra.nodes import Aggregate
from penstock.functions import numeric
from penstock.functions.builtins import str_
from penstock.functions.errors import ExpressionError
from penstock.functions.numeric import DECIMAL, DOUBLE, EXACT, FLOAT, INTEGER, Number
from penstock.functions.operators import calculate
from penstock.functions.ordering import total_key
from penstock.functions.temporal import Duration
from penstock.functions.values import Value, integer_literal, literal_of, value
from penstock.terms import Literal, Term

Values = Sequence[Term | None]


def aggregate(call: Aggregate, values: Sequence) -> Term | None:
    """The value of an aggregate over a group; None where it has no value.

    `values` holds the argument's value for each solution of the group, None where that was
    an error or unbound; for COUNT(*) the solutions themselves, as hashable values.
    """
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.argument is None:
        if call.name != "COUNT":
            raise TypeError(f"{call.name} needs an argument")
        return integer_literal(len(values))
    if call.name == "GROUP_CONCAT":
        return group_concat(values, " " if call.separator is None else call.separator)
    return AGGREGATES[call.name](values)


def count_(values: Values) -> Term:
    """COUNT: how many members have a value."""
    return integer_literal(sum(term is not None for term in values))


def sum_(values: Values) -> Term | None:
    """SUM: of numbers (0 where there are none) or of durations."""
    try:
        return literal_of(_total(values))
    except ExpressionError:
        return None


def avg(values: Values) -> Term | None:
    """AVG: the sum divided by the number of members; 0 where there are none."""
    if not values:
        return integer_literal(0)
    try:
        total = _total(values)
        return literal_of(calculate("/", total, Number(INTEGER, len(values))))
    except ExpressionError:
        return None


def min_(values: Values) -> Term | None:
    return _extreme(values, min)


def max_(values: Values) -> Term | None:
    return _extreme(values, max)


def sample(values: Values) -> Term | None:
    """SAMPLE: the first in the order of terms, of those that have a value."""
    return min((term for term in values if term is not None), key=total_key, default=None)


def group_concat(values: Values, separator: str = " ") -> Term | None:
    """GROUP_CONCAT: the members' strings, in the order of terms."""
    if any(term is None for term in values):
        return None
    try:
        texts = [str_(term).value for term in sorted(values, key=total_key)]
    except ExpressionError:
        return None
    return Literal(separator.join(texts))


AGGREGATES: dict[str, Callable[[Values], Term | None]] = {
    "COUNT": count_,
    "SUM": sum_,
    "AVG": avg,
    "MIN": min_,
    "MAX": max_,
    "SAMPLE": sample,
    "GROUP_CONCAT": group_concat,
}


def _extreme(values: Values, choose: Callable) -> Term | None:
    if any(term is None for term in values):
        return None
    return choose(values, key=total_key, default=None)


def _total(terms: Values) -> Value:
    """The sum of the members, in the type that promotion gives."""
    if any(term is None for term in terms):
        raise ExpressionError("a member of the group has no value")
    members = [value(term) for term in terms]
    if members and all(isinstance(member, Duration) for member in members):
        total = members[0]
        for member in members[1:]:
            total = calculate("+", total, member)
        return total
    if not all(isinstance(member, Number) for member in members):
        raise ExpressionError("a member of the group is not a number")
    return add_up(members)


def _add(left: Decimal, right: Decimal) -> Decimal:
    try:
        return EXACT.add(left, right)
    except DecimalException:
        raise ExpressionError("the sum is out of range") from None


def add_up(numbers: Iterable[Number]) -> Number:
    """The sum of numbers: integers and decimals exactly, floats rounded once at the end."""
    whole, exact, floats, kind = 0, Decimal(0), [], INTEGER
    for number in numbers:
        kind = max(kind, number.kind)
        if number.kind == INTEGER:
            whole += number.value
        elif number.kind == DECIMAL:
            exact = _add(exact, number.value)
        else:
            floats.append(number.value)
    return _in_type(kind, whole, exact, floats)


def of_sums(sums: Iterable[tuple[int, int, int]], others: Values, members: int | None) -> Term | None:
    """SUM of numbers that are added up already, and of others; AVG, if there is a number of `members`.

    Of sums there are the type, a power and the multiple: of a tenth to that power, or of 2 to it.
    """
    if members == 0:
        return integer_literal(0)
    try:
        sums = list(sums)
        total = _added_to(sums, [_number(term) for term in others]) if sums else _total(others)
        return literal_of(total if members is None else calculate("/", total, Number(INTEGER, members)))
    except ExpressionError:
        return None


def _added_to(sums: list[tuple[int, int, int]], numbers: list[Number]) -> Number:
    kind = max(kind for kind, *_ in [*sums, *numbers])
    whole, exact, finite = 0, Decimal(0), Fraction(0)
    for type_, power, multiple in sums:
        if type_ == INTEGER:
            whole += multiple
        elif type_ == DECIMAL:
            exact = _add(exact, Decimal(multiple).scaleb(-power, EXACT))
        else:
            finite += Fraction(multiple) * Fraction(2) ** power
    for number in numbers:
        if number.kind == INTEGER:
            whole += number.value
        elif number.kind == DECIMAL:
            exact = _add(exact, number.value)
    floats = [number.value for number in numbers if number.kind > DECIMAL]
    return _in_type(kind, whole, exact, floats, finite)


def _number(term: Term | None) -> Number:
    found = None if term is None else value(term)
    if not isinstance(found, Number):
        raise ExpressionError("a member of the group is not a number")
    return found


def _in_type(
    kind: int, whole: int, exact: Decimal, floats: list[float], finite: Fraction = Fraction(0)
) -> Number:
    """The sum of integers, decimals, floats and a sum of finite floats, in the type that promotion gives."""
    if kind == INTEGER:
        return Number(INTEGER, whole)
    exact = _add(exact, Decimal(whole))
    if kind == DECIMAL:
        return Number(DECIMAL, exact)
    total = _sum([*floats, numeric.convert(Number(DECIMAL, exact), DOUBLE)], finite)
    return Number(kind, numeric.single(total) if kind == FLOAT else total)


def _sum(floats: list[float], finite: Fraction = Fraction(0)) -> float:
    """The sum of doubles and of what else is finite, rounded once; infinities and NaN decide."""
    special = [value for value in floats if not math.isfinite(value)]
    if special:
        return sum(special)
    try:
        if not finite:
            return math.fsum(floats)
    except OverflowError:  # on the way, or in the end
        pass
    total = sum(map(Fraction, floats), finite)
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
