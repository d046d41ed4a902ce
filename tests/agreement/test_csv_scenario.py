"""A table as people have it, by the files and queries of docs/for-sql-users.md: counts as in DuckDB."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pandas
import pytest

from penstock import Engine, cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "for-sql-users.md").read_text("utf-8")
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
QUERIES = ("hourly.csparql", "rise.rq", "previous.rq", "silent.rq")
STREAM = "http://example.org/readings"
TIMES = {"instant": "when", "format": ["iso", "dd.MM.yyyy HH:mm:ss", "epoch-s"], "timezone": "UTC"}
ROOMS = [(f"s{number}", number % 4) for number in range(50) if number % 10]  # some sensors are in no room


def written(chance: random.Random, when: datetime) -> str:
    """The time of a row in one of the ways that the column has it."""
    forms = (f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when:%d.%m.%Y %H:%M:%S}", str(int(when.timestamp())))
    return chance.choice(forms)


def readings(rows: int) -> str:
    """A CSV of so many rows in the order of time: one in fifty comes twice, one in a hundred is broken."""
    chance = random.Random(rows)
    begin = datetime(2026, 5, 1, tzinfo=UTC)
    due = {f"s{number}": chance.uniform(0, 60) for number in range(max(10, rows // 1000))}
    value = dict.fromkeys(due, 20.0)
    lines = ["sensor,temp,when"]
    while len(lines) <= rows:
        sensor = min(due, key=due.__getitem__)
        value[sensor] = round(value[sensor] + chance.gauss(0, 2.5), 1)
        when = written(chance, begin + timedelta(seconds=int(due[sensor])))
        line = f"{sensor},{value[sensor]},{when}"
        broken = (f"{sensor},n/a,{when}", f"{sensor},{value[sensor]},soon", sensor, f"{line},{line}")
        lines += [chance.choice(broken) if chance.random() < 0.01 else line] * (1 + (chance.random() < 0.02))
        due[sensor] += chance.uniform(40, 80) + (chance.random() < 0.03) * chance.uniform(600, 3600)
    return "\n".join(lines[: rows + 1]) + "\n"


SQL = {
    "hourly.csparql": """
        SELECT count(*), sum(n), round(sum(mean), 6) FROM (
            SELECT floor, count(*) AS n, avg(temp) AS mean
            FROM readings JOIN rooms USING (sensor) WHERE temp IS NOT NULL
            GROUP BY floor, date_trunc('hour', "when" - INTERVAL 1 microsecond))""",
    "rise.rq": """
        SELECT count(*), sum(b.temp), sum(a.temp) FROM readings a JOIN readings b
            ON a.sensor = b.sensor AND a.when < b.when AND b.when <= a.when + INTERVAL 10 minute
        WHERE b.temp >= a.temp + 5""",
    "previous.rq": """
        SELECT count(*), sum(b.temp), sum(a.temp)
        FROM (SELECT DISTINCT * FROM readings WHERE temp IS NOT NULL) b
        ASOF JOIN (SELECT * FROM readings WHERE temp IS NOT NULL) a ON a.sensor = b.sensor AND a.when < b.when
        WHERE b.temp >= a.temp + 5 AND b.when <= a.when + INTERVAL 10 minute""",
    "silent.rq": """
        SELECT count(*), sum(epoch("when")), NULL FROM (
            SELECT *, lead("when", 1, TIMESTAMP '9999-01-01')
                OVER (PARTITION BY sensor ORDER BY "when") AS next
            FROM (SELECT DISTINCT sensor, "when" FROM readings))
        WHERE next > "when" + INTERVAL 15 minute
            AND "when" + INTERVAL 15 minute <= (SELECT max("when") FROM readings)""",
}  # fmt: skip


def by_duckdb(text: str) -> dict[str, tuple]:
    raw = pandas.DataFrame([row for row in csv.reader(io.StringIO(text)) if len(row) == 3][1:], dtype=str)
    raw.columns = ["sensor", "temp", "when"]
    rooms = pandas.DataFrame(ROOMS, columns=["sensor", "floor"])
    database = duckdb.connect()
    database.register("raw", raw)
    database.register("rooms", rooms)
    database.execute("""
        CREATE TABLE readings AS SELECT * FROM (
            SELECT sensor, TRY_CAST(temp AS DECIMAL(9, 1)) AS temp, COALESCE(
                try_strptime("when", '%Y-%m-%dT%H:%M:%SZ'), try_strptime("when", '%d.%m.%Y %H:%M:%S'),
                make_timestamp(1000000 * TRY_CAST("when" AS BIGINT))) AS "when"
            FROM raw) WHERE "when" IS NOT NULL""")
    return {name: database.execute(query).fetchall()[0] for name, query in SQL.items()}


def summary(name: str, rows: pandas.DataFrame) -> tuple:
    """What the query of SQL says of the answers."""
    if name == "hourly.csparql":
        mean = pandas.to_numeric(rows["average"]).sum()
        return len(rows), int(pandas.to_numeric(rows["readings"]).sum()), round(float(mean), 6)
    if name == "silent.rq":
        start = pandas.to_datetime(rows["start"], utc=True)
        return len(rows), (start - pandas.Timestamp(0, tz="UTC")).dt.total_seconds().sum(), None
    return len(rows), *(round(float(pandas.to_numeric(rows[each]).sum()), 1) for each in ("after", "before"))


def close(found: tuple, expected: tuple) -> bool:
    return all(
        one == other or abs(float(one) - float(other)) < 1e-4
        for one, other in zip(found, expected, strict=True)
    )


@pytest.fixture(params=[pytest.param(600), pytest.param(50_000, marks=pytest.mark.slow)])
def table(request, tmp_path, monkeypatch) -> str:
    """The files of the page in the working directory, with a larger table in another shape."""
    monkeypatch.chdir(tmp_path)
    text = readings(request.param)
    for name, body in FILES.items():
        Path(name).write_text(body, "utf-8")
    Path("readings.csv").write_text(text, "utf-8")
    Path("rooms.csv").write_text("\n".join(["sensor,floor", *(f"{s},{f}" for s, f in ROOMS)]) + "\n", "utf-8")
    described = json.loads(FILES["readings.map.json"]) | {"penstock:time": TIMES}
    Path("readings.map.json").write_text(json.dumps(described), "utf-8")
    return text


@pytest.mark.parametrize("name", QUERIES)
def test_on_the_command_line(name: str, table: str):
    words = ["try", name, "--stream", f"{STREAM}=readings.csv", "--map", "readings.map.json"]
    words += [
        "--graph",
        "rooms.csv",
        "--map",
        "rooms.map.json",
        "--format",
        "csv",
        "--out",
        "out.csv",
        "--quiet",
    ]
    assert cli.call(words) == 0
    expected = by_duckdb(table)[name]
    assert expected[0] > 5
    assert close(summary(name, pandas.read_csv("out.csv")), expected)


def test_in_pandas(table: str):
    """All four in one run, over DataFrames."""
    frame = pandas.read_csv(
        io.StringIO(table), dtype=str, keep_default_na=False, on_bad_lines="skip"
    ).dropna()
    engine = Engine(spark=None)
    engine.add_stream(frame, iri=STREAM, map="readings.map.json")
    engine.add_graph(pandas.DataFrame(ROOMS, columns=["sensor", "floor"]), map="rooms.map.json")
    for name in QUERIES:
        engine.add_query(Path(name), name=name)
    expected = by_duckdb(table)
    for name in QUERIES:
        assert close(summary(name, engine.answers(name).to_pandas(native=True)), expected[name]), name
