"""The process that worker processes are forked from, with everything heavy already imported.

Spark starts it in place of `pyspark.daemon` (setting `spark.python.daemon.module`). Workers
then begin at once instead of importing for a second each, and share the memory of it. The
the processes of shards come from here too (`shard_processes.py`).
"""

from __future__ import annotations

import gc
import importlib
import sys

from pyspark.daemon import manager

HEAVY = (
    "penstock.engine.program",
    "penstock.runtime.intake.decoding",
    "penstock.runtime.detection.detector",
    "penstock.runtime.detection.shard_processes",
    "penstock.runtime.intake.routing",
    "penstock.runtime.detection.shards",
)
SAMPLE = b'<x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <x:g#t=2026-01-01T00:00:00Z> .\n'


def prepare(worker_module: str) -> None:
    """Import what tasks need; Spark's planning helpers have daemons of their own and need none."""
    if worker_module != "pyspark.worker":
        return
    for name in HEAVY:
        importlib.import_module(name)
    from penstock.decode.decoder import Decoder

    Decoder("nquads").decode(SAMPLE)  # loads the compiled code of the scanner
    # What is here now stays for good: workers need not look through it at every collection,
    # and Spark asks for one after every task.
    gc.collect()
    gc.freeze()
    from penstock.runtime.detection.shard_processes import start_spawner

    start_spawner()


if __name__ == "__main__":
    prepare(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker")
    manager()
