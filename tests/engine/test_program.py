"""What a checkpoint relies on: the same queries have the same plan in every process."""

from __future__ import annotations

import os
import subprocess
import sys

PRINT_LAYOUTS = """
from agreement.engine_runs import program_of
from oracle.generator import make_case
from penstock.errors import QueryError

for seed in range(60):
    try:
        print(program_of(make_case(seed), 2).layout)
    except QueryError:
        print("refused")
"""


def layouts(hash_seed: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_LAYOUTS], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_another_process_plans_random_queries_alike():
    first = layouts(1)
    assert len(set(first)) > 50
    assert layouts(2) == first
