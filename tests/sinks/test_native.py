"""Terms as native values: which type a column gets, and when it stays text."""

from __future__ import annotations

import json
import math
import warnings
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.results import concat
from penstock.errors import PenstockWarning, UsageError
from penstock.languages import parse_query
from penstock.sinks import open_sink
from penstock.sinks.native import Kinds, native_column, native_table

XSD = "http://www.w3.org/2001/XMLSchema#"
UTC = timezone.utc


def typed(value, datatype):
    return f'"{value}"^^<{XSD}{datatype}>'


def native(*terms):
    table = pa.table({"x": pa.array(terms, pa.string())})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        column = native_table(table, ["x"]).column("x")
    return column.type, column.to_pylist(), [str(each.message) for each in told]


NUMBER = pa.decimal128
CASES = {
    "iris": (["<http://e/é>", "_:b", None], pa.string(), ["http://e/é", "_:b", None]),
    "strings": (['"a \\"b\\"\\n\\u00E9"', typed("c", "string"), None], pa.string(),
                ['a "b"\n\u00e9', "c", None]),
    "one language": (['"a"@de', '"b\\\\"@de'], pa.string(), ["a", "b\\"]),
    "integers": ([typed("007", "integer"), typed("-3", "byte"), typed("+4", "long"), None], pa.int64(),
                 [7, -3, 4, None]),
    "the largest": ([typed(2**63 - 1, "integer"), typed(-(2**63), "integer")], pa.int64(),
                    [2**63 - 1, -(2**63)]),
    "larger ones": ([typed(2**63, "integer"), typed(1, "integer")], NUMBER(38, 0), [2**63, 1]),
    "decimals": ([typed("1.50", "decimal"), typed("-.25", "decimal"), typed("3.", "decimal"),
                  typed(7, "integer")], NUMBER(38, 2), [Decimal("1.50"), Decimal("-0.25"), 3, 7]),
    "doubles": ([typed("1.5E2", "double"), typed("INF", "float"), typed("-INF", "double"),
                 typed(".5", "double"), typed("1", "integer"), typed("+2.50", "decimal"), None], pa.float64(),
                [150.0, math.inf, -math.inf, 0.5, 1.0, 2.5, None]),
    "booleans": ([typed("true", "boolean"), typed("0", "boolean"), None], pa.bool_(), [True, False, None]),
    "instants": ([typed("2026-01-01T12:00:00Z", "dateTime"),
                  typed("2026-01-01T12:00:00.25+02:00", "dateTime"),
                  typed("2026-01-01T24:00:00Z", "dateTime")], pa.timestamp("us", "UTC"),
                 [datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 10, 0, 0, 250_000, tzinfo=UTC),
                  datetime(2026, 1, 2, tzinfo=UTC)]),
    "local times": ([typed("2026-01-01T12:00:00", "dateTime")], pa.timestamp("us"),
                    [datetime(2026, 1, 1, 12)]),
    "dates": ([typed("2026-02-28", "date"), None], pa.date32(), [date(2026, 2, 28), None]),
    "times": ([typed("08:30:00.5", "time")], pa.time64("us"), [time(8, 30, 0, 500_000)]),
    "durations": ([typed("-P1DT2H0.5S", "duration"), typed("PT90M", "dayTimeDuration")], pa.duration("us"),
                  [-timedelta(days=1, hours=2, seconds=0.5), timedelta(minutes=90)]),
    "nothing": ([None, None], pa.string(), [None, None]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_column_of_one_kind(case):
    terms, type_, values = CASES[case]
    assert native(*terms) == (type_, values, [])
    # Few and many, dictionary-encoded or not, it is the same.
    column = pa.chunked_array([pa.array(terms * 3, pa.string()).dictionary_encode()])
    many, lost = native_column(column, Kinds().add(column).type())
    assert many.to_pylist() == values * 3 and lost is None


def test_nan_is_not_unbound():
    type_, values, _ = native(typed("NaN", "double"), None)
    assert type_ == pa.float64() and math.isnan(values[0]) and values[1] is None


TEXT = {
    "iris and strings": (["<x:y>", '"y"'], "1 IRIs, 1 strings"),
    "numbers and strings": ([typed(1, "integer"), '"y"'], "1 integer, 1 strings"),
    "several languages": (['"a"@de', '"a"@en', '"a"'], "strings in several languages: de, en, none"),
    "with and without zone": (
        [typed("2026-01-01T12:00:00", "dateTime"), typed("2026-01-01T12:00:00Z", "dateTime")],
        "1 dateTime, 1 local dateTime",
    ),
    "ill-typed": ([typed(1, "integer"), typed("abc", "integer")], "1 integer, 1 other integer"),
    "no such day": ([typed("2026-02-30", "date")], "1 other date"),
    "a date with a zone": ([typed("2026-02-01Z", "date")], "1 other date"),
    "months": ([typed("P1M", "duration")], "1 other duration"),
    "too fine": ([typed("2026-01-01T12:00:00.1234567Z", "dateTime")], "1 other dateTime"),
    "too far": ([typed("12026-01-01T12:00:00Z", "dateTime")], "1 other dateTime"),
    "own datatypes": (['"x"^^<http://e/own>'], "1 values of other datatypes"),
    "too many digits": ([typed("1" * 30 + "." + "1" * 9, "decimal")], "1 decimal"),
}


@pytest.mark.parametrize("case", TEXT)
def test_a_column_that_stays_text_says_why(case):
    terms, said = TEXT[case]
    type_, values, told = native(*terms, None)
    assert type_ == pa.string() and values == [*terms, None]
    assert len(told) == 1 and "the column x stays text" in told[0] and said in told[0]


def test_what_a_type_does_not_hold_is_kept_beside_it():
    terms = [typed(1, "integer"), typed("2.5", "decimal"), '"x"', None, typed(2**63, "integer"), "<x:y>"]
    values, lost = native_column(pa.chunked_array([terms]), pa.int64())
    assert values.to_pylist() == [1, None, None, None, None, None]
    assert lost.to_pylist() == [None, *terms[1:3], None, *terms[4:]]
    for type_ in (pa.decimal128(38, 1), pa.float64(), pa.bool_(), pa.date32(), pa.string()):
        values, lost = native_column(pa.chunked_array([terms]), type_)
        held = [value is not None for value in values.to_pylist()]
        kept = [text is not None for text in lost.to_pylist()]
        assert [a + b for a, b in zip(held, kept, strict=True)] == [1, 1, 1, 0, 1, 1]


ANSWERS = pa.table(
    {
        "s": ["<x:a>", "<x:b>"],
        "v": [typed(1, "integer"), None],
        "d": [typed("NaN", "double"), None],
        "start": [0, 0],
        "end": [1, None],
    }
)


def test_pandas_and_polars():
    answers = concat([ANSWERS], parse_query("SELECT ?s ?v ?d {}"))
    frame = answers.to_pandas(native=True)
    assert [str(t) for t in frame.dtypes] == ["string", "Int64", "Float64"] + ["datetime64[us, UTC]"] * 2
    assert frame["v"].tolist()[0] == 1 and frame["v"].isna().tolist() == [False, True]
    assert math.isnan(frame["d"].to_numpy(dtype=float)[0])
    polar = answers.to_polars(native=True)
    assert polar["s"].to_list() == ["x:a", "x:b"] and polar["v"].to_list() == [1, None]
    assert math.isnan(polar["d"][0]) and polar["d"][1] is None
    assert answers.to_arrow().column("v").type == pa.string()


def test_the_warning_is_a_penstock_warning():
    answers = concat(
        [ANSWERS.set_column(1, "v", pa.array(["<x:a>", '"x"']))], parse_query("SELECT ?s ?v ?d {}")
    )
    with pytest.warns(PenstockWarning, match="the column v stays text"):
        answers.to_arrow(native=True)


# --- files --------------------------------------------------------------------------------

QUERY = parse_query("SELECT ?s ?v {}")
FIRST = {"s": "<x:a>", "v": typed(1, "integer"), "start": 0, "end": 1_000_000}
SCHEMA = pa.schema([("s", pa.string()), ("v", pa.string()), ("start", pa.int64()), ("end", pa.int64())])


def batch(*values, **more):
    return {0: pa.Table.from_pylist([FIRST | {"v": value} | more for value in values], SCHEMA)}


def written(path, *batches, checkpoint=None, first=0):
    sink = open_sink(None if path.suffix else "parquet", path, [QUERY], checkpoint, native=True)
    for number, each in enumerate(batches, first):
        sink.write(number, each)
    sink.close()


def test_a_parquet_file_has_one_schema_for_all_batches(tmp_path):
    batches = [batch(None), batch(typed(1, "integer")), batch(typed("2.25", "decimal"), None)]
    written(tmp_path / "a.parquet", *batches)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column("v").to_pylist() == [None, 1, Decimal("2.25"), None]
    assert table.schema.field("v").type == pa.decimal128(38, 2)
    assert table.schema.field("end").type == pa.timestamp("us", "UTC")
    assert table.column("s").to_pylist()[0] == "x:a"
    with pytest.warns(
        PenstockWarning, match="v stays text, for its values fit no one type: 1 integer, 1 IRIs"
    ):
        written(tmp_path / "b.parquet", *batches[:2], batch("<x:b>"))
    assert pq.read_table(tmp_path / "b.parquet").column("v").to_pylist()[1:] == [FIRST["v"], "<x:b>"]


def test_the_parts_of_a_directory_have_the_types_of_the_first_and_lose_nothing(tmp_path):
    out, state = tmp_path / "out", tmp_path / "state"
    state.mkdir()
    out.mkdir()
    written(out, batch(typed(1, "integer"), None), checkpoint=state)
    odd = batch(typed(2, "integer"), typed("2.5", "decimal"))
    with pytest.warns(PenstockWarning, match="1 values of the column v do not fit the type int64"):
        written(out, odd, batch(typed(3, "integer")), checkpoint=state, first=1)  # a new run, which goes on
    parts = [pq.read_table(part) for part in sorted(out.glob("part-*"))]
    assert [part.schema.field("v").type for part in parts] == [pa.int64()] * 3
    assert parts[1].column("v").to_pylist() == [2, None]
    assert parts[1].column("v_text").to_pylist() == [None, typed("2.5", "decimal")]
    assert "v_text" not in parts[2].column_names


def test_a_part_whose_column_stays_text_is_text_for_good(tmp_path):
    out, state = tmp_path / "out", tmp_path / "state"
    state.mkdir()
    out.mkdir()
    written(out, batch(None), checkpoint=state)
    written(out, batch(typed(3, "integer")), checkpoint=state, first=1)
    last = pq.read_table(out / "part-00000001.parquet")
    assert last.column("v").to_pylist() == [typed(3, "integer")] and last.column("s").to_pylist() == ["x:a"]


def test_native_json(tmp_path):
    terms = [typed("1.50", "decimal"), typed("007", "integer"), typed("NaN", "double"), typed("1", "boolean"),
             '"é \\"q\\""@en', "<x:b>", None, '"z"^^<http://e/own>', typed("12" * 20, "integer")]  # fmt: skip
    written(tmp_path / "a.json", batch(*terms[:3]), batch(*terms[3:]))
    rows = json.loads((tmp_path / "a.json").read_text(), parse_float=Decimal)
    values = [row.get("v") for row in rows]
    assert values == [Decimal("1.50"), "007", "NaN", True, 'é "q"', "x:b", None, "z", int("12" * 20)]
    assert rows[0]["s"] == "x:a" and rows[0]["end"] == "1970-01-01T00:00:01.000Z"
    assert "v" not in rows[6]


def test_other_formats_have_no_native_values(tmp_path):
    with pytest.raises(UsageError, match="no native values in the format csv"):
        open_sink("csv", tmp_path / "a.csv", [QUERY], native=True)
