"""Text to algebra: one grammar core (SPARQL 1.1), each language only its differences."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from penstock.algebra.nodes import ParsedQuery, Var
from penstock.errors import PenstockError, QueryError, Span, UsageError
from penstock.languages.ep_sparql import EpSparqlTranslator
from penstock.languages.grammar import syntax_tree
from penstock.languages.queries import SparqlTranslator
from penstock.languages.text import QueryText, tokens_of
from penstock.terms import NamedNode

__all__ = ["DEEPEST", "LANGUAGES", "LONGEST", "Language", "parse"]

LONGEST = 10_000_000
"""Characters that a query may have."""

DEEPEST = 150
"""Levels that a query may be nested: groups, operators one after the other, expressions, paths.

What analyses, plans and evaluates a query recurs, and Python's stack has some thousand frames.
"""


@dataclass(frozen=True)
class Language:
    """A query language: its grammar files (each extends those before) and its translator."""

    name: str
    grammars: tuple[str, ...]
    translator: type[SparqlTranslator]


LANGUAGES = {
    language.name: language
    for language in (
        Language("sparql", ("sparql.lark",), SparqlTranslator),
        Language("ep-sparql", ("sparql.lark", "ep_sparql.lark"), EpSparqlTranslator),
    )
}


def parse(
    text: str,
    *,
    language: str = "ep-sparql",
    base: str | None = None,
    origin: str | None = None,
    longest: int = LONGEST,
    deepest: int = DEEPEST,
) -> ParsedQuery:
    """A query text as algebra. `base` completes relative IRIs, `origin` is named in errors."""
    if language not in LANGUAGES:
        close = difflib.get_close_matches(language.lower(), LANGUAGES, 1)
        known = ", ".join(LANGUAGES)
        raise UsageError(
            f"there is no query language {language!r}",
            hint=f"did you mean {close[0]}?" if close else f"the languages are {known}",
        )
    if base is not None:
        try:
            NamedNode(base)
        except ValueError as problem:
            raise UsageError(
                f"the base {base!r} is not an absolute IRI: {problem}",
                hint="give it in full, as in http://example.org/",
            ) from None
    if len(text) > longest:
        raise QueryError(
            f"the query has {len(text):,} characters, and at most {longest:,} are read",
            hint="put its data into a static graph, and read that with --graph",
            origin=origin,
        )
    chosen = LANGUAGES[language]
    try:
        source = QueryText(text, origin)
        tree = syntax_tree(source, chosen.grammars)
        translator = chosen.translator(source, base)
        query = translator.query(tree)
        if query.depth > deepest:
            raise RecursionError
    except PenstockError as error:
        error.located(text, origin)
        raise
    except RecursionError:
        raise QueryError(
            f"the query is nested too deeply: it may have {deepest} levels",
            hint="a level is a group in a group, an expression in an expression, and each OPTIONAL, SEQ, "
            "MINUS or BIND after another; triples, UNION, &&, ||, VALUES and IN may be as many as you like",
            text=text,
            origin=origin,
        ) from None
    spans: dict[Var, Span] = {}
    for token in tokens_of(tree):
        if token.type == "VAR" and (var := Var(str(token[1:]))) not in spans:
            spans[var] = source.span_of(token)
    return ParsedQuery(
        query=query,
        text=text,
        origin=origin,
        language=language,
        prefixes=tuple(translator.names.prefixes.items()),
        spans=tuple(spans.items()),
    )
