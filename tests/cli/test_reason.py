"""`penstock reason`: options, exit codes, what is told."""

from __future__ import annotations

import signal

import pytest

from api.test_materialisation import DATA, ONTOLOGY, RULES
from penstock import cli
from penstock.api.materialisation import materialised
from penstock.cli.options import INTERRUPTED
from penstock.reason import kernel
from penstock.reason.evaluation import Options


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    for name, text in (("rules.rq", RULES), ("data.ttl", DATA), ("onto.ttl", ONTOLOGY)):
        (tmp_path / name).write_text(text)
    (tmp_path / "odd.ttl").write_text(DATA + ":rex a :Cat .\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RULED = ["--ontology", "onto.ttl", "--rules", "rules.rq"]


def test_materialise(files, capsys):
    assert cli.call(["reason", "data.ttl", *RULED, "--out", "closed.nt"]) == 0
    assert len((files / "closed.nt").read_text().splitlines()) == 9
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the rule range derived 1 triple with a literal as subject: left out" in shown.err
    assert "7 triples and 2 inferred by 1 rule of 3 in " in shown.err


def test_only_new_to_standard_output(capfd):
    assert cli.call(["reason", "data.ttl", *RULED, "--only-new", "--out", "-", "--quiet"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2 and all(
        line.startswith("<http://e/rex> ") and line.endswith(" .") for line in lines
    )


def test_consistent(capsys):
    assert cli.call(["reason", "data.ttl", *RULED, "--check"]) == 0
    assert "contradiction" not in capsys.readouterr().err


def test_check_tells_contradictions_and_is_1(files, capsys):
    assert cli.call(["reason", "odd.ttl", *RULED, "--check"]) == 1
    shown = capsys.readouterr().err
    assert "error: contradiction: apart: Classes that are apart share an instance.\n" in shown
    assert "    :Cat owl:disjointWith :Dog\n    :rex a :Cat\n    :rex a :Dog\n" in shown
    assert shown.endswith("; inconsistent: 1 contradiction\n")


def test_without_check_a_contradiction_is_a_warning(files, capsys):
    assert cli.call(["reason", "odd.ttl", *RULED, "--out", "closed.nt"]) == 0
    assert "warning: contradiction: apart" in capsys.readouterr().err
    assert (files / "closed.nt").exists()


def test_strict_writes_nothing(files, capsys):
    assert cli.call(["reason", "odd.ttl", *RULED, "--strict", "--out", "closed.nt"]) == 1
    assert "error: what was given is inconsistent: apart: Classes" in capsys.readouterr().err
    assert not (files / "closed.nt").exists()


def test_of_many_contradictions_only_check_tells_all(files, capsys):
    (files / "odd.ttl").write_text(DATA + "".join(f":r{i} a :Cat , :Dog .\n" for i in range(14)))
    assert cli.call(["reason", "odd.ttl", *RULED, "--out", "closed.nt"]) == 0
    shown = capsys.readouterr().err
    assert shown.count("warning: contradiction:") == 10
    assert "… and 4 contradictions more; --check tells all" in shown
    assert cli.call(["reason", "odd.ttl", *RULED, "--check"]) == 1
    assert capsys.readouterr().err.count("error: contradiction:") == 14


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["data.ttl", *RULED], 2, "there is no place to write to"),
        (["data.ttl", "--check"], 2, "there are no rules"),
        (["nowhere.ttl", *RULED, "--check"], 2, "there is no file nowhere.ttl"),
        (["data.ttl", "--rules", "owl2-el", "--check"], 2, "did you mean owl2-rl"),
        (["data.ttl", *RULED, "--out", "x.csv"], 2, "the ending of x.csv names no format"),
        (["data.ttl", *RULED, "--out", "data.ttl"], 2, "data.ttl exists already"),
        (["data.ttl", *RULED, "--out", "data.ttl", "--overwrite"], 2, "data.ttl is read by this run"),
        (["broken.nt", *RULED, "--out", "x.nt"], 1, "broken.nt:2:"),
        (["named.nq", *RULED, "--out", "x.nt"], 2, "there is a named graph, <http://e/g>, and x.nt cannot"),
        (
            ["data.ttl", "--rules", "endless.rq", "--check"],
            1,
            "the rule endless invents blank nodes without end",
        ),
    ],
)
def test_what_is_wrong_is_said(files, capsys, monkeypatch, arguments, code, message):
    monkeypatch.setitem(materialised.__kwdefaults__, "options", Options(most_invented=50))
    (files / "broken.nt").write_text(
        "<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> <http://e/b> .\n"
    )
    (files / "named.nq").write_text("<http://e/a> <http://e/b> <http://e/c> <http://e/g> .\n")
    (files / "endless.rq").write_text(
        "INSERT { ?y <http://e/next> [] } WHERE { ?x ?p ?y FILTER (!isLiteral(?y)) }"
    )
    assert cli.call(["reason", *arguments]) == code
    shown = capsys.readouterr().err
    assert message in shown and "Traceback" not in shown
    assert not (files / "x.nt").exists()


def test_a_loop_of_subclasses_just_works(files, capsys):
    (files / "loop.ttl").write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :C rdfs:subClassOf :A . :x a :A ."
    )
    assert cli.call(["reason", "loop.ttl", "--rules", "scm-sco", "--rules", "cax-sco", "--out", "x.nt"]) == 0
    assert "4 triples and 8 inferred" in capsys.readouterr().err


def test_ctrl_c_is_130_and_leaves_no_file(files, capsys, monkeypatch):
    (files / "long.nt").write_text("".join(f"<x:{i}> <x:next> <x:{i + 1}> .\n" for i in range(1500)))
    (files / "long.rq").write_text("INSERT { ?x <x:next> ?z } WHERE { ?x <x:next> ?y . ?y <x:next> ?z }")

    def interrupted(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    close = kernel.close

    def close_under_way(*arguments):  # a million pairs follow: it is the kernel that is interrupted
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        return close(*arguments)

    assert cli.call(["reason", "data.ttl", "--rules", "long.rq", "--check"]) == 0  # the kernel is loaded
    monkeypatch.setattr(kernel, "close", close_under_way)
    try:
        assert cli.call(["reason", "long.nt", "--rules", "long.rq", "--out", "closed.nt"]) == INTERRUPTED
    finally:
        signal.signal(signal.SIGALRM, before)
    assert "stopped" in capsys.readouterr().err
    assert not list(files.glob("*closed.nt*"))


def test_help_teaches(capsys):
    assert cli.call(["reason", "--help"]) == 0
    assert "penstock reason people.ttl --rules rdfs" in capsys.readouterr().out
