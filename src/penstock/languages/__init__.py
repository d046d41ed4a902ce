"""Text to algebra: one grammar core (SPARQL 1.1), each language only its differences."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import PurePath

from lark import Tree
from lark.exceptions import UnexpectedInput

from penstock.algebra.nodes import Module, ParsedQuery, Span, Statement, Var
from penstock.errors import PenstockError, QueryError, UsageError
from penstock.languages.c_sparql import CSparqlTranslator
from penstock.languages.cqels_cep import CqelsCepTranslator
from penstock.languages.ep_sparql import EpSparqlTranslator
from penstock.languages.foreign import STREAM_LANGUAGES, foreign
from penstock.languages.grammar import parser, syntax_tree
from penstock.languages.language import Hints, Language
from penstock.languages.names import Names
from penstock.languages.queries import SparqlTranslator
from penstock.languages.rsp_ql import RspQlTranslator
from penstock.languages.text import QueryText, tokens_of
from penstock.terms import NamedNode

__all__ = [
    "DEEPEST",
    "ENDINGS",
    "LANGUAGES",
    "LONGEST",
    "Language",
    "language_named",
    "parse",
    "parse_query",
]

LONGEST = 10_000_000
"""Characters that a file of queries may have."""

DEEPEST = 150
"""Levels that a query may be nested: groups, operators one after the other, expressions, paths.

What analyses, plans and evaluates a query recurs, and Python's stack has some thousand frames.
"""

_ONLY_ADDS = "standing updates come later; a rule only adds: INSERT { … } WHERE { … }"
_NO_STORE = "there is no store to keep graphs in: they are given with --graph, and what rules add is not kept"
UPDATES = (
    ("DELETE", _ONLY_ADDS),
    ("LOAD", "a file is given with --graph, or with --ontology"),
    *((word, _NO_STORE) for word in ("CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD")),
    ("WITH", "write GRAPH <…> { … } in the template, and in WHERE"),
    ("USING", "a rule reads the default graph, and other graphs with GRAPH in WHERE"),
)
"""What else SPARQL Update has."""

SPARQL_HINTS = Hints(
    begin=("SELECT", "CONSTRUCT", "ASK", "DESCRIBE", "INSERT"),
    after_braces=("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"),
    in_braces=("FILTER", "OPTIONAL", "MINUS", "BIND", "GRAPH"),
    foreign=STREAM_LANGUAGES,
    refused=UPDATES,
)
UNREAD = (
    (
        "UNDER",
        "UNDER ENTAILMENT REGIME is not read: rules are those of a run, for all its queries",
        'leave it out, and name the rules: --rules rdfs, or in Python Engine(rules="rdfs"); '
        "penstock rules list shows which there are",
    ),
    (
        "AGGREGATE",
        "AGGREGATE is not read here",
        "aggregate as SPARQL 1.1 does: SELECT ?x (COUNT(*) AS ?n) … WHERE { … } GROUP BY ?x HAVING (?n > 1)",
    ),
)
"""What drafts of languages over windows had, and what one writes instead."""

_NO_SUCH_WINDOW = "the windows are [NOW], [RANGE 10s], [RANGE 10s SLIDE 5s], [TRIPLES 100] and [ALL]"
UNREAD_OF_CQELS = (
    (
        "STREAM",
        "FROM STREAM is not read: in CQELS-CEP a window is declared where it is looked into",
        "write STREAM <http://example.org/sensors> [NOW] { … } around the triples of the stream, whose name "
        "is an IRI; CQELS 2.0's [RANGE 10s] is [RANGE 10s TUMBLING] here",
    ),
    (
        "SEQ",
        "SEQ does not stand here: its members are groups, in a window",
        "CQELS 2.0's FILTER(SEQ(?a ; ?b+)) is WINDOW :W { SEQ({ ?a … }, { ?b … }+) } here",
    ),
    ("PAST", "[PAST …] is not read", f"[RANGE 10s] looks back; {_NO_SUCH_WINDOW}"),
    ("FUTURE", "a window that looks ahead is not built", f"SEQ finds what comes later; {_NO_SUCH_WINDOW}"),
    ("EMIT", "EMIT is not read", "say when to look behind the windows: REPORT ON CLOSE, or ON CHANGE"),
    ("LATENESS", "LATENESS is not read: it is of a run, for all its queries", "run with --lateness 2s"),
    (
        "NEXT",
        "that no element at all lies between two members (strict contiguity) is not built",
        "name what must not come between: SEQ({ … }, !{ … }, { … })",
    ),
    (
        "PREV",
        "conditions between neighbouring members of a repetition are not built",
        "a member sees what it binds itself; what compares members stands behind SEQ( … ), and a repetition "
        "is seen by aggregates, as in { … }+ (FIRST(?v) AS ?first) (MAX(?v) AS ?largest)",
    ),
)
"""What CQELS 2.0 has, and what one writes instead."""

WINDOW_HINTS = replace(
    SPARQL_HINTS,
    unread=UNREAD,
    begin=("REGISTER", *SPARQL_HINTS.begin),
    in_braces=(*SPARQL_HINTS.in_braces, "WINDOW"),
)
LANGUAGES = {
    language.name: language
    for language in (
        # EP-SPARQL is SPARQL and more, so a file that ends in .rq may use it; who wants an error
        # where a query is not plain SPARQL says so.
        Language(
            "ep-sparql",
            "EP-SPARQL",
            (
                "sparql.lark",
                "time_functions.lark",
                "repetitions.lark",
                "registrations.lark",
                "ep_sparql.lark",
            ),
            EpSparqlTranslator,
            replace(SPARQL_HINTS, begin=(*SPARQL_HINTS.begin, "REGISTER")),
            endings=(".rq", ".ru", ".sparql", ".epsparql", ".epq", ".ep"),
        ),
        Language("sparql", "SPARQL", ("sparql.lark",), SparqlTranslator, SPARQL_HINTS),
        Language(
            "cqels-cep",
            "CQELS-CEP",
            (
                "sparql.lark",
                "time_functions.lark",
                "repetitions.lark",
                "registrations.lark",
                "windows.lark",
                "named_windows.lark",
                "cqels_cep.lark",
            ),
            CqelsCepTranslator,
            replace(WINDOW_HINTS, unread=(*UNREAD_OF_CQELS, *UNREAD)),
            endings=(".cqels",),
        ),
        Language(
            "c-sparql",
            "C-SPARQL",
            ("sparql.lark", "registrations.lark", "windows.lark", "c_sparql.lark"),
            CSparqlTranslator,
            WINDOW_HINTS,
            endings=(".csparql",),
        ),
        Language(
            "rsp-ql",
            "RSP-QL",
            ("sparql.lark", "registrations.lark", "windows.lark", "named_windows.lark", "rsp_ql.lark"),
            RspQlTranslator,
            WINDOW_HINTS,
            endings=(".rspql",),
        ),
    )
}
ENDINGS = {ending: language for language in LANGUAGES.values() for ending in language.endings}
OTHERWISE = LANGUAGES["ep-sparql"]
"""The language of a text that comes from no file, or from one whose ending says nothing, and that has no
words of another."""

_NO_NAME = ("", "-")  # the origins of texts that come from no file


def language_named(name: str) -> Language:
    """The language that --language or `language=` names."""
    if name not in LANGUAGES:
        close = difflib.get_close_matches(name.lower(), LANGUAGES, 1)
        known = ", ".join(LANGUAGES)
        raise UsageError(
            f"there is no query language {name!r}",
            hint=f"did you mean {close[0]}?" if close else f"the languages are {known}",
        )
    return LANGUAGES[name]


def parse(
    text: str,
    *,
    language: str | None = None,
    base: str | None = None,
    address: str | None = None,
    origin: str | None = None,
    name: str | None = None,
    longest: int = LONGEST,
    deepest: int = DEEPEST,
) -> Module:
    """A text as a module: its statements as algebra.

    Without `language`, the ending of `origin` says what it is in, or else the text itself. `base` is
    as BASE at its beginning; without one, relative IRIs are completed by `address`, where the text was found.
    `origin` is named in errors, and the statements are called after it or as `name` says.
    """
    path = PurePath(origin or "")
    chosen = ENDINGS.get(path.suffix.lower()) if language is None else language_named(language)
    for given in (each for each in (base, address) if each is not None):
        try:
            NamedNode(given)
        except ValueError as problem:
            raise UsageError(
                f"the base {given!r} is not an absolute IRI: {problem}",
                hint="give it in full, as in http://example.org/",
            ) from None
    if len(text) > longest:
        raise QueryError(
            f"the query has {len(text):,} characters, and at most {longest:,} are read",
            hint="put its data into a static graph, and read that with --graph",
            origin=origin,
        )
    statements: list[Statement] = []
    try:
        source = QueryText(text, origin)
        chosen = chosen or _language_of(source.text)
        others = tuple(other for other in LANGUAGES.values() if other is not chosen)
        names = Names(source, base, address)
        for tree in syntax_tree(source, chosen, others).children:
            if names.declare(tree):
                continue
            statements.append(
                chosen.translator(source, names).statement(
                    tree,
                    text=text,
                    place=source.keyword_of(tree),
                    extent=source.extent_of(tree),
                    origin=origin,
                    language=chosen.name,
                    name=name or _stem(path),
                    prefixes=names.in_force,
                    spans=_first_places(tree, source),
                )
            )
            if statements[-1].depth > deepest:
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
    return Module(statements=tuple(statements), text=text, origin=origin, language=chosen.name)


def parse_query(text: str, **options) -> ParsedQuery:
    """A text that is one query; takes what `parse` takes."""
    module = parse(text, **options)
    first, *others = module.statements
    if not isinstance(first, ParsedQuery):
        problem = "a query was expected, and this is none"
        raise QueryError(problem, span=first.place, text=text, origin=module.origin)
    for other in others:
        problem = "one query was expected, and here is another"
        raise QueryError(problem, span=other.place, text=text, origin=module.origin)
    return first


def _language_of(text: str) -> Language:
    """What a text seems to be written in that nobody said the language of."""
    found = foreign(text, STREAM_LANGUAGES)
    if found is None or not found[0].read_as:
        return OTHERWISE
    try:
        parser(OTHERWISE).parse(text)
    except UnexpectedInput:
        return LANGUAGES[found[0].read_as[0]]
    return OTHERWISE


def _stem(path: PurePath) -> str | None:
    """What a file's queries are called after it."""
    if path.name in _NO_NAME:
        return None
    return path.stem if path.suffix.lower() in (*ENDINGS, ".txt") else path.name


def _first_places(tree: Tree, source: QueryText) -> tuple[tuple[Var, Span], ...]:
    spans: dict[Var, Span] = {}
    for token in tokens_of(tree):
        if token.type == "VAR" and (var := Var(str(token[1:]))) not in spans:
            spans[var] = source.span_of(token)
    return tuple(spans.items())
