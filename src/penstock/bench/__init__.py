"""Benchmarks: each measures Penstock and, in the same run, a peer doing the same.

These machines are noisy, so the ratio to the peer says more than the figure itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from penstock.bench.figures import Figure
from penstock.errors import UsageError

_BENCHES = {
    "kernel": ("sequence", "kernel", "the engine alone on columns in memory, beside DuckDB"),
    "pipeline": ("sequence", "pipeline", "N-Quads files through Spark, beside pyoxigraph's parser"),
    "sequence": ("sequence", "sequence", "a two-step SEQ: kernel, then pipeline"),
    "negation": (
        "negation",
        "negation",
        "SEQ(A, !B, C) in a window, beside DuckDB; a SEQ without B",
    ),
    "queries": ("queries", "queries", "1, 10 and 100 queries in one run"),
    "memory": ("memory", "memory", "memory over a stream and one ten times as long"),
    "start": ("start", "start", "from the shell to the first answer, beside the smallest PySpark script"),
    "knowledge": ("knowledge", "knowledge", "5 million static triples, over 1 and 8 shards"),
    "lubm": ("lubm", "lubm", "LUBM: materialisation beside reasonable and owlrl; 14 queries over a stream"),
    "classes": ("classes", "classes", "instances of a class with 40,080 subclasses in a stream"),
    "removals": ("removals", "removals", "triples that leave LUBM(1), beside its closure from scratch"),
    "windows": ("windows", "windows", "windows of 1 to 1,000 slides, beside pyoxigraph at each slide"),
    "latency": ("latency", "latency", "from an element's arrival to its answer, with --follow"),
}


def purposes() -> dict[str, str]:
    """The benches by name, and what they measure."""
    return {name: purpose for name, (_, _, purpose) in _BENCHES.items()}


def measure(name: str) -> Iterator[Figure]:
    """Runs a bench; its figures as they are found."""
    if name not in _BENCHES:
        raise UsageError(f"there is no bench {name!r}", hint="one of " + ", ".join(_BENCHES))
    module, function, _ = _BENCHES[name]
    bench: Callable[[], Iterator[Figure]] = getattr(import_module(f"penstock.bench.{module}"), function)
    yield from bench()
