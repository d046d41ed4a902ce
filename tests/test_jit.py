"""Compiled kernels are used again only while everything that they were compiled from is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock import jit
from penstock.jit import _named

SOURCE = Path(__file__).resolve().parent.parent / "src"
KERNELS = """
from penstock.jit import njit
from small.middle import plus

@njit(cache=True)
def answer(value):
    return plus(value)
"""
MIDDLE = """
from penstock.jit import njit
from small import (
    constants,  # ANSWER (frozen into the code)
    other as another,
)

ANSWER = constants.ANSWER

@njit(cache=True)
def plus(value):
    return value + ANSWER
"""
CALL = """
from small.kernels import answer
given = answer(1)
print(given, sum(answer.stats.cache_hits.values()), answer.stats.cache_path)
"""


class Package:
    """A package with a kernel whose result comes from a module that its imports import."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.settings: dict[str, str] = {}
        texts = {
            "__init__": "",
            "other": "",
            "constants": "ANSWER = 41",
            "middle": MIDDLE,
            "kernels": KERNELS,
        }
        (place / "small").mkdir()
        for name, text in texts.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.place / "small" / f"{name}.py").write_text(text)

    def call(self) -> tuple[int, bool, Path | None]:
        """What the kernel gives in a process of its own, whether from the cache, and which."""
        environment = os.environ | {"PYTHONPATH": f"{self.place}:{SOURCE}"} | self.settings
        done = subprocess.run(
            [sys.executable, "-B", "-c", CALL], env=environment, capture_output=True, text=True, check=True
        )
        given, hits, place = done.stdout.split()
        return int(given), hits != "0", None if place == "None" else Path(place)


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def test_a_changed_constant_of_an_imported_file_counts(package):
    value, cached, place = package.call()
    assert (value, cached) == (42, False)
    assert package.call() == (42, True, place)
    package.write("constants", "ANSWER = 99")
    value, cached, other = package.call()
    assert (value, cached) == (100, False)
    assert other != place and other.exists() and not place.exists()


def test_a_file_that_no_kernel_imports_does_not_count(package):
    (package.place / "small" / "elsewhere.py").write_text("x = 1")
    _, _, place = package.call()
    package.write("elsewhere", "x = 2")
    assert package.call() == (42, True, place)


def test_the_cache_goes_elsewhere_if_the_package_cannot_be_written(package, tmp_path):
    (package.place / "small" / "__pycache__").write_text("in the way, even of root")
    package.settings = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    _, _, place = package.call()
    assert place.is_relative_to(tmp_path / "cache")
    assert package.call() == (42, True, place)


def test_without_any_place_the_kernel_is_compiled_every_time(package):
    (package.place / "small" / "__pycache__").write_text("")
    package.settings = {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null"}
    assert package.call() == (42, False, None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b", ["a.b"]),
        ("import a.b as c, d", ["a.b", "d"]),
        ("from a.b import c as d, e  # f", ["a.b.c", "a.b.e"]),
        ("    from a import (\n    b,  # why (so)\n    c,\n)", ["a.b", "a.c"]),
        ("from a import b, \\\n  c", ["a.b", "a.c"]),
        ("from . import a", ["here.there.a"]),
        ("from ..a import b", ["here.a.b"]),
        ("x = 'import y'", []),
    ],
)
def test_imports_are_found(text, names):
    assert list(_named(text, "here.there.module", is_package=False)) == names


def test_imports_of_a_package_are_relative_to_itself():
    assert list(_named("from .a import b", "here.there", is_package=True)) == ["here.there.a.b"]


def test_code_that_cannot_be_kept_is_told(monkeypatch, tmp_path):
    """Once, with the directory and the variable that names another one."""

    def refused(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(jit, "_not_kept", [])
    assert jit.not_kept() is None
    monkeypatch.setattr(jit, "_KernelCache", refused)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert jit.njit()(lambda x: x + 1)(1) == 2, "slower, but right"
    assert (
        str(Path(__file__).parent / "__pycache__") in jit.not_kept() and "NUMBA_CACHE_DIR" in jit.not_kept()
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/nowhere")
    assert "/nowhere (NUMBA_CACHE_DIR)" in jit.not_kept()
    (tmp_path / "s.nq").write_text('<urn:a> <urn:p> "1" <urn:e#t=2024-01-01T00:00:00Z> .\n')
    engine = penstock.Engine(spark=None)
    engine.add_stream(tmp_path / "s.nq")
    engine.add_query("SELECT ?a { ?a <urn:p> ?x }")
    with pytest.warns(penstock.PenstockWarning, match="compiled code cannot be kept") as told:
        engine.answers()
    assert len(told) == 1
