"""The library as a whole: its regimes and their sizes, names, and sets of rules made of it."""

from __future__ import annotations

import pytest

from penstock.errors import QueryError, UsageError
from penstock.rules.library import entries, entries_of, named, regime, rule, ruleset
from penstock.rules.rule import REGIMES, Rule

BEYOND_NUMBERS = {
    # what a regime has beyond the rules that its specification numbers
    "rdf-axioms": "axiomatic triples",
    "rdfs-axioms": "axiomatic triples",
    "rdfs-members": "axiomatic triples, of those rdf:_1, rdf:_2, … that are used",
    "p-axioms": "axiomatic triples",
    "swclos2-axioms": "axiomatic triples",
    "rhodf-6c": "without a condition",
    "prp-ap": "without a condition",
    "cls-thing": "without a condition",
    "cls-nothing1": "without a condition",
    "dt-spaces": "internal, of dt-type2 and dt-not-type",
    "swclos2-differs": "internal, of swclos2-oneof",
}


def numbered(regime: str) -> set[str]:
    """The rules of a regime as paper 003 counts them: neither axioms nor conditions for contradictions.

    dt-diff is a rule of OWL 2 RL. All that follows from it in RDF are contradictions, so it is a check.
    """
    return {
        entry.name
        for entry in entries_of(regime)
        if (not entry.is_check or entry.name == "dt-diff") and entry.name not in BEYOND_NUMBERS
    }


def test_the_regimes_are_complete():
    """The counts of table 5 of paper 003, and where ours differ from them, and why."""
    rdfs, rhodf, dstar, p, owl, swclos = (numbered(name) for name in REGIMES[1:7])
    assert numbered("rdf") < rdfs
    assert len(rdfs) == 16
    assert len(rhodf) == 16  # the paper says 15: its own files have these 16
    dstar -= {"rdfs1"}  # the triples that D* states of its datatypes, without a number there
    assert len(dstar - {"gl"}) == 17  # the paper says 16, and its file leaves out rdf1 (rdfD2 here)
    assert len(p) == 21 and not p & dstar  # rdfp12a and b are one rule, so are rdfp13a and b
    assert len(owl) == 58
    assert len(swclos) == 17
    unique = rdfs | rhodf | dstar - {"gl"} | p | owl | swclos
    assert len(unique) == 101  # the paper says 100: one more of ρdf
    assert rdfs & rhodf & dstar & owl == {"cax-sco", "prp-dom", "prp-rng", "prp-spo1", "scm-sco", "scm-spo"}


def test_the_unsatisfiability_conditions_are_complete():
    checks = {entry.name for entry in entries().values() if entry.is_check} - {"dt-diff"}
    assert len(checks) == 21
    assert sum(entry.is_check for entry in entries_of("swclos2")) == 7
    assert sum(entry.is_check for entry in entries_of("owl2-rl")) == 17 + 1  # and dt-diff


def test_a_header_at_a_glance_says_what_the_reader_reads():
    for name, entry in entries().items():
        read = rule(name)
        assert (read.name, read.regimes, read.meaning) == (name, entry.regimes, entry.meaning)
        assert bool(read.checks) == entry.is_check
        assert set(dict(read.regimes)) <= set(REGIMES) and read.regimes


def test_a_rule_has_the_names_that_regimes_give_it():
    assert [each.name for each in named("rdfs9")] == ["cax-sco"] == [each.name for each in named("3b")]
    assert [each.name for each in named("rdfs1")] == ["rdfs1"]  # D* calls another one so
    with pytest.raises(UsageError, match="there is no rule 'rdsf9'") as error:
        named("rdsf9")
    assert error.value.hint == "did you mean rdfs9 or rdfp9?"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("owl2rl", "did you mean owl2-rl?"),
        ("OWL2-RL", "did you mean owl2-rl?"),
        ("owl", "did you mean owl2-direct or owl2-rl?"),
        ("cax-scos", "did you mean cax-sco?"),
        ("xyzzy", "the regimes are rdf, rdfs, rhodf, dstar, p, owl2-rl, swclos2, owl2-direct"),
    ],
)
def test_what_there_is_not(wanted, hint):
    with pytest.raises(UsageError, match=f"there is no regime, no rule and no file '{wanted}'") as error:
        ruleset([wanted])
    assert error.value.hint == hint


def test_a_file_that_there_is_not(tmp_path):
    with pytest.raises(UsageError, match="there is no file with rules .*my.rq"):
        ruleset([tmp_path / "my.rq"])
    with pytest.raises(UsageError, match="there is no file with rules my.rq"):
        ruleset(["my.rq"])


# --- sets of rules -------------------------------------------------------------------------


OWN = "PREFIX : <http://example.org/>\n"


def by_name(rules: list[Rule]) -> dict[str, Rule]:
    made = {each.name: each for each in rules}
    assert len(made) == len(rules)
    return made


def test_regimes_together_have_each_rule_once():
    both = by_name(ruleset(["rdfs", "owl2-rl"]))
    assert set(both) == {each.name for name in ("rdfs", "owl2-rl") for each in regime(name)}
    assert [each.name for each in ruleset(["cax-sco", "rdfs2"])] == ["cax-sco", "prp-dom"]


def test_a_file_adds_replaces_and_drops(tmp_path):
    path = tmp_path / "mine.rq"
    path.write_text(
        "# drop: rdfs4a, rdfs4b, prp-rng\n" + OWN + "# name: rdfs2\n# meaning: Mine.\n"
        "INSERT { ?x a :Thing } WHERE { ?x ?p ?y };\n"
        "# name: cax-sco\nINSERT { ?x a :Other } WHERE { ?x ?p ?y };\n"
        "# name: my-own\nINSERT { ?x a :More } WHERE { ?x ?p ?y }\n"
    )
    for wanted in (["rdfs", path], [str(path), "rdfs"]):
        made = by_name(ruleset(wanted))
        names = {each.name for each in regime("rdfs")}
        assert set(made) == names - {"rdfs4a", "rdfs4b", "prp-rng", "prp-dom"} | {"rdfs2", "my-own"}
        assert made["rdfs2"].meaning == "Mine." and ":Other" in made["cax-sco"].text


def test_a_later_file_goes_over_an_earlier_one(tmp_path):
    for name, of in (("a", "First"), ("b", "Second")):
        (tmp_path / f"{name}.rq").write_text(
            OWN + f"# name: mine\nINSERT {{ ?x a :{of} }} WHERE {{ ?x :p ?y }}"
        )
    [mine] = ruleset([tmp_path])
    assert ":Second" in mine.text
    (tmp_path / "c.rq").write_text("# drop: mine\n")
    assert ruleset([tmp_path]) == []


def test_dropping_what_is_not_there(tmp_path):
    path = tmp_path / "mine.rq"
    path.write_text("# drop: cax-sc\n")
    with pytest.raises(QueryError) as error:
        ruleset(["rdfs", path])
    assert error.value.message == "there is no rule 'cax-sc' to drop"
    assert error.value.hint == "did you mean cax-sco?"
    assert (error.value.span.line, error.value.span.column) == (1, 9) and error.value.origin == str(path)
    path.write_text("# drop: rdfs1\n")
    assert "rdfs1" not in by_name(ruleset(["rdfs", "dstar", path]))  # the one of that name
