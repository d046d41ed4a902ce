"""`penstock rules`."""

from __future__ import annotations

import pytest

from penstock import cli
from penstock.rules.rule import REGIMES

PREFIX = "PREFIX : <http://example.org/>\n"
GOOD = PREFIX + "# name: symmetric\nINSERT { ?y :p ?x } WHERE { ?x :p ?y }\n"
IN_VAIN = (
    PREFIX
    + "# name: vain\nINSERT { ?y :p ?z . 1 :p ?x . [] :p ?y } WHERE { ?x :p ?y } ; INSERT {} WHERE {}\n"
)
WRONG = (
    PREFIX
    + "# name: one\nINSERT { ?y :p ?x } WHERE { ?x :p ?y };\n# name: two\nINSERT { ?y p ?x } WHERE { }\n"
)


@pytest.fixture
def files(tmp_path):
    for name, text in (("good", GOOD), ("vain", IN_VAIN), ("wrong", WRONG)):
        (tmp_path / f"{name}.rq").write_text(text)
    return tmp_path


def test_check_a_good_file(files, capsys):
    assert cli.call(["rules", "check", str(files / "good.rq")]) == 0
    assert capsys.readouterr().err == "1 rule: 0 errors, 0 warnings\n"


def test_check_tells_what_is_said_in_vain(files, capsys):
    assert cli.call(["rules", "check", str(files / "vain.rq")]) == 0
    shown = capsys.readouterr().err
    assert "vain.rq:3:16: ?z is not bound in WHERE: this triple is never added (never-bound)" in shown
    assert "vain.rq:3:21: the literal " in shown and "(never-a-triple)" in shown
    assert "the template is empty: this adds nothing (adds-nothing)" in shown
    assert shown.endswith("1 rule: 0 errors, 3 warnings\n")


def test_check_names_the_rule_with_an_error(files, capsys):
    assert cli.call(["rules", "check", str(files / "wrong.rq"), str(files / "good.rq")]) == 1
    shown = capsys.readouterr().err
    assert "wrong.rq:5:13: rule two: p is neither a keyword nor a term" in shown
    assert "  |             ^\n" in shown
    assert shown.endswith("1 rule: 1 error, 0 warnings\n")


def test_check_tells_drops_of_what_is_not_there(files, capsys):
    (files / "good.rq").write_text("# drop: cax-sco, rdfs9, eq-reff\n" + GOOD)
    assert cli.call(["rules", "check", str(files / "good.rq")]) == 0
    shown = capsys.readouterr().err
    assert "good.rq:1:25: the library has no rule 'eq-reff' to drop (unknown-rule)" in shown
    assert "hint: did you mean eq-ref" in shown
    assert shown.endswith("1 rule: 0 errors, 1 warning\n")


def test_check_a_directory(files, capsys):
    assert cli.call(["rules", "check", str(files)]) == 1
    assert capsys.readouterr().err.endswith("2 rules: 1 error, 3 warnings\n")


def test_check_what_is_not_there(capsys):
    assert cli.call(["rules", "check", "nowhere.rq"]) == 2
    assert "there is no file with rules nowhere.rq" in capsys.readouterr().err


def test_help_teaches(capsys):
    assert cli.call(["rules", "check", "--help"]) == 0
    assert "penstock rules check my.rq" in capsys.readouterr().out


def test_list_the_regimes_and_the_rules_of_one(capsys):
    assert cli.call(["rules", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert tuple(line.split()[0] for line in lines) == REGIMES
    assert lines[5].startswith("owl2-rl      61 rules, 18 checks  OWL 2 RL/RDF")
    assert lines[7].startswith("owl2-direct  9 rules              Our own")
    assert cli.call(["rules", "list", "rdfs"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 19
    assert "rdfs9 cax-sco An instance of a class is an instance of its superclasses.".split() in lines
    assert [
        line[0] for line in lines if line[0].startswith("rdfs1")
    ] == "rdfs1 rdfs10 rdfs11 rdfs12 rdfs13".split()
    assert cli.call(["rules", "list", "swclos2"]) == 0
    assert "contradiction: Two classes are both disjoint" in capsys.readouterr().out
    assert cli.call(["rules", "list", "owl"]) == 2
    assert "did you mean owl2-direct or owl2-rl?" in capsys.readouterr().err


def test_show_a_rule(capsys):
    assert cli.call(["rules", "show", "rdfs9", "cax-sco"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# name: cax-sco\n# regimes: owl2-rl, rdfs (rdfs9)")
    assert shown.endswith("WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }\n") and shown.count("INSERT") == 1
    assert cli.call(["rules", "show", "rdfs0"]) == 2
    assert "there is no rule 'rdfs0'" in capsys.readouterr().err


def test_copy_a_regime_edit_it_and_use_it(tmp_path, capsys):
    from penstock.rules.library import regime, ruleset

    copy = tmp_path / "my" / "rules"
    assert cli.call(["rules", "copy", "rhodf", str(copy)]) == 0
    assert capsys.readouterr().err == f"17 rules in {copy}\n"
    assert [(each.name, each.text) for each in ruleset([copy])] == [
        (each.name, each.text) for each in sorted(regime("rhodf"), key=lambda each: each.name)
    ]
    (copy / "rhodf-7b-type.rq").unlink()
    (copy / "cax-sco.rq").write_text(GOOD.replace("symmetric", "cax-sco"))
    assert cli.call(["rules", "copy", "rhodf", str(copy)]) == 2
    shown = capsys.readouterr().err
    assert "has 16 files of these rules already: cax-sco, prp-dom, prp-rng, …" in shown and "--force" in shown
    assert len(ruleset([copy])) == 16 and "?y :p ?x" in (copy / "cax-sco.rq").read_text()
    assert cli.call(["rules", "copy", "rhodf", str(copy), "--force", "--quiet"]) == 0
    assert len(ruleset([copy])) == 17 and capsys.readouterr().err == ""


def test_copy_needs_a_regime_and_a_directory(tmp_path, capsys):
    assert cli.call(["rules", "copy", "rhodf"]) == 2
    assert "copy needs a regime and a directory" in capsys.readouterr().err
    assert cli.call(["rules", "copy", "rhdf", str(tmp_path / "x")]) == 2
    assert "did you mean rhodf or" in capsys.readouterr().err and not (tmp_path / "x").exists()
    (tmp_path / "x").write_text("")
    assert cli.call(["rules", "copy", "rhodf", str(tmp_path / "x")]) == 2
    assert "x is not a directory" in capsys.readouterr().err
