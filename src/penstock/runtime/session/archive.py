"""An archive of Java's loaded classes, so that Spark starts in about half the time: where it is.

`penstock.api.class_archive` makes it. Java passes it over by itself where it does not fit.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

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


@contextlib.contextmanager
def recorded(archive: str) -> Iterator[None]:
    """Runs meanwhile are in a Java that writes the archive when it ends; ends it, and waits for that."""
    from pyspark import SparkContext

    from penstock.runtime.session import session

    session.JAVA_OPTIONS += f" -XX:ArchiveClassesAtExit={archive} {_SILENT}"
    yield
    java = SparkContext._gateway.proc
    session.start_session().stop()
    java.stdin.close()
    java.wait(_PATIENCE)
