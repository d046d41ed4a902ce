"""`penstock.materialise`: graphs with all that follows, in process."""

from __future__ import annotations

import gzip

import pytest
from pyoxigraph import RdfFormat, parse

import penstock
from penstock.errors import InputError, PenstockWarning, QueryError, UsageError
from penstock.rules.reading import read_rules
from penstock.terms import RDF, Literal, NamedNode

RULES = """\
PREFIX : <http://e/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
# name: subclass
INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c } ;
# name: range
INSERT { ?y a ?c } WHERE { ?p rdfs:range ?c . ?x ?p ?y } ;
# name: apart
# contradiction: Classes that are apart share an instance.
SELECT ?x ?c ?d WHERE { ?c owl:disjointWith ?d . ?x a ?c, ?d }
"""
DATA = """\
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:rex a :Dog ; :age 7 .
:age rdfs:range :Number .
"""
ONTOLOGY = """\
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Dog rdfs:subClassOf :Pet . :Pet rdfs:subClassOf :Animal . :Animal rdfs:subClassOf :Dog .
:Cat owl:disjointWith :Dog .
"""


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://e/{name}")


@pytest.fixture
def files(tmp_path):
    for name, text in (("rules.rq", RULES), ("data.ttl", DATA), ("onto.ttl", ONTOLOGY)):
        (tmp_path / name).write_text(text)
    return tmp_path


def closed(files, **options):
    return penstock.materialise(
        files / "data.ttl", rules=files / "rules.rq", ontology=[files / "onto.ttl"], **options
    )


def test_what_follows(files):
    found = closed(files)
    assert (len(found), found.given, found.consistent) == (9, 7, True)
    assert repr(found) == "<penstock.Materialised: 9 triples, 2 of them inferred>"
    assert found.derived == {"subclass": 2}
    assert found.dropped == {"range": 1}  # a literal is no subject
    new = found.to_arrow(only_new=True).to_pylist()
    assert {(row["subject"], row["object"]) for row in new} == {
        ("<http://e/rex>", "<http://e/Pet>"),
        ("<http://e/rex>", "<http://e/Animal>"),
    }
    assert found.to_arrow().num_rows == 9 == len(found.to_pandas())
    assert found.to_arrow().schema.names == ["subject", "predicate", "object"]


def test_files_of_what_follows(files):
    found = closed(files)
    found.write(files / "all.nt.gz")
    found.write(files / "new.ttl", only_new=True)
    lines = gzip.decompress((files / "all.nt.gz").read_bytes()).splitlines()
    assert len(lines) == len(set(lines)) == 9
    assert len(list(parse((files / "new.ttl").read_bytes(), RdfFormat.TURTLE))) == 2
    with pytest.raises(UsageError, match="all.nt.gz exists already"):
        found.write(files / "all.nt.gz")
    found.write(files / "all.nt.gz", overwrite=True)


def test_triples_of_other_libraries_and_rules_by_name_and_by_value(files):
    triples = [(ex("rex"), RDF.type, ex("Dog")), (ex("rex"), ex("age"), Literal("7"))]
    own = read_rules("INSERT { ?x <http://e/seen> true } WHERE { ?x a ?c }").rules
    found = penstock.materialise(triples, rules=["cax-sco", *own], ontology=str(files / "onto.ttl"))
    assert [rule.name for rule in found.rules] == ["cax-sco", "rule"]
    assert found.derived == {"cax-sco": 2, "rule": 1}


def test_a_directory_of_graphs(files):
    (files / "notes.txt").write_text("no graph")
    assert len(penstock.materialise(files, rules=files / "rules.rq")) == 9
    (files / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no graph in .*empty"):
        penstock.materialise(files / "empty", rules="rdfs")


def test_contradictions_are_told_and_with_strict_an_error(files):
    (files / "data.ttl").write_text(DATA + ":rex a :Cat .\n")
    found = closed(files)
    [conflict] = found.conflicts
    assert (conflict.rule, conflict.meaning) == ("apart", "Classes that are apart share an instance.")
    assert dict(conflict.bindings) == {"x": ex("rex"), "c": ex("Cat"), "d": ex("Dog")}
    with pytest.raises(InputError, match="(?s)what was given is inconsistent: apart: Classes.*:rex a :Cat"):
        closed(files, strict=True)


def test_named_graphs_are_passed_through(tmp_path):
    (tmp_path / "data.trig").write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":rex a :Dog . :Dog rdfs:subClassOf :Pet . :g { :tom a :Dog } _:h { :tim a :Dog }"
    )
    found = penstock.materialise(tmp_path / "data.trig", rules="cax-sco")
    assert len(found) == 3 and len(found.named) == 2
    found.write(tmp_path / "out.nq")
    quads = list(parse((tmp_path / "out.nq").read_bytes(), RdfFormat.N_QUADS))
    assert len(quads) == 5
    assert sorted(q.subject.value[-3:] for q in quads if str(q.graph_name) != "DEFAULT") == ["tim", "tom"]
    found.write(tmp_path / "new.nt", only_new=True)
    with pytest.raises(UsageError, match="there is a named graph"):
        found.write(tmp_path / "out.nt")


def test_rules_read_named_graphs_with_graph_only(tmp_path):
    (tmp_path / "data.trig").write_text(
        "@prefix : <http://e/> . :rex :likes :tom . :g { :rex :hates :tom . :tim :likes :tom }"
    )
    text = """PREFIX : <http://e/>
        INSERT { ?x a :Fond } WHERE { ?x :likes ?y } ;
        INSERT { ?x a :Odd } WHERE { ?x :likes ?y GRAPH :g { ?x :hates ?y } } ;
        INSERT { ?g a :Source } WHERE { GRAPH ?g { ?x :hates ?y } } ;
        INSERT { GRAPH :g { ?x a :Working } } WHERE { ?x a :Odd }"""
    found = penstock.materialise(tmp_path / "data.trig", rules=read_rules(text).rules)
    new = {(row["subject"], row["object"]) for row in found.to_arrow(only_new=True).to_pylist()}
    names = {tuple(term.strip("<>").removeprefix("http://e/") for term in pair) for pair in new}
    assert names == {("rex", "Fond"), ("rex", "Odd"), ("g", "Source")}
    found.write(tmp_path / "out.nq")
    assert len((tmp_path / "out.nq").read_text().splitlines()) == 1 + 2 + 3  # no internal graphs


def test_imports_and_lists_are_warned_of(tmp_path):
    (tmp_path / "onto.ttl").write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
        "<http://e/onto> owl:imports <http://e/other>, <onto.ttl> .\n"
        ":C owl:unionOf :l . :l rdf:first :D ; rdf:rest :l .\n"
    )
    with pytest.warns(PenstockWarning) as told:
        penstock.materialise((), rules="cax-sco", ontology=tmp_path / "onto.ttl")
    first, second = (str(warning.message) for warning in told)
    assert "<http://e/other> is imported, and was not given" in first
    assert "the list at <http://e/l> (used in <http://e/C>" in second and "loops" in second


def test_the_same_input_is_the_same_output(files):
    for name in ("a.nt", "b.nt"):
        closed(files).write(files / name)
    assert (files / "a.nt").read_bytes() == (files / "b.nt").read_bytes()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (dict(data="data.ttl", rules="rdsf"), UsageError, "no regime, no rule and no file 'rdsf'"),
        (dict(data="nowhere.ttl", rules="cax-sco"), UsageError, "there is no file nowhere.ttl"),
        (dict(data="rules.rq", rules="cax-sco"), UsageError, "the format of the graph rules.rq is not known"),
        (dict(data="broken.ttl", rules="cax-sco"), InputError, "broken.ttl:2:"),
        (dict(data="data.ttl", rules="broken.rq"), QueryError, "broken.rq:2:1: rule mine: INSRT"),
        (dict(data="data.ttl", rules=7), UsageError, "rules are names of regimes, files, or rules, and 7 is"),
        (dict(data=7, rules="cax-sco"), UsageError, "data is a file, several, or triples, and 7 is"),
        (dict(data=[(1, 2)], rules="cax-sco"), InputError, "is not a triple"),
        (dict(data="data.ttl", rules="cax-sco", base="here"), UsageError, "base is an absolute IRI"),
    ],
)
def test_what_is_wrong_is_said(files, monkeypatch, call, error, message):
    (files / "broken.ttl").write_text("@prefix : <http://e/> .\n:rex a .\n")
    (files / "broken.rq").write_text("# name: mine\nINSRT { ?x a ?y } WHERE { ?x a ?y }\n")
    monkeypatch.chdir(files)
    with pytest.raises(error, match=message):
        penstock.materialise(**call)
