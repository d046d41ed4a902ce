"""Tokens: the longest one, wherever it stands (SPARQL 1.1, section 19.8, note 2 on the grammar)."""

from __future__ import annotations

import random
import re

import pytest
from lark.exceptions import UnexpectedInput

from penstock.errors import QueryError
from penstock.languages import LANGUAGES, parse_query
from penstock.languages.grammar import parser

PROLOGUE = "PREFIX : <http://e/> PREFIX a: <http://a/> "

REFUSED = {
    "an IRI after a variable": "ASK { ?s ?p ?x FILTER (?x<?a&&?b>?y) }",
    "an IRI that begins like <=": "ASK { ?s ?p ?x FILTER (?x<=?a&&?b>?y) }",
    "an IRI after a bracket": "ASK { ?s ?p ?x FILTER ((?x)<(?a)&&(?b)>(?y)) }",
    "a name instead of DESCRIBE": "DESCRIBE:x",
    "a name instead of FROM": "ASK FROM:x {}",
    "a name instead of NAMED": "ASK FROM NAMED:x {}",
    "a name instead of BY": "SELECT ?x { ?x ?p ?o } GROUP BY:f(?x)",
    "a decimal instead of a full stop": "ASK { ?s ?p ?o .5 ?q ?r }",
    "a decimal after a variable": "ASK { ?s ?p ?o.5 ?q ?r }",
    "a name with a dot": "ASK { :s :p :o.:s :p :o }",
    "a double as LIMIT": "SELECT * { ?s ?p ?o } LIMIT 1e1",
}
ACCEPTED = {
    "spaces part": "ASK { ?s ?p ?x FILTER (?x < ?a&&?b > ?y) }",
    "no IRI has these characters": "ASK { ?s ?p ?x FILTER (?x<?a && ?b>?y) }",
    "no IRI has a bar": "ASK { ?s ?p ?x FILTER (?x<?a||?x>?y) }",
    "a smaller number": "ASK { ?s ?p ?x FILTER (1<2) }",
    "an integer, a full stop": "ASK { ?s ?p 1.?s ?q ?r }",
    "a name, a full stop": "ASK { :s :p :o. :s :p :o }",
    "a name, a variable": "ASK { ?s :p?x }",
    "a name, a signed number": "ASK { ?s :p+1 }",
    "a path, a variable": "ASK { ?s :p??x }",
    "a, a variable": "ASK { ?s a?x }",
    "a number, a keyword": "SELECT * { ?s ?p ?o } LIMIT 5OFFSET 1",
    "a difference": "ASK { ?s ?p ?x FILTER (?x-1 = ?x--1) }",
}


@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
def test_a_longer_token_wins_also_where_it_cannot_stand(query: str):
    with pytest.raises(QueryError):
        parse_query(PROLOGUE + query)


@pytest.mark.parametrize("query", ACCEPTED.values(), ids=ACCEPTED)
def test_tokens_that_need_no_space(query: str):
    parse_query(PROLOGUE + query)


PIECES = (
    "< <= > >= = != ! ! && || | ^ ^^ + - * / ? . .. , ; ( ) () ( ) [ ] [] { } _:b _:b. : :x :x. a:b a a. "
    '?x $y ?1 <http://e/> <x> 1 1. .5 1.5 1e5 1.e5 -1 +.5 @en @en-1 "s" \'s\' "" \'\'\'l\'\'\' """l""" '
    "SELECT select FROM NAMED BY AS IN NOT true seq:x SEQ EQUALSOPTIONAL EQUALS getDURATION \\ %41 é "
    "RANGE NOW 5m -1h30m 1.5s PT5M"
).split() + [" ", "\n", "# c\n", '"a\\"b"']


@pytest.mark.sample(1)
@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_the_lexer_takes_the_longest_token(language):
    lark = parser(language)
    terminals = [(each.name, re.compile(each.pattern.to_regexp())) for each in lark.terminals]
    priority = {each.name: each.priority for each in lark.terminals}
    chance = random.Random(7)
    tokens = 0
    for _ in range(2000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(2, 8)))
        lexed = lark.lex(text)
        place = 0
        while place < len(text):
            found = [(m.end(), name) for name, regex in terminals if (m := regex.match(text, place))]
            if not found:
                with pytest.raises(UnexpectedInput):
                    next(lexed)
                break
            end = max(found)[0]
            longest = [name for length, name in found if length == end]
            first = max(priority[name] for name in longest)
            [name] = [name for name in longest if priority[name] == first]
            if name not in lark.lexer_conf.ignore:
                token = next(lexed)
                assert (token.type, token.start_pos, token.end_pos) == (name, place, end), text
                tokens += 1
            place = end
    assert tokens > 5_000
