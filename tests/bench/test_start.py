"""The bench of the start waits for the answer, and does not take an end without one for it."""

from __future__ import annotations

import sys

import pytest

from penstock.bench.start import first_answer
from penstock.errors import PenstockError


def test_the_clock_stops_at_the_answer_and_not_before():
    script = "import time; print('header', flush=True); time.sleep(0.3); print('the answer')"
    assert first_answer((sys.executable, "-c", script), "answer") >= 0.3


def test_no_answer_is_no_figure():
    with pytest.raises(PenstockError, match="ended with 3 and without an answer"):
        first_answer((sys.executable, "-c", "print('header'); raise SystemExit(3)"), "answer")
