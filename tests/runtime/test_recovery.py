"""Recovery after kill -9: see `kill_and_restart.py` and `kill_the_engine.py`, which do it many times."""

from __future__ import annotations

import pytest
from tests.runtime.kill_and_restart import kill_and_restart
from tests.runtime.kill_the_engine import QUERIES, kill_runs


@pytest.mark.slow
def test_killed_at_random_moments_the_answers_are_the_same(tmp_path):
    hit = kill_and_restart(tmp_path, kills=3, events=6000, batch_bytes=3000, seed=7)
    assert hit == 3


@pytest.mark.sample(0)
def test_killed_while_files_are_written_all_kinds_of_queries_answer_the_same(tmp_path):
    told = kill_runs(tmp_path, kills=2)
    assert told["kills"] == 2
    assert all(told[query] > 0 for query in QUERIES)
