"""The set-up finds a way to an environment with pip, whatever the machine's Python lacks."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "prepare.py"
APT = "apt-get install --yes --no-install-recommends"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A Debian's Python that has some modules only, and what was called on it."""
    spec = importlib.util.spec_from_file_location("prepare", SCRIPT)
    prepare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prepare)
    where = tmp_path / "env"
    modules: set[str] = {"venv"}
    called: list[str] = []

    def has(python, module):
        if Path(python) == where / "bin" / "python":
            return module in os.listdir(where) if where.exists() else False
        return module in modules

    def quietly(*words):
        text = " ".join(map(str, words)).replace(f"{sys.executable} -m ", "").replace(str(where), "ENV")
        called.append(text)
        if text.startswith(("venv", "virtualenv")):
            where.mkdir()
        if text in ("venv ENV", "virtualenv ENV", "pip --python ENV/bin/python install pip"):
            (where / "pip").touch()
        if text.startswith(APT):
            modules.add("ensurepip")
        return text not in prepare.failing

    prepare.failing = set()
    monkeypatch.setattr(prepare, "has", has)
    monkeypatch.setattr(prepare, "quietly", quietly)
    monkeypatch.setattr(prepare.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return prepare, where, modules, called


@pytest.mark.parametrize(
    ("has", "calls"),
    [
        ({"ensurepip", "pip"}, ["venv ENV"]),
        ({"pip"}, ["venv --without-pip ENV", "pip --python ENV/bin/python install pip"]),
        ({"virtualenv"}, ["virtualenv ENV"]),
        (set(), [f"{APT} python{sys.version_info[0]}.{sys.version_info[1]}-venv", "venv ENV"]),
    ],
)
def test_the_first_way_that_works_is_taken(machine, has, calls):
    prepare, where, modules, called = machine
    modules |= has
    assert prepare.make_environment(where) == where / "bin" / "python"
    assert called == calls


def test_a_way_that_fails_leaves_nothing_behind_for_the_next(machine):
    prepare, where, modules, called = machine
    modules |= {"ensurepip", "pip"}
    prepare.failing.add("venv ENV")
    prepare.make_environment(where)
    assert called[0] == "venv ENV" and called[-1].startswith("pip --python")


def test_who_may_not_install_is_told_the_one_command(machine, monkeypatch, capsys):
    prepare, where, _, called = machine
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    prepare.failing.add("sudo -n true")
    with pytest.raises(SystemExit):
        prepare.make_environment(where)
    assert called == ["sudo -n true"] and not where.exists()
    assert f"type `sudo {APT} python3" in capsys.readouterr().err


def test_elsewhere_another_python_is_asked_for(machine, monkeypatch, capsys):
    prepare, where, _, called = machine
    monkeypatch.setattr(sys, "base_prefix", "/opt/python")
    with pytest.raises(SystemExit):
        prepare.make_environment(where)
    assert called == [] and "make PYTHON=/path/to/python" in capsys.readouterr().err
