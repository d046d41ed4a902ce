"""Expressions over whole columns.

Comparisons of numbers, instants and durations are computed in float64 together with a bound
on the rounding error; only rows that are too close to call, or that hold something else than
plain numbers, are evaluated one by one and exactly, once per distinct combination of the
terms that the expression looks at. So the answer is always the exact one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from penstock.algebra.nodes import TIME_FUNCTIONS, Aggregate, Call, Exists, Expression, Var
from penstock.columns import ids
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.presence import NO_ID
from penstock.engine.thresholds import threshold
from penstock.functions.chance import solution_seed
from penstock.functions.columnar import distinct, distinct_rows, is_made_of_texts, made_of_texts
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, compile_term, compile_truth
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import value_of
from penstock.jit import njit
from penstock.plan.compilation.sieves import constant_comparison
from penstock.plan.system_columns import BEGAN, is_variable, other, own
from penstock.terms import Literal, Term
from penstock.timeline import LONGEST, SECOND, is_timeless

RANDOM = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_ROUNDING = 2.0**-50  # some ulps: covers the conversion from decimal and one operation
_EXACT = 2.0**53  # integers up to here are exact in float64
TRUE = (ids.BOOLEAN << ids.TAG_SHIFT) | 1
FALSE = ids.BOOLEAN << ids.TAG_SHIFT
_START, _END = "(start", "(end"  # columns of the interval, beside those of variables
NUMBER, INSTANT, DURATION = "number", "instant", "duration"


@dataclass
class Quantity:
    """Numbers of one kind: float64 values, a bound on their error, and where they are known."""

    kind: str
    value: np.ndarray | float
    error: np.ndarray | float
    known: np.ndarray | bool = True


@dataclass
class Truth:
    """Three-valued: true, false, or (neither) an error."""

    true: np.ndarray
    false: np.ndarray


class Evaluator:
    """Evaluates expressions of one query run over frames."""

    def __init__(self, terms: TermTable, now: int = 0) -> None:
        self.terms = terms
        self.now = now

    def holds(self, condition: Expression, frame: Frame) -> np.ndarray:
        """Where the condition is true (an error is not)."""
        if not len(frame):
            return np.zeros(0, bool)
        return self._truth(condition, frame).true

    def column(
        self,
        expression: Expression,
        frame: Frame,
        place: str = "",
        unseeded: frozenset[str] = frozenset(),
    ) -> np.ndarray:
        """The ids of the expression's values; 0 where it is an error.

        Random functions draw from the `place` in the query and the row but for `unseeded` columns.
        """
        if isinstance(expression, Var):
            return frame.column(expression.name).copy()
        if not isinstance(expression, (Call, Exists, Aggregate)):
            return np.full(len(frame), self.terms.add(expression), np.int64)
        if not len(frame):
            return np.zeros(0, np.int64)
        if expression.name in ("BOUND", "!", "&&", "||", "SAMETERM", *_COMPARISONS):
            truth = self._truth(expression, frame)
            return np.where(truth.true, TRUE, np.where(truth.false, FALSE, 0))
        compiled = compile_term(expression)

        def value(lookup: Callable, context: EvaluationContext) -> int:
            return self.terms.add(compiled(lookup, context))

        if expression.name in ("GETSTARTTIME", "GETENDTIME"):
            timeless = frame.timeless_mask()
            instants = frame.start if expression.name == "GETSTARTTIME" else frame.end
            result = np.where(timeless, 0, ids.instant_ids(instants))
            known = timeless | (result != 0)
        elif is_made_of_texts(expression):
            columns = {name: frame.column(name) for name in _looks_at(expression)[0]}
            chosen, numbers = distinct(expression, columns, self.terms)
            result, known = (each[numbers] for each in made_of_texts(expression, chosen, self.terms))
        else:
            return self._row_by_row(expression, frame, value, place, unseeded)
        if not known.all():
            rest = np.flatnonzero(~known)
            result[rest] = self._row_by_row(expression, frame.take(rest), value, place, unseeded)
        return result

    # --- truth ---

    def _truth(self, expression: Expression, frame: Frame) -> Truth:
        if isinstance(expression, Call):
            name, args = expression.name, expression.args
            if name == "&&":
                a, b = (self._truth(arg, frame) for arg in args)
                return Truth(a.true & b.true, a.false | b.false)
            if name == "||":
                a, b = (self._truth(arg, frame) for arg in args)
                return Truth(a.true | b.true, a.false & b.false)
            if name == "!":
                a = self._truth(args[0], frame)
                return Truth(a.false, a.true)
            if name == "BOUND":
                bound = frame.column(args[0].name) != 0
                return Truth(bound, ~bound)
            if name == "SAMETERM" and all(not isinstance(arg, Call) for arg in args):
                return self._same_term(frame, *args)
            if name in _COMPARISONS:
                return self._comparison(expression, frame)
        if isinstance(expression, Var):
            column = frame.column(expression.name)
            if ((column == TRUE) | (column == FALSE)).all():
                return Truth(column == TRUE, column == FALSE)
        return self._exact_truth(expression, frame)

    def _same_term(self, frame: Frame, left: Expression, right: Expression) -> Truth:
        a, b = (self.column(side, frame) for side in (left, right))
        known = (a != 0) & (b != 0)
        return Truth(known & (a == b), known & (a != b))

    def _comparison(self, call: Call, frame: Frame) -> Truth:
        test = constant_comparison(call)
        if test is None:
            return self._compared(call, frame)
        true, unknown, count = threshold(test).decide(frame.column(test.var))
        if count == len(frame):
            return self._compared(call, frame)
        truth = Truth(true, ~(true | unknown))
        if count:
            rest = np.flatnonzero(unknown)
            compared = self._compared(call, frame.take(rest))
            truth.true[rest] = compared.true
            truth.false[rest] = compared.false
        return truth

    def _compared(self, call: Call, frame: Frame) -> Truth:
        left, right = (self._quantity(arg, frame) for arg in call.args)
        n = len(frame)
        if left is None or right is None or left.kind != right.kind:
            return self._exact_truth(call, frame)
        parts = (left.value, left.error, left.known, right.value, right.error, right.known)
        truth = Truth(np.empty(n, np.bool_), np.empty(n, np.bool_))
        clear = np.empty(n, np.bool_)
        arrays = (np.broadcast_to(part, n) for part in parts)
        _compare(_COMPARISONS.index(call.name), *arrays, truth.true, truth.false, clear)
        if not clear.all():
            close = np.flatnonzero(~clear)
            exact = self._exact_truth(call, frame.take(close))
            truth.true[close] = exact.true
            truth.false[close] = exact.false
        return truth

    # --- quantities ---

    def _quantity(self, expression: Expression, frame: Frame) -> Quantity | None:
        """The expression as numbers, or None if it is nothing numeric that columns can do."""
        if isinstance(expression, Var):
            return self._variable(frame.column(expression.name))
        if isinstance(expression, Call):
            name = expression.name
            if name in TIME_FUNCTIONS:
                return self._time(name, frame)
            if name in ("+", "-", "*", "/") and len(expression.args) == 2:
                left, right = (self._quantity(arg, frame) for arg in expression.args)
                if left is None or right is None:
                    return None
                return _arithmetic(name, left, right)
            return None
        if isinstance(expression, Literal):
            return _constant(expression)
        return None

    def _variable(self, column: np.ndarray) -> Quantity | None:
        value, error = np.empty(len(column)), np.empty(len(column))
        known = np.empty(len(column), np.bool_)
        numbers = _quantities(column, value, error, known)
        hashed = np.flatnonzero(column >= ids.HASHED) if numbers < len(column) else ()
        if len(hashed):  # what AVG gives has mostly more digits than an id
            value[hashed], known[hashed] = self.terms.decimals(column[hashed])
            error[hashed] = np.abs(value[hashed]) * _ROUNDING
            numbers += int(known[hashed].sum())
        if numbers:
            return Quantity(NUMBER, value, error, known)
        instants = ids.tags(column) == ids.DATETIME
        if instants.any():
            micros = (column & ((1 << ids.FRACTION_SHIFT) - 1)) - ids.DATETIME_BIAS
            return _times(INSTANT, micros, instants)
        return None

    def _time(self, name: str, frame: Frame) -> Quantity:
        known = ~frame.timeless_mask()
        if name == "GETDURATION":
            return _times(DURATION, frame.end - frame.start, known)
        return _times(INSTANT, frame.start if name == "GETSTARTTIME" else frame.end, known)

    # --- one by one ---

    def _exact_truth(self, expression: Expression, frame: Frame) -> Truth:
        compiled = compile_truth(expression)

        def value(lookup: Callable, context: EvaluationContext) -> int:
            return 2 if compiled(lookup, context) else 1

        outcome = self._row_by_row(expression, frame, value)
        return Truth(outcome == 2, outcome == 1)

    def _row_by_row(
        self,
        expression: Expression,
        frame: Frame,
        value: Callable,
        place: str = "",
        unseeded: frozenset[str] = frozenset(),
    ) -> np.ndarray:
        """`value` for each distinct combination of what the expression looks at; 0 for an error."""
        names, timed, random = _looks_at(expression)
        seen = frame.vars if random else tuple(name for name in frame.vars if name in names)
        columns = {name: frame.column(name) for name in seen}
        if timed or random:
            columns |= {_START: frame.start, _END: frame.end}
        rows: dict[str, np.ndarray] = {}
        if not columns:
            inverse = np.zeros(len(frame), np.int64)
        elif random:
            rows, inverse = distinct_rows(columns)
        else:
            rows, inverse = distinct(expression, columns, self.terms)
        combinations = zip(*(column.tolist() for column in rows.values()), strict=True) if rows else [()]
        results = np.zeros(inverse.max(initial=0) + 1, np.int64)
        for i, row in enumerate(combinations):
            bindings = dict(zip(seen, row, strict=False))  # the interval may follow
            start, end = row[-2:] if timed or random else (0, 0)
            seeding = _own_bindings(bindings, unseeded) if random else None
            context = self._context(seeding, start, end, place, bindings.get(BEGAN, 0))
            with suppress(ExpressionError):  # which leaves 0
                results[i] = value(self._lookup(bindings), context)
        return results[inverse]

    def _lookup(self, bindings: dict[str, int]) -> Callable[[str], Term | None]:
        def lookup(name: str) -> Term | None:
            id_ = bindings.get(name, 0)
            return self.terms.term(id_) if id_ else None

        return lookup

    def _context(
        self, seeding: dict[str, int] | None, start: int, end: int, place: str, began: int
    ) -> EvaluationContext:
        begin, finish = (None, None) if is_timeless(start, end) else (start, end)
        seed = 0
        if seeding is not None:
            named = [(name, self.terms.term(id_)) for name, id_ in seeding.items()]
            seed = solution_seed(named, began - NO_ID if began else begin, finish)
        return EvaluationContext(start=begin, end=finish, now=self.now, seed=seed, place=place)


def _own_bindings(bindings: dict[str, int], unseeded: frozenset[str]) -> dict[str, int]:
    """What a solution binds itself: not the columns of EXISTS, nor what it substitutes."""
    result = {}
    for name, id_ in bindings.items():
        if is_variable(name) and name not in unseeded:
            copies = [bindings[copy] for copy in (own(name), other(name)) if copy in bindings]
            id_ = max(copies) if copies else id_
            if id_:
                result[name] = id_
    return result


@njit(cache=True)
def _quantities(column, value, error, known):
    """Inline numbers with their error; returns how many there are.

    Integers and doubles are exact in float64. A float would have to be rounded once more, so
    it is left to the exact path.
    """
    count = 0
    for i in range(column.size):
        number, tag = ids.number(column[i])
        value[i] = number
        known[i] = tag != 0 and tag != ids.FLOAT
        error[i] = abs(number) * _ROUNDING if tag == ids.DECIMAL else 0.0
        count += tag != 0
    return count


@njit(cache=True)
def _compare(comparison, left, left_error, left_known, right, right_error, right_known, true, false, clear):
    """Where two quantities differ by more than their error (or have none), the outcome is clear."""
    for i in range(true.size):
        difference = left[i] - right[i]
        error = left_error[i] + right_error[i]
        clear[i] = left_known[i] and right_known[i] and (abs(difference) > error or error == 0.0)
        if comparison == 0:
            outcome = difference == 0.0
        elif comparison == 1:
            outcome = difference != 0.0
        elif comparison == 2:
            outcome = difference < 0.0
        elif comparison == 3:
            outcome = difference > 0.0
        elif comparison == 4:
            outcome = difference <= 0.0
        else:
            outcome = difference >= 0.0
        true[i] = clear[i] and outcome
        false[i] = clear[i] and not outcome


def _arithmetic(name: str, left: Quantity, right: Quantity) -> Quantity | None:
    kinds = (left.kind, name, right.kind)
    result = {
        (NUMBER, "+", NUMBER): NUMBER,
        (NUMBER, "-", NUMBER): NUMBER,
        (NUMBER, "*", NUMBER): NUMBER,
        (NUMBER, "/", NUMBER): NUMBER,
        (INSTANT, "-", INSTANT): DURATION,
        (INSTANT, "+", DURATION): INSTANT,
        (INSTANT, "-", DURATION): INSTANT,
        (DURATION, "+", DURATION): DURATION,
        (DURATION, "-", DURATION): DURATION,
    }.get(kinds)
    if result is None:
        return None
    known = np.logical_and(left.known, right.known)
    a, b = left.value, right.value
    with np.errstate(all="ignore"):
        if name in "+-":
            value = a + b if name == "+" else a - b
            error = np.add(left.error, right.error)
        elif name == "*":
            value = a * b
            error = (np.abs(a) + left.error) * right.error + np.abs(b) * left.error
            if not np.all(value):
                known = np.logical_and(known, (value != 0.0) | (a == 0.0) | (b == 0.0))  # no underflow
        else:
            value = a / b
            nearest_zero = np.abs(b) - right.error  # how small the true divisor may be
            error = (left.error + np.abs(value) * right.error) / nearest_zero
            known = np.logical_and(known, nearest_zero > 0.0)
            if not np.all(value):
                known = np.logical_and(known, (value != 0.0) | (a == 0.0))
        error = error + np.abs(value) * _ROUNDING
    known = np.logical_and(known, np.isfinite(value))
    return Quantity(result, value, error, known)


def _times(kind: str, micros: np.ndarray, known: np.ndarray) -> Quantity:
    """Whole microseconds; those of more than 53 bits are rounded in float64."""
    value = micros.astype(np.float64)
    exact = max(value.max(), -value.min()) <= _EXACT
    return Quantity(kind, value, 0.0 if exact else np.abs(value) * _ROUNDING, known)


def _constant_time(kind: str, seconds: Decimal) -> Quantity | None:
    """A constant of any size and precision."""
    micros = Fraction(seconds) * SECOND
    if abs(micros) > 2 * LONGEST:
        return None
    value = float(micros)
    return Quantity(kind, value, 0.0 if Fraction(value) == micros else abs(value) * _ROUNDING)


def _constant(literal: Literal) -> Quantity | None:
    found = value_of(literal)
    if isinstance(found, Duration):
        return None if found.months else _constant_time(DURATION, found.seconds)
    if isinstance(found, Moment):
        return _constant_time(INSTANT, found.utc) if found.kind == "dateTime" else None
    tag = ids.TAG_OF_DATATYPE.get(literal.datatype.value)
    if tag not in (ids.INTEGER, ids.DECIMAL, ids.DOUBLE):
        return None
    inline = ids.inline_id(literal.value, tag)
    if not inline:
        return None
    value, _ = ids.number(inline)
    return Quantity(NUMBER, value, abs(value) * _ROUNDING if tag == ids.DECIMAL else 0.0)


def _looks_at(expression: Expression) -> tuple[set[str], bool, bool]:
    """The variables of an expression, whether it reads the interval, whether it draws at random."""
    if isinstance(expression, Var):
        return {expression.name}, False, False
    names: set[str] = set()
    timed = random = False
    if isinstance(expression, Call):
        timed = expression.name in TIME_FUNCTIONS
        random = expression.name in RANDOM
        for arg in expression.args:
            below, below_timed, below_random = _looks_at(arg)
            names |= below
            timed |= below_timed
            random |= below_random
    return names, timed, random
