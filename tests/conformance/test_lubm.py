"""LUBM: the reference answers, without rules where none is needed, and to all queries under OWL 2 RL."""

from __future__ import annotations

import pytest

from conformance import lubm
from conformance.running import expected_failures

pytestmark = pytest.mark.skipif(not lubm.at_hand(), reason="the LUBM data is not beside the repository")


@pytest.mark.sample(1)
@pytest.mark.parametrize("mode", lubm.MODES)
def test_queries_have_the_reference_answers(mode: str):
    """All at once: what rules make of the data is the same for all queries."""
    assert set(lubm.wrong(lubm.answers(mode))) == (
        set(expected_failures("lubm")) if mode == "plain" else set()
    )


@pytest.mark.slow
def test_a_stream_of_departments_has_the_reference_answers_on_spark(tmp_path):
    stream = lubm.departments(tmp_path)
    found = lubm.gathered(lubm.in_events(stream, master="local[2]", batch_bytes=10_000_000))
    assert not lubm.wrong(found)
