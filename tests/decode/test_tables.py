"""Parquet and CSV: terms and times in columns."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.decode.facts import XSD, facts, instants, reasons

from penstock.columns.ids import hash_text
from penstock.decode.decoder import decode_file
from penstock.decode.occurrences import concat
from penstock.errors import InputError

NOON = "2026-01-01T12:00:00Z"
COLUMNS = {
    "s": ["<a:s>", "http://e/s", "_:b", "<a:s>"],
    "p": ["<a:p>", "http://e/p", "<a:p>", "<a:q>"],
    "o": [f'"1.50"^^<{XSD}decimal>', "a:o", '"x \\u0041, ""y"""@EN'.replace('""', '\\"'), '"z"'],
    "start": [NOON, "2026-01-01T13:00:00+01:00", "2026-01-01T11:00:00.5Z", NOON],
    "end": [None, None, "2026-01-01T12:00:00Z", None],
}


def written(tmp_path, columns, name="s.parquet"):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    path = tmp_path / name
    if name.endswith(".csv"):
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


def decoded(path, **options):
    return concat(decode_file(path, source="s", **options))


@pytest.mark.parametrize("name", ["s.parquet", "s.csv"])
def test_terms_in_n_triples_notation_or_as_bare_iris(tmp_path, name):
    found = decoded(written(tmp_path, COLUMNS, name))
    lines = facts(found)
    assert lines[0].startswith('<a:s> <a:p> "1.50"^^')
    assert lines[1] == '<a:s> <a:q> "z" @ 2026-01-01T12:00:00.000Z'
    assert lines[2] == "<http://e/s> <http://e/p> <a:o> @ 2026-01-01T12:00:00.000Z"
    assert lines[3].startswith("_:b_") and '"x A, \\"y\\""@en' in lines[3]
    assert lines[3].endswith("@ 2026-01-01T11:00:00.500Z … 2026-01-01T12:00:00.000Z")
    assert found.elements == 4 and not found.rejects
    assert instants(found) == ["2026-01-01T12:00:00.000Z"]


def test_timestamps_with_a_zone(tmp_path):
    moments = [datetime(2026, 1, 1, 12, tzinfo=timezone.utc), None]
    for unit in ("ms", "us", "ns"):
        columns = {
            "s": ["<a:s>"] * 2,
            "p": ["<a:p>"] * 2,
            "o": ["<a:o>"] * 2,
            "start": pa.array(moments, pa.timestamp(unit, "Europe/Vienna")),
        }
        found = decoded(written(tmp_path, columns))
        assert facts(found) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
        assert reasons(found) == [(2, "the row has no time in the column start")]


def test_timestamps_without_a_zone_are_refused(tmp_path):
    columns = {
        **{name: ["<a:x>"] for name in "spo"},
        "start": pa.array([datetime(2026, 1, 1)], pa.timestamp("us")),
    }
    with pytest.raises(InputError, match="without a time zone"):
        decoded(written(tmp_path, columns))


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(InputError, match="no column o"):
        decoded(written(tmp_path, {"s": ["<a:s>"], "p": ["<a:p>"], "start": [NOON]}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"s": None}, "no s"),
        ({"o": None}, "no o"),
        ({"s": "relative"}, "IRI"),
        ({"p": '"literal"'}, "predicate"),
        ({"o": "<a:o> <a:g> .\n<a:s>"}, "line break"),
        ({"s": "<a:s> <a:p>", "o": ""}, ""),
        ({"o": '"open'}, ""),
        ({"start": "2026-01-01T12:00:00"}, "is not an instant"),
        ({"start": None}, "no time"),
        ({"end": "2025-01-01T12:00:00Z"}, "ends before it starts"),
        ({"end": "later"}, "end: 'later' is not an instant"),
    ],
)
def test_a_bad_row_costs_only_itself(tmp_path, change, reason):
    good = {"s": "<a:s>", "p": "<a:p>", "o": "<a:o>", "start": NOON, "end": None}
    table = pa.Table.from_pylist([good, good | change, good], pa.schema(
        [(name, pa.string()) for name in good]
    ))  # fmt: skip
    path = written(tmp_path, table)
    found = decoded(path)
    assert len(found) == 2 and found.elements >= 2
    ((row, why),) = reasons(found)
    assert row == 2 and reason in why
    with pytest.raises(InputError, match="row 2"):
        decoded(path, strict=True)


def test_rows_of_one_graph_are_one_element_and_unasked_predicates_are_left_out(tmp_path):
    columns = {
        "s": ["<a:s>"] * 3,
        "p": ["<a:p>", "<a:q>", "<a:q>"],
        "o": ["<a:o>"] * 3,
        "start": [NOON, NOON, "2026-01-01T13:00:00Z"],
        "graph": ["a:g", "a:g", "a:h"],
    }
    found = decoded(written(tmp_path, columns), keep_predicates=[hash_text(b"<a:p>")])
    assert facts(found) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert found.elements == 2 and len(found.instants) == 2


def test_a_broken_table_file_is_a_reject(tmp_path):
    path = tmp_path / "s.parquet"
    path.write_bytes(b"not parquet at all")
    ((_, reason),) = reasons(decoded(path))
    assert "the rest is lost" in reason
    path = tmp_path / "s.csv"
    path.write_text(f"s,p,o,start\na:s,a:p,a:o,{NOON}\na:s,a:p\n")
    found = decoded(path)
    assert len(found.rejects) == 1


def test_an_empty_table_has_nothing(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("s,p,o,start\n")
    assert len(decoded(path)) == 0 and not decoded(path).rejects
    path.write_text("")
    assert len(decoded(path)) == 0
