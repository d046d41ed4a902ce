"""Rules as a run takes them: CONSTRUCT is one, a query is none, and NOW() is when the run began."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

import penstock

HOT = "PREFIX : <http://e/> CONSTRUCT { ?x :hot true } WHERE { ?x :temp ?t FILTER (?t > 30) }"
SEEN = "PREFIX : <http://e/> INSERT { ?x :seen ?n } WHERE { ?x :temp ?t BIND (NOW() AS ?n) }"
GRAPH = "@prefix : <http://e/> . :a :temp 31 . :b :temp 29 ."
STREAM = (
    '<http://e/a> <http://e/temp> "31"^^<http://www.w3.org/2001/XMLSchema#integer>'
    " <http://e/g#t=2026-01-01T00:00:00Z> .\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.ttl").write_text(GRAPH)
    (tmp_path / "s.nq").write_text(STREAM)
    return tmp_path


@pytest.mark.parametrize("in_a_file", [False, True])
@pytest.mark.parametrize("source", ["g.ttl", "s.nq"])
def test_a_construct_among_rules_is_a_rule(place, in_a_file: bool, source: str):
    (place / "r.rq").write_text(HOT)
    engine = penstock.Engine(spark=None).add_rules("r.rq" if in_a_file else HOT)
    engine = engine.add_graph(source) if source == "g.ttl" else engine.add_stream(source)
    found = engine.add_query("SELECT ?x { ?x <http://e/hot> true }", name="q").answers("q").to_arrow()
    assert [row["x"] for row in found.to_pylist()] == ["<http://e/a>"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * { ?s ?p ?o }", "a SELECT without a header is a query"),
        ("ASK { ?s ?p ?o }", "this ASK is a query"),
        (f"{SEEN} ; SELECT * {{ ?s ?p ?o }}", "a SELECT without a header is a query"),
        ("CONSTRUCT { ?s ?p ?o } FROM <http://e/g> WHERE { ?s ?p ?o }", "this CONSTRUCT is a query"),
    ],
)
def test_a_query_among_rules_is_refused(place, text: str, said: str):
    (place / "r.rq").write_text(text)
    with pytest.raises(penstock.QueryError, match=said) as refused:
        penstock.Engine(spark=None).add_rules("r.rq").add_graph("g.ttl").add_query("ASK { }").answers()
    assert refused.value.span and refused.value.hint


@pytest.mark.parametrize("source", ["g.ttl", "s.nq"])
def test_now_in_a_rule_is_when_the_run_began(place, source: str):
    before = datetime.now(timezone.utc)
    engine = penstock.Engine(spark=None).add_rules(SEEN)
    engine = engine.add_graph(source) if source == "g.ttl" else engine.add_stream(source)
    rows = (
        engine.add_query("SELECT ?n (NOW() AS ?m) { ?x <http://e/seen> ?n }", name="q")
        .answers("q")
        .to_arrow()
    )
    for row in rows.to_pylist():
        assert row["n"] == row["m"]
        assert before <= datetime.fromisoformat(row["n"].split('"')[1]) <= datetime.now(timezone.utc)
    assert rows.num_rows == (2 if source == "g.ttl" else 1)


def test_now_of_a_closure_is_now(place):
    (place / "r.rq").write_text(SEEN)
    seen = penstock.materialise("g.ttl", rules="r.rq").to_arrow(only_new=True).to_pylist()
    assert {row["object"].split('"')[1][:10] for row in seen} <= {
        f"{datetime.now(timezone.utc):%Y-%m-%d}"
    } and seen
