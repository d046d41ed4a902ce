"""What the formats look like, and that they can be read again."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from penstock.errors import UsageError
from penstock.sinks import Shape, answers, format_for, formats, open_sink, shapes_of
from sinks.conftest import EX, LATER, NOON, XSD, table


def written(path, format, shapes, *batches):
    """The bytes of a file after some batches."""
    sink = open_sink(format, path, shapes)
    for number, tables in enumerate(batches):
        sink.write(number, tables)
    sink.close()
    return path.read_bytes()


def test_csv_is_sparql_csv_with_the_interval(tmp_path, select, falls):
    assert (
        written(tmp_path / "a.csv", "csv", [select], {0: falls})
        == (
            "company,price,start,end\r\n"
            "http://example.org/acme,12.50,2026-01-31T12:00:00.000Z,2026-01-31T12:00:00.250Z\r\n"
            '_:b7,"a, ""quoted""\nline",2026-01-31T12:00:00.000Z,2026-01-31T12:00:00.000Z\r\n'
            ",été,,\r\n"
        ).encode()
    )


def test_json_is_sparql_json_with_the_interval(tmp_path, select, falls):
    document = json.loads(written(tmp_path / "a.json", "json", [select], {0: falls}, {}))
    assert document["head"]["vars"] == ["company", "price", "start", "end"]
    instant = {"type": "literal", "datatype": XSD + "dateTime"}
    noon = instant | {"value": "2026-01-31T12:00:00.000Z"}
    later = instant | {"value": "2026-01-31T12:00:00.250Z"}
    assert document["results"]["bindings"] == [
        {
            "company": {"type": "uri", "value": EX + "acme"},
            "price": {"type": "literal", "value": "12.50", "datatype": XSD + "decimal"},
            "start": noon,
            "end": later,
        },
        {
            "company": {"type": "bnode", "value": "b7"},
            "price": {"type": "literal", "value": 'a, "quoted"\nline', "xml:lang": "en"},
            "start": noon,
            "end": noon,
        },
        {"price": {"type": "literal", "value": "été"}},
    ]


def test_json_of_several_batches_is_one_document_that_other_tools_read(tmp_path, select, falls):
    text = written(tmp_path / "a.json", "json", [select], {}, {0: falls}, {}, {0: falls})
    solutions = ox.parse_query_results(text, format=ox.QueryResultsFormat.JSON)
    assert [s["company"] for s in solutions] == [
        ox.NamedNode(EX + "acme"), ox.BlankNode("b7"), None,
    ] * 2  # fmt: skip


def test_json_without_answers_is_still_a_document(tmp_path, select):
    document = json.loads(written(tmp_path / "a.json", "json", [select], {}))
    assert document["results"]["bindings"] == []


def test_nquads_are_elements_with_their_interval_in_the_graph_name(tmp_path, construct, triples):
    text = written(tmp_path / "a.nq", "nquads", [construct], {0: triples}).decode()
    interval = "2026-01-31T12:00:00.000Z,2026-01-31T12:00:00.250Z"
    assert text.splitlines() == [
        f"<{EX}acme> <{EX}downratedBy> <{EX}moodys> <urn:penstock:rule%201#t={interval}> .",
        f'<{EX}acme> <{EX}downratedBy> "x\\n@prefix y" <urn:penstock:rule%201#t={interval}> .',
        f"_:b1 <{EX}downratedBy> <{EX}fitch> <urn:penstock:rule%201#t=2026-01-31T12:00:00.250Z> .",
        f"<{EX}acme> <{EX}is> <{EX}static> .",
    ]


def test_the_quads_of_an_element_stand_together(tmp_path, construct):
    columns = {"subject": ["<x:s>"] * 4, "predicate": ["<x:p>"] * 4, "object": [f'"{n}"' for n in range(4)]}
    answers = table(columns, [NOON, LATER, NOON, LATER], [LATER] * 4)
    lines = written(tmp_path / "a.nq", "nquads", [construct], {0: answers}).decode().splitlines()
    assert [line.split('"')[1] for line in lines] == ["0", "2", "1", "3"]


def test_trig_says_the_same_as_nquads(tmp_path, construct, triples):
    batches = [{0: triples.slice(0, 1)}, {0: triples.slice(1)}]
    trig = written(tmp_path / "a.trig", "trig", [construct], *batches)
    nquads = written(tmp_path / "a.nq", "nquads", [construct], *batches)
    assert trig.count(b"@prefix ex:") == 1 and b"ex:downratedBy" in trig
    assert set(ox.parse(trig, ox.RdfFormat.TRIG)) == set(ox.parse(nquads, ox.RdfFormat.N_QUADS))


@pytest.mark.parametrize("format", ["nquads", "trig"])
def test_solutions_are_no_elements(tmp_path, format, select):
    with pytest.raises(UsageError, match="is for triples, and falls makes none"):
        open_sink(format, tmp_path / "a.nq", [select])


def test_parquet_has_terms_in_ntriples_notation_and_timestamps(tmp_path, select, falls):
    written(tmp_path / "a.parquet", "parquet", [select], {0: falls}, {0: falls})
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.column_names == ["company", "price", "start", "end"]
    assert found.schema.field("start").type == pa.timestamp("us", tz="UTC")
    assert found["price"].to_pylist() == falls["price"].to_pylist() * 2
    assert found["end"].cast(pa.int64()).to_pylist() == [LATER, NOON, None] * 2


def test_parquet_without_answers_still_has_its_columns(tmp_path, select):
    written(tmp_path / "a.parquet", "parquet", [select])
    assert pq.read_table(tmp_path / "a.parquet").column_names == [
        "company",
        "price",
        "start",
        "end",
    ]


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_several_queries_share_a_file_and_say_which(tmp_path, format, select, construct, falls):
    ask = Shape("open?", ("answer",), False)
    yes = pa.table({"answer": [True], "start": [NOON], "end": [NOON]})
    path = tmp_path / "a"
    text = written(path, format, [select, ask, construct], {0: falls.slice(0, 1), 1: yes})
    names = [
        "query",
        "company",
        "price",
        "answer",
        "subject",
        "predicate",
        "object",
        "start",
        "end",
    ]
    if format == "csv":
        rows = list(csv.reader(io.StringIO(text.decode())))
        assert rows[0] == names
        assert [row[:4] for row in rows[1:]] == [
            ["falls", EX + "acme", "12.50", ""], ["open?", "", "", "true"],
        ]  # fmt: skip
    elif format == "json":
        document = json.loads(text)
        assert document["head"]["vars"] == names
        assert [b["query"]["value"] for b in document["results"]["bindings"]] == ["falls", "open?"]
        assert document["results"]["bindings"][1]["answer"]["datatype"] == XSD + "boolean"
    else:
        found = pq.read_table(path)
        assert found.column_names == names
        assert found["query"].to_pylist() == ["falls", "open?"]
        assert found["answer"].to_pylist() == [None, f'"true"^^<{XSD}boolean>']


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_variable_called_like_our_columns_keeps_its_name(tmp_path, format):
    shape = Shape("q", ("start", "query"), False)
    answers = table({"start": ['"mine"'], "query": ['"too"']}, [NOON], [LATER])
    written(tmp_path / "a", format, [shape], {0: answers})
    if format == "csv":
        header, row = (tmp_path / "a").read_text().splitlines()
        assert header == "start,query,start_,end"
        assert row.startswith("mine,too,2026-01-31T12:00:00.000Z,")
    else:
        found = pq.read_table(tmp_path / "a")
        assert found.column_names == ["start", "query", "start_", "end"]
        assert found["start"].to_pylist() == ['"mine"']


def test_tables_are_aligned_and_shortened(tmp_path, select, falls):
    text = written(tmp_path / "a.txt", "table", [select], {0: falls}, {0: falls.slice(0, 1)})
    lines = text.decode().splitlines()
    assert lines[0].split() == ["?company", "?price", "start", "end"]
    assert lines[1].split() == ["ex:acme", "12.50", "2026-01-31", "12:00Z", "2026-01-31",
                                "12:00:00.250Z"]  # fmt: skip
    assert '"a, "quoted"\\nline"@en' in lines[2]
    assert lines[3].split() == ['"été"']
    assert len(lines) == 5 and lines[4].split() == lines[1].split()
    assert lines[4].index("12.50") == lines[1].index("12.50") == lines[0].index("?price")


def test_the_format_follows_from_the_name():
    wanted = {"a.csv": "csv", "a.JSON": "json", "a.nq": "nquads", "a.trig": "trig", "-": "table",
              "a.parquet": "parquet", "dir/": "table"}  # fmt: skip
    assert {name: format_for(name) for name in wanted} == wanted


def test_unknown_formats_are_refused_by_name(tmp_path, select):
    with pytest.raises(UsageError, match="no format 'xml'"):
        open_sink("xml", tmp_path / "a", [select])


def test_parquet_needs_a_place(select):
    with pytest.raises(UsageError, match="standard output"):
        open_sink("parquet", "-", [select])


def test_equal_names_are_made_distinct(select):
    assert [s.name for s in shapes_of([select, select, select])] == ["falls", "falls-2", "falls-3"]


@pytest.mark.parametrize("format", ["csv", "json", "table", "nquads", "trig"])
@pytest.mark.parametrize("place", ["a file", "a directory"])
def test_a_batch_is_written_some_rows_at_a_time(tmp_path, monkeypatch, format, place, construct, triples):
    """The document is the same; the triples of an element stay together."""

    def document(name: str) -> bytes:
        path = tmp_path / (name if place == "a file" else f"{name}/")
        if place == "a directory":
            path.mkdir()
        sink = open_sink(format, path, [construct])
        sink.write(0, {0: encoded})
        sink.write(1, {0: triples})
        sink.close()
        found = sorted(path.glob("part-*")) if place == "a directory" else [path]
        return b"".join(each.read_bytes() for each in found)

    terms = [column.dictionary_encode() for column in triples.columns[:3]]
    encoded = pa.table([*terms, *triples.columns[3:]], names=triples.column_names)
    whole = document("whole")
    calls = []
    monkeypatch.setattr(answers, "ROWS_AT_ONCE", 2)
    if format == "csv":
        batch = formats.Csv.batch
        monkeypatch.setattr(
            formats.Csv, "batch", lambda *given, **how: calls.append(0) or batch(*given, **how)
        )
    parts = document("parts")
    if format == "table":  # columns are as wide as what has been seen
        whole, parts = (b" ".join(each.split()) for each in (whole, parts))
    assert parts == whole
    assert format != "csv" or len(calls) == 4
