"""What messages, plans and outputs call the queries of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from penstock.algebra.nodes import ParsedQuery

_SUFFIXES = (".rq", ".sparql", ".epq", ".ep", ".txt")


def names_of(queries: Sequence[ParsedQuery]) -> list[str]:
    """The names of the queries of a run, after their files or the names given, made distinct."""
    return distinct(name_of(query, f"query-{number}") for number, query in enumerate(queries, 1))


def name_of(query: ParsedQuery, otherwise: str) -> str:
    """A query's own name: its file's without the suffix; `otherwise` if it has none."""
    name = PurePath(query.origin or "").name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name if name not in ("", "-") else otherwise


def distinct(names: Iterable[str]) -> list[str]:
    """The names in their order; one that is there already gets a number: falls, falls-2."""
    found: list[str] = []
    for name in names:
        unique, again = name, 2
        while unique in found:
            unique, again = f"{name}-{again}", again + 1
        found.append(unique)
    return found
