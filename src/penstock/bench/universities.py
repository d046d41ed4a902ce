"""What the benches on LUBM share: the benchmark's ontology and queries, generated data, its elements."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.api.engine import Engine
from penstock.errors import UsageError
from penstock.scenarios.lubm.generating import Lubm
from penstock.scenarios.lubm.writing import write

REGIME = "owl2-rl"


def reference(*parts: str) -> Path:
    """A file of the benchmark: below $SHARED, or below `shared` beside the repository."""
    root = Path(os.environ.get("SHARED") or Path(__file__).resolve().parents[4] / "shared")
    path = root.joinpath("lubm", *parts)
    if not path.exists():
        raise UsageError(
            f"LUBM's {'/'.join(parts)} is not in {root}",
            hint="SHARED=DIR names a directory with lubm/ontology and lubm/queries",
        )
    return path


def ontology() -> Path:
    return reference("ontology", "univ-bench.ttl")


def queries() -> list[Path]:
    """The fourteen queries."""
    return [reference("queries", f"q{number}.rq") for number in range(1, 15)]


def generated(universities: int, path: Path, *, stream: bool = False) -> int:
    """Writes that many universities; how many triples they have."""
    return write(Lubm(universities, stream=stream), str(path))


def departments(universities: int) -> int:
    """How many departments that many universities have: so many elements has their stream."""
    return sum(1 for _ in Lubm(universities, stream=True).parts()) // 2  # a header, and the rest


def in_events(stream: Path, **options: object) -> Engine:
    """An engine that closes each element of a stream by itself and answers all queries from it."""
    engine = Engine(master="local[2]", rules=[REGIME], query_scope="element", **options)
    engine.add_ontology(ontology()).add_stream(stream)
    for path in queries():
        engine.add_query(path)
    engine.new_findings()
    return engine
