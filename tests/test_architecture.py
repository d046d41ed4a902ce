"""The shape of the code: which package may know which, and how large a file may be."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "penstock"
LARGEST_FILE = 600
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"}

BASE = {"errors", "timeline", "terms"}
DATA = BASE | {"jit", "columns", "decode"}
ENGINE = DATA | {"algebra", "functions", "knowledge", "rules", "reason", "plan"}
RUNTIME = ENGINE | {"engine", "sources", "sinks"}
PIPELINE = RUNTIME | {"languages", "runtime"}
API = PIPELINE | {"pipeline"}

# What each part may import; a part may always import itself. A new part must be placed here.
MAY_IMPORT = {
    "errors": set(),
    "timeline": {"errors"},
    "terms": {"errors", "timeline"},
    "algebra": BASE,
    "languages": BASE | {"algebra"},
    "functions": BASE | {"algebra", "columns"},
    "jit": set(),
    "columns": BASE | {"jit"},
    "decode": BASE | {"jit", "columns"},
    "knowledge": DATA,
    "rules": BASE | {"algebra", "languages"},
    "reason": DATA | {"knowledge", "algebra", "functions", "rules"},
    "plan": BASE | {"algebra", "functions", "columns", "knowledge"},
    "engine": ENGINE,
    "sources": DATA | {"knowledge"},
    "sinks": BASE | {"algebra", "columns"},
    "runtime": RUNTIME,
    "pipeline": PIPELINE,
    "api": API,
    "scenarios": DATA,
    "bench": API | {"api", "scenarios"},
    "cli": API | {"api", "scenarios", "bench"},
    "__init__": BASE | {"api"},
    "__main__": {"cli"},
}
MAY_IMPORT_PYSPARK = {"runtime", "sources", "sinks"}
PEERS = {SOURCE / "bench" / "smallest_stream.py"}  # a PySpark script that we are measured against

FILES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}


def part_of(path: Path) -> str:
    """The top-level package or module a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported_modules(path: Path) -> list[str]:
    """The absolute name of every module a file imports, wherever in the file it does so."""
    package = ("penstock", *path.relative_to(SOURCE).parent.parts)
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from penstock import errors` names the module in the list of names.
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def imported_parts(path: Path) -> set[str]:
    """The parts of Penstock that a file imports, without its own."""
    parts = set()
    for name in imported_modules(path):
        words = name.split(".")
        if words[0] != "penstock" or words[1:] == ["__version__"]:
            continue
        known = len(words) > 1 and words[1] in MAY_IMPORT
        parts.add(words[1] if known else "api")  # `from penstock import Engine` is the public API
    return parts - {part_of(path)}


def test_the_test_sees_the_code():
    assert {"errors", "timeline", "terms", "algebra"} <= set(map(part_of, FILES.values()))
    assert "errors" in imported_parts(SOURCE / "timeline.py")


def test_dependencies_point_one_way():
    """A part that is new must be placed in MAY_IMPORT."""
    wrong = {
        name: more
        for name, path in FILES.items()
        if (more := imported_parts(path) - MAY_IMPORT.get(part_of(path), set()))
        or part_of(path) not in MAY_IMPORT
    }
    assert wrong == {}


def test_only_the_edges_know_spark():
    others = (
        (name, path)
        for name, path in FILES.items()
        if part_of(path) not in MAY_IMPORT_PYSPARK and path not in PEERS
    )
    know = [
        name
        for name, path in others
        if {each.split(".")[0] for each in imported_modules(path)} & {"pyspark", "py4j"}
    ]
    assert know == []


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        # Spark starts five processes, one after the other, only to plan; each imports these.
        ("penstock.runtime.intake.source", {"numba", "numpy", "pandas", "pyarrow"}),
        ("penstock.runtime.detection.detector", {"numba", "numpy", "pandas", "pyarrow"}),
        ("penstock.cli", {"numba", "numpy", "pandas", "pyarrow", "pyspark", "lark"}),
    ],
)
def test_what_must_start_quickly_imports_little(module: str, heavy: set[str]):
    tell = f"import sys, {module}; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", tell], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not heavy & set(done.stdout.split())


def test_materialising_does_without_pandas(tmp_path: Path):
    """It takes longer to import than most graphs to be closed; Arrow imports it for many a small thing."""
    data = tmp_path / "data.nt"
    data.write_text('<x:a> <x:p> "text" .', "utf-8")
    tell = (
        "import sys, penstock; found = penstock.materialise(sys.argv[1], rules='rdfs');"
        "found.write(sys.argv[1] + '.nt'); print(len(found), *sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", tell, str(data)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "pandas" not in done.stdout.split()


def test_kernels_are_compiled_by_our_own_njit():
    """Numba's own does not notice that a file has changed which a kernel imports from."""
    imports = {name: set(imported_modules(path)) for name, path in FILES.items()}
    assert [name for name, names in imports.items() if {"numba.njit", "numba.jit"} & names] == []
    assert [name for name, names in imports.items() if "numba" in names] == ["jit.py"]


def test_names_say_what_is_inside():
    words = {name: {word.removesuffix(".py") for word in Path(name).parts} for name in FILES}
    assert [name for name, each in words.items() if EMPTY_NAMES & each] == []


def test_files_stay_small():
    sizes = {name: len(path.read_text("utf-8").splitlines()) for name, path in FILES.items()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE} == {}
