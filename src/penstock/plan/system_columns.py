"""The columns of solutions that are no variables: where rows come from, what EXISTS found or substituted."""

from __future__ import annotations

MARK, TAG, OWN, OTHER = ".exists", ".tag", ".own ", ".other "
ELEMENT = ".element"
"""The column with the number of the element that a row comes from."""
WORLD = ".world"
"""The column that says when a row is there, while an operator looks at several instants at once."""

STATE = ".state"
"""The column with the state of an automaton that a walk is in."""

PLACE, AT = ".place", ".at"
"""The columns with a triple's place in its stream, and with the instant of a change, or of a row's."""

BEGAN = ".began"
"""The column with the instant at which a row began before a window cut its interval."""


def is_variable(column: str) -> bool:
    """Whether a column binds a variable, rather than telling of elements or of what EXISTS found."""
    return not column.startswith((MARK, TAG, OWN, OTHER, ELEMENT, WORLD, STATE, PLACE, AT, BEGAN))


def without_element(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns but that of the element."""
    return tuple(column for column in columns if column != ELEMENT)


def own(name: str) -> str:
    """The column with what a solution binds itself, where an outer binding of EXISTS is substituted."""
    return OWN + name


def other(name: str) -> str:
    """The same of the other side of an optional join."""
    return OTHER + name
