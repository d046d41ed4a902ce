"""Runs continuous queries of all languages together on Spark, and says what they should give."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agreement.engine_runs import table_rows
from agreement.spark_runs import add_inputs, engine_on, name_of
from agreement.tunings import tuning_of
from agreement.window_runs import program_of
from oracle.canonical import Row, canonical
from oracle.evaluate import Effort, TooManySolutions
from oracle.window_generator import LONGEST, WindowCase, cases_together
from oracle.windows import Clock, given
from penstock.algebra import Construct, Describe
from penstock.api.engine import EMBEDDED, Batch
from penstock.errors import QueryError
from penstock.languages import parse_query

Place = tuple[int, int]
"""An element, as (number of the stream, number of the element)."""


@dataclass
class SparkRun:
    """What each text of some cases has given, and which elements were late: that depends on the batches."""

    answers: list[Counter[Row]]
    late: set[Place] = field(default_factory=set)
    batches: int = 0


def texts_of(cases: Sequence[WindowCase]) -> list[tuple[WindowCase, str, str]]:
    """Each case in every language that can say it, as (case, language, text); no two name one stream."""
    said = [(case, each) for case in cases for each in case.said]
    return [
        (case, each.language, each.text.replace(" :out AS", f" :out{number} AS"))
        for number, (case, each) in enumerate(said)
    ]


def spark_gives(
    cases: Sequence[WindowCase], shards: int, *, batch_bytes: int, spark: str | None = EMBEDDED
) -> SparkRun:
    """Runs all texts of cases with the same data in one run, on Spark or in this process."""
    data = cases[0].data
    engine = engine_on(spark, shards=shards, lateness=data.lateness, batch_bytes=batch_bytes)
    with tempfile.TemporaryDirectory() as scratch:
        add_inputs(engine, data, Path(scratch))
        texts = texts_of(cases)
        for number, (_, language, text) in enumerate(texts):
            engine.add_query(text, name=f"q{number}", language=language.lower())
        rows: list[list] = [[] for _ in texts]
        run = SparkRun([])

        def take(batch: Batch) -> None:
            assert not batch.rejected, batch.rejected
            run.batches += 1
            run.late |= {_place(record["graph"]) for record in batch.late}
            for query, table in batch.tables.items():
                rows[query] += table_rows(table)

        engine.run(on_batch=take)
    run.answers = [canonical(each) for each in rows]
    return run


def _place(name: str) -> Place:
    pattern = name_of(0, 0).replace("0", r"(\d+)")
    stream, element = re.match(pattern, name.strip("<>")).groups()
    return int(stream), int(element)


def in_time(case: WindowCase, late: Collection[Place]) -> dict:
    """The elements of the case's streams but those that were late."""
    return {
        stream.name: [e for place, e in enumerate(stream.elements) if (number, place) not in late]
        for number, stream in enumerate(case.data.streams)
    }


def as_sinks_see(case: WindowCase, late: Collection[Place]) -> Counter[Row]:
    """What the oracle gives, with intervals as sinks see them (decision 0013)."""
    streams = in_time(case, late)
    if len(Clock(case.query, streams).evaluations()) > LONGEST:
        raise TooManySolutions(f"more than {LONGEST} evaluations")
    rows = []
    triples = isinstance(case.query.query, (Construct, Describe))
    for instant, row, count in given(case.query, streams, case.knowledge, effort=Effort()):
        start = instant if row.start is None else row.start
        end = instant if row.end is None or triples else row.end
        rows += count * [(row.bindings, start, end)]
    return canonical(rows)


def runnable(seed: int) -> list[WindowCase]:
    """The cases of a seed that the engine takes, and that the oracle gives something for."""
    return cases_together(seed, _suits)


def _suits(case: WindowCase) -> bool:
    try:
        for said in case.said:
            parse_query(said.text, language=said.language.lower())
        program_of(case.data, case.query, 1, tuning_of(case.seed))
        return bool(as_sinks_see(case, ()))
    except (QueryError, TooManySolutions):
        return False
