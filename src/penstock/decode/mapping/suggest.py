"""A first map for a table, from its columns and some of its rows: a guess to be corrected by hand."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from penstock.decode.compression import open_reader
from penstock.decode.formats import Format, format_of
from penstock.decode.mapping.cells import is_text, plain
from penstock.decode.mapping.clock import WITHOUT_ZONE, read_time
from penstock.decode.mapping.document import CONTEXT, EPOCHS, TIME
from penstock.errors import InputError, UsageError
from penstock.timeline import NEVER, SECOND

_SAMPLE = 1 << 20
_TIME_WORDS = "timestamp datetime time instant when date ts at created observed start begin from".split()
_END_WORDS = "end until to finish stop".split()
_KEYS = "id uri iri key".split()
_THINGS = [*_KEYS, *"sensor device station machine symbol name".split()]
_EXAMPLE = "http://example.org/"
_LOOK = 1000  # texts that tell how times are written
_DATES = ("dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "dd-MM-yyyy", "MM-dd-yyyy", "yyyy/MM/dd", "yyyyMMdd",
          "d MMM yyyy", "dd-MMM-yyyy", "MMM d, yyyy")  # fmt: skip
_CLOCKS = ("", " HH:mm", " HH:mm:ss.SSS", " hh:mm a", " hh:mm:ss a", " HH:mm X", " HH:mm:ss.SSS X")
_FORMATS = ("iso", *(date + clock for date in _DATES for clock in _CLOCKS), *EPOCHS)
_YEAR_2001, _YEAR_2100 = 978_307_200, 4_102_444_800


def suggested(table: pa.Table, delimiter: str | None = None, *, static: bool | None = None) -> dict[str, Any]:
    """A map for tables like this one: of static knowledge, or of a stream (None: if there is a time).

    Rows of a stream are readings, so each has a subject of its own (there is no `aboutUrl`): with the sensor
    as the subject, equal readings would be one triple to whoever counts them in a window. Static rows are
    about what their key says.
    """
    columns = _flat(table)
    time = None if static else _time_column(columns)
    if static or (static is None and time is None):
        return _of_things(columns, delimiter)
    end = _named(columns, _END_WORDS, lambda values: _is_time(values) is not None) if time else None
    rest = {name: values for name, values in columns.items() if name not in (time, end)}
    thing = _named(rest, _THINGS, lambda values: True) or _named(rest, [], is_text_column)
    described: list[dict[str, Any]] = []
    for name, values in columns.items():
        if name in (time, end):
            continue
        described.append(_described(name, values, about=name == thing))
    described.append(
        {
            "name": "type" if "type" not in columns else "kind",
            "virtual": True,
            "propertyUrl": "rdf:type",
            "valueUrl": _EXAMPLE + "Row",
        }
    )
    time_key: dict[str, Any] = (
        {"start": time, "end": end} if end else {"instant": time or "the time's column"}
    )
    if time is not None:
        time_key |= _is_time(columns[time]) or {}
    return _document(delimiter, {}, described) | {TIME: time_key}


def _of_things(columns: dict[str, pa.Array], delimiter: str | None) -> dict[str, Any]:
    """A map of static knowledge: a row says something about the thing that its key names."""
    key = _key(columns)
    described = [
        _described(name, values) if name != key else {"name": name, "propertyUrl": "rdfs:label"}
        for name, values in columns.items()
    ]
    about = {"aboutUrl": _EXAMPLE + f"{{{key}}}"} if key is not None else {}
    return _document(delimiter, about, described)


def _key(columns: dict[str, pa.Array]) -> str | None:
    """The first column with another value in each row; one that is called like a key rather than another."""

    def fits(values: pa.Array) -> bool:
        simple = is_text(values.type) or pa.types.is_integer(values.type)
        simple = simple and _datatype(values) in (None, "integer")
        return simple and not values.null_count and len(values.unique()) == len(values)

    return _named(columns, _KEYS, fits) or _named(columns, [], fits)


def _described(name: str, values: pa.Array, about: bool = False) -> dict[str, Any]:
    """A column of a map; `about`: it names the thing that rows are about."""
    column: dict[str, Any] = {"name": name}
    if about:
        column["valueUrl"] = _EXAMPLE + f"{{{name}}}"
    elif (datatype := _datatype(values)) is not None:
        column["datatype"] = datatype
    if not re.fullmatch(r"[\w.~-]+", name, re.ASCII):
        column["propertyUrl"] = _EXAMPLE + re.sub(r"[^\w.-]+", "_", name).strip("_")
    return column


def _document(delimiter: str | None, about: dict[str, str], columns: list[dict[str, Any]]) -> dict[str, Any]:
    dialect = {"dialect": {"delimiter": delimiter}} if delimiter not in (None, ",") else {}
    schema = {**about, "propertyUrl": _EXAMPLE + "{_name}", "columns": columns}
    return {"@context": CONTEXT, **dialect, "tableSchema": schema}


def suggested_text(document: dict[str, Any]) -> str:
    """A map as a person would write it: a line for each column."""
    lines = [json.dumps(column, ensure_ascii=False) for column in document["tableSchema"]["columns"]]
    marked = {**document, "tableSchema": {**document["tableSchema"], "columns": "@"}}
    text = json.dumps(marked, indent=2, ensure_ascii=False)
    return text.replace('"columns": "@"', '"columns": [\n      ' + ",\n      ".join(lines) + "\n    ]")


def suggest_for(
    path: str | os.PathLike[str], format: str | None = None, *, static: bool | None = None
) -> dict[str, Any]:
    """A map for a file, from its first megabyte; see `suggested`."""
    name = os.fspath(path)
    form, compression = format_of(name, format)
    try:
        with Path(path).open("rb") as file:
            if form is Format.PARQUET:
                first = next(pq.ParquetFile(file).iter_batches(1000), None)
                read = pa.Table.from_batches([first]) if first is not None else pq.read_table(path)
                return suggested(read, static=static)
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
            return suggested(read, delimiter, static=static)
        if form is Format.JSONLD:
            return suggested(pa.json.read_json(io.BytesIO(data)), static=static)
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
    others = {n: v for n, v in columns.items() if pa.types.is_timestamp(v.type) or pa.types.is_date(v.type)}
    for name, values in columns.items():  # but numbers may be anything
        time_format = _is_time(values) if is_text(values.type) else None
        if time_format is not None and time_format.get("format") not in list(EPOCHS):
            others[name] = values
    return next(iter(others), None)


def _is_time(values: pa.Array) -> dict[str, Any] | None:
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
    return _written(there[:_LOOK]) if is_text(kind) else None


def _written(texts: pa.Array) -> dict[str, Any] | None:
    """How texts tell times, if most do: in the fewest formats, but both that read them differently."""
    texts = texts.cast(pa.large_string())
    left, chosen, zoned = np.ones(len(texts), np.bool_), [], True
    read = {format_: _times_in(texts, format_) for format_ in _FORMATS}
    while left.any():
        fits = {format_: (micros != NEVER) & left for format_, (micros, _) in read.items()}
        most = max(int(each.sum()) for each in fits.values())
        if not most:
            break
        tied = [format_ for format_, each in fits.items() if each.sum() == most]
        first, (micros, zones) = tied[0], read[tied[0]]
        rivals = [each for each in tied if (read[each][0] != micros)[fits[first]].any()]
        chosen += [each for each in (first, *rivals) if each not in chosen]
        zoned = zoned and bool((zones != WITHOUT_ZONE)[fits[first]].all())
        left &= ~fits[first]
    if 2 * left.sum() >= len(texts):  # some texts among times may be none
        return None
    time_format = {} if chosen == ["iso"] else {"format": chosen[0] if len(chosen) == 1 else chosen}
    return time_format if zoned else time_format | {"timezone": "UTC"}


def _times_in(texts: pa.Array, format_: str) -> tuple[np.ndarray, np.ndarray]:
    micros, zones = read_time(texts, None if format_ == "iso" else format_)
    if format_ in EPOCHS:  # any number is one, but not of these years
        low, high = _YEAR_2001 * SECOND, _YEAR_2100 * SECOND
        micros = np.where((micros >= low) & (micros < high), micros, NEVER)
    return micros, zones


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
