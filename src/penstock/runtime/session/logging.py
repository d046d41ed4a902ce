"""What Spark logs in a session that somebody else has started, while a run of ours is in it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

_LEVELS = {
    "org.apache.spark": "ERROR",
    "org.apache.hadoop": "ERROR",
    # What ends a run is raised, in our words; here it would be traces in two languages.
    "org.apache.spark.executor": "OFF",
    "org.apache.spark.scheduler": "OFF",
    "org.apache.spark.sql.execution": "OFF",
}
_USUAL = ("INFO", "WARN")  # the console of Spark's own profile shows warnings
_changing = threading.Lock()
_runs = 0
_added: list[str] = []  # loggers that the session has no level of its own for


@contextlib.contextmanager
def without_warnings(session: SparkSession) -> Iterator[None]:
    """Within, Spark does not show its warnings about how a run starts and stops.

    Only where it logs by its own profile: who has chosen what is logged, and where, has it so.
    """
    global _runs
    log4j: Any = session._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    with _changing:
        _runs += 1
        if _runs == 1 and _is_default(log4j):
            _quiet(log4j)
    try:
        yield
    finally:
        with _changing:
            _runs -= 1
            if _runs == 0:
                _as_before(log4j)


def _configuration(log4j: Any) -> Any:
    return log4j.LogManager.getContext(False).getConfiguration()


def _is_default(log4j: Any) -> bool:
    profile = str(_configuration(log4j).getConfigurationSource().getLocation())
    level = str(log4j.LogManager.getRootLogger().getLevel())
    return "org/apache/spark/log4j2-" in profile and level in _USUAL


def _quiet(log4j: Any) -> None:
    known = _configuration(log4j).getLoggers()
    _added.extend(name for name in _LEVELS if not known.containsKey(name))
    for name in _added:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.toLevel(_LEVELS[name]))


def _as_before(log4j: Any) -> None:
    for name in _added:
        _configuration(log4j).removeLogger(name)
    if _added:
        log4j.LogManager.getContext(False).updateLoggers()
    _added.clear()
