"""`penstock rules`."""

from __future__ import annotations

import pytest

from penstock import cli

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


def test_check_a_directory(files, capsys):
    assert cli.call(["rules", "check", str(files)]) == 1
    assert capsys.readouterr().err.endswith("2 rules: 1 error, 3 warnings\n")


def test_check_what_is_not_there(capsys):
    assert cli.call(["rules", "check", "nowhere.rq"]) == 2
    assert "there is no file with rules nowhere.rq" in capsys.readouterr().err


def test_help_teaches(capsys):
    assert cli.call(["rules", "check", "--help"]) == 0
    assert "penstock rules check my.rq" in capsys.readouterr().out
