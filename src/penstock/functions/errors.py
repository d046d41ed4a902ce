"""The error of an expression: a value SPARQL knows, not a failure of the query."""

from __future__ import annotations


class ExpressionError(Exception):
    """An expression has no value for this solution (SPARQL 1.1, section 17.2).

    A filter takes it as false, BIND leaves its variable unbound; it never reaches a user.
    """
