"""Evaluating an expression for one solution.

An expression is turned into nested Python closures once, and these run per solution. Each
comes in two forms: one that answers with a term, and one that answers with the effective
boolean value, so that a condition makes no literals on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from penstock.algebra.nodes import Aggregate, Call, Exists, Expression, Var
from penstock.functions import chance
from penstock.functions.builtins import FUNCTIONS, MANY, PREDICATES
from penstock.functions.errors import ExpressionError
from penstock.functions.iris import resolve
from penstock.functions.operators import equal
from penstock.functions.values import boolean_literal, effective_boolean, simple
from penstock.terms import XSD, Literal, NamedNode, Term
from penstock.timeline import format_duration, format_instant

Lookup = Callable[[str], Term | None]


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What an expression sees besides the bindings.

    `start` and `end` are the solution's interval, None for a timeless one. `seed` stands for
    the solution (`chance.solution_seed`), `place` for where in the query the expression is:
    RAND() in two places differs, BNODE("a") in two places is the same node.
    """

    start: int | None = None
    end: int | None = None
    now: int = 0
    exists: Callable[[Any], bool] | None = None
    seed: int = 0
    base: str | None = None
    place: str = ""


TermClosure = Callable[[Lookup, EvaluationContext], Term]
TruthClosure = Callable[[Lookup, EvaluationContext], bool]


def evaluate(expression: Expression, lookup: Lookup, context: EvaluationContext) -> Term:
    """The value of an expression; `ExpressionError` if it has none."""
    return compile_term(expression)(lookup, context)


def holds(expression: Expression, lookup: Lookup, context: EvaluationContext) -> bool:
    """Whether a condition is true; one that has no value is not."""
    try:
        return compile_truth(expression)(lookup, context)
    except ExpressionError:
        return False


@lru_cache(maxsize=4096)
def compile_term(expression: Expression) -> TermClosure:
    """The expression as a function of bindings and context."""
    return _term(expression, count())


@lru_cache(maxsize=4096)
def compile_truth(expression: Expression) -> TruthClosure:
    """The expression's effective boolean value as such a function; it may raise."""
    return _truth(expression, count())


def known_function(name: str) -> bool:
    """Whether a `Call` of this name can be evaluated."""
    return arity(name) is not None


def arity(name: str) -> tuple[int, int] | None:
    """The least and greatest number of arguments of a function; None if it is unknown."""
    known = PREDICATES.get(name) or FUNCTIONS.get(name)
    if known is not None:
        return known.least, known.most
    return _OWN_ARITY.get(name)


# --- compilation -------------------------------------------------------------------------


def _term(expression: Expression, positions: Iterator[int]) -> TermClosure:
    if isinstance(expression, Var):
        return _variable(expression.name)
    if isinstance(expression, Call):
        form = _TERM_FORMS.get(expression.name)
        if form is not None:
            return form(expression, positions)
        function = FUNCTIONS.get(expression.name)
        if function is not None:
            return _applied(expression, function, positions)
        truth = _truth(expression, positions)
        return lambda lookup, context: boolean_literal(truth(lookup, context))
    if isinstance(expression, Exists):
        truth = _truth(expression, positions)
        return lambda lookup, context: boolean_literal(truth(lookup, context))
    if isinstance(expression, Aggregate):
        raise TypeError(f"{expression.name} is evaluated over a group, not over a solution")
    return lambda lookup, context: expression


def _truth(expression: Expression, positions: Iterator[int]) -> TruthClosure:
    if isinstance(expression, Call):
        form = _TRUTH_FORMS.get(expression.name)
        if form is not None:
            return form(expression, positions)
        predicate = PREDICATES.get(expression.name)
        if predicate is not None:
            return _applied(expression, predicate, positions)
        if not known_function(expression.name):
            return _failing(f"the function {expression.name} is not known")
    elif isinstance(expression, Exists):
        return _exists(expression)
    term = _term(expression, positions)
    return lambda lookup, context: effective_boolean(term(lookup, context))


def _failing(message: str) -> Callable[..., Any]:
    def fail(lookup: Lookup, context: EvaluationContext) -> Any:
        raise ExpressionError(message)

    return fail


def _variable(name: str) -> TermClosure:
    def variable(lookup: Lookup, context: EvaluationContext) -> Term:
        term = lookup(name)
        if term is None:
            raise ExpressionError(f"?{name} is unbound")
        return term

    return variable


def _applied(call: Call, function: Any, positions: Iterator[int]) -> Callable[..., Any]:
    """A function of the tables, applied to its evaluated arguments."""
    if not function.least <= len(call.args) <= function.most:
        return _failing(f"{call.name} does not take {len(call.args)} arguments")
    apply = function.apply
    arguments = [_term(argument, positions) for argument in call.args]
    if len(arguments) == 1:
        (only,) = arguments
        return lambda lookup, context: apply(only(lookup, context))
    if len(arguments) == 2:
        left, right = arguments
        return lambda lookup, context: apply(left(lookup, context), right(lookup, context))
    return lambda lookup, context: apply(*[a(lookup, context) for a in arguments])


# --- forms with their own treatment of errors --------------------------------------------


def _or(call: Call, positions: Iterator[int]) -> TruthClosure:
    left, right = (_truth(argument, positions) for argument in call.args)

    def disjunction(lookup: Lookup, context: EvaluationContext) -> bool:
        try:
            if left(lookup, context):
                return True
        except ExpressionError:
            if right(lookup, context):
                return True
            raise
        return right(lookup, context)

    return disjunction


def _and(call: Call, positions: Iterator[int]) -> TruthClosure:
    left, right = (_truth(argument, positions) for argument in call.args)

    def conjunction(lookup: Lookup, context: EvaluationContext) -> bool:
        try:
            if not left(lookup, context):
                return False
        except ExpressionError:
            if not right(lookup, context):
                return False
            raise
        return right(lookup, context)

    return conjunction


def _not(call: Call, positions: Iterator[int]) -> TruthClosure:
    truth = _truth(call.args[0], positions)
    return lambda lookup, context: not truth(lookup, context)


def _in(call: Call, positions: Iterator[int]) -> TruthClosure:
    """IN: true if any member is equal, an error if none is but one could not be compared."""
    needle, *members = [_term(argument, positions) for argument in call.args]

    def among(lookup: Lookup, context: EvaluationContext) -> bool:
        wanted = needle(lookup, context)
        failure = None
        for member in members:
            try:
                if equal(wanted, member(lookup, context)):
                    return True
            except ExpressionError as error:
                failure = error
        if failure is not None:
            raise failure
        return False

    return among


def _not_in(call: Call, positions: Iterator[int]) -> TruthClosure:
    among = _in(call, positions)
    return lambda lookup, context: not among(lookup, context)


def _bound(call: Call, positions: Iterator[int]) -> TruthClosure:
    (variable,) = call.args
    if not isinstance(variable, Var):
        raise TypeError("BOUND takes a variable")
    name = variable.name
    return lambda lookup, context: lookup(name) is not None


def _exists(expression: Exists) -> TruthClosure:
    pattern = expression.pattern

    def exists(lookup: Lookup, context: EvaluationContext) -> bool:
        if context.exists is None:
            raise TypeError("EXISTS needs a context that evaluates patterns")
        return context.exists(pattern)

    return exists


def _if(call: Call, positions: Iterator[int]) -> TermClosure:
    condition = _truth(call.args[0], positions)
    then, otherwise = (_term(argument, positions) for argument in call.args[1:])

    def choice(lookup: Lookup, context: EvaluationContext) -> Term:
        return (then if condition(lookup, context) else otherwise)(lookup, context)

    return choice


def _coalesce(call: Call, positions: Iterator[int]) -> TermClosure:
    choices = [_term(argument, positions) for argument in call.args]

    def first(lookup: Lookup, context: EvaluationContext) -> Term:
        for choice in choices:
            try:
                return choice(lookup, context)
            except ExpressionError:
                continue
        raise ExpressionError("no argument of COALESCE has a value")

    return first


# --- forms that look at the context ------------------------------------------------------


def _iri(call: Call, positions: Iterator[int]) -> TermClosure:
    """IRI(x); a second argument, if there is one, is the base IRI of the query's text."""
    argument = _term(call.args[0], positions)
    base = _term(call.args[1], positions) if len(call.args) == 2 else None

    def iri(lookup: Lookup, context: EvaluationContext) -> Term:
        term = argument(lookup, context)
        if isinstance(term, NamedNode):
            return term
        known = context.base if base is None else base(lookup, context).value
        return resolve(simple(term), known)

    return iri


def _now(call: Call, positions: Iterator[int]) -> TermClosure:
    return lambda lookup, context: _instant(context.now)


def _instant(instant: int | None) -> Literal:
    if instant is None:
        raise ExpressionError("the solution is timeless")
    return Literal(format_instant(instant), datatype=XSD.dateTime)


def _start_time(call: Call, positions: Iterator[int]) -> TermClosure:
    return lambda lookup, context: _instant(context.start)


def _end_time(call: Call, positions: Iterator[int]) -> TermClosure:
    return lambda lookup, context: _instant(context.end)


def _duration(call: Call, positions: Iterator[int]) -> TermClosure:
    def duration(lookup: Lookup, context: EvaluationContext) -> Term:
        if context.start is None or context.end is None:
            raise ExpressionError("the solution is timeless")
        return Literal(format_duration(context.end - context.start), datatype=XSD.dayTimeDuration)

    return duration


def _drawn(draw: Callable[..., Term]) -> Callable[[Call, Iterator[int]], TermClosure]:
    def form(call: Call, positions: Iterator[int]) -> TermClosure:
        position = next(positions)
        return lambda lookup, context: draw(context.seed, context.place, position)

    return form


def _bnode(call: Call, positions: Iterator[int]) -> TermClosure:
    if not call.args:
        return _drawn(chance.fresh_blank)(call, positions)
    label = _term(call.args[0], positions)
    return lambda lookup, context: chance.labelled_blank(context.seed, simple(label(lookup, context)))


def _checked(form: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The form, or a failing one where the number of arguments is wrong."""
    least, most = _OWN_ARITY[name]

    def checked(call: Call, positions: Iterator[int]) -> Any:
        if not least <= len(call.args) <= most:
            return _failing(f"{name} does not take {len(call.args)} arguments")
        return form(call, positions)

    return checked


_OWN_ARITY = {
    "||": (2, 2),
    "&&": (2, 2),
    "!": (1, 1),
    "IN": (1, MANY),
    "NOTIN": (1, MANY),
    "BOUND": (1, 1),
    "IF": (3, 3),
    "COALESCE": (0, MANY),
    "IRI": (1, 2),
    "URI": (1, 2),
    "BNODE": (0, 1),
    "NOW": (0, 0),
    "RAND": (0, 0),
    "UUID": (0, 0),
    "STRUUID": (0, 0),
    "GETDURATION": (0, 0),
    "GETSTARTTIME": (0, 0),
    "GETENDTIME": (0, 0),
}

_TRUTH_FORMS = {
    name: _checked(form, name)
    for name, form in {
        "||": _or,
        "&&": _and,
        "!": _not,
        "IN": _in,
        "NOTIN": _not_in,
        "BOUND": _bound,
    }.items()
}

_TERM_FORMS = {
    name: _checked(form, name)
    for name, form in {
        "IF": _if,
        "COALESCE": _coalesce,
        "IRI": _iri,
        "URI": _iri,
        "BNODE": _bnode,
        "NOW": _now,
        "RAND": _drawn(chance.rand),
        "UUID": _drawn(chance.uuid_iri),
        "STRUUID": _drawn(chance.uuid_string),
        "GETDURATION": _duration,
        "GETSTARTTIME": _start_time,
        "GETENDTIME": _end_time,
    }.items()
}
