"""LUBM(1): its fourteen queries over its data, under OWL 2 RL.

*plain* has no rules: only the queries that need none must have the reference answers, and
`expected_failures.toml` lists the others, each with the inference that it needs. All must have them
with *all* rules of OWL 2 RL over static data, with those that are *selected* automatically, and in *event*
mode: each department is an element of a stream, which is closed and answers by itself.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from penstock.api.engine import Engine
from penstock.decode.decoder import decode_file
from penstock.decode.occurrences import concat
from penstock.engine.program import Program
from penstock.scenarios.lubm.generating import Lubm
from penstock.scenarios.lubm.writing import write
from penstock.sinks.answers import plain_text
from shared_data import shared

QUERIES = tuple(f"q{number}" for number in range(1, 15))
REGIME = "owl2-rl"
STATIC = {
    "plain": {},
    "all": {"rules": REGIME, "all_rules": True},
    "selected": {"rules": REGIME},
}
MODES = (*STATIC, "event")


def at_hand() -> bool:
    return shared("lubm", "data", "lubm1.nt.gz") is not None


def engine(*names: str, **options) -> Engine:
    """An engine with some of the queries and the ontology."""
    made = Engine(**options)
    made.add_ontology(shared("lubm", "ontology", "univ-bench.ttl"))
    for name in names:
        made.add_query(shared("lubm", "queries", f"{name}.rq"), name=name)
    return made


def answers(mode: str) -> dict[str, Counter]:
    """The answers to all queries as plain texts, in this process."""
    if mode == "event":
        with TemporaryDirectory() as directory:
            return _of_departments(departments(Path(directory)))
    made = engine(*QUERIES, **STATIC[mode]).add_graph(shared("lubm", "data", "lubm1.nt.gz"))
    return gathered(made)


def departments(directory: Path) -> Path:
    """The stream of the university's departments, as a file."""
    path = directory / "departments.nq"
    write(Lubm(1, stream=True), str(path))
    return path


def in_events(stream: Path, **options) -> Engine:
    """An engine that closes and answers each element of a stream by itself."""
    return engine(*QUERIES, rules=REGIME, query_scope="element", **options).add_stream(stream)


def gathered(made: Engine) -> dict[str, Counter]:
    """Runs an engine; all answers of each query."""
    made.new_findings()
    found: dict[str, Counter] = {name: Counter() for name in QUERIES}

    def take(batch) -> None:
        for name, table in batch.answers.items():
            found[name] += _texts(table)

    made.run(on_batch=take)
    return found


def _of_departments(stream: Path, split_bytes: int = 3_000_000) -> dict[str, Counter]:
    """The stream through the stages of a run: splits are decoded, closed, matched, detected."""
    program: Program = in_events(stream, shards=2).ready()
    shards = [program.open(number) for number in range(program.shards)]
    found: dict[str, Counter] = {name: Counter() for name in QUERIES}
    for begin in range(0, stream.stat().st_size, split_bytes):
        options = {"keep_predicates": program.keep_predicates, "key": program.key}
        occurrences = concat(decode_file(stream, begin=begin, end=begin + split_bytes, **options))
        if not occurrences.elements:  # none begins here
            continue
        payloads: list[list[bytes]] = [[] for _ in shards]
        for number, payload in program.route(0, program.reason(occurrences)):
            payloads[number].append(payload)
        for number, shard in enumerate(shards):
            for query, table in shard.answers(payloads[number], int(occurrences.instants[-1]), ended=False):
                found[QUERIES[query]] += _texts(table)
    return found


def _texts(table: pa.Table) -> Counter:
    rows = table.drop_columns([name for name in ("start", "end") if name in table.column_names]).to_pylist()
    return Counter(tuple(plain_text(value) for value in row.values()) for row in rows)


def reference(name: str) -> Counter:
    path = Path(shared("lubm", "answers", f"answers_query{name.removeprefix('q')}.csv"))
    with open(path, encoding="utf-8", newline="") as file:
        return Counter(tuple(row) for row in list(csv.reader(file))[1:])


def wrong(found: dict[str, Counter]) -> dict[str, str]:
    """The queries that have other answers than the reference, and how they differ."""
    differences = {name: (reference(name) - found[name], found[name] - reference(name)) for name in QUERIES}
    return {
        name: f"{sum(missing.values())} missing, {sum(surplus.values())} surplus: {[*missing, *surplus][:3]}"
        for name, (missing, surplus) in differences.items()
        if missing or surplus
    }
