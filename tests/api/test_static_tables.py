"""Tables as static knowledge: files and DataFrames with a map that has no time, joined with a stream."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import cli
from penstock.decode.mapping.document import read_map
from penstock.decode.mapping.suggest import suggest_for
from penstock.errors import InputError, UsageError
from penstock.knowledge.files import RESTED, GraphFile

EX = "http://example.org/"
ROOMS = "id,room,floor\ncellar 1,Wine,0\nattic,Loft,3\n"
READINGS = """station,temp,when
cellar 1,18.5,2026-05-01T08:00:00Z
attic,31,2026-05-01T08:00:30Z
nowhere,7,2026-05-01T08:01:00Z
"""
MAP = {
    "tableSchema": {
        "aboutUrl": EX + "{id}",
        "columns": [
            {"name": "room", "propertyUrl": EX + "room"},
            {"name": "floor", "propertyUrl": EX + "floor", "datatype": "integer"},
        ],
    }
}
STREAM_MAP = {
    "tableSchema": {
        "aboutUrl": EX + "{station}",
        "columns": [{"name": "temp", "propertyUrl": EX + "temp", "datatype": "decimal"}],
    },
    "penstock:time": "when",
}
FLOORS = f"SELECT ?x ?room ?f {{ ?x <{EX}room> ?room ; <{EX}floor> ?f }}"
JOINED = f"SELECT ?room ?t {{ ?x <{EX}temp> ?t . GRAPH <{EX}rooms> {{ ?x <{EX}room> ?room }} }}"
EXPECTED = [("attic", "Loft", "3"), ("cellar%201", "Wine", "0")]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rooms.csv").write_text(ROOMS)
    Path("readings.csv").write_text(READINGS)
    Path("rooms.json").write_text(json.dumps(MAP))
    Path("readings.json").write_text(json.dumps(STREAM_MAP))
    Path("floors.rq").write_text(FLOORS)
    Path("joined.rq").write_text(JOINED)


def local(answers) -> list[tuple[str, ...]]:
    return sorted(tuple(term.value.rsplit("/")[-1] for term in row.values()) for row in answers)


def known(source, query: str = FLOORS, **options) -> list[tuple[str, ...]]:
    return local(penstock.Engine(spark=None).add_graph(source, **options).add_query(query).answers())


def table() -> pa.Table:
    return pa.table({"id": ["cellar 1", "attic"], "room": ["Wine", "Loft"], "floor": [0, 3]})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl", "ndjson"])
def test_a_table_is_a_graph(kind):
    place = f"t.{kind}"
    if kind == "parquet":
        pq.write_table(table(), place)
    elif kind == "csv.gz":
        Path(place).write_bytes(gzip.compress(ROOMS.encode()))
    else:
        lines = "".join(json.dumps(row) + "\n" for row in table().to_pylist())
        Path(place).write_text(ROOMS if kind == "csv" else lines)
    assert known(place, map=MAP) == known(Path(place), map="rooms.json") == EXPECTED


@pytest.mark.parametrize(
    "made", [lambda t: t, lambda t: t.to_batches()[0], lambda t: t.to_pandas(), polars.from_arrow]
)
def test_a_data_frame_is_a_graph(made):
    assert known(made(table()), map=MAP) == EXPECTED


def test_rows_without_a_subject_are_nodes_of_their_own():
    schema = {"propertyUrl": EX + "{_name}", "columns": [{"name": "room"}, {"name": "floor"}]}
    loose = {"tableSchema": schema}
    same = pandas.DataFrame({"room": ["Wine", "Wine"], "floor": [0, 0]})
    Path("same.csv").write_text(same.to_csv(index=False))
    engine = penstock.Engine(spark=None).add_graph(same, map=loose).add_graph(same, map=loose)
    engine.add_graph("same.csv", map=loose).add_query(FLOORS)
    nodes = [row[0] for row in local(engine.answers())]
    assert len(nodes) == len(set(nodes)) == 6
    again, more = (known("same.csv", map=loose) for _ in range(2))
    assert again == more  # the same names in every run


def test_a_stream_is_joined_with_a_named_table():
    engine = penstock.Engine(spark=None).add_stream("readings.csv", map=STREAM_MAP)
    engine.add_graph("rooms.csv", iri=EX + "rooms", map=MAP).add_query(JOINED)
    assert local(engine.answers()) == [("Loft", "31"), ("Wine", "18.5")]


def test_the_command_line_takes_a_map_for_each(capfd):
    sources = f"--stream readings.csv --graph {EX}rooms=rooms.csv"
    for maps in ("--map readings.json --map rooms.json", "--map rooms.json --map readings.json"):
        assert cli.call(f"try joined.rq {sources} {maps} --format csv --quiet".split()) == 0
        assert sorted(line.split(",")[0] for line in capfd.readouterr().out.split()) == [
            "Loft",
            "Wine",
            "room",
        ]
    assert cli.call("try floors.rq --graph rooms.csv --map rooms.json --format csv --quiet".split()) == 0
    assert "cellar%201,Wine,0" in capfd.readouterr().out
    Path("window.csparql").write_text(
        f"REGISTER QUERY q AS SELECT ?t FROM STREAM <{EX}s> [RANGE 1h STEP 1h] {{ ?x <{EX}temp> ?t }}"
    )
    named = f"--stream {EX}s=readings.csv --map readings.json --graph rooms.csv --map rooms.json"
    assert cli.call(f"check window.csparql {named}".split()) == 0
    assert cli.call("explain floors.rq --graph rooms.csv --map rooms.json".split()) == 0


def test_of_several_maps_the_url_tells():
    engine_of = (
        f"try floors.rq --graph rooms.csv --graph {EX}other=other.csv --map rooms.json --map other.json"
    )
    Path("other.csv").write_text("k,v\na,1\n")
    other = {"tableSchema": {"columns": [{"name": "v", "propertyUrl": EX + "v"}]}}
    Path("other.json").write_text(json.dumps({"url": "other.csv", **other}))
    assert cli.call(engine_of.split()) == 2  # whose is rooms.json?
    Path("rooms.json").write_text(json.dumps({"url": "rooms.csv", **MAP}))
    assert cli.call([*engine_of.split(), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--graph rooms.csv", "is a table, and no map says what its columns mean"),
        ("--graph rooms.csv --map readings.json", "readings.json has a time, so it is for streams"),
        ("--graph rooms.ttl --map rooms.json", "is for a table among the graphs: there is none"),
        ("--stream readings.csv --map rooms.json", "does not say where the time stands"),
    ],
)
def test_what_does_not_fit_is_refused(options, said, capfd):
    Path("rooms.ttl").touch()
    assert cli.call(f"try floors.rq {options}".split()) in (1, 2)
    assert said in capfd.readouterr().err


def test_python_refuses_the_same():
    engine = penstock.Engine(spark=None)
    with pytest.raises(InputError, match="static knowledge has no time"):
        engine.add_graph("rooms.csv", map=STREAM_MAP)
    with pytest.raises(UsageError, match="needs a map") as told:
        engine.add_graph(table())
    assert '"aboutUrl": "http://example.org/{id}"' in str(told.value) and "penstock:time" not in str(
        told.value
    )
    with pytest.raises(UsageError, match="a map is for tables"):
        engine.add_graph([], map=MAP)
    Path("rooms.ttl").touch()
    with pytest.raises(UsageError, match="a map is for tables"):
        engine.add_graph("rooms.ttl", map=MAP)
    with pytest.raises(InputError, match="no column 'flor'"):
        engine.add_graph(
            "rooms.csv", map=json.loads(json.dumps(MAP).replace('"name": "floor"', '"name": "flor"'))
        )


def test_every_row_of_knowledge_must_be_right():
    Path("rooms.csv").write_text(ROOMS + "roof,Top,n/a\nwell\n")
    os.utime("rooms.csv", (0, 0))  # nobody is writing it
    with pytest.raises(InputError, match=r"line 4: column 'floor': 'n/a' is not an integer \(.* of 2 rows"):
        known("rooms.csv", map=MAP)


def test_a_table_is_watched_as_other_graphs_are():
    file = GraphFile("rooms.csv", map=read_map(MAP, static=True))
    now = os.stat("rooms.csv").st_mtime
    Path("rooms.csv").write_text(ROOMS + "roof,Top,4\n")
    assert not file.news(now) and sum(map(len, file.graphs)) == 4
    assert file.news(now + 10 * RESTED) and sum(map(len, file.graphs)) == 6
    Path("rooms.csv").write_text("id,room\nroof,Top\n")
    with pytest.raises(InputError, match="what was known from this file still holds"):
        file.news(now + 20 * RESTED) or file.news(now + 30 * RESTED)
    assert sum(map(len, file.graphs)) == 6


def test_a_map_is_suggested(capfd):
    assert cli.call(["map", "rooms.csv"]) == 0
    shown = capfd.readouterr()
    assert "penstock:time" not in shown.out and "for --graph" in shown.err
    Path("guess.json").write_text(shown.out)
    assert known("rooms.csv", map="guess.json") == EXPECTED
    Path("dated.csv").write_text("room,since\nWine,2020-01-01\nLoft,2021-01-01\n")
    assert "penstock:time" in suggest_for("dated.csv")
    assert cli.call(["map", "dated.csv", "--static"]) == 0
    shown = capfd.readouterr()
    assert '"aboutUrl": "http://example.org/{room}"' in shown.out and '"datatype": "date"' in shown.out
    assert not shown.err


@pytest.mark.parametrize(
    ("times", "told"), [(["03/04/2026", "05/06/2026"], True), (["13/04/2026", "1.5.2026"], False)]
)
def test_whoever_gets_two_orders_of_day_and_month_is_told(times, told, capfd):
    Path("t.csv").write_text("\n".join(["v,when", *(f"1,{each}" for each in times)]) + "\n")
    assert cli.call(["map", "t.csv"]) == 0
    shown = capfd.readouterr()
    assert ("cells that can be read both ways are rejected" in shown.err) == told
    assert ('"MM/dd/yyyy"' in shown.out) == told
