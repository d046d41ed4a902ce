"""Static knowledge that changes while a run goes on: recorded with the batch, and repeated with it."""

from __future__ import annotations

import pytest
from tests.runtime.kill_while_knowledge_changes import kill_runs


@pytest.mark.sample(0)
@pytest.mark.parametrize("rules", ["", "rdfs"])
def test_killed_while_knowledge_changes_each_batch_meets_its_version(tmp_path, rules):
    told = kill_runs(tmp_path, kills=2, rules=rules)
    assert told["versions"] >= 2 and told["repeated"] >= 1
