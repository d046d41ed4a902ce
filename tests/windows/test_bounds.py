"""getWINDOWSTART() and getWINDOWEND(): what the windows of a query show when an answer is given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import penstock
from agreement.window_runs import given_by_engine
from oracle.evaluate import TooManySolutions
from oracle.window_generator import WindowCase, given_by, make_window_case
from oracle.window_model import Bound, Kind
from penstock.algebra import Select, Var
from penstock.errors import QueryError
from penstock.languages import parse_query

BOUNDS = (("from", Bound.START), ("to", Bound.END))
PREFIX = "PREFIX : <http://e/> "
STREAM = """<http://e/a> <http://e/p> "1" <urn:1#t=2026-05-01T08:10:00Z> .
<http://e/b> <http://e/p> "2" <urn:2#t=2026-05-01T09:00:00Z> .
<http://e/c> <http://e/p> "3" <urn:3#t=2026-05-01T09:30:00Z> .
"""


def asking(case: WindowCase) -> WindowCase | None:
    """The case with both bounds among its columns; None if it has none to ask for."""
    query = case.query.query
    if not isinstance(query, Select) or any(w.spec.kind is Kind.TRIPLES for w in case.query.windows):
        return None
    asked = replace(query, vars=(Var("from"), *query.vars, Var("to")))
    return replace(case, query=replace(case.query, query=asked, bounds=BOUNDS))


@pytest.mark.parametrize("shards", [1, 2])
def test_bounds_are_those_of_the_definition(shards: int):
    agreed = rows = unbound = 0
    for seed in range(shards * 30_000, shards * 30_000 + 60):
        case = asking(make_window_case(seed))
        if case is None:
            continue
        try:
            given = given_by_engine(case, shards, restore=seed % 5 > 2)
            wanted = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        rows += wanted.total()
        unbound += sum("from" not in dict(row[0]) for _, row in wanted)
    assert agreed >= 10 and rows > 50 and unbound


def answered(text: str, tmp_path: Path, language: str, windows: str = "") -> list[tuple[str, ...]]:
    (tmp_path / "s.nq").write_text(STREAM)
    engine = penstock.Engine(spark=None).add_stream(tmp_path / "s.nq", iri="http://e/s")
    found = engine.add_query(PREFIX + text, language=language).answers()
    return sorted(
        tuple(term.value[11:16] if "T" in term.value else term.value for term in row.values())
        for row in found
    )


def test_hourly_counts_say_which_hour(tmp_path):
    select = "SELECT (getWINDOWSTART() AS ?from) (COUNT(*) AS ?n) (getWINDOWEND() AS ?to)"
    hours = [("08:00", "2", "09:00"), ("09:00", "1", "10:00")]
    text = f"REGISTER QUERY q AS {select} FROM STREAM :s [RANGE 1h STEP 1h] WHERE {{ ?x :p ?v }}"
    assert answered(text, tmp_path, "c-sparql") == hours
    text = f"REGISTER RSTREAM :o AS {select} FROM NAMED WINDOW :w ON :s [RANGE PT1H STEP PT1H] "
    assert answered(text + "WHERE { WINDOW :w { ?x :p ?v } }", tmp_path, "rsp-ql") == hours


def test_what_closed_last_is_older_than_the_evaluation(tmp_path):
    text = (
        "REGISTER QUERY q COMPUTED EVERY 45m AS SELECT ?x (getWINDOWEND() AS ?to) (getWINDOWSTART() AS ?from)"
    )
    text += " FROM STREAM :s [RANGE 1h STEP 1h] WHERE { ?x :p ?v }"
    found = answered(text, tmp_path, "c-sparql")
    assert found and {row[1:] for row in found} <= {("09:00", "08:00"), ("10:00", "09:00")}


def test_answers_over_elements_say_when_they_were_given(tmp_path):
    select = "SELECT ?x (getWINDOWSTART() AS ?from) (getWINDOWEND() AS ?to)"
    found = answered(f"{select} WHERE {{ STREAM :s [RANGE 20m] {{ ?x :p ?v }} }}", tmp_path, "cqels-cep")
    assert found == [
        ("http://e/a", "07:50", "08:10"), ("http://e/b", "08:40", "09:00"), ("http://e/c", "09:10", "09:30"),
    ]  # fmt: skip
    gone = select.replace("SELECT", "SELECT DSTREAM")
    found = answered(
        f"{gone} WHERE {{ STREAM :s [RANGE 20m SLIDE 10m] {{ ?x :p ?v }} }}", tmp_path, "cqels-cep"
    )
    assert found[0] == ("http://e/a", "08:10", "08:30")


@pytest.mark.parametrize(
    ("select", "window", "said"),
    [
        ("SELECT ?x (getWINDOWEND() AS ?v)", "RANGE 1h STEP 1h", r"\?v is used elsewhere"),
        (
            "SELECT ?x (getWINDOWEND() AS ?e) (getWINDOWSTART() AS ?e)",
            "RANGE 1h STEP 1h",
            "is used elsewhere",
        ),
        ("SELECT (getWINDOWEND() AS ?e)", "RANGE 1h STEP 1h", "nothing but the bounds"),
        ("SELECT ?x (STR(getWINDOWEND()) AS ?e)", "RANGE 1h STEP 1h", "is known when an answer is given"),
        ("SELECT ?x (getWINDOWEND() AS ?e)", "RANGE TRIPLES 3", "has no bounds in time"),
    ],
)
def test_refusals(select: str, window: str, said: str):
    text = f"{PREFIX}REGISTER QUERY q AS {select} FROM STREAM :s [{window}] WHERE {{ ?x :p ?v }}"
    with pytest.raises(QueryError, match=said):
        parse_query(text, language="c-sparql")
    inside = text.replace("WHERE {", "WHERE { FILTER (getWINDOWEND() > ?v)").replace(select, "SELECT ?x")
    with pytest.raises(QueryError, match="is known when an answer is given"):
        parse_query(inside, language="c-sparql")


def test_the_algebra_shows_them():
    text = PREFIX + "SELECT ?x (getWINDOWEND() AS ?to) WHERE { STREAM :s [RANGE 20m] { ?x :p ?v } }"
    shown = penstock.Engine(spark=None).add_query(text, language="cqels-cep")
    assert "(window-end ?to)" in shown.explain(stage="algebra")
    assert "ISTREAM" in shown.explain()
