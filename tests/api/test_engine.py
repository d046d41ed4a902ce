"""`penstock.Engine` before it runs: what it takes, what it refuses, and what it calls things."""

from __future__ import annotations

import os
from datetime import datetime, timezone

import pyoxigraph as ox
import pytest
import rdflib

import penstock
from penstock.errors import InputError, UsageError

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


def test_a_checkpoint_of_other_queries_is_refused_and_left_alone(tmp_path):
    from penstock.runtime.checkpoint import open_checkpoint

    (tmp_path / "a.nq").touch()
    engine = penstock.Engine(checkpoint=tmp_path / "state", shards=3).add_query(QUERY)
    engine.add_stream(tmp_path / "a.nq")
    open_checkpoint(tmp_path / "state", engine.ready(), tuple(engine.streams), 0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    # Without a word about shards, the checkpoint's own number of them is taken.
    same = penstock.Engine(checkpoint=tmp_path / "state").add_query(QUERY).add_stream(tmp_path / "a.nq")
    assert same.ready().shards == 3
    other = penstock.Engine(checkpoint=tmp_path / "state").add_query(QUERY.replace("reads", "writes"))
    with pytest.raises(InputError, match="belongs to other queries or graphs.*\n.*new checkpoint"):
        other.add_stream(tmp_path / "a.nq").ready()
    (tmp_path / "b.nq").touch()
    with pytest.raises(InputError, match="belongs to other streams: .*a.nq.* there, .*b.nq"):
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
