"""The bench compares like with like: every form of the query means the same to the peer."""

from __future__ import annotations

import pytest

from penstock.bench import sensors, sequence

pytest.importorskip("duckdb")
DATA = sensors.readings(30_000, 40)


@pytest.mark.parametrize("form", sensors.FORMS, ids=lambda form: form.name)
def test_the_engine_and_duckdb_find_equally_many_answers(form: sensors.Form):
    _, found = sequence.detect(DATA, [form.query])
    _, peer_found = sequence.duckdb_join(DATA, form.condition)
    assert found == peer_found > 0
