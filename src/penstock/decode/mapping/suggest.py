"""A first map for a table, from its columns and some of its rows: a guess to be corrected by hand."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from penstock.decode.compression import open_reader
from penstock.decode.formats import Format, format_of
from penstock.decode.mapping.cells import is_text, plain
from penstock.decode.mapping.document import CONTEXT, TIME
from penstock.errors import InputError, UsageError

_SAMPLE = 1 << 20
_TIME_WORDS = "timestamp datetime time instant when date ts at created observed start begin from".split()
_END_WORDS = "end until to finish stop".split()
_THINGS = "id uri iri key sensor device station machine symbol name".split()
_YEAR_2001, _YEAR_2100 = 978_307_200, 4_102_444_800


def suggested(table: pa.Table, delimiter: str | None = None) -> dict[str, Any]:
    """A map for tables like this one.

    Rows are readings, so each has a subject of its own (there is no `aboutUrl`): with the sensor as the
    subject, equal readings would be one triple to whoever counts them in a window.
    """
    columns = _flat(table)
    time = _time_column(columns)
    end = _named(columns, _END_WORDS, lambda values: _is_time(values) is not None) if time else None
    rest = {name: values for name, values in columns.items() if name not in (time, end)}
    thing = _named(rest, _THINGS, lambda values: True) or _named(rest, [], is_text_column)
    described: list[dict[str, Any]] = []
    for name, values in columns.items():
        if name in (time, end):
            continue
        column: dict[str, Any] = {"name": name}
        if name == thing:
            column["valueUrl"] = f"http://example.org/{{{name}}}"
        elif (datatype := _datatype(values)) is not None:
            column["datatype"] = datatype
        if not re.fullmatch(r"[\w.~-]+", name, re.ASCII):
            column["propertyUrl"] = "http://example.org/" + re.sub(r"[^\w.-]+", "_", name).strip("_")
        described.append(column)
    described.append(
        {"name": "type", "virtual": True, "propertyUrl": "rdf:type", "valueUrl": "http://example.org/Row"}
        if "type" not in columns
        else {
            "name": "kind",
            "virtual": True,
            "propertyUrl": "rdf:type",
            "valueUrl": "http://example.org/Row",
        }
    )
    time_key: dict[str, Any] = (
        {"start": time, "end": end} if end else {"instant": time or "the time's column"}
    )
    if time is not None:
        time_key |= _is_time(columns[time]) or {}
    dialect = {"dialect": {"delimiter": delimiter}} if delimiter not in (None, ",") else {}
    return {
        "@context": CONTEXT,
        **dialect,
        "tableSchema": {
            "propertyUrl": "http://example.org/{_name}",
            "columns": described,
        },
        TIME: time_key,
    }


def suggested_text(document: dict[str, Any]) -> str:
    """A map as a person would write it: a line for each column."""
    lines = [json.dumps(column, ensure_ascii=False) for column in document["tableSchema"]["columns"]]
    marked = {**document, "tableSchema": {**document["tableSchema"], "columns": "@"}}
    text = json.dumps(marked, indent=2, ensure_ascii=False)
    return text.replace('"columns": "@"', '"columns": [\n      ' + ",\n      ".join(lines) + "\n    ]")


def suggest_for(path: str | os.PathLike[str], format: str | None = None) -> dict[str, Any]:
    """A map for a file, from its first megabyte."""
    name = os.fspath(path)
    form, compression = format_of(name, format)
    try:
        with Path(path).open("rb") as file:
            if form is Format.PARQUET:
                first = next(pq.ParquetFile(file).iter_batches(1000), None)
                return suggested(pa.Table.from_batches([first]) if first is not None else pq.read_table(path))
            sample = bytearray(_SAMPLE)
            data = bytes(sample[: open_reader(file, compression).read_into(memoryview(sample))])
        data = data.removeprefix(b"\xef\xbb\xbf")
        if len(data) == _SAMPLE:
            data = data[: data.rfind(b"\n") + 1]
        if form is Format.CSV:
            head = data.split(b"\n", 1)[0].decode(errors="replace")
            delimiter = max(",;\t|", key=head.count)
            options = pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda row: "skip"
            )
            read = pa.csv.read_csv(io.BytesIO(data), parse_options=options)
            return suggested(read, delimiter)
        if form is Format.JSONLD:
            return suggested(pa.json.read_json(io.BytesIO(data)))
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror or problem}") from None
    except pa.ArrowException as problem:
        raise InputError(str(problem).split("\n", 1)[0], origin=name) from None
    raise UsageError(f"{name} is {form.value}, and a map is for tables", hint="RDF needs none")


def _flat(table: pa.Table) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}

    def walk(name: str, values: pa.Array) -> None:
        if pa.types.is_struct(values.type):
            for index, each in enumerate(values.type):
                walk(f"{name}.{each.name}", pc.struct_field(values, [index]))
        else:
            columns[name] = plain(values)

    for name, values in zip(table.column_names, table.columns, strict=True):
        walk(name, plain(values))
    return columns


def is_text_column(values: pa.Array) -> bool:
    return is_text(values.type)


def _named(columns: dict[str, pa.Array], words: list[str], fits) -> str | None:
    """The first fitting column that is called like one of the words (without words: any)."""
    if not words:
        return next((name for name, values in columns.items() if fits(values)), None)
    for word in words:
        for name, values in columns.items():
            if word in re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()):
                if fits(values):
                    return name
    return None


def _time_column(columns: dict[str, pa.Array]) -> str | None:
    named = _named(columns, _TIME_WORDS, lambda values: _is_time(values) is not None)
    if named:
        return named
    return next(
        (n for n, v in columns.items() if pa.types.is_timestamp(v.type) or pa.types.is_date(v.type)), None
    )


def _is_time(values: pa.Array) -> dict[str, str] | None:
    """How a column tells times, None if it does not."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        return {} if kind.tz else {"timezone": "UTC"}
    if pa.types.is_date(kind):
        return {"timezone": "UTC"}
    there = values.drop_null()
    if not len(there):
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        value = float(there[0].as_py())
        for name, factor in (("epoch-s", 1), ("epoch-ms", 1e3), ("epoch-us", 1e6), ("epoch-ns", 1e9)):
            if _YEAR_2001 * factor <= value < _YEAR_2100 * factor:
                return {"format": name}
        return None
    if is_text(kind) and re.match(r"\d{4}-\d\d-\d\d", there[0].as_py()):
        return {} if re.search(r"(Z|[+-]\d\d:?\d\d)$", there[0].as_py()) else {"timezone": "UTC"}
    return None


def _datatype(values: pa.Array) -> str | None:
    """The datatype to name in the map; none for text, and where a file's own type tells it."""
    kind = values.type
    for test, name in (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "decimal"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "dateTime"),
    ):
        if test(kind):
            return name
    there = values.drop_null() if is_text(kind) else []
    for name, form in (("integer", r"^\s*-?\d+\s*$"), ("decimal", r"^\s*-?\d*\.?\d+\s*$")):
        # Numbers with some other marks among them, such as n/a.
        if len(there) and 2 * pc.sum(pc.match_substring_regex(there, form)).as_py() > len(there):
            return name
    return None
