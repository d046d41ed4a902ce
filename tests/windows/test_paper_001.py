"""Paper 001 (CQELS-CEP), Examples 4 to 9 as texts: the oracle and the engine give each set that is printed.

tests/oracle/test_sequences.py has the operators one by one; here everything is asked as a user would ask it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from agreement.window_runs import given_by_engine
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.notation import triples
from oracle.vocabulary import iri
from oracle.window_generator import WindowCase, given_by
from oracle.window_model import ContinuousQuery
from penstock.languages import parse_query
from penstock.timeline import MINUTE, parse_instant

FIGURE_1 = """
:conn1 :beg :m ; :end :b ; :means :subway ; :dur :3m .
:conn2 :beg :b ; :end :c ; :means :subway ; :dur :2m .
:conn3 :beg :h ; :end :g ; :means :subway ; :dur :3m .
:conn4 :beg :g ; :end :c ; :means :tram ; :dur :5m .
:a1 a :subway . :d1 a :subway .
"""
EIGHT = parse_instant("2026-05-01T08:00:00Z")
EXAMPLE_3 = (
    (10, ":a1 :delayAt :m"),
    (12, ":d1 :delayAt :h"),
    (14, ":d1 :delayAt :h"),
    (16, ":a1 :delayAt :m"),
)
PROLOGUE = """\
PREFIX : <http://example.org/>
PREFIX ex: <http://example.org/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
FROM = """\
FROM ex:transportationMap
FROM NAMED WINDOW :W ON ex:publicTransport [RANGE 10m]
"""
EXAMPLE_6 = f"""{PROLOGUE}
SELECT ?s
{FROM}
WHERE {{
  WINDOW :W {{
    SEQ ({{?v :delayAt ?s}}, {{?v :delayAt ?s}}, !{{?v :arriveAt ?s}})
  }}
  ?v rdf:type :subway .
  ?s (^:beg/[:means :subway]/:end)+ :c.
}}
"""


def case_of(text: str, events=EXAMPLE_3, seed: int = 0) -> WindowCase:
    """Each event is an element, and a batch, of its own; the instants are minutes after eight."""
    query = parse_query(text, language="cqels-cep").query
    how = query.continuous
    asked = ContinuousQuery(replace(query, continuous=None), how.windows, how.report, how.operator, how.view)
    elements = tuple(
        Element(triples(turtle), EIGHT + minute * MINUTE, EIGHT + minute * MINUTE)
        for minute, turtle in events
    )
    streams = (StreamData(iri(":publicTransport"), elements),)
    graphs = (GraphData(iri(":transportationMap"), triples(FIGURE_1)),)
    batches = tuple(((0, place),) for place in range(len(elements)))
    return WindowCase(Case(seed, streams, graphs, (), 0, batches), asked, text)


def given(text: str, events=EXAMPLE_3) -> list[str]:
    """`16: s=m v=a1 10-16`: what is given when, by the oracle and by the engine in 1, 2 and 8 shards."""
    case = case_of(text, events)
    # The oracle's queries over windows take what is known as their default graph.
    (known,) = case.data.graphs
    in_default = replace(case, data=replace(case.data, graphs=(replace(known, name=None),)))
    wanted = given_by(in_default)
    for shards in (1, 2, 8):
        for seed in (0, 1):  # as it is, and as another process has it
            case = replace(case, data=replace(case.data, seed=seed))
            assert given_by_engine(case, shards, restore=bool(seed)) == wanted
    return sorted(_shown(wanted))


def _shown(found: Counter) -> list[str]:
    rows = []
    for (at, (bindings, start, end)), times in found.items():
        values = (f"{name}={term.rsplit('/', 1)[-1].rstrip('>')}" for name, term in sorted(bindings))
        rows += times * [" ".join((f"{minute(at)}:", *values, f"{minute(start)}-{minute(end)}"))]
    return rows


def minute(instant: int) -> int:
    return (instant - EIGHT) // MINUTE


def asked(where: str, columns: str = "?v ?s", operator: str = "RSTREAM") -> str:
    return f"{PROLOGUE} SELECT {operator} {columns} {FROM} WHERE {{ {where} }}"


def at_16(rows: list[str]) -> list[str]:
    return [row.removeprefix("16: ") for row in rows if row.startswith("16: ")]


def test_example_4_subways_with_delays():
    text = asked("WINDOW :W { ?v :delayAt ?s } ?v rdf:type :subway .", "?s", "")
    assert given(text) == ["10: s=m 10-10", "12: s=h 12-12", "14: s=h 14-14", "16: s=m 16-16"]


DELAYS = ["s=h v=d1 12-12", "s=h v=d1 14-14", "s=m v=a1 10-10", "s=m v=a1 16-16"]
OMEGA_4 = ["s=h v=d1 12-14", "s=m v=a1 10-16"]


@pytest.mark.parametrize(
    ("tsp", "omega"),
    [
        ("?v :delayAt ?s", DELAYS),  # of which Ω₁ and Ω₂ are those that have a partner
        ("?v :arriveAt ?s", []),  # Ω₃
        ("SEQ({?v :delayAt ?s}, {?v :delayAt ?s})", OMEGA_4),
        ("SEQ({?v :delayAt ?s}, {?v :delayAt ?s}, !{?v :arriveAt ?s})", OMEGA_4),
    ],
)
def test_example_8_the_sets_of_the_window_at_16(tsp, omega):
    assert at_16(given(asked(f"WINDOW :W {{ {tsp} }}"))) == omega


@pytest.mark.parametrize(
    "path", ["(next-1::beg[next::means/self::subway]/next::end)+", "(^:beg/[:means :subway]/:end)+"]
)
def test_example_9_what_is_known(path):
    """Ω₅: P's two parts share no variable, so it has each subway with each stop."""
    stops = asked(f"WINDOW :W {{ ?v :delayAt ?s }} ?stop {path} :c .", "DISTINCT ?stop")
    assert at_16(given(stops)) == [f"stop={stop} {t}-{t}" for stop in "bm" for t in (10, 12, 14, 16)]
    known = asked(
        f"WINDOW :W {{ :a1 :delayAt :m }} ?subway rdf:type :subway . ?stop {path} :c .", "?subway ?stop"
    )
    pairs = [f"stop={stop} subway={subway}" for stop in "bm" for subway in ("a1", "d1")]
    assert at_16(given(known)) == sorted(f"{pair} {t}-{t}" for pair in pairs for t in (10, 16))


def test_example_9_the_whole_query_gives_exactly_m():
    assert given(EXAMPLE_6) == ["16: s=m 10-16"]


def test_an_arrival_takes_it_back_and_one_before_the_second_delay_does_not():
    gone = EXAMPLE_6.replace("SELECT ?s", "SELECT DSTREAM ?s")
    arrives = (*EXAMPLE_3, (18, ":a1 :arriveAt :m"))
    assert given(gone, arrives) == ["18: s=m 10-16"]
    between = sorted((*EXAMPLE_3, (13, ":a1 :arriveAt :m")))
    assert given(EXAMPLE_6, between) == ["16: s=m 10-16"]


LATE = (
    (10, ":a1 :delayAt :m ; :minutes 2"),
    (12, ":a1 :delayAt :m ; :minutes 7"),
    (13, ":a1 :arriveAt :b ; :doors 1"),
    (14, ":a1 :delayAt :m ; :minutes 9"),
    (15, ":a1 :arriveAt :m ; :doors 0"),
    (16, ":d1 :delayAt :m ; :minutes 8"),
    (17, ":d1 :arriveAt :m ; :doors 4"),
)


@pytest.mark.parametrize(
    ("tsp", "rows"),
    [
        # of two delays the first is short; both are long
        ("SEQ({?v :minutes ?n FILTER(?n < 5)}, {?v :minutes ?k})", ["12: v=a1 10-12", "14: v=a1 10-14"]),
        ("SEQ({?v :minutes ?n FILTER(?n > 5)}, {?v :minutes ?k FILTER(?k > 5)})", ["14: v=a1 12-14"]),
        # none before it that was short: that of a1 leaves the window at 20
        (
            "SEQ(!{?v :minutes ?n FILTER(?n < 5)}, {?v :doors ?o})",
            ["17: v=d1 17-17", "20: v=a1 13-13", "20: v=a1 15-15"],
        ),
        # the arrival at b, which is simultaneous with its own doors, does not count
        (
            "SEQ({?v :minutes ?n FILTER(?n < 5)}, !{?v :arriveAt ?s FILTER(?s != :b)}, {?v :doors ?o})",
            ["13: v=a1 10-13"],
        ),
        # a filter sees its own member only: of others it knows no ?n, and an error is no solution
        ("SEQ({?v :minutes ?n FILTER(?n < 5)}, {?v :arriveAt ?s FILTER(?n < 5)})", []),
    ],
)
def test_filters_in_members(tsp, rows):
    assert given(asked(f"WINDOW :W {{ {tsp} }}", "?v", ""), LATE) == rows


@pytest.mark.parametrize(
    ("condition", "waiting"),
    [("", []), ("FILTER(?o > 0)", ["v=a1 14-14"]), ("FILTER(?n > 0)", ["v=a1 14-14", "v=d1 16-16"])],
)
def test_a_filter_in_the_last_member_that_is_absent(condition, waiting):
    """An arrival with closed doors is none, if the filter says so."""
    tsp = f"SEQ({{?v :minutes ?n FILTER(?n > 7)}}, !{{?v :doors ?o {condition}}})"
    rows = given(asked(f"WINDOW :W {{ {tsp} }}", "?v"), LATE)
    assert [row.removeprefix("17: ") for row in rows if row.startswith("17: ")] == waiting
