"""What a checkpoint relies on: the same queries have the same plan in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock import pipeline
from penstock.engine import operators
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName

PRINT_LAYOUTS = """
from agreement.engine_runs import program_of
from oracle.generator import make_case
from penstock.errors import QueryError

for seed in range(60):
    try:
        print(*program_of(make_case(seed), 2).digests, sep=",")
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


def test_a_fault_of_an_operator_names_the_step_and_the_queries(monkeypatch):
    texts = ("SELECT ?s WHERE { ?s <x:p> ?v }", "SELECT ?s WHERE { ?s <x:p> ?v } SEQ { ?s <x:q> ?v }")
    program = pipeline.program([parse_query(text) for text in texts], [StreamName(None)], shards=1, now=0)
    shard = program.open(0).shard
    [place] = [i for i, each in enumerate(shard.operators) if len(each.step.inputs) == 2]

    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(shard.operators[place], "advance", fails)
    shard._put(place, operators.Frame.empty(shard.net.steps[place].inputs[0].vars))
    with pytest.raises(ZeroDivisionError) as raised:
        shard._run(place, operators.Clock(0, 0))
    assert raised.value.__notes__ == [f"at the step {type(shard.net.steps[place]).__name__} of query 2"]
