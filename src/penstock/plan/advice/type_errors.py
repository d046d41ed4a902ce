"""Expressions that are an error in every solution, whatever the data: `getDURATION() < 600`.

An expression without variables is evaluated for two intervals that have nothing in common. What
fails for both fails for the types of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.algebra.comparisons import MIRRORED
from penstock.algebra.facts import place_of
from penstock.algebra.nodes import Aggregate, Call, Exists, Expression, Pattern, Var
from penstock.errors import Finding
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, evaluate, known_function
from penstock.functions.numeric import Number
from penstock.functions.regex import compiled
from penstock.functions.temporal import Duration, Moment
from penstock.functions.values import value_of
from penstock.plan.analysis.walk import nodes, subexpressions
from penstock.terms import XSD, Literal, Term
from penstock.timeline import HOUR, SECOND, format_duration

_CALCULATIONS = ("+", "-", "*", "/")
_FLAGS_OF = {"REGEX": 2, "REPLACE": 3}  # the place of their flags
_INTERVALS = (
    EvaluationContext(start=7 * HOUR + SECOND, end=9 * HOUR),
    EvaluationContext(start=10**15, end=10**15 + 13),
)
_DURATION = re.compile(r"-?P\d\w*|-?P\d*T\d[\w.]*", re.ASCII)
_MOMENTS = {"dateTime": "an instant", "date": "a date", "time": "a time of day"}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?", re.ASCII)


def type_errors(pattern: Pattern) -> Iterator[Finding]:
    """A finding for each smallest part of an expression that is always an error."""
    for node in nodes(pattern):
        for expression in node.expressions:
            for part in subexpressions(expression):
                if not isinstance(part, Call):
                    continue
                broken = _broken_pattern(part)
                if broken is not None:
                    yield broken
                elif _always_fails(part):
                    values = [_value(argument) for argument in part.args]
                    if None not in values:
                        yield _finding(part, values)


def _broken_pattern(call: Call) -> Finding | None:
    """REGEX or REPLACE with a constant pattern that is none, or that a limit forbids."""
    if call.name not in _FLAGS_OF or len(call.args) < 2:
        return None
    constants = (call.args[1], *call.args[_FLAGS_OF[call.name] :][:1])
    if not all(isinstance(each, Literal) and each.datatype == XSD.string for each in constants):
        return None
    try:
        compiled(*(each.value for each in constants))
    except ExpressionError as problem:
        message = f"this is an error in every solution: {problem}"
        hint = "regular expressions are XPath's: no back-references, look-around or named groups"
        return Finding("type-error", message, hint, place_of(call))
    return None


def _finding(call: Call, values: list[Term]) -> Finding:
    kinds = [_kind(value) for value in values]
    if call.name in MIRRORED and len(values) == 2:
        why = f"{kinds[0]} cannot be compared with {kinds[1]}"
    elif call.name in _CALCULATIONS and len(values) == 2:
        why = f"`{call.name}` is not defined for {kinds[0]} and {kinds[1]}"
    else:
        why = f"{call.name} is not defined for {' and '.join(kinds) or 'nothing'}"
    return Finding("type-error", f"this is an error in every solution: {why}", _hint(values), place_of(call))


def _hint(values: list[Term]) -> str | None:
    """How a constant would be written that was meant as a duration or an instant."""
    kinds = {_kind(value) for value in values}
    for value in values:
        if not isinstance(value, Literal):
            continue
        if value.datatype == XSD.integer and "a duration" in kinds:
            length = format_duration(int(value.value) * SECOND)
            return f'{value.value} seconds are written "{length}"^^xsd:dayTimeDuration'
        if value.datatype == XSD.string:
            if _DURATION.fullmatch(value.value):
                return f'a duration is written "{value.value}"^^xsd:dayTimeDuration'
            if _INSTANT.fullmatch(value.value):
                return f'an instant is written "{value.value}"^^xsd:dateTime'
        if value.datatype.value.endswith("uration") and value_of(value) is None:
            return "a duration is written as in PT20M, P1DT12H or PT0.5S"
        if value.datatype == XSD.date and "an instant" in kinds:
            return f'its first instant is "{value.value}T00:00:00Z"^^xsd:dateTime'
    if kinds == {"a duration", "an instant"}:
        return "the time between two instants is their difference: getENDTIME() - getSTARTTIME()"
    return None


def _kind(term: Term) -> str:
    if not isinstance(term, Literal):
        return "a resource"
    found = value_of(term)
    if isinstance(found, Number):
        return "a number"
    if isinstance(found, Duration):
        return "a duration"
    if isinstance(found, Moment):
        return _MOMENTS[found.kind]
    if isinstance(found, bool):
        return "a boolean"
    if term.datatype == XSD.string or term.language:
        return "a string"
    name = term.datatype.value.removeprefix(XSD.string.value.removesuffix("string"))
    if name == term.datatype.value:
        return f"a value of {term.datatype}"
    return f'"{term.value}", which is no xsd:{name}'


def _value(expression: Expression) -> Term | None:
    """The value for the first interval, if there is one."""
    try:
        return evaluate(expression, _unbound, _INTERVALS[0])
    except ExpressionError:
        return None


def _always_fails(call: Call) -> bool:
    for part in subexpressions(call):
        if isinstance(part, (Var, Exists, Aggregate)):
            return False
        if isinstance(part, Call) and not known_function(part.name):
            return False
    for interval in _INTERVALS:
        try:
            evaluate(call, _unbound, interval)
        except ExpressionError:
            continue
        return False
    return True


def _unbound(name: str) -> None:
    return None
