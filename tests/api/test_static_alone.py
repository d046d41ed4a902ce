"""Queries over static knowledge alone: answered once, in this process, without Spark."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import penstock
from penstock import cli
from penstock.engine import diagnosis
from penstock.errors import UsageError

PREFIX = "PREFIX : <http://example.org/> "
DATA = "@prefix : <http://example.org/> . :a :p 1 ; :q :b . :b :p 2 ; :q :c . :c :p 3 ."
RULE = "CONSTRUCT { ?x :reaches ?y } WHERE { ?x :q+ ?y }"


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Files to work on; a run that reaches for Spark fails."""
    monkeypatch.chdir(tmp_path)
    Path("d.ttl").write_text(DATA)

    def no_spark(*_, **__):
        raise AssertionError("this run needs no Spark")

    for place in (
        "penstock.runtime.run.run_session",
        "penstock.runtime.run.run",
        "penstock.runtime.session.session.default_shards",
    ):
        monkeypatch.setattr(place, no_spark)


def engine(*queries: str) -> penstock.Engine:
    made = penstock.Engine().add_graph("d.ttl")
    for query in queries:
        made.add_query(PREFIX + query)
    return made


def local(answers: penstock.Answers) -> list[tuple[str, ...]]:
    return sorted(tuple(term.value.rsplit("/")[-1] for term in row.values()) for row in answers)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?x ?v { ?x :p ?v }", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("SELECT (SUM(?v) AS ?s) { ?x :p ?v }", [("6",)]),
        ("SELECT (COUNT(*) AS ?n) { ?x :nope ?v }", [("0",)]),
        ("SELECT ?x { ?x :p ?v FILTER NOT EXISTS { ?x :q ?y } }", [("c",)]),
        ("SELECT ?x { ?x :p ?v MINUS { ?x :q :b } } ORDER BY DESC(?v) LIMIT 1", [("c",)]),
        ("SELECT ?x ?y { ?x :p 1 OPTIONAL { ?x :q ?y } }", [("a", "b")]),
        ("SELECT ?x ?y { ?x :q+ ?y }", [("a", "b"), ("a", "c"), ("b", "c")]),
        ("ASK { :a :p 7 }", [("false",)]),
        ("ASK { :a :p 1 }", [("true",)]),
        ("DESCRIBE :c", [("c", "p", "3")]),
        (RULE, [("a", "reaches", "b"), ("a", "reaches", "c"), ("b", "reaches", "c")]),
    ],
)
def test_every_kind_of_query(query, expected):
    answers = engine(query).answers()
    assert local(answers) == expected
    assert all(solution.start is None and solution.end is None for solution in answers)


def test_rules_feed_queries_and_named_graphs_are_read_by_name():
    made = engine("SELECT ?x { :a :reaches ?x }", RULE, "SELECT ?x { GRAPH :g { ?x :q ?y } }")
    made.add_graph("d.ttl", iri="http://example.org/g")
    found = made.all_answers()
    assert [local(found[name]) for name in ("query-1", "query-3")] == [[("b",), ("c",)], [("a",), ("b",)]]
    assert local(penstock.Engine(feed=False).add_graph("d.ttl").add_query(PREFIX + RULE).answers())
    assert not engine("SELECT ?x { GRAPH :g { ?x :q ?y } }").answers().table.num_rows


def test_one_batch_solutions_and_why_there_are_none():
    made = engine("SELECT ?x { ?x :p ?v }", "SELECT ?x { ?x :nope ?v }")
    batches = []
    statistics = made.run(on_batch=batches.append)
    assert [batch.id for batch in batches] == [0] and batches[0].answers["query-1"].num_rows == 3
    assert statistics.known == 5 and statistics.batches == 1 and statistics.ended
    assert list(made.diagnosis) == ["query-2"]
    assert len(list(made.solutions())) == 3


def test_a_predicate_that_is_there_is_not_said_to_be_missing():
    made = engine("SELECT ?x { ?x :p 7 }", "SELECT ?x { ?x :nope 7 }")
    made.run(on_batch=lambda batch: None)
    assert "does not occur" not in str(made.diagnosis["query-1"])
    assert ":nope does not occur" in str(made.diagnosis["query-2"])


def test_a_fault_of_the_diagnosis_takes_no_answers_away(monkeypatch):
    monkeypatch.setattr(diagnosis._Search, "dry", lambda *_: {}["a step"])
    made = engine("SELECT ?x { ?x :p ?v }", "SELECT ?x { ?x :nope ?v }")
    assert made.all_answers()["query-1"].table.num_rows == 3
    assert "a fault in Penstock: KeyError: 'a step'" in str(made.diagnosis["query-2"])


def test_a_limit_that_expressions_meet_is_counted():
    made = engine(
        'SELECT ?y { ?x :p ?v BIND(IF(REGEX(STR(?v), CONCAT("(a{1000}){1000}", STR(?v))), 1, 2) AS ?y) }'
    )
    statistics = made.run(on_batch=lambda batch: None)
    assert sum(statistics.refused.values()) == 3


def test_what_only_streams_give_a_sense_to_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no stream to read, and no graph"):
        penstock.Engine().add_query(PREFIX + RULE).ready()
    with pytest.raises(UsageError, match="--follow waits for more of a stream"):
        engine(RULE).ready(follow=True)
    made = penstock.Engine(checkpoint=tmp_path / "state").add_graph("d.ttl").add_query(PREFIX + RULE)
    with pytest.raises(UsageError, match="--checkpoint remembers how far streams are read"):
        made.ready()
    with pytest.raises(penstock.QueryError, match="names no registered stream or graph"):
        engine("SELECT * FROM :s { ?x :p ?v }").ready()


def test_no_warnings_about_streams():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine("SELECT ?x { { ?x :p ?v } SEQ { ?x :q ?y } }").answers()


def test_on_the_command_line(tmp_path, capfd):
    Path("q.rq").write_text(f"{PREFIX} {RULE} ; SELECT ?x {{ :a :reaches ?x }} ; ASK {{ :a :nope ?x }}")
    assert cli.call("run q.rq --graph d.ttl --format csv".split()) == 0
    out, err = capfd.readouterr()
    assert "q-2,,,,http://example.org/b,,," in out and "q-3,,,,,false,," in out
    assert "\n6 answers from 5 static triples in " in err  # after a warning of all pairs
    assert "nothing in the streams" not in err
    for ending in ("csv", "json", "parquet", "txt"):
        assert cli.call(f"run q.rq --graph d.ttl --out o.{ending} --quiet".split()) == 0
        assert Path(f"o.{ending}").stat().st_size
    assert len(json.loads(Path("o.json").read_text())["results"]["bindings"]) == 6
    assert cli.call("run q.rq --graph d.ttl --out parts/ --format csv --quiet".split()) == 0
    assert sorted(path.parent.name for path in Path("parts").rglob("*.csv")) == ["q", "q-2", "q-3"]
    assert cli.call("run q.rq --graph d.ttl --out o.csv --quiet".split()) == 2
    assert cli.call("run q.rq --graph d.ttl --out d.ttl --format csv --overwrite".split()) == 2
    assert "is read by this run" in capfd.readouterr().err
    Path("c.rq").write_text(PREFIX + RULE)
    assert cli.call("run c.rq --graph d.ttl --format nquads --quiet".split()) == 0
    assert capfd.readouterr().out.count("reaches> ") == 3
    assert cli.call("run q.rq --graph d.ttl --follow".split()) == 2
    assert cli.call("run q.rq".split()) == 2
