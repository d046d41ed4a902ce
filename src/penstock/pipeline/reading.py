"""Queries and rules from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.algebra.nodes import ParsedQuery, with_scope
from penstock.algebra.scopes import scope_named
from penstock.errors import InputError, QueryError, UsageError
from penstock.languages import ENDINGS
from penstock.rules.reading import RuleText, read_rules


def parse(
    paths: Iterable[str | Path], *, language: str | None = None, name: str | None = None
) -> list[ParsedQuery]:
    """The queries in some files, CONSTRUCT rules among them; `language` if the files' endings do not tell."""
    return [query for path in paths for query in read(path, language=language, name=name).queries]


def read(
    path: str | Path, *, language: str | None = None, name: str | None = None, base: str | None = None
) -> RuleText:
    """What a file holds: queries (CONSTRUCT rules among them), and rules that are written as INSERT.

    Relative IRIs are completed by BASE of the text, or else by `base`, by default the file's own address.
    """
    path = Path(path)
    address = base or path.absolute().as_uri()
    try:
        return read_rules(_read(path), language=language, origin=str(path), address=address, name=name)
    except QueryError as error:
        if language is None and path.suffix and path.suffix.lower() not in (*ENDINGS, ".txt"):
            known = f"the endings of queries are {', '.join(ENDINGS)}; was {path.name} meant as one?"
            error.hint = f"{error.hint}\n  hint: {known}" if error.hint else known
        raise


def in_scope(queries: Iterable[ParsedQuery], scope: str | None) -> list[ParsedQuery]:
    """The queries with a scope, `stream` or `element`; None: as their language says."""
    queries = list(queries)
    if scope is None:
        return queries
    found = scope_named(scope)
    if any(query.query.continuous for query in queries):
        raise UsageError(
            "queries over windows have no other scope than their windows", hint="leave --query-scope out"
        )
    return [with_scope(query, found) for query in queries]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is not UTF-8 text: {problem.reason}") from None
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from None
