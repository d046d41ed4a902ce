"""An output that a checkpoint has begun goes on with the answers of other queries, in the columns it has."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import UsageError
from penstock.sinks import Existing, Shape, open_sink


def shape(name: str, *columns: str, triples: bool = False, prefixes=()) -> Shape:
    return Shape(name, columns or ("subject", "predicate", "object"), triples, prefixes)


def run(place: Path, out: str, batch: int, *shapes: Shape, native: bool = False, close: bool = True) -> None:
    """One life of a run: a batch with an answer of each query, whose terms say where they come from."""
    sink = open_sink(None, f"{place}/{out}", shapes, place / "state", Existing.REFUSE, native)
    tables = {}
    for number, each in enumerate(shapes):
        cells = {column: [f"<urn:{each.name}:{column}:{batch}>"] for column in each.columns}
        tables[number] = pa.table(cells | {"start": [batch * 1_000_000], "end": [batch * 1_000_000]})
    sink.write(batch, tables)
    if close:
        sink.close()


@pytest.mark.parametrize("closed", [True, False])
def test_csv_keeps_its_columns(tmp_path, closed):
    a, b, c = shape("a", "x", "y"), shape("b", "z"), shape("c", "y", "z")
    run(tmp_path, "out.csv", 0, a, b, close=closed)
    run(tmp_path, "out.csv", 1, a, c, close=closed)
    run(tmp_path, "out.csv", 1, a, c, close=closed)  # the batch comes again
    run(tmp_path, "out.csv", 2, a)
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["query", "x", "y", "z", "start", "end"]
    assert [row[:4] for row in rows] == [
        ["a", "urn:a:x:0", "urn:a:y:0", ""],
        ["b", "", "", "urn:b:z:0"],
        ["a", "urn:a:x:1", "urn:a:y:1", ""],
        ["c", "", "urn:c:y:1", "urn:c:z:1"],
        ["a", "urn:a:x:2", "urn:a:y:2", ""],
    ]


@pytest.mark.parametrize("out", ["out.csv", "out.json"])
@pytest.mark.parametrize(
    ("now", "said"),
    [
        ([shape("a", "x", "new")], "no column for ?new"),
        ([shape("a", "x"), shape("b", "x")], "no column that tells the answers of several queries apart"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_touched(tmp_path, out, now, said):
    run(tmp_path, out, 0, shape("a", "x", "y"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError) as refused:
        run(tmp_path, out, 1, *now)
    assert said in refused.value.message and "--out NAME/" in refused.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_json_keeps_its_head(tmp_path):
    run(tmp_path, "out.json", 0, shape("a", "x"), shape("b", "y"))
    run(tmp_path, "out.json", 1, shape("b", "y"))
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["head"]["vars"] == ["query", "x", "y", "start", "end"]
    assert [row["query"]["value"] for row in document["results"]["bindings"]] == ["a", "b", "b"]


def test_trig_keeps_its_prefixes(tmp_path):
    run(tmp_path, "out.trig", 0, shape("a", triples=True, prefixes=(("one", "urn:a:subject:"),)))
    run(tmp_path, "out.trig", 1, shape("b", triples=True, prefixes=(("two", "urn:b:subject:"),)))
    text = (tmp_path / "out.trig").read_text()
    assert text.count("@prefix") == 1 and "one:0" in text
    assert "two:" not in text and "urn:b:subject:1" in text


@pytest.mark.parametrize("native", [False, True])
def test_each_query_stays_in_its_folder(tmp_path, native):
    (tmp_path / "out").mkdir()
    a, b, changed = shape("a", "x"), shape("b", "y"), shape("a", "x", "z")
    for batch, shapes in enumerate([[a], [a, b], [b], [changed, b]]):
        sink = open_sink("parquet", tmp_path / "out", shapes, tmp_path / "state", Existing.REFUSE, native)
        tables = {
            number: pa.table(
                {column: [f"<urn:{batch}>"] for column in each.columns} | {"start": [0], "end": [0]}
            )
            for number, each in enumerate(shapes)
        }
        sink.write(batch, tables)
        sink.close()
    parts = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("part-*"))
    assert parts == [f"b/part-0000000{n}.parquet" for n in (1, 2, 3)] + [
        f"part-0000000{n}.parquet" for n in (0, 1, 3)
    ]


def test_parts_of_somebody_else_are_not_taken_for_those_of_a_new_query(tmp_path):
    run(tmp_path, "out/", 0, shape("a", "x"))
    (tmp_path / "out" / "b").mkdir()
    (tmp_path / "out" / "b" / "part-00000000.txt").write_text("dear to somebody")
    with pytest.raises(UsageError, match="already holds answers"):
        run(tmp_path, "out/", 1, shape("a", "x"), shape("b", "y"))


@pytest.mark.parametrize("native", [False, True])
def test_parquet_gets_the_columns_that_it_needs(tmp_path, native):
    for batch, shapes in enumerate(
        [[shape("a", "x")], [shape("a", "x"), shape("b", "y")], [shape("b", "y")]]
    ):
        run(tmp_path, "out.parquet", batch, *shapes, native=native)
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(row["query"], row["x"] is not None, row["y"] is not None) for row in table] == [
        ("a", True, False),
        ("a", True, False),
        ("b", False, True),
        ("b", False, True),
    ]
