"""CQELS-CEP, C-SPARQL and RSP-QL: what their constructs mean, and how texts are told apart."""

from __future__ import annotations

import pytest

from penstock.algebra import (
    BGP,
    ELEMENT,
    NOW,
    Background,
    Call,
    Construct,
    EventSequence,
    Extend,
    Filter,
    Graph,
    InWindow,
    Join,
    Kind,
    Member,
    Minus,
    OneOrMore,
    OuterJoin,
    ParsedRule,
    PathPattern,
    Report,
    Select,
    Shows,
    StreamOperator,
    Tick,
    Timestamp,
    TriplePattern,
    Union_,
    Var,
    View,
    Window,
    WindowSpec,
)
from penstock.algebra.relations import INTERSECTS, IntervalRule
from penstock.errors import QueryError, Span
from penstock.languages import parse, parse_query
from penstock.terms import NamedNode
from penstock.timeline import DAY, HOUR, MINUTE, SECOND, parse_duration, parse_instant

PROLOGUE = "PREFIX : <http://e/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
F = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>\n"
X, Y, Z = Var("x"), Var("y"), Var("z")

# --- the papers' own queries -----------------------------------------------------------------

PAPER_004 = """\
REGISTER STREAM AvgObservations AS
PREFIX inwsc: <http://inwatersense.uni-pr.edu/ontologies/inws-core.owl#>
PREFIX ssn: <http://purl.oclc.org/NET/ssnx/ssn#>
PREFIX dul: <http://www.loa-cnr.it/ontologies/DUL.owl#>
SELECT ?qo ?loc (AVG(?dv) AS ?avg)
FROM STREAM <http://inwatersense.uni-pr.edu/stream> [RANGE 20s STEP 20s]
FROM <http://inwatersense.uni-pr.edu/ontologies/inws-core.owl>
WHERE {
  ?o ssn:qualityOfObservation ?qo .
  ?o ssn:observationResult ?r .
  ?r ssn:hasValue ?v .
  ?v dul:hasDataValue ?dv .
  ?o inwsc:observationResultLocation ?loc .
  FILTER (?qo != inwsc:pH)
}
GROUP BY ?qo ?loc
"""
PAPER_001_PROLOGUE = """\
PREFIX : <http://example.org/>
PREFIX ex: <http://example.org/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
EXAMPLE_4 = f"""\
{PAPER_001_PROLOGUE}
SELECT ?s
FROM ex:transportationMap
FROM NAMED WINDOW :W ON ex:publicTransport [RANGE 10m]
WHERE {{
  WINDOW :W {{ ?v :delayAt ?s }}
  ?v rdf:type :subway .
}}
"""
EXAMPLE_6 = f"""\
{PAPER_001_PROLOGUE}
SELECT ?s
FROM ex:transportationMap
FROM NAMED WINDOW :W ON ex:publicTransport [RANGE 10m]
WHERE {{
  WINDOW :W {{
    SEQ ({{?v :delayAt ?s}}, {{?v :delayAt ?s}}, !{{?v :arriveAt ?s}})
  }}
  ?v rdf:type :subway .
  ?s (^:beg/[:means :subway]/:end)+ :c .
}}
"""


def iri(name: str) -> NamedNode:
    return NamedNode(f"http://e/{name}")


def triple(subject, predicate: str, object_) -> TriplePattern:
    return TriplePattern(subject, iri(predicate), object_)


def event(*triples: TriplePattern) -> BGP:
    return BGP(triples, ELEMENT)


def test_paper_004_as_printed_with_its_line_breaks_repaired():
    parsed = parse_query(PAPER_004)
    assert (parsed.language, parsed.name) == ("c-sparql", "AvgObservations")
    how = parsed.query.continuous
    stream = NamedNode("http://inwatersense.uni-pr.edu/stream")
    spec = WindowSpec(Kind.TIME, 20 * SECOND, 20 * SECOND, shows=Shows.CLOSED)
    assert how.windows == (Window(None, stream, spec),)
    assert (how.report, how.operator, how.view) == (Report(close=True), StreamOperator.RSTREAM, View.GRAPH)
    assert [var.name for var in parsed.query.vars] == ["qo", "loc", "avg"]
    assert [each.value[-9:] for each in parsed.query.dataset.default] == ["-core.owl"]
    assert parsed.place == Span(1, 1, 8)
    assert [prefix for prefix, _ in parsed.prefixes] == ["inwsc", "ssn", "dul"]


@pytest.mark.parametrize("text", [EXAMPLE_4, EXAMPLE_6])
def test_paper_001_examples_4_and_6(text):
    parsed = parse_query(text)
    assert parsed.language == "cqels-cep"
    how = parsed.query.continuous
    name, stream = (NamedNode(f"http://example.org/{each}") for each in ("W", "publicTransport"))
    spec = WindowSpec(Kind.TIME, 10 * MINUTE, 1, opening=True, shows=Shows.CLOSED)
    assert how.windows == (Window(name, stream, spec),)
    assert (how.report, how.operator) == (Report(change=True), StreamOperator.ISTREAM)
    assert how.view is View.ELEMENT
    body = parsed.query.pattern.pattern
    assert (body.relation, body.interval) == (INTERSECTS, IntervalRule.INTERSECTION)
    assert isinstance(body.left, InWindow) and isinstance(body.right, Background)
    if text == EXAMPLE_6:
        assert [(each.negated, each.repeated) for each in body.left.pattern.members] == [
            (False, False),
            (False, False),
            (True, False),
        ]


# --- windows in brackets ------------------------------------------------------------------------

START = parse_instant("2026-01-01T00:00:00Z")
TEN, ONE = 10 * MINUTE, MINUTE


def time(width: int, slide: int, shows: Shows, start: int | None = None, opening: bool = False):
    return WindowSpec(Kind.TIME, width, slide, start, opening, shows)


SHARED = {
    "[TRIPLES 10]": WindowSpec(Kind.TRIPLES, 10, 1, shows=Shows.CLOSED),
    "[triples 10 {slide} 3]": WindowSpec(Kind.TRIPLES, 10, 3, shows=Shows.CLOSED),
    '[RANGE UNBOUNDED {slide} {one} STARTING "2026-01-01T00:00:00Z"^^xsd:dateTime]': WindowSpec(
        Kind.LANDMARK, slide=ONE, start=START
    ),
}
OWN = {
    "c-sparql": {
        "[RANGE 10m STEP 1m]": time(TEN, ONE, Shows.CLOSED),
        "[range 10m step 1m]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE 10m TUMBLING]": time(TEN, TEN, Shows.CLOSED),
        "[RANGE 10m]": time(TEN, TEN, Shows.CLOSED),
        "[RANGE 1h30m]": time(90 * MINUTE, 90 * MINUTE, Shows.CLOSED),
        "[RANGE 1.5h STEP 500ms]": time(90 * MINUTE, SECOND // 2, Shows.CLOSED),
        "[RANGE 10 minutes STEP 60 sec]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE 1w STEP 1d]": time(7 * DAY, DAY, Shows.CLOSED),
        "[RANGE TRIPLES 10]": WindowSpec(Kind.TRIPLES, 10, 1, shows=Shows.CLOSED),
        "[RANGE 1m STEP 10m]": time(ONE, TEN, Shows.CLOSED),
        "[RANGE 10 min, SLIDE 1min]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE 10m SLIDE 1 m]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE TRIPLES 10, STEP 3]": WindowSpec(Kind.TRIPLES, 10, 3, shows=Shows.CLOSED),
        '[RANGE 10m STEP 1m STARTING "2026-01-01T01:00:00+01:00"]': time(TEN, ONE, Shows.CLOSED, START),
    },
    "rsp-ql": {
        "[RANGE PT10M STEP PT1M]": time(TEN, ONE, Shows.PRESENT),
        "[RANGE PT10M TUMBLING]": time(TEN, TEN, Shows.PRESENT),
        "[RANGE PT10M]": time(TEN, TEN, Shows.PRESENT),
        "[RANGE PT10M SLIDE PT1M]": time(TEN, ONE, Shows.PRESENT),
        "[RANGE PT10m, step pt1M]": time(TEN, ONE, Shows.PRESENT),
        "[FROM NOW-PT10M TO NOW STEP PT1M]": time(TEN, ONE, Shows.PRESENT),
        "[FROM NOW - PT10M TO NOW]": time(TEN, TEN, Shows.PRESENT),
        "[RANGE P1DT1H STEP PT0.5S]": time(DAY + HOUR, SECOND // 2, Shows.PRESENT),
        '[RANGE PT10M STEP PT1M STARTING "2026-01-01T00:00:00Z"]': time(TEN, ONE, Shows.PRESENT, START),
    },
    "cqels-cep": {
        "[RANGE 10m]": time(TEN, 1, Shows.CLOSED, opening=True),
        "[RANGE 10m SLIDE 1m]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE 10 m, SLIDE 1m]": time(TEN, ONE, Shows.CLOSED),
        "[RANGE 10m TUMBLING]": time(TEN, TEN, Shows.CLOSED),
        "[NOW]": NOW,
        "[ALL]": WindowSpec(Kind.LANDMARK),
        '[ALL SLIDE 1m STARTING "2026-01-01T00:00:00Z"]': WindowSpec(Kind.LANDMARK, slide=ONE, start=START),
    },
}
SPECS = [
    (language, text.format(slide="SLIDE" if language == "cqels-cep" else "STEP", one=one), spec)
    for language, own in OWN.items()
    for one in ["PT1M" if language == "rsp-ql" else "1m"]
    for text, spec in (SHARED | own).items()
]


def over(window: str, language: str, head: str = "SELECT ?x") -> str:
    if language == "c-sparql":
        return f"{PROLOGUE}{head} FROM STREAM :s {window} WHERE {{ ?x :p ?y }}"
    return f"{PROLOGUE}{head} FROM NAMED WINDOW :w ON :s {window} WHERE {{ WINDOW :w {{ ?x :p ?y }} }}"


@pytest.mark.parametrize(("language", "window", "spec"), SPECS)
def test_windows_in_brackets(language, window, spec):
    parsed = parse_query(over(window, language), language=language)
    name = None if language == "c-sparql" else iri("w")
    assert parsed.query.continuous.windows == (Window(name, iri("s"), spec),)
    [place] = parsed.window_places
    line = parsed.text.splitlines()[place.line - 1]
    assert line[place.column - 2 : place.column + place.length] == window


@pytest.mark.parametrize(
    "declared",
    [
        ":w ON STREAM :s [RANGE 10m STEP 1m]",
        ":w [RANGE 10 m, SLIDE 1m] ON STREAM :s",
        "ON STREAM :s [RANGE PT10M SLIDE PT1M] AS :w",
        ":w [RANGE PT10M STEP PT1M] ON :s",
    ],
)
@pytest.mark.parametrize("language", ["rsp-ql", None])
def test_windows_in_the_orders_of_published_texts(declared, language):
    text = f"{PROLOGUE}SELECT ?x FROM NAMED WINDOW {declared} WHERE {{ WINDOW :w {{ ?x :p ?y }} }}"
    parsed = parse_query(text, language=language)
    assert parsed.language == "rsp-ql"
    assert parsed.query == parse_query(over("[RANGE PT10M STEP PT1M]", "rsp-ql")).query


def test_windows_up_to_now_are_of_rsp_ql():
    assert parse_query(over("[FROM NOW-PT10M TO NOW]", "rsp-ql")).language == "rsp-ql"


def test_window_and_a_variable_ranges_over_the_windows():
    windows = "".join(f"FROM NAMED WINDOW :w{n} ON :s [RANGE PT{n}M]\n" for n in (1, 2, 3))
    head = f"{PROLOGUE}SELECT * {windows}"
    one = "{{ WINDOW :w{0} {{ ?x :p ?y }} VALUES ?w {{ :w{0} }} }}"
    each = " UNION ".join(one.format(n) for n in (1, 2, 3))
    written = parse_query(f"{head} WHERE {{ ?x :q ?z . {each} }}", language="rsp-ql")
    short = parse_query(f"{head} WHERE {{ ?x :q ?z . WINDOW ?w {{ ?x :p ?y }} }}", language="rsp-ql")
    assert short.query == written.query
    assert {var.name for var in short.query.vars} == {"x", "y", "z", "w"}


def test_aggregate_of_c_sparql_extends_each_solution():
    head = f"{PROLOGUE}SELECT * FROM STREAM :s [RANGE 1m] WHERE {{ ?x :p ?y }}"
    query = parse_query(f"{head} AGGREGATE {{ (?n, COUNT, {{?x, ?y}}) FILTER (?n > 1) }}").query
    solutions = BGP((triple(X, "p", Y),))
    group = query.pattern.pattern.pattern.right
    assert query.pattern.pattern.pattern.left == group.pattern == solutions
    assert group.keys == ((X, X), (Y, Y))
    assert [(var.name, each.name, each.argument) for var, each in group.aggregates] == [("n", "COUNT", None)]
    assert isinstance(query.pattern.pattern, Filter)
    assert parse_query(f"{head} AGGREGATE {{ (?n, COUNT(*), ?x) }}").query.vars == (X, Y, Var("n"))


# --- registrations, reports, stream operators ---------------------------------------------------

DEFAULTS = {"c-sparql": "[RANGE 1m]", "rsp-ql": "[RANGE PT1M]", "cqels-cep": "[RANGE 1m SLIDE 1m]"}


@pytest.mark.parametrize("language", DEFAULTS)
@pytest.mark.parametrize("word", ["ISTREAM", "dstream", "RSTREAM"])
@pytest.mark.parametrize(
    "form",
    [
        "SELECT {} DISTINCT ?x",
        "CONSTRUCT {} {{ ?x :q ?y }}",
        "ASK {}",
        "SELECT {} *",
        "DESCRIBE {} ?x",
        "DESCRIBE {} *",
    ],
)
def test_a_query_says_what_becomes_of_its_answers(language, word, form):
    parsed = parse_query(over(DEFAULTS[language], language, form.format(word)), language=language)
    plain = parse_query(over(DEFAULTS[language], language, form.format("")), language=language)
    assert parsed.query.continuous.operator is StreamOperator(word.upper())
    assert parsed.query.pattern == plain.query.pattern


REPORTS = {
    "ON CLOSE": Report(close=True),
    "ON CHANGE, NOT EMPTY": Report(change=True, non_empty=True),
    "ON TUPLE": Report(tick=Tick.TUPLE),
    "EVERY {}": Report(period=ONE),
    "EVERY {}, not empty, ON TUPLE": Report(period=ONE, non_empty=True, tick=Tick.TUPLE),
}


@pytest.mark.parametrize("language", DEFAULTS)
@pytest.mark.parametrize("text", REPORTS)
def test_a_query_says_when_its_windows_report(language, text):
    clause = text.format("PT1M" if language == "rsp-ql" else "1m")
    query = over(f"{DEFAULTS[language]} REPORT {clause}", language)
    assert parse_query(query, language=language).query.continuous.report == REPORTS[text]


def test_a_registered_stream_is_what_others_read():
    body = "CONSTRUCT { ?x :q ?y } FROM STREAM :s [RANGE 1m] WHERE { ?x :p ?y }"
    by_iri = parse_query(f"REGISTER STREAM :out AS {PROLOGUE}{body}")
    assert (by_iri.name, by_iri.query.target) == ("out", iri("out"))
    by_name = parse_query(f"REGISTER STREAM out AS {PROLOGUE}{body}")
    assert (by_name.name, by_name.query.target) == ("out", None)
    with_base = parse_query(f"REGISTER STREAM out AS BASE <http://e/> {PROLOGUE}{body}")
    assert (with_base.name, with_base.query.target) == ("out", iri("out"))
    only_a_query = parse_query(f"REGISTER QUERY :out AS {PROLOGUE}{body}")
    assert (only_a_query.name, only_a_query.query.target) == ("out", None)
    rsp = over(DEFAULTS["rsp-ql"], "rsp-ql", "REGISTER ISTREAM <http://e/alarms/> AS CONSTRUCT { ?x :q ?y }")
    parsed = parse_query(rsp)
    assert (parsed.name, parsed.query.target) == ("alarms", iri("alarms/"))
    assert parsed.query.continuous.operator is StreamOperator.ISTREAM


def test_computed_every_is_a_period():
    text = "REGISTER QUERY q COMPUTED EVERY 30s AS " + over("[RANGE 1m]", "c-sparql")
    assert parse_query(text).query.continuous.report == Report(period=30 * SECOND)
    text = "REGISTER QUERY q COMPUTED EVERY 30s AS " + over("[RANGE 1m] REPORT NOT EMPTY", "c-sparql")
    assert parse_query(text).query.continuous.report == Report(period=30 * SECOND, non_empty=True)


def test_a_file_has_registrations_queries_and_rules():
    one, other = (over("[RANGE 1m]", "c-sparql") for _ in range(2))
    module = parse(
        f"REGISTER QUERY q1 AS {one}; {PROLOGUE} INSERT {{ ?x :q ?y }} WHERE {{ ?x :p ?y }} "
        f"REGISTER STREAM <http://e/q2> AS {other} {one}",
        origin="some.csparql",
    )
    assert [each.name for each in module.queries] == ["q1", "q2", "some"]
    assert [type(each) for each in module.rules] == [ParsedRule]


# --- what windows are in patterns -----------------------------------------------------------------


def test_rsp_ql_windows_are_graphs():
    text = (
        f"{PROLOGUE}SELECT * FROM :g FROM NAMED :h FROM NAMED WINDOW :w ON :s [RANGE PT1M] "
        "FROM NAMED WINDOW :v ON :s [RANGE PT5M STEP PT1M] "
        "WHERE { WINDOW :w { ?x :p ?y } OPTIONAL { WINDOW :v { ?x :q ?z FILTER (?z > 1) } } ?x :r 1 }"
    )
    query = parse_query(text).query
    assert [window.name for window in query.continuous.windows] == [iri("w"), iri("v")]
    as_graphs = f"{PROLOGUE}SELECT * FROM :g FROM NAMED :h " + text[text.index("WHERE") :].replace(
        "WINDOW", "GRAPH"
    )
    plain = parse_query(as_graphs).query
    assert (query.pattern, query.dataset) == (plain.pattern, plain.dataset)


def test_c_sparql_windows_are_in_the_default_graph_or_named_after_their_stream():
    query = parse_query(
        f"{PROLOGUE}SELECT * FROM STREAM :s [RANGE 1m] FROM STREAM :s [RANGE 5m] "
        "FROM NAMED STREAM :t [RANGE 1m] { ?x :p ?y GRAPH :t { ?x :q ?z } }"
    ).query
    assert [window.name for window in query.continuous.windows] == [None, None, iri("t")]
    assert query.pattern.pattern == Join(
        BGP((triple(X, "p", Y),)), Graph(iri("t"), BGP((triple(X, "q", Z),)))
    )


def pattern_of(where: str, more: str = "") -> object:
    windows = "".join(f" FROM NAMED WINDOW :{name} ON :s [RANGE 1m]" for name in ("W1", "W2", "W3"))
    text = f"{PROLOGUE}SELECT ?x {windows} {more} WHERE {{ {where} }}"
    return parse_query(text, language="cqels-cep").query.pattern.pattern


def together(one, other) -> Join:
    return Join(one, other, INTERSECTS, IntervalRule.INTERSECTION)


def optional(one, other) -> OuterJoin:
    return OuterJoin(one, other, INTERSECTS, interval=IntervalRule.INTERSECTION)


P, Q, R = (event(triple(X, name, Y)) for name in "pqr")
W1, W2, W3 = (InWindow(iri(f"W{n}"), each) for n, each in enumerate((P, Q, R), 1))
CLAUSES = "WINDOW :W1 { ?x :p ?y } WINDOW :W2 { ?x :q ?y } WINDOW :W3 { ?x :r ?y }"
STATIC = BGP((triple(X, "a", Z), triple(Z, "b", X)))
PATTERNS = {
    "one window": ("WINDOW :W1 { ?x :p ?y }", W1),
    "the triples of a window are of one element": (
        "WINDOW :W1 { ?x :p ?y ; :q ?z }",
        InWindow(iri("W1"), event(triple(X, "p", Y), triple(X, "q", Z))),
    ),
    "several event clauses": (CLAUSES, together(together(W1, W2), W3)),
    "one window twice": (
        "WINDOW :W1 { ?x :p ?y } WINDOW :W1 { ?x :q ?y }",
        together(W1, InWindow(iri("W1"), Q)),
    ),
    "background data, wherever it stands": (
        "?x :a ?z . WINDOW :W1 { ?x :p ?y } ?z :b ?x . WINDOW :W2 { ?x :q ?y }",
        together(together(W1, W2), Background(STATIC)),
    ),
    "a sequence of windows, which are no clauses of their own": (
        f"{CLAUSES} SEQ(:W1, !:W2, :W3)",
        EventSequence((Member(W1), Member(W2, negated=True), Member(W3))),
    ),
    "a sequence of windows before these": (
        "SEQ(!:W1, :W2) WINDOW :W1 { ?x :p ?y } WINDOW :W2 { ?x :q ?y }",
        EventSequence((Member(W1, negated=True), Member(W2))),
    ),
    "a sequence of windows beside another window": (
        f"{CLAUSES} SEQ(:W1, :W2)",
        together(W3, EventSequence((Member(W1), Member(W2)))),
    ),
    "a condition on a member": (
        "WINDOW :W1 { SEQ({ ?x :p ?y }, !{ ?x :q ?y FILTER (?y > ?x) }) }",
        InWindow(
            iri("W1"),
            EventSequence((Member(P), Member(Filter(Call(">", (Y, X)), Q), negated=True))),
        ),
    ),
    "a condition on a window": (
        "WINDOW :W1 { ?x :p ?y FILTER (?y > ?x) }",
        InWindow(iri("W1"), Filter(Call(">", (Y, X)), P)),
    ),
    "OPTIONAL of static knowledge": (
        "WINDOW :W1 { ?x :p ?y } ?x :a ?z . ?z :b ?x OPTIONAL { ?x :c ?u }",
        optional(together(W1, Background(STATIC)), BGP((triple(X, "c", Var("u")),))),
    ),
    "OPTIONAL of a window": (
        "WINDOW :W1 { ?x :p ?y } OPTIONAL { WINDOW :W2 { ?x :q ?y } }",
        optional(W1, W2),
    ),
    "a path and a triple of one element": (
        "WINDOW :W1 { ?x :p+ ?y . ?x :q ?z }",
        InWindow(
            iri("W1"),
            Join(
                PathPattern(X, OneOrMore(iri("p")), Y, ELEMENT),
                BGP((triple(X, "q", Var("z")),), ELEMENT),
                scope=ELEMENT,
            ),
        ),
    ),
    "MINUS of a window": (
        "WINDOW :W1 { ?x :p ?y } MINUS { WINDOW :W2 { ?x :q ?y } }",
        Minus(W1, W2),
    ),
    "a union of windows": (
        "{ WINDOW :W1 { ?x :p ?y } } UNION { WINDOW :W2 { ?x :q ?y } } ?x :a ?z . ?z :b ?x",
        together(Union_(W1, W2), Background(STATIC)),
    ),
    "a named static graph": (
        "WINDOW :W1 { ?x :p ?y } GRAPH :g { ?x :a ?z . ?z :b ?x }",
        together(W1, Background(Graph(iri("g"), STATIC))),
    ),
    "BIND sees all that stands before it": (
        "WINDOW :W1 { ?x :p ?y } ?x :a ?z . ?z :b ?x BIND (?y AS ?u)",
        Extend(together(W1, Background(STATIC)), Var("u"), Y),
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_groups_of_cqels_cep(name):
    where, expected = PATTERNS[name]
    assert pattern_of(where) == expected


def test_windows_declared_where_they_are_used_and_windows_without_a_name():
    query = parse_query(
        f"{PROLOGUE}SELECT ?x WHERE {{ WINDOW :W1 ON :s [RANGE 1m] {{ ?x :p ?y }} "
        "STREAM :t [NOW] { ?x :q ?y } }"
    ).query
    named, nameless = query.continuous.windows
    assert (named.name, named.stream, nameless.stream) == (iri("W1"), iri("s"), iri("t"))
    assert (named.spec.width, nameless.spec) == (ONE, NOW)
    assert query.pattern.pattern == together(W1, InWindow(nameless.name, Q))


# --- the timestamp function ------------------------------------------------------------------------


def stamped(where: str, head: str = "SELECT ?x", tail: str = ""):
    text = f"{PROLOGUE}{F}{head} FROM STREAM :s [RANGE 1m] WHERE {{ {where} }} {tail}"
    return parse_query(text, language="c-sparql").query.pattern


PQ = BGP((triple(X, "p", Y), triple(X, "q", Z)))
T1, T2, T3 = (Var(f".t{n}") for n in (1, 2, 3))


def test_timestamps_are_taken_below_what_uses_them():
    at = "f:timestamp(?x, :p, ?y)"
    one = Timestamp(PQ, T1, triple(X, "p", Y))
    assert stamped(f"?x :p ?y ; :q ?z FILTER ({at} > ?z)").pattern == Filter(Call(">", (T1, Z)), one)
    assert stamped(f"FILTER ({at} > ?z) ?x :p ?y ; :q ?z").pattern == Filter(Call(">", (T1, Z)), one)
    assert stamped(f"?x :p ?y ; :q ?z BIND ({at} AS ?at)").pattern == Extend(one, Var("at"), T1)
    assert stamped("?x :p ?y ; :q ?z", f"SELECT ({at} AS ?at)").pattern == Extend(one, Var("at"), T1)
    grouped = stamped("?x :p ?y ; :q ?z", f"SELECT ?x (MAX({at}) AS ?at)", "GROUP BY ?x")
    assert grouped.pattern.pattern.pattern == one


def test_a_timestamp_of_a_variable_is_the_last_of_its_triples():
    one = stamped("?x :p ?y ; :q ?z FILTER (f:timestamp(?y) > 1)").pattern
    assert one.pattern == Timestamp(PQ, T1, triple(X, "p", Y))
    both = stamped("?x :p ?y ; :q ?z FILTER (f:timestamp(?x) > 1)").pattern.pattern
    later = Call("COALESCE", (Call("IF", (Call(">", (T2, T3)), T2, T3)), T2, T3))
    stamps = Timestamp(Timestamp(PQ, T2, triple(X, "p", Y)), T3, triple(X, "q", Z))
    assert both == Extend(stamps, T1, later)


def test_a_group_in_exists_has_timestamps_of_its_own():
    found = stamped(
        "?x :p ?y FILTER (f:timestamp(?x, :p, ?y) > 1 && EXISTS { ?x :q ?z FILTER (f:timestamp(?z) > 1) })"
    ).pattern
    assert found.pattern == Timestamp(BGP((triple(X, "p", Y),)), T1, triple(X, "p", Y))
    inner = found.condition.args[1].pattern
    assert inner.pattern == Timestamp(BGP((triple(X, "q", Z),)), T2, triple(X, "q", Z))


# --- which language a text is in ---------------------------------------------------------------------

TEXTS = {
    "ep-sparql": f"{PROLOGUE}SELECT ?x {{ {{ ?x :p ?y }} SEQ {{ ?x :q ?y }} }}",
    "c-sparql": over("[RANGE 1m]", "c-sparql"),
    "rsp-ql": over("[RANGE PT1M STEP PT1M]", "rsp-ql"),
    "cqels-cep": over("[RANGE 1m]", "cqels-cep"),
}
ENDINGS = {"ep-sparql": ".epsparql", "c-sparql": ".csparql", "rsp-ql": ".rspql", "cqels-cep": ".cqels"}


@pytest.mark.parametrize("written", ["PT90M", "P7D", "PT0.25S", "PT0.000002S", "P3659999DT1S"])
@pytest.mark.parametrize("language", ["c-sparql", "cqels-cep"])
def test_what_is_advised_for_a_length_of_time_in_another_notation_is_the_same(language, written):
    windows = {"c-sparql": "FROM STREAM :s", "cqels-cep": "FROM NAMED WINDOW :w ON :s"}
    where = {"c-sparql": "?x :p ?y", "cqels-cep": "WINDOW :w { ?x :p ?y }"}[language]

    def read(language, window, length, where):
        return parse_query(
            f"PREFIX : <http://e/> SELECT ?x {window} [RANGE {length}] WHERE {{ {where} }}", language=language
        )

    with pytest.raises(QueryError) as caught:
        read(language, windows[language], written, where)
    advised = caught.value.hint.removeprefix("write ").partition(";")[0]
    (found,) = read(language, windows[language], advised, where).query.continuous.windows
    given = read("rsp-ql", windows["cqels-cep"], written, "WINDOW :w { ?x :p ?y }").query.continuous.windows
    assert found.spec.width == given[0].spec.width == parse_duration(written)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("origin", [None, "-", "q.txt", "q"])
def test_a_text_whose_language_nobody_says_says_it_itself(language, origin):
    assert parse_query(TEXTS[language], origin=origin).language == language


@pytest.mark.parametrize("language", TEXTS)
def test_the_ending_of_a_file_says_its_language(language):
    assert parse_query(TEXTS[language], origin=f"dir/q{ENDINGS[language]}").language == language


@pytest.mark.parametrize("named", TEXTS)
@pytest.mark.parametrize("language", TEXTS)
def test_a_text_in_another_language_than_its_files_ending(named, language):
    if named == language:
        return
    with pytest.raises(QueryError) as caught:
        parse(TEXTS[language], origin=f"q{ENDINGS[named]}")
    title = {"ep-sparql": "EP-SPARQL", "c-sparql": "C-SPARQL", "rsp-ql": "RSP-QL", "cqels-cep": "CQELS-CEP"}
    if (named, language) == ("cqels-cep", "rsp-ql"):  # only the length of time differs
        assert "PT1M is how RSP-QL" in caught.value.message or "looks like RSP-QL" in caught.value.message
    elif (named, language) == ("rsp-ql", "cqels-cep"):
        assert "1m is how CQELS" in caught.value.message
    else:
        ending = f"{ENDINGS[named]} is an ending of {title[named]}"
        assert caught.value.message == f"this looks like {title[language]}, not {title[named]}, and {ending}"
        assert f"--language {language}" in caught.value.hint


def test_words_of_windows_in_an_ep_sparql_query_do_not_make_it_another():
    text = 'PREFIX : <http://e/> SELECT ?x { ?x :range "FROM STREAM <x> [RANGE 1h]" } # REGISTER QUERY q AS'
    assert parse_query(text).language == "ep-sparql"


def test_the_construct_of_a_window_query_is_a_construct():
    query = parse_query(over("[RANGE 1m]", "cqels-cep", "CONSTRUCT { ?x :q ?y }")).query
    assert isinstance(query, Construct) and query.template == (triple(X, "q", Y),)
    assert isinstance(parse_query(TEXTS["cqels-cep"]).query, Select)
