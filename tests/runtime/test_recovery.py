"""Recovery after kill -9: see `kill_and_restart.py`, which does the same many times."""

from __future__ import annotations

import pytest
from tests.runtime.kill_and_restart import kill_and_restart


@pytest.mark.slow
def test_killed_at_random_moments_the_answers_are_the_same(tmp_path):
    hit = kill_and_restart(tmp_path, kills=3, events=6000, batch_bytes=3000, seed=7)
    assert hit == 3
