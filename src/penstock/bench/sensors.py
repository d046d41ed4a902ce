"""The stream of the benches: sensors that each report a reading every 100 seconds or so.

Rates per sensor stay the same however many there are, so a window of five minutes holds about
three readings of each. The same readings exist as columns in memory and as N-Quads files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.columns import ids
from penstock.columns.terms import TermChunk, TermTable

BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
PERIOD = 100_000_000
"""Microseconds between two readings of one sensor, on average."""

_QUERY = """PREFIX ex: <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?sensor ?before ?after
WHERE {{ ?sensor ex:reads ?before {earlier} }} SEQ {{ ?sensor ex:reads ?after {later} }}
FILTER ({both} getDURATION() < "PT5M"^^xsd:duration)
"""


def query(factor: float = 20) -> str:
    """A reading that is so many times an earlier one, within five minutes."""
    return _QUERY.format(earlier="", later="", both=f"?after > ?before * {factor:g} &&")


def query_of_bounds(below: float, above: float) -> str:
    """A low reading and then a high one within five minutes, each compared with a constant."""
    return _QUERY.format(
        earlier=f"FILTER (?before < {below:g})", later=f"FILTER (?after > {above:g})", both=""
    )


@dataclass(frozen=True)
class Form:
    """A form of the query, and its condition on an earlier row x and a later row y in SQL."""

    name: str
    query: str
    condition: str


FORMS = (
    Form("×20", query(20), "y.v > x.v * 20"),
    Form("<3, >98", query_of_bounds(3, 98), "x.v < 3 AND y.v > 98"),
    Form("×1.5", query(1.5), "y.v > x.v * 1.5"),
)
"""Few answers; few rows on either side (2 % each) and few answers; an answer per element."""


@dataclass(frozen=True)
class Readings:
    """Readings as plain columns: sensor number, hundredths, instant in µs, in order of time."""

    sensors: int
    sensor: np.ndarray
    hundredths: np.ndarray
    instant: np.ndarray

    def __len__(self) -> int:
        return len(self.sensor)


def readings(count: int, sensors: int, seed: int = 7) -> Readings:
    random = np.random.default_rng(seed)
    return Readings(
        sensors,
        random.integers(0, sensors, count),
        random.integers(100, 10_000, count),
        BEGIN + np.arange(count, dtype=np.int64) * max(1, PERIOD // sensors),
    )


def as_ids(data: Readings) -> tuple[np.ndarray, np.ndarray, TermChunk]:
    """Subjects and objects as term ids, and the texts of the subjects."""
    table = TermTable()
    names = [f"<http://example.org/sensor/{i}>".encode() for i in range(data.sensors)]
    subjects = np.array([table.add_text(name) for name in names], np.int64)
    return subjects[data.sensor], decimals(data.hundredths), table.chunk()


def decimals(hundredths: np.ndarray) -> np.ndarray:
    """Numbers with two digits after the point as term ids."""
    return hundredths | np.int64((ids.DECIMAL << ids.TAG_SHIFT) | (2 << ids.SCALE_SHIFT))


def write_nquads(
    data: Readings, directory: Path, files: int = 1, kind: np.ndarray | None = None, kinds=("reads",)
) -> list[Path]:
    """The readings as N-Quads, one quad and named graph each; `kind` says which of some predicates it has."""
    import duckdb
    import pyarrow as pa

    paths = []
    kind = np.zeros(len(data), np.int64) if kind is None else kind
    with duckdb.connect() as database:
        for number, rows in enumerate(np.array_split(np.arange(len(data)), files)):
            path = directory / f"readings-{number:03d}.nq"
            database.register(
                "readings",
                pa.table({
                    "sensor": data.sensor[rows], "v": data.hundredths[rows],
                    "t": data.instant[rows], "i": rows, "kind": kind[rows] + 1,
                }),
            )  # fmt: skip
            database.execute(_AS_LINES.format(path=path, kinds=list(kinds)))
            paths.append(path)
    return paths


_AS_LINES = r"""
COPY (
  SELECT '<http://example.org/sensor/' || sensor || '> <http://example.org/' || ({kinds})[kind] || '> "'
    || v // 100 || '.' || lpad((v % 100)::VARCHAR, 2, '0')
    || '"^^<http://www.w3.org/2001/XMLSchema#decimal> <http://example.org/g/' || i || '#t='
    || strftime(make_timestamp(t), '%Y-%m-%dT%H:%M:%S.%gZ') || '> .'
  FROM readings ORDER BY i
) TO '{path}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '|')
"""
