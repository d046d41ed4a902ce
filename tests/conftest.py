"""What all tests share: one Spark session per test process."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

# Workers find programs of tests there: what PYTHONPATH names is theirs, also the working directory.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH")])
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`sample(n)`: of its cases `make test` runs the first n, and `make test-all` the others (`more`)."""
    taken: Counter[str] = Counter()
    for item in items:
        sample = item.get_closest_marker("sample")
        if sample is not None:
            name = item.nodeid.partition("[")[0]
            taken[name] += 1
            if taken[name] > sample.args[0]:
                item.add_marker("more")


@pytest.fixture(scope="session")
def spark():
    """An embedded Spark session on two cores; starting one costs seconds, so there is one."""
    from penstock.runtime.session.session import start_session

    session = start_session(master="local[2]")
    yield session
    session.stop()
