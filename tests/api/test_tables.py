"""Tables and DataFrames as streams on Spark: the same answers as the same data in N-Quads."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta, timezone

import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.api.results import concat
from penstock.sources import frames

pytestmark = pytest.mark.usefixtures("spark")

MAP = {
    "tableSchema": {
        "aboutUrl": "http://e/{sensor}",
        "columns": [
            {"name": "sensor", "suppressOutput": True},
            {"name": "value", "propertyUrl": "http://e/reads", "datatype": "integer"},
            {"name": "in", "propertyUrl": "http://e/in", "valueUrl": "http://e/room/{in}"},
        ],
    },
    "penstock:time": "when",
}
RISING = """SELECT ?s ?a ?b ?room WHERE { { ?s <http://e/reads> ?a . ?s <http://e/in> ?room } SEQ
    { ?s <http://e/reads> ?b } FILTER (?b > ?a && getDURATION() < "PT5M"^^xsd:duration) }"""
RISING = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> " + RISING
BEGIN = datetime(2026, 5, 1, 8, tzinfo=timezone.utc)
ROWS = [
    {"sensor": f"s{i % 3}", "value": (i * 7) % 11 if i % 5 else None, "in": f"r {i % 2}", "when": i}
    for i in range(60)
]
for row in ROWS:
    row["when"] = BEGIN + timedelta(seconds=20 * row["when"])


def text_of(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def answers(source, checkpoint=None, **options):
    engine = penstock.Engine(master="local[2]", checkpoint=checkpoint)
    engine.add_stream(source, **options).add_query(RISING, name="rising")
    return sorted(str(sorted(row.items())) for row in engine.answers().to_arrow().to_pylist())


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("by-hand") / "t.nq"
    with open(path, "w") as out:
        for number, row in enumerate(ROWS):
            end = f"<urn:{number}#t={text_of(row['when'])}> .\n"
            room = row["in"].replace(" ", "%20")
            out.write(f"<http://e/{row['sensor']}> <http://e/in> <http://e/room/{room}> {end}")
            if row["value"] is not None:
                number = f'"{row["value"]}"^^<http://www.w3.org/2001/XMLSchema#integer>'
                out.write(f"<http://e/{row['sensor']}> <http://e/reads> {number} {end}")
    found = answers(path)
    assert len(found) > 20
    return found


def test_dataframes(spark, expected, monkeypatch):
    monkeypatch.setattr(frames, "ROWS_IN_A_FILE", 7)
    monkeypatch.setattr(frames.write_frame, "__defaults__", (7,))
    table = pa.Table.from_pylist(ROWS)
    assert answers(pandas.DataFrame(ROWS), map=MAP) == expected  # values are floats with gaps
    assert answers(polars.DataFrame(ROWS), map=MAP) == expected
    assert answers(polars.LazyFrame(ROWS), map=MAP) == expected
    assert answers(table, map=MAP) == expected
    assert answers(table.to_batches()[0], map=MAP) == expected
    assert answers(spark.createDataFrame(ROWS), map=MAP) == expected


def test_files(expected, tmp_path):
    texts = [{**row, "when": text_of(row["when"])} for row in ROWS]
    pa.csv.write_csv(pa.Table.from_pylist(texts), tmp_path / "t.csv")
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    (tmp_path / "map.json").write_text(json.dumps(MAP))
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        assert answers(tmp_path / name, map=tmp_path / "map.json") == expected, name
    parts = tmp_path / "parts"
    parts.mkdir()
    for begin in range(0, len(texts), 13):
        some = pa.Table.from_pylist(texts[begin : begin + 13])
        pa.csv.write_csv(some, parts / f"part-{begin:03d}.csv")
    assert answers(parts, map=MAP) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_a_run_that_stops_and_goes_on(expected, tmp_path, name):
    texts = [{**row, "when": text_of(row["when"])} for row in ROWS]
    path = tmp_path / name
    if name == "t.csv":
        lines = [",".join("" if v is None else str(v) for v in row.values()) + "\n" for row in texts]
        lines.insert(0, ",".join(ROWS[0]) + "\n")
    else:
        lines = [json.dumps(row) + "\n" for row in texts]
    lines.insert(30, "{broken\n")
    path.write_text("".join(lines))
    document = MAP | {"dialect": {"quoteChar": None}}
    batches = {}  # the last one of a run may come again, with the same number
    for _ in range(20):
        engine = penstock.Engine(
            master="local[2]", checkpoint=tmp_path / "state", batch_bytes=path.stat().st_size // 6
        )
        engine.add_stream(path, map=document).add_query(RISING, name="rising")
        stop, seen = threading.Event(), []

        def take(batch, stop=stop, seen=seen):
            seen.append(batch)
            if len(seen) == 3:
                stop.set()

        statistics = engine.run(on_batch=take, stop=stop)
        batches |= {batch.id: batch for batch in seen}
        if not statistics.interrupted and not stop.is_set():
            break
    assert len(batches) > 4
    assert [reject["line"] for batch in batches.values() for reject in batch.rejected] == [31]
    found = [table for batch in batches.values() for table in batch.answers.values()]
    tables = [concat([table], engine.queries[0]).to_arrow() for table in found]
    rows = sorted(str(sorted(row.items())) for table in tables for row in table.to_pylist())
    assert rows == expected


def test_what_is_refused():
    frame = pandas.DataFrame(ROWS)
    with pytest.raises(penstock.PenstockError, match='needs a map(.|\n)*"valueUrl": "http://example.org/'):
        penstock.Engine().add_stream(frame)
    wrong = {**MAP, "penstock:time": "wen"}
    with pytest.raises(penstock.PenstockError, match="did you mean 'when'"):
        penstock.Engine().add_stream(frame, map=wrong)
    with pytest.raises(penstock.PenstockError, match="two columns called"):
        penstock.Engine().add_stream(pandas.concat([frame, frame], axis=1), map=MAP)
    with pytest.raises(penstock.PenstockError, match="Arrow cannot hold"):
        penstock.Engine().add_stream(pandas.DataFrame({"a": [1, "x", object()]}), map=MAP)
    with pytest.raises(penstock.PenstockError, match="name it: --stream-format"):
        penstock.Engine().add_stream("-", map=MAP)


def test_native_columns_on_spark(spark, expected):
    engine = penstock.Engine(master="local[2]").add_stream(polars.DataFrame(ROWS), map=MAP)
    engine.add_query("SELECT ?s ?v WHERE { ?s <http://e/reads> ?v }")
    frame = engine.answers().to_spark(native=True)
    assert dict(frame.dtypes) == {"s": "string", "v": "bigint", "start": "timestamp", "end": "timestamp"}
    assert frame.agg({"v": "sum"}).collect()[0][0] == sum(row["value"] or 0 for row in ROWS)


def test_a_table_of_triples_needs_no_map(expected):
    rows = [
        {"s": f"http://e/{row['sensor']}", "p": "http://e/in", "o": "x:y", "start": row["when"]}
        for row in ROWS
    ]
    engine = penstock.Engine(master="local[2]").add_stream(polars.DataFrame(rows))
    engine.add_query("SELECT ?s WHERE { ?s <http://e/in> ?o }")
    assert len(engine.answers()) == len(ROWS)


def test_a_table_of_spark_is_static_knowledge(spark, tmp_path):
    rooms = {
        "tableSchema": {
            "aboutUrl": "http://e/room/{id}",
            "columns": [{"name": "floor", "propertyUrl": "http://e/f"}],
        }
    }
    known = [{"id": "r 0", "floor": 3}]
    pq.write_table(pa.Table.from_pylist(known), tmp_path / "rooms.parquet")
    found = []
    for source in (spark.createDataFrame(known), tmp_path / "rooms.parquet"):
        engine = penstock.Engine(master="local[2]").add_stream(pandas.DataFrame(ROWS), map=MAP)
        engine.add_graph(source, map=rooms)
        engine.add_query("SELECT ?s ?f WHERE { ?s <http://e/in> ?room . ?room <http://e/f> ?f }")
        found.append(len(engine.answers()))
    assert found == [30, 30]
