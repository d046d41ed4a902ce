"""A short notation for the tables of cases: terms as in Turtle, calls as Python tuples."""

from __future__ import annotations

from functools import lru_cache

from pyoxigraph import RdfFormat, parse

from penstock.algebra.nodes import Call, Var
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, evaluate
from penstock.terms import Term

ERROR = "error"

_HEAD = """
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix : <http://example.org/> .
:s :p """


@lru_cache(maxsize=None)
def term(text: str) -> Term:
    """The term that Turtle writes so: `1`, `"a"@en`, `"1"^^xsd:int`, `:a`, `_:b`."""
    (triple,) = parse(_HEAD + text + " .", RdfFormat.TURTLE, rename_blank_nodes=False)
    return triple.object


def expression(written):
    """`("+", "1", "?x")` as an expression; a string is a variable or a term."""
    if isinstance(written, tuple):
        name, *arguments = written
        if name.startswith("xsd:"):
            name = f"<http://www.w3.org/2001/XMLSchema#{name[4:]}>"
        return Call(name, tuple(map(expression, arguments)))
    if written.startswith("?"):
        return Var(written[1:])
    return term(written)


def value(written, context: EvaluationContext | None = None, **bindings: str) -> Term | str:
    """The value of an expression, or ERROR."""
    bound = {name: term(text) for name, text in bindings.items()}
    try:
        return evaluate(expression(written), bound.get, context or EvaluationContext())
    except ExpressionError:
        return ERROR


def expected(text: str) -> Term | str:
    return ERROR if text == ERROR else term(text)
