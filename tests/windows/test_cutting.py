"""Intervals as windows cut them: what functions of time say of them, and what different windows cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agreement.window_runs import given_by_engine
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.vocabulary import BASE, EPOCH, PROLOGUE, TICK, iri
from oracle.window_generator import WindowCase, given_by
from oracle.window_model import ContinuousQuery
from penstock.languages import parse_query


def at(start: int, end: int, *triples: str) -> Element:
    """An element of triples of single letters, with its interval in seconds."""
    terms = (tuple(iri(f":{part}") for part in triple.split()) for triple in triples)
    return Element(tuple(terms), EPOCH + start * TICK, EPOCH + end * TICK)


def case_of(text: str, *elements: Element, language: str = "cqels-cep", size: int = 1) -> WindowCase:
    parsed = parse_query(PROLOGUE + text, language=language).query
    how = parsed.continuous
    query = replace(parsed, continuous=None)
    places = range(len(elements))
    batches = tuple(tuple((0, n) for n in places[first : first + size]) for first in places[::size])
    data = Case(1, (StreamData(iri(":s1"), elements),), (), (), 0, batches)
    return WindowCase(data, ContinuousQuery(query, how.windows, how.report, how.operator, how.view), text)


def given(case: WindowCase) -> list[tuple[float, dict[str, str], float | None, float | None]]:
    """What is given, in seconds, by the oracle and by the engine with 1, 2 and 8 shards."""
    expected = given_by(case)
    for shards in (1, 2, 8):
        assert given_by_engine(case, shards, restore=shards == 2) == expected
    found = []
    for (instant, (row, start, end)), count in expected.items():
        short = {name: term.removeprefix(f"<{BASE}").rstrip(">") for name, term in row}
        found += count * [(_seconds(instant), short, _seconds(start), _seconds(end))]
    return sorted(found, key=lambda each: (each[0], repr(each)))


def _seconds(instant: int | None) -> float | None:
    return None if instant is None else (instant - EPOCH) / TICK


def test_the_start_is_that_of_what_is_left():
    text = (
        "SELECT RSTREAM ?x ?at FROM NAMED WINDOW :W ON :s1 [RANGE 4s SLIDE 2s] REPORT ON CLOSE "
        "WHERE { WINDOW :W { ?x :p :a } BIND(STR(getSTARTTIME()) AS ?at) }"
    )
    # (2, 6] is shown at 6: it begins one microsecond after 2; (4, 8] at 8.
    assert given(case_of(text, at(1, 5, "c p a"), at(9, 9, "d q a"))) == [
        (6, {"x": "c", "at": '"2024-01-01T00:00:02.000001Z"'}, 2.000001, 5),
        (8, {"x": "c", "at": '"2024-01-01T00:00:04.000001Z"'}, 4.000001, 5),
    ]


def test_a_duration_gets_shorter_as_the_window_moves():
    """A condition can become true of what is there already; it is new then, and not before."""
    text = (
        "SELECT ISTREAM ?x FROM NAMED WINDOW :W ON :s1 [RANGE 10s] "
        'WHERE { WINDOW :W { ?x :p :a } FILTER (getDURATION() <= "PT3S"^^xsd:duration) }'
    )
    case = case_of(text, at(0, 8, "c p a"), at(12, 12, "d q a"), at(16, 16, "d q a"))
    assert given(case) == [(16, {"x": "c"}, 6, 8)]  # at 12 it is [2, 8], at 16 [6, 8]


def test_what_is_optional_comes_from_another_window():
    text = (
        "SELECT RSTREAM ?x ?y FROM NAMED WINDOW :W ON :s1 [RANGE 9s] FROM NAMED WINDOW :V ON :s1 [RANGE 2s] "
        "WHERE { WINDOW :W { ?x :p :a } OPTIONAL { WINDOW :V { ?x :q ?y } } }"
    )
    case = case_of(text, at(0, 3, "c q b"), at(1, 4, "c p a"), at(8, 8, "d q a"))
    # At 4 what is optional is cut to [2, 3], and so is what both have in common; at 5.000001 it has left its
    # window. From 10 on the other window cuts, too.
    assert given(case) == [
        (4, {"x": "c", "y": "b"}, 2, 3),
        (5.000001, {"x": "c"}, 1, 4),
        (6.000001, {"x": "c"}, 1, 4),
        (8, {"x": "c"}, 1, 4),
        (10.000001, {"x": "c"}, 1.000001, 4),
        (12.000001, {"x": "c"}, 3.000001, 4),
    ]


def test_what_is_optional_extends_the_join():
    """With a partner the answers are those of the join; without one, what is there stays as it is."""
    head = "SELECT RSTREAM ?x ?y FROM NAMED WINDOW :W ON :s1 [RANGE 9s SLIDE 3s] REPORT ON CLOSE WHERE "
    other = "WINDOW :W { ?x :q ?y }"
    elements = (at(0, 3, "c p a"), at(2, 5, "c q b"), at(4, 6, "c q d"), at(5, 7, "e p a"))
    joined = given(case_of(f"{head} {{ WINDOW :W {{ ?x :p :a }} {other} }}", *elements))
    extended = given(case_of(f"{head} {{ WINDOW :W {{ ?x :p :a }} OPTIONAL {{ {other} }} }}", *elements))
    assert (6, {"x": "c", "y": "b"}, 2, 3) in joined
    assert joined == [each for each in extended if "y" in each[1]]
    alone = [each for each in extended if "y" not in each[1]]
    assert (3, {"x": "c"}, 0, 3) in alone and (9, {"x": "e"}, 5, 7) in alone
    assert (6, {"x": "c"}, 0, 3) not in alone


def test_solutions_of_a_union_are_cut_each_by_its_window():
    text = (
        "SELECT ISTREAM ?x FROM NAMED WINDOW :W ON :s1 [RANGE 9s] FROM NAMED WINDOW :V ON :s1 [RANGE 2s] "
        "WHERE { { WINDOW :W { ?x :p :a } } UNION { WINDOW :V { ?x :p :a } } }"
    )
    case = case_of(text, at(0, 5, "c p a"), at(6, 6, "d q a"))
    # Both are new at 5, and none at 6, though the one is cut to [4, 5] then.
    assert given(case) == [(5, {"x": "c"}, 0, 5), (5, {"x": "c"}, 3, 5)]


def test_of_the_same_solutions_in_two_windows_the_one_that_is_cut_most_is_gone():
    text = (
        "SELECT DSTREAM ?x FROM NAMED WINDOW :W ON :s1 [RANGE 9s] FROM NAMED WINDOW :V ON :s1 [RANGE 2s] "
        "WHERE { { WINDOW :W { ?x :p :a } } UNION { WINDOW :V { ?x :p :a } } }"
    )
    case = case_of(text, at(0, 5, "c p a"), at(6, 6, "d q a"))
    # As at the evaluation before: at 6 the one is cut to [4, 5], at 8.000001 the other is not cut.
    assert given(case) == [(7.000001, {"x": "c"}, 4, 5), (14.000001, {"x": "c"}, 0, 5)]


def test_absence_before_a_window_that_reaches_back_less_far():
    """SEQ(:W, !:W, :V): the start of what follows is cut to :V, and so may lie after what is absent."""
    text = (
        "SELECT RSTREAM ?x FROM NAMED WINDOW :W ON :s1 [RANGE 9s] FROM NAMED WINDOW :N ON :s1 [RANGE 9s] "
        "FROM NAMED WINDOW :V ON :s1 [RANGE 1s] "
        "WHERE { WINDOW :W { ?x :p :a } WINDOW :N { ?x :n :a } WINDOW :V { ?x :q :a } SEQ(:W, !:N, :V) }"
    )
    case = case_of(text, at(1, 1, "c p a"), at(4, 4, "c n a"), at(2, 5, "c q a"), size=3)
    # At 5, :V has [4, 5] of the last one: :n at 4 lies in [1, 4]. Without cutting it would not in [1, 2].
    assert given(case) == []
    case = case_of(text, at(1, 1, "c p a"), at(3, 3, "d n a"), at(2, 5, "c q a"), size=3)
    assert given(case) == [(5, {"x": "c"}, 1, 5)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize(
    "where",
    [
        "{ WINDOW :W { ?x :p ?y } } UNION { WINDOW :V { ?x :p ?y } }",
        "WINDOW :W { ?x :p ?y } MINUS { { WINDOW :W { ?x :q ?z } } UNION { WINDOW :V { ?x :q ?z } } }",
        "{ SELECT DISTINCT ?x { WINDOW :W { ?x :p ?y } } } WINDOW :V { ?x :q ?y }",
        "{ SELECT ?x (COUNT(*) AS ?y) { { WINDOW :W { ?x :p ?z } } UNION { WINDOW :V { ?x :p ?z } } } "
        "GROUP BY ?x }",
        "{ SELECT ?x ?y { WINDOW :W { ?x :p ?y } OPTIONAL { WINDOW :V { ?x :q ?z } } } ORDER BY ?z LIMIT 1 }",
        "WINDOW :W { ?x :p ?y } FILTER (getSTARTTIME() > ?y || getDURATION() > 'PT1S'^^xsd:duration)",
    ],
)
def test_how_operators_see_what_is_cut(where: str, operator: str):
    text = (
        f"SELECT {operator} DISTINCT ?x ?y FROM NAMED WINDOW :W ON :s1 [RANGE 7s SLIDE 2s] "
        f"FROM NAMED WINDOW :V ON :s1 [RANGE 3s] REPORT ON CHANGE WHERE {{ {where} }}"
    )
    elements = [
        at(0, 2, "c p a", "c q b"), at(1, 4, "c p b"), at(3, 4, "c q a"), at(2, 6, "d p a"),
        at(5, 7, "c p a", "d q a"), at(6, 9, "c q a"), at(8, 9, "d p a"), at(9, 13, "c p b", "d q b"),
    ]  # fmt: skip
    for size in (1, 3):
        assert given(case_of(text, *elements, size=size)) or "MINUS" in where


@pytest.mark.parametrize("asks", ["", "BIND(getDURATION() AS ?n)"])
@pytest.mark.parametrize(
    "operator, seconds", [("RSTREAM", (3, 4, 7)), ("ISTREAM", (3, 4)), ("DSTREAM", (7,))]
)
def test_a_description_is_one_and_not_new_when_a_window_cuts_it(asks: str, operator: str, seconds: tuple):
    """Of [0, 4] and [1, 4] a window leaves the same at 7; the one that began first was there before."""
    text = (
        f"DESCRIBE {operator} ?x FROM NAMED WINDOW :W ON :s1 [RANGE 5s] "
        f"WHERE {{ WINDOW :W {{ ?x :p ?y }} {asks} }}"
    )
    case = case_of(text, at(2, 3, "c p a"), at(0, 4, "c p a"), at(1, 4, "c p b"), at(7, 7, "d q a"))
    known = GraphData(None, ((iri(":c"), iri(":l"), iri(":k")),))
    case = replace(case, data=replace(case.data, graphs=(known,)))
    found = [(instant, start, end) for instant, _, start, end in given(case)]
    assert [each for each in found if each[0] in seconds] == {
        "RSTREAM": [(3, 2, 3), (4, 0, 4), (4, 1, 4), (4, 2, 3), (7, 2, 3), (7, 2, 4)],
        "ISTREAM": [(3, 2, 3), (4, 0, 4), (4, 1, 4)],
        "DSTREAM": [(7, 1, 4)],
    }[operator]
    assert operator != "ISTREAM" or len(found) == 3


@pytest.mark.parametrize("operator, when", [("RSTREAM", 9), ("ISTREAM", 9), ("DSTREAM", 9.000001)])
def test_a_run_is_asked_for_its_duration(operator: str, when: float):
    """It is [1, 6] at 6 and [3, 8] at 8, five seconds, and at 9 the window has left four of it: [4, 8]."""
    text = (
        f"SELECT {operator} ?x (STR(?n) AS ?many) FROM NAMED WINDOW :W ON :s1 [RANGE 5s] WHERE {{ "
        "WINDOW :W { SEQ({ ?x :p :a }, { ?x :q ?y }+ (COUNT(?y) AS ?n)) } "
        'FILTER (getDURATION() <= "PT4S"^^xsd:duration) }'
    )
    case = case_of(text, at(0, 4, "c p a"), at(5, 6, "c q a"), at(7, 8, "c q b"), at(9, 9, "d q b"))
    assert given(case) == [(when, {"x": "c", "many": '"2"'}, 4, 8)]


def test_when_a_triple_that_need_not_be_there_was_stated():
    text = (
        "SELECT ?x ?y (f:timestamp(?x, :q, ?y) AS ?at) FROM STREAM :s1 [RANGE 4s STEP 4s] "
        "WHERE { ?x :p :a OPTIONAL { ?x :q ?y } }"
    )
    stamped = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> REGISTER QUERY Q AS " + text
    case = case_of(stamped, at(1, 1, "c p a", "d p a"), at(2, 3, "c q b"), language="c-sparql")
    rows = [row for _, row, _, _ in given(case)]
    assert sorted(map(sorted, rows)) == [["at", "x", "y"], ["x"]]


SHORT = 'FILTER (getDURATION() <= "PT2S"^^xsd:duration)'


@pytest.mark.parametrize("bound", ["", SHORT])
@pytest.mark.parametrize("sequence, elements", [
    ("SEQ(!:W, :V)", (at(0, 0, "c p a"), at(20, 20, "c q a"), at(28, 28, "c r a"))),
    ("SEQ(:V, !:W)", (at(0, 0, "c r a"), at(20, 20, "c p a"), at(28, 28, "c q a"))),
])  # fmt: skip
def test_a_bound_on_the_duration_is_none_on_what_is_absent(bound: str, sequence: str, elements: tuple):
    """NO_HEAD and NO_TAIL say nothing about how long it lasts."""
    text = (
        "SELECT RSTREAM ?x FROM NAMED WINDOW :W ON :s1 [RANGE 60s] FROM NAMED WINDOW :V ON :s1 [RANGE 60s] "
        "REPORT EVERY 30s WHERE { WINDOW :W { SEQ({ ?x :p ?y }, { ?x :q ?y }) } WINDOW :V { ?x :r ?z } "
        f"{sequence} {bound} }}"
    )
    assert [row for row in given(case_of(text, *elements)) if row[0] == 30] == []


@pytest.mark.parametrize("bound", ["", SHORT])
@pytest.mark.parametrize("sequence, rows", [("SEQ(:V, :W)", 1), ("SEQ(:V, !:W, :U)", 0)])
def test_a_bound_sees_what_windows_leave_of_an_element_after_what_none_cuts(bound, sequence: str, rows: int):
    names = sorted(set(sequence) & set("UVW"))
    extents = {"W": "RANGE 3s SLIDE 3s", "V": "TRIPLES 9", "U": "TRIPLES 9"}
    patterns = {"W": "?x :p ?y", "V": "?x :q ?y", "U": "?x :r ?y"}
    text = (
        f"SELECT RSTREAM ?x {' '.join(f'FROM NAMED WINDOW :{w} ON :s1 [{extents[w]}]' for w in names)} "
        f"REPORT ON CLOSE WHERE {{ {' '.join(f'WINDOW :{w} {{ {patterns[w]} }}' for w in names)} "
        f"{sequence} {bound} }}"
    )
    case = case_of(text, at(6, 6, "c q a"), at(0, 8, "c p a"), at(8, 8, "c r a"), size=3)
    assert len([row for row in given(case) if row[0] == 9]) == rows


@pytest.mark.parametrize("direction, first", [("?x", "a"), ("DESC(?x)", "b"), ("STR(?y)", "b")])
def test_what_is_distinct_stays_in_order_where_windows_cut_it(direction: str, first: str):
    """DISTINCT is decided of what windows leave of intervals, behind ORDER BY."""
    text = (
        "SELECT ?x ?y FROM NAMED WINDOW :w ON :s1 [RANGE 2s] WHERE { { SELECT DISTINCT ?x ?y WHERE {"
        f" WINDOW :w {{ SEQ({{ ?x :p ?n }}, {{ ?x :q ?y }}) }} }} ORDER BY {direction} LIMIT 1 }} }}"
    )
    elements = (at(1, 1, "a p n"), at(1, 1, "b p n"), at(2, 2, "a q z", "b q y"), at(3, 3, "c r c"))
    assert {row["x"] for _, row, _, _ in given(case_of(text, *elements))} == {first}
    asked = text.replace(f"ORDER BY {direction}", "ORDER BY ?n")  # which DISTINCT does not let through
    assert {row["x"] for _, row, _, _ in given(case_of(asked, *elements))} == {"a"}


def test_of_equal_rows_the_intervals_as_they_are_cut_say_which_are_first():
    """The later element begins before the earlier one, but not in the window."""
    text = (
        "SELECT DSTREAM ?x ?n FROM NAMED WINDOW :w ON :s1 [RANGE 2s] "
        "WHERE { WINDOW :w { ?x :p ?n } } ORDER BY ?n ?x LIMIT 1"
    )
    assert given(case_of(text, at(4, 4, "a p b"), at(3, 6, "a p b"), at(20, 20, "a q b"))) == [
        (6.000001, {"x": "a", "n": "b"}, 4, 4),
        (8.000001, {"x": "a", "n": "b"}, 4.000001, 6),
    ]
