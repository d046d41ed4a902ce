"""The process that worker processes are forked from, with everything heavy already imported.

Spark starts it in place of `pyspark.daemon` (setting `spark.python.daemon.module`). Workers
then begin at once instead of importing for a second each, and share the memory of it.
"""

from __future__ import annotations

import importlib
import sys

from pyspark.daemon import manager

HEAVY = ("penstock.runtime.intake", "penstock.runtime.detect", "penstock.runtime.shards")


def prepare(worker_module: str) -> None:
    """Import what tasks need; Spark's planning helpers have daemons of their own and need none."""
    if worker_module != "pyspark.worker":
        return
    for name in HEAVY:
        importlib.import_module(name)


if __name__ == "__main__":
    prepare(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker")
    manager()
