"""Without Spark the same queries give the same answers: `penstock try`, `Engine(spark=None)`."""

from __future__ import annotations

from collections import Counter

import pytest

from agreement.spark_runs import spark_answers
from agreement.window_spark_runs import as_sinks_see, runnable, spark_gives, texts_of
from oracle.generator import cases
from penstock.errors import QueryError

SHARDS = (1, 2, 8)


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 240, 40))
def test_ep_sparql_answers_as_the_definitions_say(first: int):
    answered = 0
    for case, expected in cases(range(500_000 + first, 500_040 + first)):
        shards, batch_bytes = SHARDS[case.seed % 3], (300, 1500, 1_000_000)[case.seed % 3]
        try:
            found = spark_answers(case, shards, batch_bytes=batch_bytes, spark=None)
        except QueryError as refusal:
            assert "recursion" in refusal.message, case
            continue
        assert found == expected, f"with {shards} shards:\n{case}"
        answered += any(expected)
    assert answered >= 10


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_windows_give_what_the_oracle_says(first: int):
    seen: Counter[str] = Counter()
    for seed in range(1_000 + first, 1_010 + first):
        found = runnable(seed)
        if not found:
            continue
        run = spark_gives(found, SHARDS[seed % 3], batch_bytes=(900, 300)[seed % 2], spark=None)
        seen.update(batches=run.batches, late=len(run.late))
        for (case, language, text), given in zip(texts_of(found), run.answers, strict=True):
            assert given == as_sinks_see(case, run.late), f"{language}:\n{text}\n{case}"
            seen[language] += 1
    assert min(seen[language] for language in ("C-SPARQL", "RSP-QL", "CQELS-CEP")) >= 4
    assert seen["batches"] > 20 and seen["late"] > 0
