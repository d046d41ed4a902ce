"""EP-SPARQL: the temporal operators, their written forms, and the paper's six queries."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.scenarios.stock_market as stock_market
from languages.notation import PROLOGUE, algebra, expression, one_line, pattern
from penstock.algebra.printing import to_sexpr
from penstock.errors import QueryError
from penstock.languages import parse_query

A, B, C = (f"(bgp (triple ?{v} :p 1))" for v in "abc")
GROUPS = {name: f"{{ ?{name} :p 1 }}" for name in "abc"}


def ep(group: str) -> str:
    return pattern(group.format(**GROUPS), "ep-sparql")


OPERATORS = {
    "SEQ": ("{{ {a} SEQ {b} }}", f"(SeqJoin {A} {B})"),
    "EQUALS": ("{{ {a} EQUALS {b} }}", f"(EqJoin {A} {B})"),
    **{
        word: (f"{{{{ {{a}} {word} {{b}} }}}}", f"({word.capitalize()}Join {A} {B})")
        for word in ("DURING", "STARTS", "FINISHES", "MEETS", "OVERLAPS")
    },
    "OPTIONALSEQ": ("{{ {a} OPTIONALSEQ {b} }}", f"(SeqRightJoin {A} {B})"),
    "EQUALSOPTIONAL": ("{{ {a} EQUALSOPTIONAL {b} }}", f"(EqLeftJoin {A} {B})"),
    "keywords in any case": (
        "{{ {a} seq {b} EqualsOptional {c} }}",
        f"(EqLeftJoin (SeqJoin {A} {B}) {C})",
    ),
    "from left to right": ("{{ {a} SEQ {b} SEQ {c} }}", f"(SeqJoin (SeqJoin {A} {B}) {C})"),
    "all of one precedence": (
        "{{ {a} UNION {b} SEQ {c} EQUALS {a} }}",
        f"(EqJoin (SeqJoin (Union {A} {B}) {C}) {A})",
    ),
    "nested": ("{{ {a} SEQ {{ {b} EQUALS {c} }} }}", f"(SeqJoin {A} (EqJoin {B} {C}))"),
    "with what stands before and after": (
        "{{ ?x :q 1 {a} SEQ {b} OPTIONAL {c} FILTER (?x > 1) }}",
        f"(Filter (> ?x 1) (LeftJoin (Join (bgp (triple ?x :q 1)) (SeqJoin {A} {B})) {C}))",
    ),
    "in OPTIONAL, MINUS and EXISTS": (
        "{{ OPTIONAL {{ {a} SEQ {b} }} MINUS {{ {a} SEQ {b} }} FILTER EXISTS {{ {a} SEQ {b} }} }}",
        f"""(Filter (EXISTS (SeqJoin {A} {B}))
              (Minus (LeftJoin (bgp) (SeqJoin {A} {B})) (SeqJoin {A} {B})))""",
    ),
    "a sub-query as operand": (
        "{{ {a} SEQ {{ SELECT ?b {b} }} }}",
        f"(SeqJoin {A} (Project (?b) {B}))",
    ),
}

CONDITIONS = {
    "OPTIONALSEQ takes the filter of its left group": (
        "{{ {{ ?a :p 1 FILTER (?a > 1) }} OPTIONALSEQ {b} }}",
        f"(SeqRightJoin {A} {B} (> ?a 1))",
    ),
    "but not that of its right group": (
        "{{ {a} OPTIONALSEQ {{ ?b :p 1 FILTER (?b > 1) }} }}",
        f"(SeqRightJoin {A} (Filter (> ?b 1) {B}))",
    ),
    "EQUALSOPTIONAL takes the filter of its right group": (
        "{{ {a} EQUALSOPTIONAL {{ ?b :p 1 FILTER (?b > 1) }} }}",
        f"(EqLeftJoin {A} {B} (> ?b 1))",
    ),
    "but not that of its left group": (
        "{{ {{ ?a :p 1 FILTER (?a > 1) }} EQUALSOPTIONAL {b} }}",
        f"(EqLeftJoin (Filter (> ?a 1) {A}) {B})",
    ),
    "nor the filter of a group further inside": (
        "{{ {a} EQUALSOPTIONAL {{ {{ ?b :p 1 FILTER (?b > 1) }} }} }}",
        f"(EqLeftJoin {A} (Filter (> ?b 1) {B}))",
    ),
    "nor that of an operand further left": (
        "{{ {a} SEQ {{ ?b :p 1 FILTER (?b > 1) }} OPTIONALSEQ {c} }}",
        f"(SeqRightJoin (SeqJoin {A} (Filter (> ?b 1) {B})) {C})",
    ),
    "SEQ and EQUALS leave filters where they are": (
        "{{ {{ ?a :p 1 FILTER (?a > 1) }} SEQ {b} EQUALS {{ ?c :p 1 FILTER (?c > 1) }} }}",
        f"(EqJoin (SeqJoin (Filter (> ?a 1) {A}) {B}) (Filter (> ?c 1) {C}))",
    ),
}


@pytest.mark.parametrize(("text", "expected"), OPERATORS.values(), ids=OPERATORS)
def test_operator(text, expected):
    assert ep(text) == one_line(expected)


@pytest.mark.parametrize(("text", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_condition_of_an_optional_side(text, expected):
    assert ep(text) == one_line(expected)


@pytest.mark.parametrize(
    "rest",
    [
        "SEQ {b}",
        "SEQ {b} EQUALS {c}",
        "UNION {b}",
        "SEQ {b} FILTER (?a > 1)",
        "SEQ {b} OPTIONAL {c} FILTER (?a > 1) FILTER (?b < 1)",
        "SEQ {b} BIND (getDURATION() AS ?d) MINUS {c} . GRAPH ?g {c}",
        "OPTIONALSEQ {{ {b} SEQ {c} }} FILTER (!BOUND(?a))",
    ],
)
@pytest.mark.parametrize("form", ["SELECT *", "SELECT * WHERE", "ASK", "CONSTRUCT {{}}", "DESCRIBE ?a"])
def test_without_outer_braces_all_stands_in_one_group(form, rest):
    bare = f"{form} {{a}} {rest} ORDER BY ?a".format(**GROUPS)
    braced = f"{form} {{{{ {{a}} {rest} }}}} ORDER BY ?a".format(**GROUPS)
    assert algebra(bare, "ep-sparql") == algebra(braced, "ep-sparql")


def test_a_sub_query_may_be_without_outer_braces_too():
    assert ep("{{ {{ SELECT ?a {a} SEQ {b} FILTER (?b > 1) LIMIT 1 }} SEQ {c} }}") == one_line(
        f"(SeqJoin (Slice 0 1 (Project (?a) (Filter (> ?b 1) (SeqJoin {A} {B})))) {C})"
    )


def test_values_after_the_chain_are_those_of_the_query():
    assert algebra("SELECT ?a {a} SEQ {b} VALUES ?a {{ 1 }}".format(**GROUPS), "ep-sparql") == one_line(
        f"(Select (?a) (Project (?a) (Join (SeqJoin {A} {B}) (Values (?a) (row 1)))))"
    )


@pytest.mark.parametrize("name", ["getDURATION", "getSTARTTIME", "getENDTIME", "GETendtime"])
def test_time_functions(name):
    assert expression(f"{name}() = 1", "ep-sparql") == f"(= ({name.upper()}) 1)"


def test_time_functions_in_select_and_order_by():
    assert algebra("SELECT (getENDTIME() AS ?t) {} ORDER BY getDURATION()", "ep-sparql") == (
        "(Select (?t) (Project (?t) (OrderBy ((asc (GETDURATION))) (Extend ?t (GETENDTIME) (bgp)))))"
    )


@pytest.mark.parametrize(
    "name",
    [
        "seq",
        "SEQ",
        "equals",
        "optionalseq",
        "equalsoptional",
        "getDURATION",
        "filter",
        "a",
        "union",
    ],
)
def test_keywords_remain_good_names(name):
    text = f"PREFIX {name}: <http://x.org/> ASK {{ ?{name} {name}:{name} _:{name} }}"
    assert parse_query(text, language="ep-sparql").query == parse_query(text, language="sparql").query


@pytest.mark.parametrize("operator", ["SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"])
def test_sparql_itself_has_no_temporal_operators(operator):
    for text in (f"ASK {{ {{}} {operator} {{}} }}", f"ASK {{}} {operator} {{}}"):
        assert parse_query(text).query is not None
        with pytest.raises(QueryError, match=f"{operator} is an operator of EP-SPARQL"):
            parse_query(text, language="sparql")


@pytest.mark.parametrize("function", ["getDURATION", "getSTARTTIME", "getENDTIME"])
def test_sparql_itself_has_no_time_functions(function):
    with pytest.raises(QueryError, match=f"{function} is a function of EP-SPARQL"):
        parse_query(f"ASK {{ FILTER ({function}() > 1) }}", language="sparql")


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p ?o SEQ ?s ?p ?o }",
        "ASK { SEQ {} }",
        "ASK { {} SEQ }",
        "ASK {} FILTER (true)",
        "ASK {} {}",
        "ASK {} SEQ {} ?s ?p ?o",
        "ASK {} SEQ {} OPTIONAL {} SEQ {}",
        "CONSTRUCT WHERE {} SEQ {}",
        "ASK { FILTER (getDURATION(1)) }",
    ],
)
def test_what_is_not_ep_sparql(text):
    with pytest.raises(QueryError):
        parse_query(text)


def test_blank_node_labels_hold_on_one_side_of_an_operator_only():
    with pytest.raises(QueryError, match="_:x is used in two different basic graph patterns"):
        parse_query(PROLOGUE + "ASK { { _:x :p 1 } SEQ { _:x :q 1 } }")


# --- the paper's queries -------------------------------------------------------------------

POINT = "(bgp (triple ?point :hasCount ?prevcount) (triple ?point :hasSum ?prevsum))"


def price(variable: str, company: str = "?company") -> str:
    return f"(bgp (triple {company} :hasStockPrice ?{variable}))"


def rating(number: int) -> str:
    rated = f"?rating{number}"
    return f"""(bgp (triple {rated} :rater ?ratingagency) (triple {rated} :rated ?company)
                    (triple {rated} :score ?score{number}))"""


ACME, BETWEEN = price("price", ":acme"), price("inbetween", ":acme")
PAPER = {
    "q1": f"""(Select (?company) (Project (?company)
        (Filter (&& (&& (< ?price2 (* ?price1 0.7)) (> ?price3 (* ?price1 1.05)))
                    (< (GETDURATION) "P30D"^^xsd:duration))
          (SeqJoin (SeqJoin {price("price1")} {price("price2")}) {price("price3")}))))""",
    "q2": f"""(Select (?company ?ratingagency) (Project (?company ?ratingagency)
        (Filter (< ?price2 (* ?price1 0.5))
          (SeqRightJoin (bgp (triple ?company :downratedby ?ratingagency))
            (SeqJoin {price("price1")} {price("price2")})))))""",
    "q3": f"""(Select (?company) (Project (?company)
        (Filter (&& (&& (> ?price2 (* ?price1 1.5)) (! (BOUND ?othercompany)))
                    (< (GETDURATION) "P15D"^^xsd:duration))
          (SeqJoin {price("price1")}
            (SeqRightJoin (bgp (triple ?company :hasAcquired ?othercompany))
              {price("price2")})))))""",
    "q4": f"""(Construct (template (triple ?company :downratedby ?ratingagency))
        (Filter (< ?score2 ?score1) (SeqJoin {rating(1)} {rating(2)})))""",
    "q5": f"""(Construct (template (triple _:aaa :hasCount ?count) (triple _:aaa :hasSum ?sum))
        (Project (?count ?sum)
          (Extend ?sum (+ ?prevsum ?price) (Extend ?count (+ ?prevcount 1)
            (Filter (&& (! (BOUND ?inbetween)) (< (GETDURATION) "P10D"^^xsd:duration))
              (EqLeftJoin (SeqJoin {POINT} {ACME})
                (SeqJoin (SeqJoin {POINT} {BETWEEN}) {ACME})))))))""",
    "q6": f"""(Select (?average) (Project (?average)
        (Extend ?average (/ ?prevsum ?prevcount)
          (Filter (&& (! (BOUND ?inbetween)) (> (GETDURATION) "P10D"^^xsd:duration))
            (EqLeftJoin (SeqJoin {ACME} {POINT})
              (SeqJoin (SeqJoin {ACME} {BETWEEN}) {POINT}))))))""",
}


@pytest.mark.parametrize("name", PAPER)
def test_query_of_the_paper(name):
    path = Path(stock_market.__file__).parent / f"{name}.rq"
    parsed = parse_query(path.read_text("utf-8"), origin=path.name)
    assert one_line(to_sexpr(parsed.query, prefixes=parsed.prefixes)) == one_line(PAPER[name])
