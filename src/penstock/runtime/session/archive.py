"""An archive of Java's loaded classes, so that Spark starts in about half the time.

    python -m penstock.runtime.session.archive

makes it once for this Java and this Spark (some 180 MB in the cache directory), by running a
tiny stream and letting Java write down what it has loaded. A session uses the archive if it
is there; Java passes it over by itself where it does not fit.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.session.java import find_java

_PATIENCE = 300
# Java would tell on standard output what it leaves out of an archive.
_SILENT = "-Xlog:disable"


def archive_path(java_home: Path, spark_home: Path) -> Path:
    """Where the archive for a Java and a Spark is, or would be."""
    java = (java_home / "bin" / "java").resolve()
    jars = (spark_home / "jars").resolve()
    made = f"{java} {java.stat().st_mtime_ns} {jars} {jars.stat().st_mtime_ns}"
    mark = hashlib.blake2b(made.encode(), digest_size=6).hexdigest()
    return spark_home / f"classes-{mark}.jsa"


def archive_options(java_home: Path, spark_home: Path) -> str:
    """The options of Java that use the archive, if there is one."""
    path = archive_path(java_home, spark_home)
    return f"-XX:SharedArchiveFile={path} {_SILENT}" if path.exists() else ""


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


class _Sample:
    """The smallest program that goes through everything: it keeps and answers what comes."""

    queries = ()
    shards, key, keep_predicates, changing = 2, 0, None, False

    def __init__(self) -> None:
        from penstock.engine.digests import RulesIdentity
        from penstock.reason.stage import Unchanged

        self.reasoner, self.rules = Unchanged(), RulesIdentity()

    def reason(self, occurrences: Any) -> Any:
        return occurrences

    def prepared(self, directory: Path) -> _Sample:
        return self

    def at(self, version: int) -> _Sample:
        return self

    def know(self, program: Any) -> None: ...

    def row_counts(self) -> Any:
        from penstock.engine.counting import RowCounts

        return RowCounts()

    def lacks_predicate(self, counts: Any) -> bool:
        return False

    def route(self, stream: int, occurrences: Any) -> list[tuple[int, bytes]]:
        return [(0, b"x"), (1, b"y")]

    def open(self, shard: int) -> _Sample:
        return self

    def restore(self, chunks: Any) -> None: ...

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> list[tuple[int, bytes]]:
        return [(0, payload) for payload in payloads]

    def changes(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        return [("kept", b"z")], []


def _record(archive: str) -> None:
    """Run the sample in a Java that writes the archive when it ends, and wait for that."""
    from pyspark import SparkContext

    from penstock.runtime.contract import RunOptions
    from penstock.runtime.run import run
    from penstock.runtime.session import session
    from penstock.sources.streams import StreamSpec

    session.JAVA_OPTIONS += f" -XX:ArchiveClassesAtExit={archive} {_SILENT}"
    with tempfile.TemporaryDirectory() as directory:
        stream = Path(directory) / "stream.nq"
        stream.write_text("<x:s> <x:p> <x:o> <x:g#t=2026-01-01T00:00:00Z> .\n" * 8)
        options = RunOptions(batch_bytes=200)
        spec = StreamSpec(None, (str(stream),))
        run(_Sample(), [spec], on_batch=lambda *_: None, master="local[2]", options=options)
    java = SparkContext._gateway.proc
    session.start_session().stop()
    java.stdin.close()
    java.wait(_PATIENCE)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _record(sys.argv[1])
    else:
        print(make_archive())
