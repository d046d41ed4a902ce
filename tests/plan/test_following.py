"""UNLESS … WITHIN and NEXT: when they answer, what they remember, and what of them is refused by name."""

from __future__ import annotations

import pytest

from penstock import Engine
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.pipeline import assumed_sources, plan
from penstock.plan.advice.retention import memories
from penstock.timeline import MINUTE

PREFIXES = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
SILENT = '{ ?s :v ?last } UNLESS { ?s :v ?next } WITHIN "PT15M"^^xsd:duration'


@pytest.fixture
def answers(tmp_path):
    """Asks about readings, each by who and when (hours and minutes); the answers as (who, start, end)."""

    def ask(query: str, *spoken: tuple[str, str], lateness: str = "0s") -> set[tuple[str, str, str]]:
        lines = [
            f'<http://e/{who}> <http://e/v> "{n}" <urn:e{n}#t=2026-05-01T{at}:00Z> .'
            for n, (who, at) in enumerate(spoken)
        ]
        stream = tmp_path / "stream.nq"
        stream.write_text("\n".join(lines) + "\n")
        engine = Engine(spark=None, lateness=lateness)
        engine.add_stream(stream)
        engine.add_query(PREFIXES + query, name="q")
        rows = engine.answers("q").to_pandas(native=True).itertuples()
        return {(row.s.removeprefix("http://e/"), f"{row.start:%H:%M}", f"{row.end:%H:%M}") for row in rows}

    return ask


def test_silence_is_told_once_with_its_deadline_and_not_at_the_start_or_the_end(answers):
    spoken = (("a", "08:00"), ("b", "08:10"), ("a", "08:15"), ("a", "08:30"), ("b", "08:40"), ("c", "08:45"))
    assert answers(f"SELECT ?s {{ {SILENT} }}", *spoken) == {("b", "08:10", "08:25"), ("a", "08:30", "08:45")}


def test_what_comes_late_within_the_lateness_was_no_silence(answers):
    spoken = (("a", "08:00"), ("b", "08:20"), ("a", "08:14"), ("b", "08:30"))
    assert answers(f"SELECT ?s {{ {SILENT} }}", *spoken, lateness="10m") == {("a", "08:14", "08:29")}


def test_its_answers_can_be_combined_further(answers):
    spoken = (("a", "08:00"), ("b", "08:10"), ("b", "08:20"), ("a", "08:30"))
    found = answers(f"SELECT ?s {{ {{ {SILENT} }} SEQ {{ ?s :v ?again }} }}", *spoken)
    assert found == {("a", "08:00", "08:30")}


NEXT = "{ ?s :v ?last } NEXT { ?s :v ?next }"


def test_the_next_is_of_the_same_sensor_and_none_beyond(answers):
    spoken = (("a", "08:00"), ("b", "08:10"), ("a", "08:15"), ("a", "08:30"), ("b", "08:40"), ("c", "08:45"))
    assert answers(f"SELECT ?s {{ {NEXT} }}", *spoken) == {
        ("a", "08:00", "08:15"), ("b", "08:10", "08:40"), ("a", "08:15", "08:30")
    }  # fmt: skip


def test_what_comes_late_within_the_lateness_is_the_next(answers):
    spoken = (("a", "08:00"), ("a", "08:20"), ("a", "08:14"), ("b", "08:30"))
    found = answers(f"SELECT ?s {{ {NEXT} }}", *spoken, lateness="10m")
    assert found == {("a", "08:00", "08:14"), ("a", "08:14", "08:20")}


def test_a_filter_after_it_looks_for_no_later_one_and_one_inside_does(answers):
    spoken = (("a", "08:00"), ("a", "08:10"), ("a", "08:20"), ("a", "08:30"))
    assert answers(f'SELECT ?s {{ {NEXT} FILTER (?next = "2") }}', *spoken) == {("a", "08:10", "08:20")}
    inside = '{ ?s :v ?last } NEXT { ?s :v ?next FILTER (?next = "2") }'
    assert answers(f"SELECT ?s {{ {inside} }}", *spoken) == {("a", "08:00", "08:20"), ("a", "08:10", "08:20")}
    assert answers(f'SELECT ?s {{ {NEXT} FILTER (?last = "2") }}', *spoken) == {("a", "08:20", "08:30")}


def test_what_nothing_has_followed_is_remembered_as_long_as_a_filter_says():
    for bound, how_long in ("", None), (' FILTER (getDURATION() < "PT5M"^^xsd:duration)', 5 * MINUTE - 1):
        [kept] = memories(parse_query(PREFIXES + f"SELECT ?s {{ {NEXT}{bound} }}").query.pattern)
        assert (kept.keeps, kept.bound) == ("what nothing has followed of its left side", how_long)


def test_both_sides_are_remembered_until_the_deadline():
    kept = list(memories(parse_query(PREFIXES + f"SELECT ?s {{ {SILENT} }}").query.pattern))
    assert [(each.keeps, each.bound) for each in kept] == [
        ("its left side", 15 * MINUTE),
        ("its right side", 15 * MINUTE - 1),
    ]


@pytest.mark.parametrize(
    "query, message",
    [
        (f"SELECT (COUNT(*) AS ?n) {{ {SILENT} }}", "GROUP BY looks at the instants"),
        (f"SELECT ?s {{ {SILENT} }} ORDER BY ?s", "ORDER BY looks at the instants"),
        (f"SELECT ?s {{ {SILENT} }} LIMIT 1", "LIMIT looks at the instants"),
        (f"ASK {{ {SILENT} }}", "ASK looks at the instants"),
        (f"CONSTRUCT {{ ?s :silent true }} {{ {SILENT} }}", "a rule that all queries read"),
        (f"SELECT ?next {{ ?next :v ?o FILTER EXISTS {{ {SILENT} }} }}", "UNLESS inside EXISTS"),
        (f"SELECT ?next {{ ?o :w ?next FILTER EXISTS {{ {NEXT} }} }}", "NEXT inside EXISTS"),
        (f"CONSTRUCT {{ ?s :v ?last }} {{ {NEXT} }}", "through an absence"),
        ("SELECT ?s { { ?s :v ?x } NEXT { ?s :v ?y }+ NEXT { ?s :v ?z } }", "nothing says where"),
        ('SELECT ?s { { ?s :v ?x } NEXT { ?s :v ?y } WITHIN "PT1M" }', "WITHIN says until when UNLESS waits"),
        ("SELECT ?s { { ?s :v ?x } UNLESS { ?s :v ?y } }", "WITHIN is missing"),
        ('SELECT ?s { { ?s :v ?x } SEQ { ?s :v ?y } WITHIN "PT1M" }', "WITHIN says until when UNLESS waits"),
        ('SELECT ?s { { ?s :v ?x } WITHIN "PT1M" }', "WITHIN says until when UNLESS waits"),
        ('SELECT ?s { { ?s :v ?x } UNLESS { ?s :v ?y } WITHIN "PT0S" }', "waits some time"),
        ('SELECT ?s { { ?s :v ?x } UNLESS { ?s :v ?y } WITHIN "P1M" }', "no fixed length"),
        ('SELECT ?s { { ?s :v ?x } UNLESS { ?s :v ?y } WITHIN "soon" }', "is not a duration"),
        ('SELECT ?s { { ?s :v ?x } UNLESS { ?s :v ?y } WITHIN "1"^^xsd:integer }', "an xsd:duration"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_by_name(query: str, message: str):
    with pytest.raises(QueryError, match=message):
        parsed = parse_query(PREFIXES + query)
        plan([parsed], *assumed_sources([parsed]))


def test_a_stream_of_its_answers_has_instants_of_its_own():
    text = PREFIXES + f"REGISTER STREAM :silent AS CONSTRUCT {{ ?s :silent true }} WHERE {{ {SILENT} }}"
    counting = PREFIXES + "SELECT ?s (COUNT(*) AS ?n) FROM :silent { ?s :silent true } GROUP BY ?s"
    parsed = [parse_query(text), parse_query(counting)]
    assert plan(parsed, *assumed_sources(parsed))
