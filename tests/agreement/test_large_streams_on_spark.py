"""Spark, with many small batches and 1, 2 and 8 partitions, answers as SQL does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from agreement.large_streams import EX, PREDICATES, LargeCase, compared, make_case, numbers_of
from agreement.questions import QUESTIONS
from penstock import pipeline
from penstock.api.engine import Batch, Engine
from penstock.timeline import format_instant

CASES = [(0, 8, 400_000), (8, 2, 250_000), (9, 1, 120_000), (13, 2, 250_000)]
"""A rise, absence, an aggregate, and absence in a window: seed, partitions, bytes of a batch."""


def write(case: LargeCase, path: Path) -> None:
    """The stream as N-Quads, in the order of arrival."""
    times = {at: format_instant(at) for at in {*case.start.tolist(), *case.end.tolist()}}
    rows = zip(*(column.tolist() for column in case.columns), strict=True)
    with path.open("w") as out:
        for i, (subject, predicate, value, start, end) in enumerate(rows):
            name = f"urn:e{i}#t={times[start]},{times[end]}"
            literal = f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            out.write(f"<{EX}{subject}> <{EX}{PREDICATES[predicate]}> {literal} <{name}> .\n")


def on_spark(case: LargeCase, stream: Path, batch_bytes: int) -> tuple[pa.Table, int]:
    """The answers, and how many batches it took."""
    engine = Engine(master="local[2]", shards=case.shards, lateness=case.lateness, batch_bytes=batch_bytes)
    engine.add_stream(stream, iri=case.question.stream)
    for text in case.queries():
        engine.add_query(text)
    tables, batches = [], 0
    last = engine.names[-1]

    def take(batch: Batch) -> None:
        nonlocal batches
        batches += 1
        assert not batch.late and not batch.rejected
        if batch.answers[last].num_rows:
            tables.append(numbers_of(batch.answers[last], case.question.columns))

    engine.run(on_batch=take)
    return pa.concat_tables(tables), batches


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tiny", [False, True], ids=["real thresholds", "tiny ones"])
@pytest.mark.parametrize(("seed", "partitions", "batch_bytes"), CASES)
def test_spark_answers_as_sql_does(seed, partitions, batch_bytes, tiny, tmp_path, monkeypatch):
    seeds = range(seed, 10_000, len(QUESTIONS))
    case = next(each for each in map(make_case, seeds) if each.nothing_late and each.is_tiny == tiny)
    case = replace(case, shards=partitions)
    monkeypatch.setattr(pipeline, "program", partial(pipeline.program, tuning=case.tuning))
    write(case, tmp_path / "stream.nq")
    answers, batches = on_spark(case, tmp_path / "stream.nq", batch_bytes)
    assert batches > 4
    count, wrong = compared(case, answers)
    assert count and not wrong, "\n".join([str(case), *wrong])
