"""The bench of absence compares like with like: every form of the question means the same to the peer."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from agreement.tunings import tiny
from penstock.bench import negation, sensors
from penstock.engine.tuning import TUNING

pytest.importorskip("duckdb")
DATA = negation.events(20_000, 40)


@pytest.mark.parametrize("form", negation.FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize(("batch", "tuning"), [(20_000, TUNING), (700, TUNING), (300, tiny(Random(9)))])
def test_the_engine_and_duckdb_have_the_same_answers_at_the_same_instants(form, batch, tuning):
    _, expected = negation.duckdb_answers(DATA, form)
    assert len(expected[0]) > 1_000
    assert negation.same(negation.detect(DATA, form, batch, tuning), expected)


def test_answers_that_differ_are_told_apart():
    _, expected = negation.duckdb_answers(DATA, negation.MIDDLE)
    other = [column.copy() for column in expected]
    other[-1][17] += 1
    assert not negation.same(other, expected)
    assert not negation.same([column[1:] for column in expected], expected)
    assert negation.same([column[::-1] for column in expected], expected)


def test_files_say_what_the_columns_say(tmp_path):
    data = negation.events(500, 7)
    lines = "".join(path.read_text() for path in negation.write_nquads(data, tmp_path, 3)).splitlines()
    said = [line.split(" ", 2) for line in lines]
    assert [int(subject.rpartition("/")[2][:-1]) for subject, _, _ in said] == data.readings.sensor.tolist()
    kinds = [predicate.removeprefix("<http://example.org/")[:-1] for _, predicate, _ in said]
    assert kinds == [negation.KINDS[kind] for kind in data.kind]
    [path] = sensors.write_nquads(data.readings, tmp_path, 1)
    assert {line.split(" ")[1] for line in path.read_text().splitlines()} == {"<http://example.org/reads>"}


def test_each_kind_is_a_third():
    assert np.bincount(DATA.kind).min() > 6_000
