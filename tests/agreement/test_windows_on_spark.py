"""Continuous queries of all languages give on Spark what the oracle says, with 1, 2 and 8 partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from agreement.window_spark_runs import as_sinks_see, runnable, spark_gives, texts_of

PARTITIONS = (1, 2, 8)


def agree(seeds: Iterable[int], partitions: Iterable[int] = PARTITIONS) -> Counter[str]:
    """Compares the cases of these seeds; how many texts of each language gave something, and more."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        cases = runnable(seed)
        for shards in partitions if cases else ():
            run = spark_gives(cases, shards, batch_bytes=(900, 300)[seed % 2])
            seen.update(late=len(run.late), batches=run.batches, runs=1)
            for (case, language, text), found in zip(texts_of(cases), run.answers, strict=True):
                wanted = as_sinks_see(case, run.late)
                assert found == wanted, f"{shards} partitions, late {run.late}, {language}:\n{text}\n{case}"
                seen[language] += bool(wanted)
    return seen


@pytest.mark.sample(1)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("seeds, partitions", [((13, 4, 8), 1), ((5, 2, 10), 2), ((3, 6, 12), 8)])
def test_windows_on_spark_give_what_the_oracle_says(seeds, partitions):
    seen = agree(seeds, (partitions,))
    assert min(seen[language] for language in ("C-SPARQL", "RSP-QL", "CQELS-CEP")) >= 4
    assert seen["batches"] > 5 * seen["runs"] and seen["late"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_windows_on_spark_give_what_the_oracle_says_in_many_cases():
    seen = agree(range(100, 140))
    assert seen["late"] > 20 and seen["RSP-QL"] >= 30
