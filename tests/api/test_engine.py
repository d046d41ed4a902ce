"""`penstock.Engine` before it runs: what it takes, what it refuses, and what it calls things."""

from __future__ import annotations

import errno
import os
import re
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib

import penstock
from penstock.cli import call
from penstock.errors import InputError, UsageError
from penstock.runtime.contract import RunStatistics

QUERY = "SELECT ?s ?v WHERE { ?s <http://example.org/reads> ?v }"
NOON = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


def test_relative_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = penstock.Engine().add_stream("a.nq").add_stream(["b.nq", "sub/c.nq"]).add_stream("-")
    assert [spec.paths for spec in engine.streams] == [
        (f"{tmp_path}/a.nq",), (f"{tmp_path}/b.nq", f"{tmp_path}/sub/c.nq"), ("-",),
    ]  # fmt: skip


def test_queries_are_called_by_their_names(tmp_path):
    (tmp_path / "falls.rq").write_text(QUERY)
    engine = penstock.Engine().add_query(QUERY).add_query(QUERY, name="readings")
    engine.add_query(tmp_path / "falls.rq").add_query(str(tmp_path / "falls.rq"), name="again")
    assert engine.names == ["query-1", "readings", "falls", "again"]
    assert engine.explain("readings", "algebra") == engine.explain(1, "algebra")
    with pytest.raises(UsageError, match="there is no query 'rises'.*\n.*readings, falls, again"):
        engine.solutions("rises")


def test_a_name_that_is_given_counts_more_than_that_of_a_registration(tmp_path):
    text = "PREFIX : <http://e/> REGISTER STREAM :hot AS CONSTRUCT { ?s :is :hot } "
    text += "FROM STREAM :s [RANGE 10s STEP 10s] WHERE { ?s :p ?v }"
    path = tmp_path / "file.csparql"
    path.write_text(text)
    engine = penstock.Engine().add_query(text, name="x").add_query(path, name="y").add_query(text)
    engine.add_query(f"{text} ; {text}", name="z")
    assert engine.names == ["x", "y", "hot", "z", "z-2"]
    assert {query.stream.value for query in engine.queries} == {"http://e/hot"}


def test_a_name_is_given_once(tmp_path):
    registered = "PREFIX : <http://e/> REGISTER STREAM :hot AS CONSTRUCT { ?s :is :hot } "
    registered += "FROM STREAM :s [RANGE 10s STEP 10s] WHERE { ?s :p ?v }"
    (tmp_path / "falls.rq").write_text(QUERY)
    engine = penstock.Engine().add_query("ASK {} ; ASK {}", name="x").add_query(registered)
    engine.add_query(tmp_path / "falls.rq")
    for name, text in (
        ("x", QUERY),
        ("x", registered),
        ("x-2", QUERY),
        ("hot", QUERY),
        ("falls", registered),
    ):
        with pytest.raises(UsageError, match=f"there is a query '{name}' already"):
            engine.add_query(text, name=name)
    assert engine.names == ["x", "x-2", "hot", "falls"]


def test_a_module_brings_all_its_queries(tmp_path):
    engine = penstock.Engine()
    path = tmp_path / "pumps.rq"
    path.write_text("CONSTRUCT { ?s ?p 1 } WHERE { ?s ?p ?o }\nASK {}")
    engine.add_query(path).add_query(path, name="again").add_query("ASK {} ; ASK {}", name="text")
    assert engine.names == ["pumps", "pumps-2", "again", "again-2", "text", "text-2"]
    assert {query.origin for query in engine.queries} == {str(path), "text"}
    with pytest.raises(penstock.QueryError, match="of EP-SPARQL, not of SPARQL"):
        engine.add_query("ASK { {} SEQ {} }", language="sparql")
    assert len(engine.queries) == 6


def test_what_cannot_run_is_refused_before_spark_starts(tmp_path, monkeypatch):
    engine = penstock.Engine()
    with pytest.raises(UsageError, match="no query to run"):
        engine.answers()
    engine.add_query(QUERY)
    with pytest.raises(UsageError, match="no stream to read"):
        engine.ready()
    with pytest.raises(UsageError, match="there is no file or directory .*nowhere.nq"):
        penstock.Engine().add_query(QUERY).add_stream(tmp_path / "nowhere.nq").ready()
    (tmp_path / "notes.doc").touch()
    with pytest.raises(UsageError, match="notes.doc"):
        penstock.Engine().add_query(QUERY).add_stream(tmp_path / "notes.doc").ready()
    with pytest.raises(UsageError, match="only one stream can come from standard input"):
        penstock.Engine().add_query(QUERY).add_stream("-").add_stream("-").ready()


@pytest.mark.parametrize("name", ["secret.nq", "secrets"])
def test_what_may_not_be_read_is_named(tmp_path, monkeypatch, name):
    (tmp_path / "secret.nq").touch()
    (tmp_path / "secrets").mkdir()
    # The superuser may read everything, so permissions alone would not do here.
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith(name))
    with pytest.raises(UsageError, match=f"cannot read .*{name}: permission denied"):
        penstock.Engine().add_query(QUERY).add_stream(tmp_path / name).ready()


def test_where_one_may_not_even_look_nothing_is_said_of_writing(tmp_path, monkeypatch, capsys):
    real = os.stat

    def refusing(path, *options, **more):
        if "private" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *options, **more)

    monkeypatch.setattr(os, "stat", refusing)
    query, stream = tmp_path / "q.rq", tmp_path / "s.nq"
    query.write_text(QUERY)
    stream.touch()
    for arguments in ([query, "--stream", "private/s.nq"], ["private/q.rq", "--stream", stream]):
        assert call(["try", *map(str, arguments)]) == UsageError.exit_code
        assert re.search(r"cannot read private/(s.nq|q.rq): permission denied", capsys.readouterr().err)


def test_a_checkpoint_of_other_streams_is_refused_and_left_alone(tmp_path):
    from penstock.runtime.recovery.checkpoint import open_checkpoint

    (tmp_path / "a.nq").touch()
    engine = penstock.Engine(checkpoint=tmp_path / "state", shards=3).add_query(QUERY)
    engine.add_stream(tmp_path / "a.nq")
    with open_checkpoint(tmp_path / "state", engine.ready(), tuple(engine.streams), engine.timing):
        pass
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    # Without a word about shards, the checkpoint's own number of them is taken.
    same = penstock.Engine(checkpoint=tmp_path / "state").add_query(QUERY).add_stream(tmp_path / "a.nq")
    assert same.ready().shards == 3
    other = penstock.Engine(checkpoint=tmp_path / "state").add_query(QUERY.replace("reads", "writes"))
    other.add_stream(tmp_path / "a.nq").ready()  # other queries go on with it, and are not refused
    (tmp_path / "b.nq").touch()
    with pytest.raises(
        InputError, match="belongs to other streams: .*a.nq.* there, .*b.nq.*\n.*new checkpoint"
    ):
        penstock.Engine(checkpoint=tmp_path / "state").add_query(QUERY).add_stream(tmp_path / "b.nq").ready()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before | {tmp_path / "b.nq": b""}


def test_elements_may_come_from_rdflib_and_pyoxigraph():
    reads = "http://example.org/reads"
    ours = ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode(reads), ox.Literal(1))
    theirs = rdflib.Graph().add((rdflib.URIRef("urn:b"), rdflib.URIRef(reads), rdflib.Literal(2)))
    engine = penstock.Engine().add_stream([([ours], NOON), (theirs, NOON, "2026-05-01T12:00:01Z")])
    (path,) = engine.streams[0].paths
    with open(path) as file:
        assert [line.split()[0] for line in file] == ["<urn:a>", "<urn:b>"]


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (([], datetime(2026, 5, 1)), "no time zone"),
        (([], NOON, "2026-05-01T11:00:00Z"), "ends before it starts"),
        (([],), "an element is"),
    ],
)
def test_wrong_elements_are_told(element, message):
    with pytest.raises(InputError, match=message):
        penstock.Engine().add_stream([element])


A = ox.NamedNode("urn:a")
TRIPLE = ox.Triple(A, A, ox.Literal(1))


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        (
            [([("urn:a", "urn:b", "1")], NOON)],
            "element 0: 'urn:a' is a plain text.*\n.*write Triple\\(NamedNode",
        ),
        ([([TRIPLE], NOON), ([("urn:a", "urn:b")], NOON)], "element 1: .* is not a triple: those have three"),
        ([(["<urn:a> <urn:b> <urn:c>"], NOON)], "is not a triple: those have three terms"),
        ([([(ox.Literal(1), A, A)], NOON)], "is not a triple\n.*the subject is an IRI"),
        ([([(A, ox.BlankNode("x"), A)], NOON)], "is not a triple\n.*the predicate an IRI"),
        ([([(A, A, 4.2)], NOON)], "4.2 is a float and not an RDF term"),
        ([([(A, A, None)], NOON)], "None is a NoneType and not an RDF term"),
        ([([(rdflib.URIRef("not an iri"), A, A)], NOON)], "<not an iri> is not an IRI"),
        ([(TRIPLE, NOON)], "is not a list of triples\n.*also a single one"),
        ([(None, NOON)], "None is not a list of triples"),
        ([("urn:a urn:b urn:c", NOON)], "is not a list of triples"),
        ([TRIPLE], "is not an element\n.*an element is \\(triples, instant\\)"),
        ([None], "None is not an element"),
        ([{"triples": [], "at": NOON}], "is not an element"),
        ([([TRIPLE], None)], "None is not an instant\n.*a datetime with a time zone"),
        ([([TRIPLE], 1.5)], "1.5 is not an instant"),
        ([([TRIPLE], "yesterday")], "yesterday"),
        (["a.nq", ([TRIPLE], NOON)], "'a.nq' is not an element"),
    ],
)
def test_elements_that_are_none_are_told_with_an_example(elements, message):
    with pytest.raises(InputError, match=message):
        penstock.Engine().add_stream(elements)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.add_stream(None), "a stream is a file, .* and None is none of these"),
        (lambda e: e.add_stream(5), "a stream is"),
        (lambda e: e.add_stream({"a.nq": 1}), "a stream is"),
        (lambda e: e.add_stream(b"a.nq"), "a stream is"),
        (
            lambda e: e.add_stream("a.nq", iri="prices"),
            "the iri of a stream is an absolute IRI, and 'prices'",
        ),
        (lambda e: e.add_stream("a.nq", iri=["urn:a"]), "is an absolute IRI"),
        (lambda e: e.add_stream("a.nq", format=5), "format is a text, and 5 is not"),
        (lambda e: e.add_stream("a.nq", format="xml"), "there is no stream format 'xml'"),
        (lambda e: e.add_stream("a.nq", start_predicate="at"), "start_predicate is an absolute IRI"),
        (lambda e: e.add_stream("a.nq", end_predicate="<urn:a>"), "end_predicate is an absolute IRI"),
        (lambda e: e.add_graph(None), "a graph is a file or an iterable of triples"),
        (lambda e: e.add_graph(3), "a graph is"),
        (lambda e: e.add_graph("nowhere.ttl"), "cannot read nowhere.ttl"),
        (lambda e: e.add_graph([], iri=7), "the iri of a graph is an absolute IRI"),
        (lambda e: e.add_query(None), "a query is its text or a file, and None is neither"),
        (lambda e: e.add_query(["q.rq"]), "a query is its text or a file"),
        (lambda e: e.add_query("falls"), "cannot read falls"),
        (lambda e: e.add_query(QUERY, name=3), "the name of a query is a text"),
        (lambda e: e.answers("x"), "there is no query 'x'"),
        (lambda e: e.answers(None), "there is no query None"),
        (lambda e: e.solutions(7), "there is no query 7"),
        (lambda e: e.explain(0, "moon"), "there is no stage 'moon' to explain.*\n.*algebra, plan, spark"),
        (lambda e: e.run(on_batch=None), "on_batch is a function"),
        (lambda e: penstock.Engine(lateness=None), "lateness is a length of time, and None is none"),
        (lambda e: penstock.Engine(lateness=1.5), "lateness is a length of time"),
        (lambda e: penstock.Engine(lateness="soon"), "lateness: 'soon' is not a duration"),
        (lambda e: penstock.Engine(lateness=-1), "a negative duration"),
        (lambda e: penstock.Engine(lateness="-5s"), "a negative duration|is not a duration"),
        (lambda e: penstock.Engine(shards=0), "shards is a whole number above zero"),
        (lambda e: penstock.Engine(shards="2"), "shards is a whole number above zero"),
        (lambda e: penstock.Engine(batch_bytes=-5), "batch_bytes is a whole number above zero"),
        (lambda e: penstock.Engine(checkpoint=5), "checkpoint is a path"),
        (lambda e: penstock.Engine(checkpoint=""), "checkpoint is a path"),
        (lambda e: penstock.Engine(master=2), "master is a text"),
    ],
)
def test_wrong_arguments_are_told(call, message):
    with pytest.raises(UsageError, match=message):
        call(penstock.Engine().add_query(QUERY))


def test_what_a_graph_is_made_of_is_looked_at():
    with pytest.raises(InputError, match="'a' is a plain text and not an RDF term\n.*write Triple"):
        penstock.Engine().add_graph([("a", "b", "c")])


def test_a_length_of_time_may_be_a_timedelta():
    assert penstock.Engine(lateness=timedelta(seconds=2)).timing.lateness == 2_000_000


def test_the_answers_of_a_batch_are_by_name_also_where_there_are_none():
    engine = penstock.Engine().add_query(QUERY, name="reads").add_query("ASK { ?s ?p ?start }", name="any")
    found = pa.table({"answer": ["true"], "start": [0], "end": [0]})
    answers = penstock.Batch(0, engine.queries, {1: found}).answers
    assert list(answers) == ["reads", "any"] and answers["any"] is found
    assert answers["reads"].num_rows == 0 and answers["reads"].column_names == ["s", "v", "start", "end"]


def test_what_check_knows_is_told_once_when_a_run_begins(tmp_path, monkeypatch):
    (tmp_path / "a.nq").touch()
    monkeypatch.setattr("penstock.runtime.run.run", lambda *_, **__: RunStatistics())
    engine = penstock.Engine(shards=1).add_stream(tmp_path / "a.nq", iri="http://example.org/prices")
    engine.add_query("SELECT * WHERE { GRAPH <http://example.org/price> { ?s ?p ?o } }")
    with pytest.warns(penstock.PenstockWarning) as told:
        engine.run(on_batch=print)
    texts = [str(each.message) for each in told]
    assert any("did you mean <http://example.org/prices>?" in text for text in texts)
    assert any("(unread-stream)" in text for text in texts)
    engine.add_query(
        "SELECT * FROM <http://example.org/prices> WHERE { ?s <urn:p> ?a } SEQ { ?s <urn:p> ?b }"
    )
    with pytest.warns(penstock.PenstockWarning, match="unbounded-state") as more:
        engine.run(on_batch=print)
    assert len(more) == 1
