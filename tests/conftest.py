"""What all tests share: one Spark session per test process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Workers find programs of tests there: what PYTHONPATH names is theirs, also the working directory.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH")])
)


@pytest.fixture(scope="session")
def spark():
    """An embedded Spark session on two cores; starting one costs seconds, so there is one."""
    from penstock.runtime.session.session import start_session

    session = start_session(master="local[2]")
    yield session
    session.stop()
