"""Stopping a run from outside: Ctrl-C and SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from penstock.runtime.contract import RunStatistics

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interruptible(stop: threading.Event, statistics: RunStatistics) -> Iterator[None]:
    """A signal ends the run after the current call, instead of breaking into it.

    PySpark's own handler calls Java in the middle of whatever call to Java is under way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        statistics.interrupted = True
        stop.set()

    previous = [(number, signal.signal(number, interrupt)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in previous:
            signal.signal(number, handler)
