"""What messages, plans and outputs call the queries of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.algebra.nodes import ParsedQuery


def names_of(queries: Sequence[ParsedQuery]) -> list[str]:
    """The names of the queries of a run: their own or their files', made distinct.

    The queries of one file are called after it in their order: falls, falls-2, falls-3.
    """
    return distinct(query.name or f"query-{number}" for number, query in enumerate(queries, 1))


def distinct(names: Iterable[str]) -> list[str]:
    """The names in their order; one that is there already gets a number: falls, falls-2."""
    found: dict[str, int] = {}
    for name in names:
        unique, again = name, found.get(name, 1) + 1
        while unique in found:
            unique, again = f"{name}-{again}", again + 1
        if unique != name:
            found[name] = again - 1  # where the next of this name goes on looking
        found[unique] = 1
    return list(found)
