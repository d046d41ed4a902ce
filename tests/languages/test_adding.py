"""A new language is what ARCHITECTURE.md says: a grammar, a translator, hints, and a row in LANGUAGES."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import pytest
from lark import Tree

from penstock import languages
from penstock.algebra.naming import names_of
from penstock.algebra.nodes import (
    Construct,
    Insert,
    ParsedRule,
    Pattern,
    QuadPattern,
    Select,
    Statement,
    TriplePattern,
    Var,
)
from penstock.errors import QueryError
from penstock.languages import LANGUAGES, SPARQL_HINTS, Language, parse
from penstock.languages.ep_sparql import EpSparqlTranslator
from penstock.rules.reading import read_rules
from penstock.terms import RDF, NamedNode

GRAMMAR = r"""
%extend _statement: subscribe | event
subscribe: _SUBSCRIBE NAME _TO query
event: _EVENT NAME group_graph_pattern
_SUBSCRIBE: /(?:SUBSCRIBE)\b/i
_TO: /(?:TO)\b/i
_EVENT: /(?:EVENT)\b/i
NAME.-1: /[a-z]\w*/
"""
TEXT = """\
PREFIX : <http://e.org/>
EVENT hot { ?s :temperature ?t FILTER (?t > 80) }
SUBSCRIBE alarms TO SELECT ?s WHERE { { ?s :hot ?t } SEQ { ?s :hot ?u } }
CONSTRUCT { ?s :hot ?t } WHERE { ?s :temperature ?t }
INSERT { ?s a :Hot } WHERE { ?s :hot ?t }
"""


@dataclass(frozen=True, kw_only=True)
class Event(Statement):
    """A declaration: a kind of statement that does not run as it is."""

    pattern: Pattern

    def rule(self) -> tuple[ParsedRule]:
        """What it stands for: whatever shows the event is of its class."""
        about = {field.name: getattr(self, field.name) for field in fields(Statement)}
        triple = TriplePattern(Var("s"), RDF.type, NamedNode(f"http://e.org/{self.name}"))
        return (ParsedRule(insert=Insert(self.pattern, (QuadPattern(None, triple),)), **about),)


class Translator(EpSparqlTranslator):
    def statement(self, tree: Tree, **about) -> Statement:
        if tree.data not in ("event", "subscribe"):
            return super().statement(tree, **about)
        name, content = tree.children
        about["name"] = str(name)
        if tree.data == "event":
            return Event(pattern=self.group(content), **about)
        return super().statement(content, **about)


@pytest.fixture(autouse=True)
def registering(tmp_path, monkeypatch):
    grammar = tmp_path / "registering.lark"
    grammar.write_text(GRAMMAR)
    language = Language(
        "registering",
        "Registering",
        (*LANGUAGES["ep-sparql"].grammars, str(grammar)),
        Translator,
        replace(SPARQL_HINTS, begin=("EVENT", "SUBSCRIBE", *SPARQL_HINTS.begin), foreign=()),
        endings=(".reg",),
        kinds=((Event, Event.rule),),
    )
    monkeypatch.setitem(LANGUAGES, language.name, language)
    monkeypatch.setitem(languages.ENDINGS, ".reg", language)
    return language


def test_registrations_declarations_and_rules_are_statements_of_a_module():
    module = parse(TEXT, origin="pumps.reg")
    assert module.language == "registering"
    kinds = [type(each).__name__ for each in module.statements]
    assert kinds == ["Event", "ParsedQuery", "ParsedQuery", "ParsedRule"]
    assert [type(query.query) for query in module.queries] == [Select, Construct]
    assert names_of(module.queries) == ["alarms", "pumps"]
    assert [each.place.line for each in module.statements] == [2, 3, 4, 5]


def test_a_declaration_runs_as_what_it_stands_for():
    found = read_rules(TEXT, origin="pumps.reg")
    assert [rule.name for rule in found.rules] == ["hot", "pumps-2"]
    assert [rule.inserts[0].insert.template[0].triple.object.value for rule in found.rules] == [
        "http://e.org/hot",
        "http://e.org/Hot",
    ]
    assert names_of(found.queries) == ["alarms", "pumps"]


def test_a_kind_of_statement_that_nothing_takes_is_refused_by_its_name(registering, monkeypatch):
    monkeypatch.setitem(LANGUAGES, "registering", replace(registering, kinds=()))
    with pytest.raises(QueryError, match=r"nothing takes a statement of this kind \(Event\)") as caught:
        read_rules(TEXT, language="registering")
    assert caught.value.span.line == 2
    assert "the row of Registering in LANGUAGES" in caught.value.hint


def test_errors_know_its_words():
    with pytest.raises(QueryError, match="EVNT is not known here") as caught:
        parse("EVNT hot { ?s ?p ?o }", language="registering")
    assert caught.value.hint == "did you mean EVENT?"
    with pytest.raises(QueryError) as caught:
        parse("# nothing", language="registering")
    assert caught.value.hint == "begin with EVENT, SUBSCRIBE, SELECT, CONSTRUCT, ASK, DESCRIBE or INSERT"
    with pytest.raises(QueryError, match="EVENT is a word of Registering, not of EP-SPARQL") as caught:
        parse("EVENT hot { ?s ?p ?o }")
    assert "--language registering" in caught.value.hint
