"""A file is a module: declarations and statements one after the other."""

from __future__ import annotations

import pytest

from penstock import pipeline
from penstock.algebra.naming import names_of
from penstock.algebra.nodes import Construct, Select, Var
from penstock.errors import QueryError, Span
from penstock.languages import LANGUAGES, parse, parse_query
from penstock.sinks import shapes_of

FALLS = "SELECT ?s WHERE { { ?s :price ?a } SEQ { ?s :price ?b } FILTER (?b < ?a) }"
RULE = "CONSTRUCT { ?s :fell ?a } WHERE { ?s :price ?a }"
PREFIX = "PREFIX : <http://e.org/>\n"


@pytest.mark.parametrize("between", ["\n", " ; ", ";\n;\n", "\n# a note; with SELECT\n", " ;", "\n" + PREFIX])
def test_statements_stand_one_after_the_other(between):
    module = parse(PREFIX + between.join([RULE, FALLS, FALLS]), origin="market.rq")
    assert [type(query.query) for query in module.queries] == [Construct, Select, Select]
    assert [query.query for query in module.queries] == [
        parse_query(PREFIX + text).query for text in (RULE, FALLS, FALLS)
    ]
    assert {query.text for query in module.queries} == {module.text}
    assert names_of(module.queries) == ["market", "market-2", "market-3"]
    assert [shape.name for shape in shapes_of(module.queries)] == names_of(module.queries)


def test_a_semicolon_may_end_the_last_one():
    assert len(parse("ASK {} ; ASK {} ;").statements) == 2


def test_a_declaration_holds_from_there_on():
    module = parse(
        "PREFIX a: <http://one/> ASK { a:x a:y a:z } "
        "PREFIX a: <http://two/> BASE <http://base/> ASK { a:x <y> a:z } ASK { a:x <y> a:z } "
        "BASE <deeper/> ASK { a:x <y> a:z }"
    )
    triples = [query.query.pattern.triples[0] for query in module.queries]
    assert [triple.subject.value for triple in triples] == ["http://one/x"] + ["http://two/x"] * 3
    predicates = [triple.predicate.value for triple in triples]
    assert predicates == ["http://one/y", "http://base/y", "http://base/y", "http://base/deeper/y"]
    prefixes = [dict(query.prefixes) for query in module.queries]
    assert prefixes == [{"a": "http://one/"}] + [{"a": "http://two/"}] * 3


def test_a_blank_node_label_is_the_statements_own():
    text = PREFIX + "ASK { _:x :p 1 } "
    one, other = parse(text + "ASK { _:x :p 1 }").queries
    assert one.query == other.query == parse_query(text).query


def test_places_are_places_of_the_file():
    module = parse(f"{PREFIX}{RULE}\n\n  {FALLS}\n")
    rule, falls = module.queries
    assert (rule.place, falls.place) == (Span(2, 1, 9), Span(4, 3, 6))
    assert dict(rule.spans)[Var("s")] == Span(2, 13, 2)
    assert dict(falls.spans)[Var("s")] == Span(4, 10, 2)
    assert Var("b") not in dict(rule.spans)


def test_a_warning_says_where_in_the_file():
    text = PREFIX + "SELECT ?s { ?s :p ?o }\nSELECT ?s ?nothing\n{ ?s :p ?o }"
    [(query, finding)] = pipeline.check(parse(text).queries)
    assert query.place.line == finding.span.line == 3
    assert finding.located(query.text, "q.rq").startswith("q.rq:3:11: ")


def test_what_comes_after_a_statement_is_not_taken_for_a_part_of_it():
    text = (
        PREFIX
        + "DESCRIBE :x DESCRIBE ?s { ?s :p ?o } SELECT * { ?s :p ?o } VALUES ?s { :x } ASK { ?s :p ?o }"
    )
    kinds = [type(query.query).__name__ for query in parse(text).queries]
    assert kinds == ["Describe", "Describe", "Select", "Ask"]


def test_one_query_where_only_one_has_a_meaning():
    with pytest.raises(QueryError, match="2:1: one query was expected, and here is another"):
        parse_query("ASK {}\nASK {}")


def test_names_of_a_module_among_others():
    several = [parse("ASK {} ASK {}", origin="a.rq"), parse("ASK {}", origin="b/a.rq")]
    several += [parse("ASK {} ASK {}", origin="c.rq", name="mine"), parse("ASK {} ASK {}")]
    names = names_of([query for module in several for query in module.queries])
    assert names == ["a", "a-2", "a-3", "mine", "mine-2", "query-6", "query-7"]


def test_thousands_of_statements_have_names_of_their_own():
    names = names_of(parse("ASK {} " * 3000, origin="rules.rq").queries)
    assert (len(set(names)), names[-1]) == (3000, "rules-3000")


# --- which language ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "asked", "language"),
    [
        ("falls.rq", None, "ep-sparql"),
        ("falls.sparql", None, "ep-sparql"),
        ("FALLS.EPQ", None, "ep-sparql"),
        ("falls.txt", None, "ep-sparql"),
        ("falls", None, "ep-sparql"),
        (None, None, "ep-sparql"),
        ("falls.epq", "sparql", "sparql"),
        ("falls.rq", "sparql", "sparql"),
    ],
)
def test_the_language_is_what_was_asked_for_or_what_the_ending_says(origin, asked, language):
    module = parse("ASK {}", origin=origin, language=asked)
    assert module.language == language == module.statements[0].language


def test_every_ending_has_one_language():
    endings = [ending for language in LANGUAGES.values() for ending in language.endings]
    assert len(set(endings)) == len(endings) > 0
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)


def test_plain_sparql_on_request(tmp_path):
    path = tmp_path / "falls.rq"
    path.write_text(PREFIX + FALLS)
    assert pipeline.parse([path])
    with pytest.raises(QueryError, match="SEQ is an operator of EP-SPARQL, not of SPARQL"):
        pipeline.parse([path], language="sparql")


def test_a_file_that_was_not_meant_as_a_query(tmp_path):
    path = tmp_path / "prices.nq"
    path.write_text("<http://e.org/s> <http://e.org/p> 1 .\n")
    with pytest.raises(QueryError) as caught:
        pipeline.parse([path])
    assert "the endings of queries are .rq, .ru, .sparql" in caught.value.hint
    assert "was prices.nq meant as one?" in caught.value.hint
    path = path.rename(tmp_path / "prices.rq")
    with pytest.raises(QueryError) as caught:
        pipeline.parse([path])
    assert "meant as one" not in str(caught.value)
