"""Texts with rules: headers, names, and what is refused."""

from __future__ import annotations

import random
import re

import pytest
from pyoxigraph import Store

from penstock.algebra.nodes import Ask, Select
from penstock.errors import InputError, QueryError, Span, UsageError
from penstock.languages import parse
from penstock.rules.reading import files_at, read_file, read_rules, rules_of

PREFIXES = """\
PREFIX : <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
SUBCLASS = """\
# name: cax-sco
# regimes: owl2-rl, rdfs (rdfs9), rhodf (3b)
# meaning: An instance of a class: also of its superclasses.
"""
RULE = "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }"
OTHER = "INSERT { ?x :q ?y } WHERE { ?x :p ?y }"
DISJOINT = "# name: cax-dw\n# contradiction: Disjoint classes share an instance.\n"
CHECK = "SELECT ?x WHERE { ?x a ?c , ?d . ?c :disjoint ?d }"
QUERY = "SELECT * WHERE { ?x :q ?y }"


def names(text: str, **options) -> list[str]:
    return [rule.name for rule in read_rules(PREFIXES + text, **options).rules]


@pytest.mark.parametrize(
    "text",
    [PREFIXES + SUBCLASS + RULE, SUBCLASS + PREFIXES + RULE, f"{SUBCLASS}\n{PREFIXES}\n# so:\n{RULE} ;\n"],
)
def test_a_header_says_what_a_rule_is(text):
    [rule] = read_rules(text, origin="lib/cax-sco.rq").rules
    assert rule.name == "cax-sco"
    assert rule.meaning == "An instance of a class: also of its superclasses."
    assert rule.regimes == (("owl2-rl", "cax-sco"), ("rdfs", "rdfs9"), ("rhodf", "3b"))
    assert rule.names == ("cax-sco", "rdfs9", "3b")
    assert rule.checks == () and [each.name for each in rule.inserts] == ["cax-sco"]
    assert (rule.origin, rule.text) == ("lib/cax-sco.rq", text)


def test_a_regime_may_have_two_names_for_it():
    text = PREFIXES + "# name: r\n# regimes: rdfs (rdfs5, rdfs5b), p\n" + OTHER
    assert read_rules(text).rules[0].regimes == (("rdfs", "rdfs5"), ("rdfs", "rdfs5b"), ("p", "r"))


def test_statements_after_a_semicolon_belong_to_the_rule():
    text = PREFIXES + f"{SUBCLASS}{RULE} ;\n# and then\n{OTHER} ;\n# name: mine\n{OTHER} ;\n{OTHER}\n{OTHER}"
    found = read_rules(text, origin="my.rq").rules
    assert [(rule.name, len(rule.inserts)) for rule in found] == [("cax-sco", 2), ("mine", 2), ("my", 1)]


def test_a_semicolon_in_a_comment_or_an_iri_is_none():
    between = "# a; b\nPREFIX x: <http://x;y/>\n"
    assert names(f"{SUBCLASS}{RULE}\n{between}{OTHER}", origin="my.rq") == ["cax-sco", "my"]


def test_a_contradiction_is_a_select():
    found = read_rules(PREFIXES + DISJOINT + CHECK)
    [rule] = found.rules
    assert rule.inserts == () and isinstance(rule.checks[0].query, Select)
    assert rule.meaning == "Disjoint classes share an instance."
    assert not found.queries


def test_rules_checks_and_queries_in_one_file():
    text = PREFIXES + "\n".join(
        [QUERY, SUBCLASS + RULE, OTHER, DISJOINT + CHECK, QUERY, "ASK { ?x :p ?y } ;", OTHER]
    )
    found = read_rules(text, origin="dir/all.rq")
    assert [rule.name for rule in found.rules] == ["cax-sco", "all", "cax-dw", "all-2"]
    assert [type(query.query) for query in found.queries] == [Select, Select, Ask]
    assert [query.place.line for query in found.queries] == [3, 12, 13]


def test_a_query_after_the_semicolon_of_a_rule_is_a_query():
    found = read_rules(PREFIXES + f"{SUBCLASS}{RULE} ;\n{QUERY} ;\n{OTHER}", origin="my.rq")
    assert [(rule.name, len(rule.inserts)) for rule in found.rules] == [("cax-sco", 1), ("my", 1)]
    assert len(found.queries) == 1


def test_a_comment_over_a_query_is_no_header():
    text = PREFIXES + "# meaning: what fell\n" + QUERY + "\n# name: falls\n" + QUERY + " # name: at the end"
    assert len(read_rules(text).queries) == 2


def test_over_queries_what_looks_like_a_bad_header_is_a_comment():
    text = PREFIXES + (
        "# Name: Prices that fall\n# drop: by 20 % or more\n# meaning:\n# names: two\n"
        f"{QUERY}\n# drop: rdfs9 , cax-dw\n# name: a fall\n# meaning: what fell\n{QUERY}\n# name: the end\n"
    )
    found = read_rules(text)
    assert len(found.queries) == 2 and not found.rules
    assert [drop.name for drop in found.drops] == ["rdfs9", "cax-dw"]


def test_a_comment_inside_a_statement_is_no_header():
    text = PREFIXES + 'INSERT { ?x :q """\n# name: a\n""" }\n# name: b\nWHERE { ?x :p ?y }\n' + OTHER
    assert names(text, origin="my.rq") == ["my", "my-2"]


def test_names_after_the_file_are_distinct_from_those_of_headers():
    text = f"{OTHER} ; {OTHER}\n# name: my-2\n{OTHER}"
    assert names(text, origin="my.rq") == ["my", "my-3", "my-2"]
    assert names(text) == ["rule", "rule-2", "my-2"]
    assert names(f"{OTHER}\n# meaning: without a name\n{OTHER}", origin="b/my.ru") == ["my", "my-2"]


def test_a_rule_among_others_has_a_text_of_its_own():
    text = PREFIXES + f"{QUERY}\n{SUBCLASS}{RULE} ;\n{OTHER}\n{OTHER}\n{DISJOINT}{CHECK}"
    first, second, third = read_rules(text, origin="my.rq").rules
    assert first.text == SUBCLASS + PREFIXES + RULE + " ;\n" + OTHER + "\n"
    assert second.text == "PREFIX : <http://example.org/>\n" + OTHER + "\n"
    for rule in (first, second):
        Store().update(rule.text)
        assert [each.insert for each in read_rules(rule.text).rules[0].inserts] == [
            each.insert for each in rule.inserts
        ]
    assert read_rules(third.text).rules[0].checks[0].query == third.checks[0].query


def test_dropping():
    text = "# drop: cax-sco, rdfs9\n" + PREFIXES + OTHER + "\n# drop: eq-ref\n"
    drops = read_rules(text, origin="my.rq").drops
    assert [drop.name for drop in drops] == ["cax-sco", "rdfs9", "eq-ref"]
    assert [drop.span for drop in drops] == [Span(1, 9, 7), Span(1, 18, 5), Span(5, 9, 6)]
    assert drops[0].origin == "my.rq"


def test_a_file_may_do_nothing_but_drop():
    found = read_rules("# without reflexivity\n# drop: eq-ref\n")
    assert [drop.name for drop in found.drops] == ["eq-ref"] and not found.rules
    with pytest.raises(QueryError, match="the query is empty"):
        read_rules("# nothing\n")


def test_a_module_that_is_parsed_already():
    module = parse(PREFIXES + QUERY + "\n" + OTHER, origin="q.rq")
    found = rules_of(module)
    assert found.queries == module.queries
    assert [rule.inserts[0].insert for rule in found.rules] == [module.rules[0].insert]


def test_places_in_texts_with_escapes_and_other_line_breaks():
    text = PREFIXES + 'INSERT { ?x :q "\\u0041\\U0001F46A" } WHERE { ?x :p ?y }\r\n# name: b\r\n' + OTHER
    first, second = read_rules(text, origin="my.rq").rules
    assert first.text.endswith('"\\u0041\\U0001F46A" } WHERE { ?x :p ?y }\n')
    assert second.name == "b" and second.text.endswith(OTHER + "\n")


def test_a_byte_order_mark_and_windows_line_breaks():
    text = "\ufeff" + (SUBCLASS + PREFIXES + RULE).replace("\n", "\r\n")
    [rule] = read_rules(text, origin="my.rq").rules
    assert (rule.name, rule.meaning[-13:]) == ("cax-sco", "superclasses.")
    with pytest.raises(QueryError, match="my.rq:6:62: rule cax-sco: ! cannot stand here"):
        read_rules(text + " !", origin="my.rq")


BROKEN = "INSERT { ?x p ?y } WHERE { ?x :p ?y }"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"# name: a\n{BROKEN}", "a"),
        (f"# name: a\n{OTHER} ;\n{BROKEN}", "a"),
        (f"# name: a\n{OTHER}\n{BROKEN}", None),
        (f"# name: a\n{OTHER} # ;\n{BROKEN}", None),
        (f"# name: a\n{OTHER} ;\n{OTHER}\n{BROKEN}", None),
        (f"# name: a\n{OTHER}\n{OTHER}\n# NAME : b\n# meaning: ; INSERT\n{BROKEN}", "b"),
        (f"# name: a\n{OTHER}\n# name: b\n{PREFIXES}{BROKEN}", "b"),
        (f'# name: a\nINSERT {{ ?x :p "}} ; INSERT", <http://e/;#> }} WHERE {{}}\n{BROKEN}', None),
        (f"# name: a\nINSERT {{ ?x :p ?y \n# name: b\n{BROKEN}", "a"),
        (f"{OTHER} ;\n{BROKEN}", None),
    ],
)
def test_a_syntax_error_is_told_with_the_rule_that_it_is_in(text, rule):
    message = shown(text).splitlines()[0]
    assert ("rule " in message) == (rule is not None)
    assert rule is None or f": rule {rule}: " in message


# --- what is refused ----------------------------------------------------------------------


def shown(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        read_rules(PREFIXES + text, origin="my.rq")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        # names, regimes, sentences
        ("# name: a\n# regimes: rdf, owlrl\n" + OTHER, "4:17: rule a: there is no regime 'owlrl'", "owl2-rl"),
        (
            "# name: a\n# regimes: kant\n" + OTHER,
            "4:12: rule a: there is no regime 'kant'",
            "rdf, rdfs, rhodf",
        ),
        ("# name: a\n# regimes: rdfs rdfs9\n" + OTHER, "4:12: rule a: this is no list of regimes", "(rdfs9)"),
        ("# name: a\n# regimes:\n" + OTHER, "4:3: rule a: `# regimes:` says nothing", "remove it"),
        ("# name: a\n# regime: rdfs\n" + OTHER, "4:3: rule a: a header has no `regime:`", "`regimes:`?"),
        ("# name: a b\n" + OTHER, "3:9: 'a b' is not the name of a rule", "one word"),
        ("# name:\n" + OTHER, "3:8: this name is empty", "one word"),
        ("# drop: ,\n" + OTHER, "3:9: this is no list of rules to drop", "# drop: cax-sco"),
        ("# drop: a b\n" + OTHER, "3:9: this is no list of rules to drop", "# drop: cax-sco"),
        ("# drop:\n" + OTHER, "3:8: `# drop:` names no rule", "# drop: cax-sco"),
        (
            "# name: a\n" + OTHER + "\n# name: b\n" + OTHER + "\n# name: a\n" + OTHER,
            "7:9: there are two rules 'a', the other one in line 3",
            "separated by ;",
        ),
        ("# name: a\n# meaning: b\n# meaning: c\n" + OTHER, "5:12: rule a: `# meaning:` stands twice", None),
        (OTHER + "\n# name: a\n", "4:9: rule a: no statement follows this header", "directly before"),
        (
            "# name: a\n# name: b\n" + OTHER,
            "3:9: rule a: no statement follows this header",
            "directly before",
        ),
        (
            "# name: a\n# contradiction: b\n" + OTHER,
            "4:18: rule a: a contradiction is what a SELECT",
            "meaning",
        ),
        (
            "# name: a\n# contradiction: b\nASK { ?x :p ?y }",
            "4:18: rule a: a contradiction is what",
            "variables",
        ),
        ("# name: a\n# meaning: b\n" + QUERY, "4:12: rule a: this is the header of a rule", "contradiction"),
        ("# name: a\n# regimes: p\n" + QUERY, "4:12: rule a: this is the header of a rule", "contradiction"),
        (
            "# name: a\n# meaning: b\n# contradiction: c\n" + QUERY,
            "5:18: rule a: a rule has a `meaning:` or a `contradiction:`",
            "two rules",
        ),
        # syntax
        ("# name: a\n" + OTHER + "\n# name: b\nINSERT { ?x :p }", "6:16: rule b: } cannot stand here", None),
        (
            "# name: a\nINSERT { ?x :p ?y } WHERE { ?x foaf:p ?y }",
            "4:32: rule a: the prefix foaf:",
            "PREFIX foaf",
        ),
        ("# name: a\nDELETE { ?x :p ?y } WHERE {}", "4:1: rule a: DELETE of SPARQL Update", "only adds"),
        # what is not monotone
        (
            "INSERT { ?x :q 1 } WHERE { ?x :p ?y OPTIONAL { ?x :r ?z } }",
            "3:37: rule my: OPTIONAL",
            "each case",
        ),
        ("INSERT { ?x :q 1 } WHERE { ?x :p ?y MINUS { ?x :r ?z } }", "3:37: rule my: MINUS", "stay derived"),
        (
            "INSERT { ?x :q 1 } WHERE { { ?x :p ?y } UNION { ?x :r ?y FILTER NOT EXISTS { ?y :p 1 } } }",
            "3:65: rule my: NOT EXISTS",
            "stay derived",
        ),
        (
            "INSERT { ?x :q ?z } WHERE { ?x :p ?y BIND (IF(EXISTS { ?y :p 1 }, 1, 2) AS ?z) }",
            "3:47: rule my: EXISTS",
            "into WHERE itself",
        ),
        (
            "INSERT { ?x :q ?n } WHERE { { SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x } }",
            "3:31: rule my: a sub-select",
            "into WHERE",
        ),
        (
            "INSERT { ?x :q 1 } WHERE { GRAPH :g { { SELECT DISTINCT ?x { ?x :p ?y } LIMIT 3 } } }",
            "3:41: rule my: LIMIT",
            "all solutions",
        ),
        (
            "INSERT { ?x :q 1 } WHERE { SERVICE :s { ?x :p ?y } }",
            "3:28: SERVICE is not supported",
            "static graph",
        ),
        ("INSERT { ?x :q 1 } WHERE { ?x :p 1 } SEQ { ?x :p 2 }", "3:38: rule my: SEQ", "CONSTRUCT"),
        (
            "INSERT { ?x :q 1 } WHERE { ?x :p ?y FILTER (getDURATION() > ?y) }",
            "3:45: rule my: getDURATION",
            "in a query",
        ),
        (
            "INSERT { ?x :q ?y } WHERE { { ?x :p ?y } OPTIONALSEQ { ?x :r 1 } }",
            "3:42: rule my: OPTIONALSEQ",
            None,
        ),
        (
            "INSERT { ?x :q ?y } WHERE { GRAPH ?g { { ?x :p 1 } UNION { ?x :p/(:q|^:r*) ?y } } }",
            "3:60: rule my: a path with + or *",
            "name the graph",
        ),
        (
            "INSERT { ?x :q ?y } WHERE { ?x :p 1 . ?x (:p[:q])+ ?y }",
            "3:39: rule my: a path with an axis or a test",
            "as triples",
        ),
        (DISJOINT + CHECK + " LIMIT 1", "5:1: rule cax-dw: LIMIT", "all solutions"),
        (DISJOINT + CHECK + " ORDER BY ?x", "5:1: rule cax-dw: ORDER BY", "no order"),
        (
            DISJOINT + "SELECT (COUNT(*) AS ?n) { ?x :p ?y }",
            "5:1: rule cax-dw: COUNT",
            "aggregate in a query",
        ),
        (DISJOINT + "SELECT ?x FROM :g { ?x :p ?y }", "5:1: rule cax-dw: FROM", "default graph"),
        (DISJOINT + CHECK + " ;\nSELECT ?x { ?x :p 1 MINUS { ?x :p 2 } }", "6:21: rule cax-dw: MINUS", None),
    ],
)
def test_errors_say_where_and_in_which_rule(text, place, hint):
    error = shown(text)
    assert error.startswith(f"my.rq:{place}")
    assert error.splitlines()[2].strip(" |^") == ""  # a caret under the line
    if hint is not None:
        assert hint in error.partition("  hint: ")[2]


def test_what_a_rule_may_have():
    text = PREFIXES + (
        "INSERT { ?x :q ?w } WHERE { ?x :p/^:p|:r+ ?y . { ?y :p* ?z } UNION { GRAPH ?z { ?z ?p ?y } } "
        "FILTER (?x != ?y && !BOUND(?u)) BIND (STR(?z) AS ?w) VALUES ?p { :p :q } }"
    )
    assert read_rules(text).rules
    assert read_rules(PREFIXES + DISJOINT + "SELECT DISTINCT ?x (1 AS ?one) { ?x :p ?y }").rules


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_file_gives_an_error_with_a_place_or_none_at_all(seed):
    chance = random.Random(seed)
    text = f"# drop: eq-ref\n{PREFIXES}{SUBCLASS}{RULE} ;\n{OTHER}\n{DISJOINT}{CHECK}\n{QUERY} ;\n{OTHER}\n"
    words = re.findall(r"\w+|\s+|.", text, re.S)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(words))
        more = ["", words[place] * 2, chance.choice(words), '"', "\\", "→", "#", "\n# name: x\n"]
        words[place] = chance.choice(more)
    damaged = "".join(words)
    try:
        found = read_rules(damaged, origin="my.rq")
    except QueryError as error:
        lines = damaged.splitlines()
        assert 1 <= error.span.line <= len(lines)
        assert 1 <= error.span.column <= len(lines[error.span.line - 1]) + 1
        assert error.origin == "my.rq"
    else:
        assert len({rule.name for rule in found.rules}) == len(found.rules)
        for rule in found.rules:  # a rule's own text is the rule
            [again] = read_rules(rule.text, origin="my.rq").rules
            assert [each.insert for each in again.inserts] == [each.insert for each in rule.inserts]
            assert [each.query for each in again.checks] == [each.query for each in rule.checks]
            assert (again.meaning, again.regimes) == (rule.meaning, rule.regimes)


# --- files --------------------------------------------------------------------------------


def test_files_and_directories(tmp_path):
    for name in ("b.rq", "a.ru", "notes.md"):
        (tmp_path / name).write_text(PREFIXES + OTHER)
    (tmp_path / "more.rq").mkdir()
    assert [path.name for path in files_at(tmp_path)] == ["a.ru", "b.rq"]
    assert files_at(tmp_path / "notes.md") == [tmp_path / "notes.md"]
    [rule] = read_file(tmp_path / "a.ru").rules
    assert (rule.name, rule.origin) == ("a", str(tmp_path / "a.ru"))
    with pytest.raises(UsageError, match="there are no rules in the directory"):
        files_at(tmp_path / "more.rq")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot read .*none.rq: No such file"):
        read_file(tmp_path / "none.rq")
    (tmp_path / "latin.rq").write_bytes(b"# \xe9\n")
    with pytest.raises(InputError, match="latin.rq is not UTF-8 text"):
        read_file(tmp_path / "latin.rq")
