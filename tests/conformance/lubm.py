"""LUBM(1): its fourteen queries over its data as one element, without reasoning.

Penstock does not reason yet. So the queries that need none must have the reference answers, and
the others are listed in `expected_failures.toml`, each with the inference that it needs.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from functools import lru_cache
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from conformance.subjects import INSTANT, occurrences_at_once
from penstock import pipeline
from penstock.decode.occurrences import Occurrences
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.sinks.answers import plain_text
from shared_data import shared

QUERIES = tuple(f"q{number}" for number in range(1, 15))


def at_hand() -> bool:
    return shared("lubm", "data", "lubm1.nt.gz") is not None


@lru_cache(maxsize=1)
def university() -> Occurrences:
    """The data of one university."""
    with gzip.open(shared("lubm", "data", "lubm1.nt.gz")) as data:
        triples = {(q.subject, q.predicate, q.object) for q in parse(data, RdfFormat.N_TRIPLES)}
    return occurrences_at_once(triples)


def answers(name: str) -> Counter:
    """The engine's answers to a query, as plain texts."""
    text = Path(shared("lubm", "queries", f"{name}.rq")).read_text("utf-8")
    program = pipeline.program([parse_query(text)], [StreamName()], shards=1, now=INSTANT)
    payloads = [payload for _, payload in program.route(0, university())]
    found: Counter = Counter()
    for _, table in program.open(0).answers(payloads, INSTANT, ended=True):
        for row in table.drop_columns(["start", "end"]).to_pylist():
            found[tuple(plain_text(value) for value in row.values())] += 1
    return found


def reference(name: str) -> Counter:
    path = Path(shared("lubm", "answers", f"answers_query{name.removeprefix('q')}.csv"))
    with open(path, encoding="utf-8", newline="") as file:
        return Counter(tuple(row) for row in list(csv.reader(file))[1:])
