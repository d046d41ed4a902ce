"""Makes an archive of Java's loaded classes, so that Spark starts in about half the time.

    python -m penstock.api.class_archive

makes it once for this Java and this Spark (some 180 MB in the cache directory), by running a small query
and letting Java write down what it has loaded. A session uses the archive if it is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.api.engine import Engine
from penstock.errors import PenstockError
from penstock.runtime.session.archive import archive_path, recorded
from penstock.runtime.session.java import find_java

_PATIENCE = 300


def make_archive() -> Path:
    """Make the archive, unless it is there already; a run with what exists goes on meanwhile."""
    from penstock.runtime.session.session import spark_home

    path = archive_path(find_java(), spark_home())
    if path.exists():
        return path
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".classes-")
    os.close(handle)
    os.unlink(aside)
    try:
        made = subprocess.run(
            [sys.executable, "-P", "-m", __spec__.name if __spec__ else __name__, aside],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        if made.returncode != 0 or not os.path.exists(aside):
            raise PenstockError(f"the archive of classes was not made: {made.stderr.strip()}")
        os.replace(aside, path)  # whole, or not at all
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
    return path


def _record(archive: str) -> None:
    with recorded(archive), tempfile.TemporaryDirectory() as directory:
        stream = Path(directory) / "stream.nq"
        stream.write_text("<x:s> <x:p> <x:o> <x:g#t=2026-01-01T00:00:00Z> .\n" * 8)
        engine = Engine(master="local[2]", batch_bytes=200)
        engine.add_stream(stream)
        engine.add_query("SELECT * { ?s ?p ?o }")
        engine.run(on_batch=lambda batch: None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _record(sys.argv[1])
    else:
        print(make_archive())
