"""Streams of tens of thousands of elements in many batches: the engine against SQL in DuckDB.

The oracle executes the definitions literally, so it manages some dozens of elements, and no store
of the engine fills, expires or moves its rows. Here the same relations are joined by SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import duckdb
import numpy as np
import pyarrow as pa

from agreement.engine_runs import keep
from agreement.questions import QUESTIONS, Question
from agreement.tunings import tiny
from penstock import pipeline
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.engine.tuning import Tuning
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import NEVER

EX = "http://example.org/"
EPOCH = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000
PREDICATES = ("reads", "warns", "fails")


@dataclass(frozen=True)
class LargeCase:
    """A question about a stream, whose columns are in the order of arrival, one triple an element."""

    seed: int
    question: Question
    rise: int
    bound: int  # seconds
    keys: int
    subject: np.ndarray
    predicate: np.ndarray
    value: np.ndarray
    start: np.ndarray
    end: np.ndarray
    lateness: int
    cuts: list[int]  # where batches end
    shards: int
    restored: float  # how often, per batch and shard, the state is read back
    tuning: Tuning

    def __str__(self) -> str:
        late = int((~self.in_time()).sum())
        return (
            f"make_case({self.seed}): {self.question.name!r}, {len(self.value)} elements ({late} late),"
            f" {self.keys} keys, {len(self.cuts)} batches, {self.shards} shards, restored {self.restored},"
            f" rise {self.rise}, bound {self.bound} s, {self.tuning}"
        )

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.subject, self.predicate, self.value, self.start, self.end

    @property
    def is_tiny(self) -> bool:
        return self.tuning != Tuning()

    @property
    def nothing_late(self) -> bool:
        """Whether no element is late, however the batches fall."""
        ends = np.maximum.accumulate(self.end)
        return bool((self.end >= ends - self.lateness).all())

    def queries(self) -> list[str]:
        return self.question.queries(self.rise, self.bound)

    def batches(self) -> list[slice]:
        return [slice(*ends) for ends in zip([0, *self.cuts[:-1]], self.cuts, strict=True)]

    def in_time(self) -> np.ndarray:
        """Which elements do not end before the watermark that the batches before theirs had made."""
        result = np.empty(len(self.end), bool)
        watermark = NEVER
        for batch in self.batches():
            ends = self.end[batch]
            result[batch] = ends >= watermark
            watermark = max(watermark, int(ends.max()) - self.lateness)
        return result


def make_case(seed: int, elements: int = 20_000) -> LargeCase:
    """The case with this number: a question, a stream, its batches, and how the engine is set."""
    random, numbers = Random(f"large {seed}"), np.random.default_rng(seed)
    question = QUESTIONS[seed % len(QUESTIONS)]
    count = random.randint(elements, elements + elements // 4)
    keys = random.choice((5, 30, 500, 5_000))
    # Within the bound each key has a few occurrences, so that there are some answers per element.
    pace = random.choice((1, 1, 7))  # elements per second and key, times 30
    step = 30 * SECOND // (keys * pace)
    begin = EPOCH + (np.arange(count) * step // SECOND) * SECOND
    length = np.where(numbers.random(count) < 0.2, numbers.integers(1, 10, count), 0) * SECOND
    delay = random.choice((0, 0, 20)) * SECOND
    arrival = begin + length + (numbers.integers(0, delay, count) if delay else 0)
    if random.random() < 0.5:  # some come when nobody waits for them any more
        arrival += np.where(numbers.random(count) < 0.01, 600 * SECOND, 0)
    order = np.argsort(arrival, kind="stable")
    shards = random.choice((1, 1, 2, 8))
    batches = random.choice((10, 40, 160 // shards))
    cuts = sorted({*numbers.integers(1, count, batches - 1).tolist(), count})
    predicate = numbers.choice(len(PREDICATES), count, p=(0.7, 0.2, 0.1))
    return LargeCase(
        seed, question,
        rise=random.choice((-20, 30, 60)),
        bound=random.choice((10, 60, 120)) if pace == 1 else 15,
        keys=keys,
        subject=numbers.integers(0, keys, count)[order],
        predicate=predicate[order],
        value=numbers.integers(0, 100, count)[order],
        start=begin[order],
        end=(begin + length)[order],
        lateness=delay,
        cuts=cuts,
        shards=shards,
        restored=random.choice((0.0, 0.2, 1.0 if batches <= 40 else 0.2)),
        tuning=tiny(random) if random.random() < 0.6 else Tuning(),
    )  # fmt: skip


def expected(case: LargeCase) -> duckdb.DuckDBPyConnection:
    """A database with the right answers as the table `expected`."""
    database = duckdb.connect()
    database.execute("SET threads = 1")
    in_time = case.in_time()
    occurrences = {
        "s": case.subject, "p": np.array(PREDICATES)[case.predicate], "v": case.value,
        "st": case.start, "en": case.end,
    }  # fmt: skip
    arrived = pa.table({name: column[in_time] for name, column in occurrences.items()})
    database.register("arrived", arrived)
    database.execute("CREATE TABLE o AS SELECT DISTINCT * FROM arrived")
    database.execute("CREATE TABLE i AS SELECT DISTINCT en FROM arrived")
    columns = ", ".join([*case.question.columns.split(), "st", "en"])
    statement = case.question.statement(case.rise, case.bound)
    database.execute(f"CREATE TABLE expected({columns}) AS {statement}")
    return database


def found(case: LargeCase) -> pa.Table:
    """The engine's answers: numbers for terms, and the interval."""
    queries = [parse_query(text) for text in case.queries()]
    program = pipeline.program(
        queries,
        [StreamName(case.question.stream)],
        shards=case.shards,
        now=0,
        tuning=case.tuning,
        key=Random(f"key {case.seed}").getrandbits(62),
    )
    columns = case.question.columns
    tables = [numbers_of(table, columns) for table in _answers(case, program)]
    return pa.concat_tables(tables) if tables else numbers_of(None, columns)


def _answers(case: LargeCase, program: Program):
    random = Random(case.seed)
    terms, subjects, predicates, values = _terms(case, program.key)
    live = [program.open(number) for number in range(case.shards)]
    stored: list[dict[str, bytes]] = [{} for _ in live]
    watermark = NEVER
    last = len(program.plan.queries) - 1
    for batch in [*case.batches(), None]:
        payloads: list[list[bytes]] = [[] for _ in live]
        if batch is not None:
            triples = (
                subjects[case.subject[batch]],
                predicates[case.predicate[batch]],
                values[case.value[batch]],
            )
            ends = case.end[batch]
            arrived = Occurrences(
                *triples, case.start[batch], ends, instants=np.unique(ends), terms=terms,
                element=1 + np.arange(len(case.end))[batch],
            )  # fmt: skip
            for shard, payload in program.route(0, arrived):
                payloads[shard].append(payload)
            watermark = max(watermark, int(ends.max()) - case.lateness)
        else:  # when the streams are over, time has come to the last end of all
            watermark += case.lateness + 1
        for number in range(case.shards):
            for query, table in live[number].answers(payloads[number], watermark, batch is None):
                if query == last:
                    yield table
            keep(stored[number], live[number])
            if random.random() < case.restored:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())


def _terms(case: LargeCase, key: int) -> tuple[TermChunk, np.ndarray, np.ndarray, np.ndarray]:
    table = TermTable(key=key)
    subjects = [table.add(NamedNode(f"{EX}{number}")) for number in range(case.keys)]
    predicates = [table.add(NamedNode(EX + name)) for name in PREDICATES]
    values = [table.add(Literal(str(value), datatype=XSD.integer)) for value in range(100)]
    return table.chunk(), *(np.array(ids, np.int64) for ids in (subjects, predicates, values))


def numbers_of(table: pa.Table | None, columns: str) -> pa.Table:
    """Answers with the numbers that their terms stand for."""
    names = [*columns.split(), "st", "en"]
    if table is None:
        return pa.table({name: pa.array([], pa.int64()) for name in names})
    numbers = []
    for name in columns.split():
        encoded = table[name].combine_chunks()
        texts = encoded.dictionary.to_pylist()
        values = [int(text.strip('"<>').removeprefix(EX).partition('"')[0]) for text in texts]
        numbers.append(pa.array(values, pa.int64()).take(encoded.indices))
    return pa.table([*numbers, table["start"], table["end"]], names=names)


def differences(case: LargeCase) -> tuple[int, list[str]]:
    """Asks the engine: how many answers there are, and some that are missing or should not be there."""
    return compared(case, found(case))


def compared(case: LargeCase, answers: pa.Table) -> tuple[int, list[str]]:
    """How many answers there should be, and some that are missing or should not be there."""
    database = expected(case)
    database.register("found", answers)
    count = database.execute("SELECT count(*) FROM expected").fetchone()[0]
    lines = []
    for what, one, other in (("missing", "expected", "found"), ("surplus", "found", "expected")):
        rows = database.execute(
            f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other} ORDER BY ALL"
        ).fetchall()
        lines += [f"  {what} {len(rows)}, such as {row}" for row in rows[:3]]
    return count, lines
