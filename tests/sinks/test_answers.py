"""Columns of answers as text: whole columns at once give what one value at a time would."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.sinks import Shape, open_sink
from penstock.sinks.answers import instant_column, joined, text_bytes, text_column
from penstock.timeline import format_instant, parse_instant
from sinks.conftest import NOON, table


def chunked(*chunks: list, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)


def test_instants_are_written_as_everywhere_else():
    texts = ["0001-01-01T00:00:00Z", "0999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999Z",
             "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "2026-01-31T12:00:00.25Z",
             "2024-02-29T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z"]  # fmt: skip
    instants = [parse_instant(text) for text in texts]
    column = instant_column(chunked(instants, [None], [NOON], kind=pa.int64()))
    assert column.to_pylist() == [*map(format_instant, instants), None, format_instant(NOON)]


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_each_term_is_rendered_once(kind: pa.DataType):
    asked = []
    column = chunked(["b", "a", None, "b"], ["a", "c"], [], kind=kind)
    found = text_column(column, lambda text: asked.append(text) or text.upper())
    assert found.to_pylist() == ["B", "A", None, "B", "A", "C"]
    assert sorted(asked) == ["a", "b", "c"]


def test_texts_are_put_together_row_by_row():
    column = chunked(["a", None], ["ü"], kind=pa.large_string())
    assert joined("<", column, ">").to_pylist() == ["<a>", None, "<ü>"]
    assert joined(column, "x", by=",", skip=True).to_pylist() == ["a,x", "x", "ü,x"]
    assert text_bytes(joined(column, "x", by=",", skip=True).slice(1)) == "xü,x".encode()


@pytest.mark.parametrize("format", ["csv", "json", "table", "parquet"])
def test_tables_with_every_text_once_are_written_as_plain_ones(tmp_path, format: str):
    shape = Shape("q", ("a", "b"), False)
    plain = table(
        {"a": ["<x:1>", None, "<x:1>"], "b": ['"5"', '"a,b"', '"5"']},
        [NOON, None, NOON],
        [NOON, None, NOON + 1],
    )
    terms = [plain.column(at).dictionary_encode() for at in range(2)]
    encoded = pa.Table.from_arrays([*terms, *plain.columns[2:]], names=plain.column_names)
    written = []
    for name, answers in (
        ("plain", plain),
        ("encoded", pa.concat_tables([encoded.slice(0, 1), encoded.slice(1)])),
    ):
        sink = open_sink(format, tmp_path / f"{name}.{format}", [shape])
        sink.write(0, {0: answers})
        sink.close()
        written.append((tmp_path / f"{name}.{format}").read_bytes())
    assert written[0] == written[1]


def test_the_name_of_a_query_is_no_term(tmp_path):
    shapes = [Shape("<x>", ("a",), False), Shape('"y", z', ("a",), False)]
    sink = open_sink("csv", tmp_path / "both.csv", shapes)
    one = table({"a": ["<x:1>"]}, [None], [None])
    sink.write(0, {0: one, 1: one})
    sink.close()
    assert (tmp_path / "both.csv").read_bytes().decode().split("\r\n")[1:] == [
        "<x>,x:1,,", '"""y"", z",x:1,,', ""
    ]  # fmt: skip
