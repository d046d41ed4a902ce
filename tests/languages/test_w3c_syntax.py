"""The W3C SPARQL 1.1 suites as far as the parser is concerned, in both languages."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, Store

from penstock.algebra.printing import to_sexpr
from penstock.errors import QueryError
from penstock.languages import UPDATES, parse, parse_query
from penstock.terms import RDF, Namespace
from shared_data import shared

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")

LANGUAGES = ("sparql", "ep-sparql")
"""Those in which all of SPARQL 1.1 is written; queries of the others have windows."""
SUITE = shared("w3c", "sparql", "sparql11")
EVALUATION_FOLDERS = (
    "aggregates bind bindings cast construct csv-tsv-res exists functions grouping json-res "
    "negation project-expression property-path subquery"
).split()

needs_suite = pytest.mark.skipif(
    SUITE is None, reason="the W3C suites are not at hand; set SHARED to where they are"
)


@lru_cache(maxsize=None)
def manifest(folder: str) -> Store:
    path = SUITE / folder / "manifest.ttl"
    store = Store()
    store.load(path=str(path), format=RdfFormat.TURTLE, base_iri=path.as_uri())
    return store


def objects(store: Store, subject, predicate: NamedNode) -> list:
    return [quad.object for quad in store.quads_for_pattern(subject, predicate, None, None)]


def query_files(folder: str, kind: NamedNode) -> list[Path]:
    """The query files of a manifest's tests of one kind."""
    store = manifest(folder)
    found = []
    for quad in store.quads_for_pattern(None, RDF.type, kind, None):
        for action in objects(store, quad.subject, MF.action):
            queries = objects(store, action, QT.query) or [action]
            found += [Path(query.value.removeprefix("file://")) for query in queries]
    return sorted(path for path in found if path.suffix == ".rq")


def parse_file(path: Path, language: str):
    text = path.read_bytes().decode("utf-8")
    return parse_query(text, language=language, base=path.as_uri(), origin=path.name)


SYNTAX_FILES = (
    []
    if SUITE is None
    else [
        pytest.param(path, valid, id=path.stem)
        for kind, valid in ((MF.PositiveSyntaxTest11, True), (MF.NegativeSyntaxTest11, False))
        for path in query_files("syntax-query", kind)
    ]
)


@needs_suite
def test_the_syntax_suite_has_94_tests():
    assert len(SYNTAX_FILES) == 94


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("path", "valid"), SYNTAX_FILES)
def test_syntax_query(path, valid, language):
    if valid:
        assert parse_file(path, language).query is not None
    else:
        with pytest.raises(QueryError) as caught:
            parse_file(path, language)
        assert caught.value.span is not None


UPDATE_FILES = (
    []
    if SUITE is None
    else [path for folder in (1, 2) for path in (SUITE / f"syntax-update-{folder}").glob("*.ru")]
)
REFUSED = re.compile(rf"({'|'.join(word for word, _ in UPDATES)}) of SPARQL Update is not supported")
NOTHING = re.compile("the query is empty|no query follows these declarations")


@needs_suite
def test_the_update_suites_have_55_tests():
    assert len(UPDATE_FILES) == 55


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", UPDATE_FILES, ids=lambda path: path.stem)
def test_an_update_is_a_rule_or_refused_by_its_name(path, language):
    text = path.read_text("utf-8")
    try:
        module = parse(text, language=language, base=path.as_uri())
    except QueryError as error:
        assert error.span is not None
        assert "bad" in path.stem or REFUSED.match(error.message) or NOTHING.match(error.message)
    else:
        assert "bad" not in path.stem
        assert len(module.rules) == len(module.statements) == len(re.findall(r"\bINSERT\b", text))


@needs_suite
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("folder", EVALUATION_FOLDERS)
def test_all_queries_of_the_evaluation_tests_parse(folder, language):
    files = query_files(folder, MF.QueryEvaluationTest)
    files += query_files(folder, MF.CSVResultFormatTest)
    assert files
    for path in files:
        assert parse_file(path, language).query is not None


@needs_suite
@pytest.mark.parametrize("folder", EVALUATION_FOLDERS)
def test_a_sparql_query_means_the_same_in_ep_sparql(folder):
    for path in query_files(folder, MF.QueryEvaluationTest):
        assert parse_file(path, "sparql").query == parse_file(path, "ep-sparql").query


@needs_suite
def test_different_queries_print_differently():
    texts: dict[str, object] = {}
    for folder in EVALUATION_FOLDERS:
        for path in query_files(folder, MF.QueryEvaluationTest):
            query = parse_file(path, "sparql").query
            assert texts.setdefault(to_sexpr(query), query) == query
    assert len(texts) > 150
