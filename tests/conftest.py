"""What all tests share: one Spark session per test process."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    """An embedded Spark session on two cores; starting one costs seconds, so there is one."""
    from penstock.runtime.session.session import start_session

    session = start_session(master="local[2]")
    yield session
    session.stop()
