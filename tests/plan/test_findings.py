"""The warnings of `penstock check`: what runs, but probably not as it was meant."""

from __future__ import annotations

import pytest

from penstock import pipeline
from penstock.languages import parse_query
from penstock.plan.advice.findings import query_findings, run_findings
from penstock.plan.catalog import Catalog, GraphName, StreamName, assumed_catalog
from plan.texts import PREFIXES, iri

BOUNDED = "FILTER (getDURATION() < 'PT1H'^^xsd:duration)"


def findings(text: str, catalog: Catalog | None = None):
    parsed = parse_query(PREFIXES + text)
    return query_findings(parsed, catalog or assumed_catalog([parsed.query]))


def only(text: str, code: str, catalog: Catalog | None = None):
    found = [finding for finding in findings(text, catalog) if finding.code == code]
    assert len(found) == 1, findings(text, catalog)
    return found[0]


def at(text: str, code: str, catalog: Catalog | None = None) -> str:
    """What the caret of a finding stands under."""
    span = only(text, code, catalog).span
    return (PREFIXES + text).splitlines()[span.line - 1][span.column - 1 :][: span.length]


def codes(text: str, catalog: Catalog | None = None) -> list[str]:
    return [finding.code for finding in findings(text, catalog)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?c { ?c :p ?x }",
        f"SELECT ?c {{ {{ ?c :p ?x }} SEQ {{ ?c :p ?y }} FILTER (?y < ?x) {BOUNDED} }}",
        f"SELECT ?c {{ ?c :p ?x OPTIONAL {{ ?c :q ?y {BOUNDED} }} FILTER (!BOUND(?y)) }}",
        f"SELECT * {{ {{ :a :p ?x }} SEQ {{ :a :p ?y }} {BOUNDED} }}",  # connected by :a
        f"SELECT * {{ {{ ?c :p ?x }} SEQ {{ ?d :p ?y }} FILTER (?x = ?y) {BOUNDED} }}",
        "SELECT ?c (COUNT(*) AS ?n) { ?c :p ?x } GROUP BY ?c HAVING (COUNT(*) > 2) ORDER BY ?n",
        "SELECT (SUM(?x) AS ?s) (?s / 2 AS ?half) { ?c :p ?x }",
        "CONSTRUCT { _:b :of ?c } WHERE { ?c :p ?x }",
        "SELECT * { ?c :p ?x GRAPH :places { ?y :in ?z . ?u :in ?v } }",
        "SELECT * FROM :prices { ?c :p ?x }",
    ],
)
def test_nothing_to_say(text):
    catalog = Catalog((StreamName(), StreamName(iri("prices").value)), (GraphName(iri("places").value),))
    assert findings(text, catalog) == ()


# --- paths between all pairs --------------------------------------------------------------------

LONG = "(^:beg/[:means :subway]/:end)+"


@pytest.mark.parametrize(
    "group",
    [
        f"GRAPH :places {{ ?x {LONG} ?y }}",
        "GRAPH :places { ?x :near* ?y }",
        "GRAPH :places { ?x ^(:near*/:in+)|:in ?y }",
        "?c :p ?x OPTIONAL { GRAPH :places { ?x :near+ ?y } }",
        "?c :p ?x FILTER EXISTS { GRAPH :places { ?x :near+ ?y } }",
        "?c :p ?x GRAPH :places { ?y :near+ ?z }",
        f'?x {LONG} ?y FILTER (getDURATION() < "PT1H"^^xsd:dayTimeDuration)',  # in the stream
    ],
)
def test_a_path_with_nothing_at_its_ends_is_found_for_all_pairs(group):
    catalog = Catalog((StreamName(),), (GraphName(iri("places").value),))
    finding = only(f"SELECT * {{ {group} }}", "all-pairs", catalog)
    assert "all pairs of nodes" in finding.message and "a term at one of its ends" in finding.hint
    assert codes(f"SELECT * {{ {group} }}", catalog) == ["all-pairs"] or "EXISTS" in group or "OPT" in group


@pytest.mark.parametrize(
    "group",
    [
        f"?c :p ?x GRAPH :places {{ ?x {LONG} ?y }}",
        f"GRAPH :places {{ ?x {LONG} ?y . ?y :in ?z }} ?c :p ?x",
        "GRAPH :places { ?x :near+ ?y . ?y :in/:near* ?z . ?z :in ?u }",
        "GRAPH :places { :a :near+ ?y }",
        "GRAPH :places { ?x :in/:near*/:in ?y }",
        "GRAPH :places { ?x ^(:near*/:in) ?y }",
        "GRAPH :places { ?x :near[:in+] ?y }",
        "GRAPH :places { ?x :near ?y }",
    ],
)
def test_a_static_path_is_found_from_what_its_group_binds(group):
    catalog = Catalog((StreamName(),), (GraphName(iri("places").value),))
    assert "all-pairs" not in codes(f"SELECT * {{ {group} }}", catalog)


def test_where_there_are_graphs_and_no_stream_none_is_assumed():
    queries = [parse_query(f"{PREFIXES} SELECT * {{ ?x {LONG} ?y }}")]
    assert [found.code for _, found in pipeline.check(queries, (), (GraphName(None),))] == ["all-pairs"]
    assert {found.code for _, found in pipeline.check(queries)} == {"all-pairs", "unbounded-state"}


# --- unbounded state -------------------------------------------------------------------------


def test_an_unbounded_sequence_is_named_with_the_filter_that_helps():
    finding = only("SELECT * { { ?c :p ?x } SEQ { ?c :p ?y } }", "unbounded-state")
    assert finding.message.startswith("SEQ remembers its left side for ever")
    assert "getDURATION() <" in finding.hint
    assert at("SELECT * { { ?c :p ?x } SEQ { ?c :p ?y } }", "unbounded-state") == "SEQ"


def test_all_that_one_filter_would_bound_is_one_finding():
    finding = only("SELECT * { { ?c :p ?x . ?c :q ?z } SEQ { ?c :p ?y } }", "unbounded-state")
    assert "SEQ remembers its left side and the group of triples" in finding.message


def test_a_filter_with_months_does_not_bound_and_the_hint_says_why():
    text = 'SELECT * { { ?c :p ?x } SEQ { ?c :p ?y } FILTER (getDURATION() < "P1M"^^xsd:duration) }'
    assert "in days, hours" in only(text, "unbounded-state").hint


@pytest.mark.parametrize(
    ("where", "name", "hint"),
    [
        ("?c :p ?x OPTIONAL { ?c :q ?y }", "OPTIONAL", "inside the optional group"),
        ("{ ?c :q ?y } OPTIONALSEQ { ?c :p ?x }", "OPTIONALSEQ", "inside the optional group"),
        ("?c :p ?x MINUS { ?c :q ?y }", "MINUS", "!BOUND"),
        ("?c :p ?x FILTER NOT EXISTS { ?c :q ?y }", "EXISTS", "!BOUND"),
    ],
)
def test_absence_remembers_for_ever_even_under_a_filter(where, name, hint):
    finding = only(f"SELECT * {{ {where} {BOUNDED} }}", "unbounded-state")
    assert finding.message.startswith(f"{name} remembers") and hint in finding.hint
    place = "NOT" if name == "EXISTS" else name
    assert at(f"SELECT * {{ {where} {BOUNDED} }}", "unbounded-state") == place


def test_the_place_of_a_group_that_remembers_is_its_first_triple():
    assert at("SELECT * { ?c :p ?x ; :q ?y . }", "unbounded-state") == "?c :p ?x"
    assert at("SELECT * { { ?c :p ?x } { ?c :q ?y } }", "unbounded-state") == "{"


# --- cartesian products ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "what", "place"),
    [
        ("{ ?a :p ?x } SEQ { ?b :p ?y }", "the sides of SEQ", "SEQ"),
        ("{ ?a :p ?x } EQUALS { ?b :p ?y }", "the sides of EQUALS", "EQUALS"),
        ("{ ?a :p ?x } OPTIONALSEQ { ?b :p ?y }", "the sides of OPTIONALSEQ", "OPTIONALSEQ"),
        ("{ ?a :p ?x } DURING { ?b :p ?y }", "the sides of DURING", "DURING"),
        ("{ ?a :p ?x } MEETS { ?b :p ?y }", "the sides of MEETS", "MEETS"),
        ("?a :p ?x OPTIONAL { ?b :p ?y }", "the sides of OPTIONAL", "OPTIONAL"),
        ("{ SELECT * { ?a :p ?x } } { SELECT * { ?b :p ?y } }", "two groups", "{"),
        ("?a :p ?x . ?b :p ?y", "`?b <http://example.org/p> ?y` and the triples before it", "?b :p ?y"),
    ],
)
def test_sides_without_a_shared_variable(where, what, place):
    finding = only(f"SELECT * {{ {where} {BOUNDED} }}", "cartesian-sequence")
    assert finding.message.startswith(f"{what} share no variable (here ?a and ?x, there ?b and ?y)")
    assert at(f"SELECT * {{ {where} {BOUNDED} }}", "cartesian-sequence") == place
    if place == "{":  # the second of the two groups
        assert finding.span.column == f"SELECT * {{ {where}".index("{ SELECT * { ?b") + 1


def test_a_filter_on_each_side_alone_relates_nothing():
    text = f"SELECT * {{ {{ ?a :p ?x }} SEQ {{ ?b :p ?y }} FILTER (?x > 1 && ?y > 1) {BOUNDED} }}"
    assert codes(text) == ["cartesian-sequence"]


def test_minus_without_a_shared_variable_has_no_effect():
    finding = only("SELECT * { ?a :p ?x MINUS { ?b :p ?y } }", "no-effect")
    assert "NOT EXISTS" in finding.hint
    assert at("SELECT * { ?a :p ?x MINUS { ?b :p ?y } }", "no-effect") == "MINUS"


# --- variables that nothing binds ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SELECT ?compny { ?company :p ?x }", "SELECT"),
        ("SELECT ?company { ?company :p ?x FILTER (?compny > 1) }", "FILTER"),
        ("SELECT ?company { ?company :p ?x FILTER (!BOUND(?compny)) }", "FILTER"),
        ("SELECT ?company { ?company :p ?x BIND (STR(?compny) AS ?y) }", "BIND or SELECT"),
        ("SELECT ?company { ?company :p ?x } ORDER BY ?compny", "ORDER BY"),
        ("SELECT (COUNT(?compny) AS ?n) { ?company :p ?x }", "GROUP BY or an aggregate"),
        ("CONSTRUCT { ?compny :q 1 } WHERE { ?company :p ?x }", "the CONSTRUCT template"),
        ("DESCRIBE ?compny { ?company :p ?x }", "DESCRIBE"),
        (
            "SELECT * { ?company :p ?x FILTER EXISTS { ?company :q ?y FILTER (?y > ?compny) } }",
            "FILTER",
        ),
    ],
)
def test_a_misspelt_variable_is_never_bound(text, where):
    finding = only(text, "never-bound")
    assert finding.message == f"?compny in {where} is never bound there"
    assert finding.hint == "did you mean ?company?"
    assert finding.span.column == text.index("?compny") + 1


def test_a_variable_of_another_group_is_not_seen_by_a_filter():
    finding = only("SELECT * { ?a :p ?x { ?a :q ?y FILTER (?x < ?y) } }", "never-bound")
    assert finding.message.startswith("?x in FILTER") and "only its own group" in finding.hint
    assert finding.span.column == "SELECT * { ?a :p ?x { ?a :q ?y FILTER (?x < ?y) } }".rindex("?x") + 1


def test_exists_and_optional_filters_see_the_outer_variables():
    assert "never-bound" not in codes(
        "SELECT * { ?a :p ?x OPTIONAL { ?a :q ?y FILTER (?x < ?y) } "
        "FILTER NOT EXISTS { ?a :r ?z FILTER (?x < ?z) } }"
    )


# --- names that nothing is known under -------------------------------------------------------


def test_from_and_graph_that_name_nothing():
    catalog = Catalog((StreamName(iri("prices").value),))
    wrong = only("SELECT * FROM :price { ?a :p ?x }", "unknown-source", catalog)
    assert wrong.hint == "did you mean <http://example.org/prices>?"
    assert "GRAPH" in only("SELECT * { GRAPH :g { ?a :p ?x } }", "unknown-source", catalog).message
    assert at("SELECT * FROM :price { ?a :p ?x }", "unknown-source", catalog) == ":price"
    assert at("SELECT * { GRAPH :g { ?a :p ?x } }", "unknown-source", catalog) == ":g"
    unlisted = "SELECT * FROM :prices { GRAPH :prices { ?a :p ?x } }"
    assert "FROM NAMED" in only(unlisted, "unknown-source", catalog).hint


def test_an_unknown_function_with_the_nearest_one():
    finding = only("SELECT * { ?a :p ?x FILTER (xsd:intger(?x) > 1) }", "unknown-function")
    assert finding.hint == "did you mean <http://www.w3.org/2001/XMLSchema#integer>?"
    assert at("SELECT * { ?a :p ?x FILTER (xsd:intger(?x) > 1) }", "unknown-function") == "xsd:intger(?x)"
    assert "unknown-function" not in codes(
        "SELECT * { ?a :p ?x FILTER (xsd:integer(?x) IN (1, STRLEN(?x)) || getENDTIME() < NOW()) }"
    )


# --- types that do not fit --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "why", "hint"),
    [
        ("getDURATION() < 600", "a duration cannot be compared with a number", '"PT10M"^^xsd:dayTime'),
        ("600 >= getDURATION()", "a number cannot be compared with a duration", "600 seconds"),
        ('getDURATION() < "PT1H"', "a duration cannot be compared with a string", '"PT1H"^^xsd:dayTime'),
        (
            'getSTARTTIME() < "2026-05-01T08:00:00Z"',
            "an instant cannot be compared with a string",
            '"2026-05-01T08:00:00Z"^^xsd:dateTime',
        ),
        ("getSTARTTIME() > getDURATION()", "an instant cannot be compared with a duration", "difference"),
        ("getENDTIME() + 60", "`+` is not defined for an instant and a number", None),
        ("HOURS(getDURATION())", "HOURS is not defined for a duration", None),
        ("STRLEN(1)", "STRLEN is not defined for a number", None),
        ("1 < :a", "a number cannot be compared with a resource", None),
    ],
)
def test_types_that_do_not_fit(expression, why, hint):
    text = f"SELECT * {{ ?a :p ?x FILTER (?x > 1 && ({expression}) = ?x) }}"
    finding = only(text, "type-error")
    assert finding.message == f"this is an error in every solution: {why}"
    assert (hint is None) or hint in finding.hint
    assert at(text, "type-error") == expression


@pytest.mark.parametrize(
    "expression",
    [
        "getDURATION() < ?x",
        'getDURATION() < "PT1H"^^xsd:duration && getENDTIME() > "2026-05-01T08:00:00Z"^^xsd:dateTime',
        "getDURATION() = 600",  # false, but no error
        "getENDTIME() - getSTARTTIME() < getDURATION()",
        "1 / SECONDS(getSTARTTIME()) > 0",  # an error for some intervals only
        "COALESCE(?x, 1) > 0",
        "EXISTS { ?a :q ?y }",
        "BOUND(?x)",
    ],
)
def test_types_that_fit_or_are_not_known(expression):
    assert "type-error" not in codes(f"SELECT * {{ ?a :p ?x FILTER ({expression}) }}")


# --- what nobody reads -----------------------------------------------------------------------


def test_streams_and_graphs_that_nobody_reads():
    catalog = Catalog((StreamName(), StreamName(iri("prices").value)), (GraphName(iri("places").value),))
    everything = parse_query(PREFIXES + "SELECT * { ?a :p ?x }")
    prices = parse_query(PREFIXES + "SELECT * FROM :prices { ?a :p ?x }")
    places = parse_query(PREFIXES + "SELECT * { GRAPH :places { ?a :p ?x } }")
    assert [f.code for f in run_findings([prices], catalog)] == ["unread-stream", "unread-graph"]
    (graph,) = run_findings([everything], catalog)
    assert graph.code == "unread-graph" and "<http://example.org/places>" in graph.message
    assert run_findings([everything, places], catalog) == ()
    assert len(run_findings([places], catalog)) == 2


def test_rules_read_the_graph_without_a_name():
    catalog = Catalog((StreamName(iri("prices").value),), (GraphName(),))
    prices = parse_query(PREFIXES + "SELECT * FROM :prices { ?a :p ?x }")
    assert [f.code for f in run_findings([prices], catalog)] == ["unread-graph"]
    assert run_findings([prices], catalog, rules=True) == ()


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (r'REGEX(?x, "(a)\\1")', "refers back"),
        ('REGEX(?x, "(a")', "not a regular expression"),
        ('REGEX(?x, "a", "g")', "not flags"),
        ('REGEX(?x, "a{1,5000}")', "1,000 times"),
        ('REPLACE(?x, "[", "") = ""', "not a regular expression"),
        ('REPLACE(?x, "a", "", "y") = ""', "not flags"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_an_error_in_every_solution(expression: str, why: str):
    text = f"SELECT * {{ ?a :p ?x FILTER ({expression}) }}"
    assert why in only(text, "type-error").message


@pytest.mark.parametrize("expression", ['REGEX(?x, "a+", "i")', "REGEX(?x, ?y)", 'REGEX(?x, "(", ?y)'])
def test_a_pattern_that_may_be_used_is_none(expression: str):
    assert "type-error" not in codes(f"SELECT * {{ ?a :p ?x ; :q ?y FILTER ({expression}) }}")


WINDOW = "SELECT ?x FROM NAMED WINDOW :w ON :s [{}] WHERE {{ WINDOW :w {{ ?x :p ?y }} }}"


@pytest.mark.parametrize("window", ["RANGE PT1M STEP PT2M", "TRIPLES 2 STEP 3"])
def test_a_slide_longer_than_the_window_leaves_gaps(window):
    text = WINDOW.format(window)
    assert codes(text) == ["window-gaps"]
    assert at(text, "window-gaps") == window
    assert "what falls between two windows is in none" in only(text, "window-gaps").message


@pytest.mark.parametrize(
    "text",
    [
        WINDOW.format("RANGE PT1M STEP PT1M"),
        WINDOW.format("RANGE 1m"),
        WINDOW.format("NOW"),
        WINDOW.format("TRIPLES 2 STEP 2"),
        "SELECT ?x FROM STREAM :s [RANGE 1m STEP 1s] { ?x :p ?y }",
        "SELECT ?x FROM STREAM :s [RANGE 1m] { ?x :p ?y OPTIONAL { ?x :q ?z } }",
    ],
)
def test_nothing_is_found_about_these_windows(text):
    assert codes(text) == []


def test_a_window_that_nothing_leaves():
    text = WINDOW.format("RANGE UNBOUNDED STEP PT1M")
    assert codes(text) == ["unbounded-window"]
    assert at(text, "unbounded-window") == "RANGE UNBOUNDED STEP PT1M"


COUNTED = "SELECT {} FROM STREAM :s [RANGE 1m STEP 1m] WHERE {{ {} }} {}"


@pytest.mark.parametrize(
    ("what", "where", "by"),
    [
        ("?x (AVG(?y) AS ?n)", "?x :p ?y", "GROUP BY ?x"),
        ("(SUM(?y) AS ?n)", "?x :p ?y", ""),
        ("(COUNT(*) AS ?n)", ":x :p ?y", ""),
        ("?x (COUNT(?y) AS ?n)", "?x :p ?y ; :q ?z FILTER (?z > 1)", "GROUP BY ?x"),
    ],
)
def test_equal_readings_in_a_window_as_a_graph_count_once(what, where, by):
    text = COUNTED.format(what, where, by)
    assert codes(text) == ["equal-readings"]
    assert "equal readings count once" in only(text, "equal-readings").message
    if "?y" in what:
        assert at(text, "equal-readings") == "?y"
    # Two rows of a table with subjects of their own state no triple twice.
    assert codes(text, Catalog((StreamName(iri("s").value, repeats=False),))) == []


@pytest.mark.parametrize(
    ("what", "where", "by"),
    [
        ("?x (AVG(DISTINCT ?y) AS ?n)", "?x :p ?y", "GROUP BY ?x"),
        ("?x (MAX(?y) AS ?n)", "?x :p ?y", "GROUP BY ?x"),
        ("?x (AVG(?y) AS ?n)", "?r :of ?x ; :p ?y", "GROUP BY ?x"),
        ("(COUNT(*) AS ?n)", "?r :of ?x ; :p ?y . ?x :in ?z", ""),
    ],
)
def test_readings_that_have_nodes_of_their_own_are_counted(what, where, by):
    text = COUNTED.format(what, where, by)
    assert codes(text) == []
    # Unless a map makes them of something that stays: then equal ones are one.
    expected = [] if "DISTINCT" in what or "MAX" in what else ["equal-readings"]
    assert codes(text, Catalog((StreamName(iri("s").value, repeats=True),))) == expected


def test_what_static_graphs_say_of_a_sensor_makes_no_reading_of_it():
    text = COUNTED.format("?z (AVG(?y) AS ?n)", "?x :p ?y ; :in ?z", "GROUP BY ?z")
    for predicates, expected in ((None, []), ({"in"}, ["equal-readings"]), ({"of"}, [])):
        known = None if predicates is None else frozenset(iri(each).value for each in predicates)
        catalog = Catalog((StreamName(iri("s").value),), (GraphName(None, known),))
        assert codes(text, catalog) == expected
    nodes = COUNTED.format("?z (AVG(?y) AS ?n)", "?r :of ?x ; :p ?y . ?x :in ?z", "GROUP BY ?z")
    catalog = Catalog((StreamName(iri("s").value),), (GraphName(None, frozenset({iri("in").value})),))
    assert codes(nodes, catalog) == []


def test_elements_that_windows_show_one_by_one_count_twice():
    text = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 1m] WHERE { WINDOW :w { ?x :p ?y } }"
    assert codes(text) == []


def test_a_window_that_no_pattern_looks_at():
    unread = "FROM NAMED WINDOW :v ON :s [RANGE 1m]"
    text = WINDOW.replace("WHERE", f"{unread} WHERE").replace(":w {{", ":v {{").format("NOW")
    assert at(text, "unread-window") == "NOW"
    assert codes(text) == ["unread-window"]


@pytest.mark.parametrize(
    ("before", "absent", "after", "found"),
    [
        ("?x :of ?s ; :v ?a", "?m :of ?s ; :v ?t", "?y :of ?s ; :v ?b", True),
        ("?s :v ?a FILTER (?a > 80)", "?s :v ?t", "?s :fails true", True),  # what is before it is one
        ("?s :starts true", "?s ?any ?t", "?s :fails true", True),
        ("?s :v ?a", "?s :v ?t FILTER (?t > 5)", "?s :v ?b", False),
        ("?s :v ?a", "?s :v 7", "?s :v ?b", False),
        ("?s :v ?a", "?s :v ?t ; :w ?t", "?s :v ?b ; :w ?c", False),  # of one value both
        ("?x :of ?s", "?m :of ?s ; :v ?t", "?s :fails true", False),
        ("?s :v ?a", "?s :serviced true", "?s :v ?b", False),
    ],
)
def test_a_negated_member_that_a_neighbour_is_hides_all(before, absent, after, found):
    window = "SELECT ?s FROM NAMED WINDOW :W ON :s [RANGE 1h] WHERE { WINDOW :W { %s } }"
    text = window % f"SEQ({{ {before} }}, !{{ {absent} }}, {{ {after} }})"
    assert codes(text) == (["hides-itself"] if found else [])
    assert codes(window % f"SEQ({{ {before} }}, !{{ {absent} }})") == []  # after it is after it


def test_what_windows_read_is_read():
    parsed = parse_query(PREFIXES + WINDOW.format("RANGE PT1M"))
    catalog = Catalog((StreamName(iri("s").value), StreamName(iri("t").value)))
    assert [each.code for each in run_findings([parsed], catalog)] == ["unread-stream"]
