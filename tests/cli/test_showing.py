"""What a run says at its end."""

from __future__ import annotations

from collections import Counter

from penstock.cli.showing import show_note, show_summary
from penstock.runtime.contract import RunStatistics


def test_limits_that_expressions_met_are_told_once_with_how_often(capfd):
    refused = Counter({"a regular expression is too large": 1_234})
    show_summary(RunStatistics(elements=1, refused=refused), 0, {}, 1.0)
    said = capfd.readouterr().err
    assert said.count("warning: a regular expression is too large: no value, 1,234 times") == 1
    assert "0007-functions" in said


def test_no_part_of_an_iri_becomes_a_picture(capfd):
    show_note("<urn:a:1> and :smile:")
    assert capfd.readouterr().err == "<urn:a:1> and :smile:\n"
