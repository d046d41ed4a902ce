"""Relative IRIs in queries: completed by BASE, or by where the text was found."""

from __future__ import annotations

import pytest

from penstock import Engine, cli, pipeline
from penstock.errors import UsageError
from penstock.languages import parse_query
from penstock.rules.reading import read_file
from penstock.terms import NamedNode

RSPQL = """
PREFIX : <http://e/>
REGISTER RSTREAM <out> AS CONSTRUCT { ?x :q ?y }
FROM NAMED WINDOW <w> ON <in> [RANGE PT1M STEP PT1M]
WHERE { WINDOW <w> { ?x :p ?y } }
"""
GIVEN = "REGISTER STREAM <out> AS CONSTRUCT { ?x <q> ?y }"
TEXTS = {
    "rspql": RSPQL,
    "csparql": f"{GIVEN} FROM STREAM <in> [RANGE 1m] WHERE {{ ?x <p> ?y }}",
    "cqels": f"{GIVEN} WHERE {{ STREAM <in> [RANGE 1m] {{ ?x <p> ?y }} }}",
    "rq": f"{GIVEN} WHERE {{ GRAPH <in> {{ ?x <p> ?y }} }}",
}
# Nothing in these is relative: what they are must not depend on where they lie.
ABSOLUTE = {
    "csparql": "REGISTER STREAM Sites AS CONSTRUCT FROM STREAM <u:in> [RANGE 1m] WHERE { ?x <u:p> ?y }",
    "rq": "SELECT (IRI(?y) AS ?z) { ?x <u:p> ?y }",
    "rspql": RSPQL.replace("<out>", ":out").replace("<w>", ":w").replace("<in>", ":in"),
}


def written(folder, ending: str, text: str):
    path = folder / f"q 1.{ending}"
    path.write_text(text)
    return path


@pytest.mark.parametrize("ending", TEXTS)
def test_a_query_file_has_its_own_address_as_base(tmp_path, ending):
    (query,) = pipeline.parse([written(tmp_path, ending, TEXTS[ending])])
    assert query.stream == query.query.target == NamedNode(f"{tmp_path.as_uri()}/out")
    assert query.name == "out"


@pytest.mark.parametrize("ending", TEXTS)
def test_a_base_that_is_given_goes_first_and_one_in_the_text_before_it(tmp_path, ending):
    path = written(tmp_path, ending, TEXTS[ending])
    (query,) = pipeline.read(path, base="http://b/dir/x").queries
    assert query.stream == NamedNode("http://b/dir/out")
    path.write_text(f"BASE <http://t/>\n{TEXTS[ending]}")
    (query,) = pipeline.read(path, base="http://b/dir/x").queries
    assert query.stream == NamedNode("http://t/out")
    path.write_text(f"BASE <sub/>\n{TEXTS[ending]}")
    (query,) = pipeline.read(path).queries
    assert query.stream == NamedNode(f"{tmp_path.as_uri()}/sub/out")


def test_windows_and_streams_are_completed_too(tmp_path):
    (query,) = pipeline.parse([written(tmp_path, "rspql", RSPQL)])
    (window,) = query.query.continuous.windows
    here = tmp_path.as_uri()
    assert (window.name, window.stream) == (NamedNode(f"{here}/w"), NamedNode(f"{here}/in"))


@pytest.mark.parametrize("ending", ABSOLUTE)
def test_the_address_is_nothing_to_a_query_without_relative_iris(tmp_path, ending):
    (query,) = pipeline.parse([written(tmp_path, ending, ABSOLUTE[ending])])
    assert query.query == parse_query(ABSOLUTE[ending], origin=f"q.{ending}").query
    assert query.stream == parse_query(ABSOLUTE[ending], origin=f"q.{ending}").stream


def test_a_text_of_python_has_the_current_directory_or_what_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (query,) = Engine(spark=None).add_query(RSPQL).queries
    assert query.stream == NamedNode(f"{tmp_path.as_uri()}/out")
    (query,) = Engine(spark=None).add_query(RSPQL, base="http://b/").queries
    assert query.stream == NamedNode("http://b/out")
    (query,) = Engine(spark=None).add_query(written(tmp_path, "rspql", RSPQL), base="http://b/").queries
    assert query.stream == NamedNode("http://b/out")
    with pytest.raises(UsageError, match="base is an absolute IRI"):
        Engine(spark=None).add_query(RSPQL, base="here")


def test_one_query_file_reads_what_another_in_its_directory_gives(tmp_path):
    (tmp_path / "s.trig").write_text("<urn:e#t=2026-01-01T00:00:30Z> { <http://e/a> <http://e/p> 1 }")
    second = RSPQL.replace("<in>", "<x>").replace("<out>", "<in>").replace("<x>", "<out>").replace(":p", ":q")
    engine = Engine(spark=None).add_stream(tmp_path / "s.trig", iri=f"{tmp_path.as_uri()}/in")
    engine.add_query(written(tmp_path, "rspql", RSPQL))
    other = tmp_path / "second.rspql"
    other.write_text(second.replace("<in> AS", "<last> AS"))
    engine.add_query(other)
    assert len(engine.answers("out")) == len(engine.answers("last")) == 1


def test_rules_of_a_file_have_its_address(tmp_path):
    path = tmp_path / "rules.rq"
    path.write_text("INSERT { ?x a <D> } WHERE { ?x a <C> }")
    (rule,) = read_file(path).rules
    assert f"{tmp_path.as_uri()}/D" in str(rule)


def test_the_command_line_completes_by_base_or_by_the_files_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rspql").write_text(RSPQL)
    (tmp_path / "s.trig").write_text("<urn:e#t=2026-01-01T00:00:30Z> { <http://e/a> <http://e/p> 1 }")
    assert cli.call(["check", "q.rspql", "--base", "http://b/", "--stream", "http://b/in=s.trig"]) == 0
    assert cli.call(["check", "q.rspql", "--stream", f"{tmp_path.as_uri()}/in=s.trig"]) == 0
    capsys.readouterr()
    assert cli.call(["check", "q.rspql", "--stream", "s.trig"]) == 1
    assert f"--stream '{tmp_path.as_uri()}/in=SOURCE'" in capsys.readouterr().err.replace("\n", "")
    assert cli.call(["check", "q.rspql", "--base", "b"]) == 2
