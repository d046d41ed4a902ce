"""`penstock bench negation`: SEQ(A, !B, C) within five minutes, and absence in the other places.

Pumps warn, are serviced and fail. In CQELS-CEP a window of five minutes says how far apart members may
be (decision 0013); with the absent member in the middle the same is asked in EP-SPARQL, too. The kernel
is the engine on one core over columns in memory, in batches as a stream brings them, in seconds of the
processor. DuckDB answers the same over the same columns in one shot on one thread, and its answers must
be ours, row by row, with the instants at which they are given. The pipeline is the whole way from N-Quads
files through Spark, beside the plain sequence as `penstock bench sequence` asks it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock import pipeline as stages
from penstock.bench import sensors
from penstock.bench.figures import Figure, figure, scale, timed, used
from penstock.bench.sequence import run_on_spark
from penstock.columns.frame import Frame
from penstock.columns.terms import TermChunk
from penstock.engine.tuning import TUNING, Tuning
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.plan.steps.windowing import filled
from penstock.timeline import FOREVER

ELEMENTS = 10_000_000
BATCH = 250_000
PUMPS = 100_000
FILES = 8
WINDOW = 300_000_000
STREAM = "http://example.org/pumps"
KINDS = ("warns", "serviced", "fails")

_PREFIXES = """PREFIX ex: <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
_SHORT = 'getDURATION() <= "PT5M"^^xsd:duration'


@dataclass(frozen=True)
class NegationForm:
    """A query, the columns of its answers, and the same in SQL over `r` and `pairs` (see `duckdb_answers`).

    SQL gives the columns, start and end, and when an answer is given.
    """

    name: str
    query: str
    columns: tuple[str, ...]
    sql: str

    @property
    def over_window(self) -> bool:
        return "WINDOW" in self.query


def _over_window(select: str, extent: str, members: str, report: str = "") -> str:
    return (
        f"{_PREFIXES}SELECT {select} FROM NAMED WINDOW ex:w ON <{STREAM}> [{extent}] {report}\n"
        f"WHERE {{ WINDOW ex:w {{ SEQ({members}) }} }}\n"
    )


_ENDS = ("pump", "before", "after")
_BOTH = "?pump ?before ?after"
MIDDLE = NegationForm(
    "SEQ(A, !B, C)",
    _over_window(
        _BOTH,
        "RANGE 5m",
        "{ ?pump ex:warns ?before }, !{ ?pump ex:serviced ?service }, { ?pump ex:fails ?after }",
    ),
    _ENDS,
    "SELECT k, v, w, t, u, u FROM pairs WHERE service IS NULL OR service < t",
)
FIRST = NegationForm(
    "SEQ(!B, C)",
    _over_window("?pump ?after", "RANGE 5m", "!{ ?pump ex:serviced ?service }, { ?pump ex:fails ?after }"),
    ("pump", "after"),
    # Not at once if there was a service in the window: then when the last one leaves it.
    f"SELECT k, v, t, t, CASE WHEN earlier >= t - {WINDOW} THEN earlier + {WINDOW} + 1 ELSE t END"
    " FROM r WHERE kind = 2",
)
LAST = NegationForm(
    "SEQ(A, !B), on close",
    _over_window(
        "?pump ?before",
        "RANGE 5m TUMBLING",
        "{ ?pump ex:warns ?before }, !{ ?pump ex:serviced ?service }",
        "REPORT ON CLOSE",
    ),
    ("pump", "before"),
    f"SELECT k, v, t, t, b * {WINDOW} + {WINDOW} FROM r"
    f" WHERE kind = 0 AND (later IS NULL OR (later - 1) // {WINDOW} > b)",
)
PLAIN = NegationForm(
    "SEQ(A, C)",
    _over_window(_BOTH, "RANGE 5m", "{ ?pump ex:warns ?before }, { ?pump ex:fails ?after }"),
    _ENDS,
    "SELECT k, v, w, t, u, u FROM pairs",
)
PLAIN_EP = NegationForm(
    "A SEQ C, EP-SPARQL",
    f"{_PREFIXES}SELECT {_BOTH} WHERE {{ ?pump ex:warns ?before }} SEQ {{ ?pump ex:fails ?after }}"
    f" FILTER ({_SHORT})",
    _ENDS,
    PLAIN.sql,
)
MIDDLE_EP = NegationForm(
    "A SEQ C, no B, EP-SPARQL",
    f"""{_PREFIXES}SELECT {_BOTH} WHERE {{
  {{ ?pump ex:warns ?before BIND (getENDTIME() AS ?warned) }}
  SEQ {{ ?pump ex:fails ?after BIND (getSTARTTIME() AS ?failed) }}
  OPTIONAL {{ ?pump ex:serviced ?service BIND (getSTARTTIME() AS ?from) BIND (getENDTIME() AS ?to)
             FILTER (?from >= ?warned && ?to <= ?failed && {_SHORT}) }}
  FILTER (!BOUND(?service) && {_SHORT}) }}""",
    _ENDS,
    MIDDLE.sql,
)
FORMS = (MIDDLE, PLAIN, FIRST, LAST, PLAIN_EP, MIDDLE_EP)


@dataclass(frozen=True)
class PumpEvents:
    """What pumps do: the number of a kind, pump and value as ids of terms, instant; and the pumps' names."""

    readings: sensors.Readings
    kind: np.ndarray
    pump: np.ndarray
    value: np.ndarray
    instant: np.ndarray
    terms: TermChunk

    def __len__(self) -> int:
        return len(self.kind)


def events(count: int, pumps: int, seed: int = 7) -> PumpEvents:
    """Each pump is heard of every 100 seconds or so (`sensors`); a third of it are warnings, and so on."""
    readings = sensors.readings(count, pumps, seed)
    kind = np.random.default_rng(seed + 1).integers(0, len(KINDS), count)
    pump, value, terms = sensors.as_ids(readings)
    return PumpEvents(readings, kind, pump, value, readings.instant, terms)


def negation() -> Iterator[Figure]:
    yield from kernel()
    yield from pipeline()


# --- the engine alone ---


def kernel() -> Iterator[Figure]:
    count = max(BATCH, int(ELEMENTS * scale()))
    data = events(count, max(1, int(PUMPS * scale())))
    few = events(20_000, 10_000)
    for form in FORMS:
        detect(few, form)  # compiles
        seconds, found = used(lambda: detect(data, form))  # noqa: B023
        peer_seconds, expected = duckdb_answers(data, form)
        if not same(found, expected):
            raise AssertionError(f"{form.name}: the answers are not those of DuckDB")
        yield figure(
            "negation", f"kernel, {form.name}, {len(found[0]):,} answers", count / seconds,
            "elements/s", "DuckDB, 1 thread", count / peer_seconds,
        )  # fmt: skip


def detect(
    data: PumpEvents, form: NegationForm, batch: int = BATCH, tuning: Tuning = TUNING
) -> list[np.ndarray]:
    """The answers of the engine, fed in batches to one shard: their columns, start, end, when given."""
    stream = StreamName(STREAM if form.over_window else None)
    program = stages.program([parse_query(form.query)], [stream], shards=1, now=0, tuning=tuning)
    shard = program.open(0).shard
    scans = {
        shard.net.steps[place].predicate.value.rpartition("/")[2]: (name, shard.net.steps[place].vars)
        for name, place in shard.scans.items()
    }
    found = []
    for first in range(0, len(data) + batch, batch):
        rows = slice(first, first + batch)
        kind, pump, value, times = data.kind[rows], data.pump[rows], data.value[rows], data.instant[rows]
        frames = {}
        for number, name in enumerate(KINDS):
            if name in scans and len(times):
                [mine] = np.nonzero(kind == number)
                scan, vars = scans[name]  # in a window, also of which element
                ids = np.stack([pump[mine], value[mine], mine + first + 1][: len(vars)])
                frames[scan] = Frame(vars, ids, times[mine], times[mine])
        instants = {each: times for each in (0, filled(0))}
        watermark = int(times[-1]) if len(times) else FOREVER
        for answers in shard.feed(frames, data.terms, watermark, instants).values():
            given = answers.since if answers.retractable else answers.end
            found.append([*map(answers.column, form.columns), answers.start, answers.end, given])
    return [np.concatenate(columns) for columns in zip(*found, strict=True)]


def duckdb_answers(data: PumpEvents, form: NegationForm) -> tuple[float, list[np.ndarray]]:
    """The same in one shot.

    `r` says of each element when its pump was last serviced by then (`service`) and before (`earlier`), and
    when it will be next (`later`). `pairs` are warnings and failures within five minutes: buckets of that
    length make it an equality join.
    """
    import duckdb
    import pyarrow as pa

    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        columns = {"kind": data.kind, "k": data.pump, "v": data.value, "t": data.instant}
        database.register("given", pa.table(columns))
        database.execute(f"CREATE TABLE events AS SELECT *, (t - 1) // {WINDOW} AS b FROM given")
        when = {
            "service": "RANGE UNBOUNDED PRECEDING",
            "earlier": "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            "later": "RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
        }
        services = "".join(
            f", {'min' if name == 'later' else 'max'}(t) FILTER (kind = 1)"
            f" OVER (PARTITION BY k ORDER BY t {extent}) AS {name}"
            for name, extent in when.items()
            if name in form.sql
        )
        pairs = " UNION ALL ".join(
            f"SELECT x.k, x.v, y.v AS w, x.t, y.t AS u{', y.service' if services else ''}"
            f" FROM (FROM r WHERE kind = 0) x JOIN (FROM r WHERE kind = 2) y"
            f" ON x.k = y.k AND x.b {bucket} = y.b AND x.t < y.t AND y.t - x.t <= {WINDOW}"
            for bucket in ("", "+ 1")
        )
        text = f"WITH r AS (SELECT *{services} FROM events), pairs AS ({pairs}) {form.sql}"
        seconds, found = used(lambda: database.sql(text).to_arrow_table())
    return seconds, [column.to_numpy() for column in found.columns]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Whether two lots of columns have the same rows, in whatever order."""
    if len(one[0]) != len(other[0]):
        return False
    orders = np.lexsort(one), np.lexsort(other)
    return all(np.array_equal(a[orders[0]], b[orders[1]]) for a, b in zip(one, other, strict=True))


# --- the whole way ---


def pipeline() -> Iterator[Figure]:
    count = int(ELEMENTS * scale())
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        paths = write_nquads(events(count, max(1, int(PUMPS * scale()))), Path(scratch), FILES)
        plain = None
        for form in (PLAIN_EP, PLAIN, MIDDLE, MIDDLE_EP):
            iri = STREAM if form.over_window else None
            run_on_spark(paths[:1], [form.query], iri)  # starts Spark, compiles, fills caches
            seconds, found = timed(lambda: run_on_spark(paths, [form.query], iri))  # noqa: B023
            plain = plain or count / seconds
            yield figure(
                "negation", f"pipeline, {form.name}, {found:,} answers", count / seconds, "elements/s",
                PLAIN_EP.name, plain,
            )  # fmt: skip


def write_nquads(data: PumpEvents, directory: Path, files: int) -> list[Path]:
    """The events as N-Quads, one quad and named graph each."""
    return sensors.write_nquads(data.readings, directory, files, data.kind, KINDS)
