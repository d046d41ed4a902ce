"""Text to algebra: one grammar core (SPARQL 1.1), each language only its differences."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from penstock.algebra.nodes import ParsedQuery, Var
from penstock.errors import PenstockError, QueryError, Span, UsageError
from penstock.languages.ep_sparql import EpSparqlTranslator
from penstock.languages.grammar import syntax_tree
from penstock.languages.queries import SparqlTranslator
from penstock.languages.source import Source, tokens_of
from penstock.terms import NamedNode

__all__ = ["LANGUAGES", "Language", "parse"]


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
    text: str, *, language: str = "ep-sparql", base: str | None = None, origin: str | None = None
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
    chosen = LANGUAGES[language]
    try:
        source = Source(text, origin)
        tree = syntax_tree(source, chosen.grammars)
        translator = chosen.translator(source, base)
        query = translator.query(tree)
    except PenstockError as error:
        error.located(text, origin)
        raise
    except RecursionError:
        raise QueryError(
            "the query is nested too deeply",
            hint="write long chains as VALUES, IN or a property path",
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
