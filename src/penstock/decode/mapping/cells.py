"""Cells of a column as texts: what an Arrow type stands for in RDF, and whether a text is in order.

Everything works on whole columns; only values that need a closer look (an exponent in a decimal,
a duration) are rendered one by one, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.decode.mapping.clock import WITHOUT_ZONE, read_pattern
from penstock.decode.mapping.document import DATATYPES, Column, Datatype
from penstock.decode.mapping.templates import buffers_of
from penstock.errors import InputError
from penstock.timeline import MINUTE, NEVER, format_duration

STRING = Datatype(DATATYPES["string"], "string")
_INTEGERS = frozenset(
    "integer long int short byte nonNegativeInteger positiveInteger unsignedLong unsignedInt unsignedShort"
    " unsignedByte nonPositiveInteger negativeInteger".split()
)
_FLOATS = ("double", "float", "number")
_ZONE = r"(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)?"
_YEAR = r"-?([1-9]\d{3,}|0\d{3})"
_DATE = _YEAR + r"-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
_DURATION = r"-?P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
_FORMS = {
    **dict.fromkeys(_INTEGERS, r"[+-]?\d+"),
    "decimal": r"[+-]?(\d+(\.\d*)?|\.\d+)",
    **dict.fromkeys(_FLOATS, r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?INF|NaN"),
    "boolean": "true|false|1|0",
    "date": _DATE + _ZONE,
    "dateTime": _DATE + "T" + _TIME + _ZONE,
    "datetime": _DATE + "T" + _TIME + _ZONE,
    "dateTimeStamp": _DATE + "T" + _TIME + _ZONE.removesuffix("?"),
    "time": _TIME + _ZONE,
    "duration": _DURATION,
    "dayTimeDuration": r"-?P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?",
    "yearMonthDuration": r"-?P(\d+Y)?(\d+M)?",
    "gYear": _YEAR + _ZONE,
    "gYearMonth": _YEAR + "-(0[1-9]|1[0-2])" + _ZONE,
    "hexBinary": "([0-9A-Fa-f]{2})*",
    "base64Binary": "[A-Za-z0-9+/= ]*",
    "binary": "[A-Za-z0-9+/= ]*",
}
_RAW = {"string", "normalizedString", "json", "xml", "html", "anyAtomicType", "any"}  # not trimmed
_MOMENTS = {"date", "dateTime", "datetime", "dateTimeStamp", "time"}
# What a JSON reader notes beside each value, and what it stands for where the map names no datatype.
JSON_STRING, JSON_INTEGER, JSON_DECIMAL, JSON_DOUBLE, JSON_BOOLEAN = range(5)
_BY_KIND = {
    kind: Datatype(DATATYPES[name], name)
    for kind, name in enumerate(["string", "integer", "decimal", "double", "boolean"])
}


@dataclass(frozen=True, eq=False)
class Cells:
    """The values of a column that are there, and the row of each; a row may have several."""

    rows: np.ndarray
    values: pa.Array
    kinds: np.ndarray | None = None  # JSON_… of each value

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: np.ndarray) -> Cells:
        kinds = None if self.kinds is None else self.kinds[chosen]
        return Cells(self.rows[chosen], self.values.filter(pa.array(chosen)), kinds)


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def plain(values: pa.Array) -> pa.Array:
    """The array with its values themselves: no dictionary, and text as large_string."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary.take(values.indices)
    if isinstance(values.type, pa.RunEndEncodedType):
        values = pc.run_end_decode(values)
    if is_text(values.type):
        values = values.cast(pa.large_string())
    return values


def present(cells: Cells, column: Column) -> Cells:
    """The cells that say something: lists are taken apart, null texts are left out."""
    rows, values, kinds = cells.rows, cells.values, cells.kinds
    while pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        parents = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
        rows, values, kinds = rows[parents], plain(pc.list_flatten(values)), None
    if is_text(values.type):
        if _trimmed(column):
            values = pc.utf8_trim_whitespace(values)
        nothing = pc.is_in(values, value_set=pa.array(column.null, pa.large_string()))
        if column.default is not None:
            values = pc.if_else(pc.or_(nothing, values.is_null()), column.default, values)
        elif pc.any(nothing).as_py():
            values = pc.if_else(nothing, pa.scalar(None, pa.large_string()), values)
        if column.separator is not None:
            lists = pc.split_pattern(values, column.separator)
            parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
            rows, values, kinds = rows[parents], pc.list_flatten(lists).cast(pa.large_string()), None
            if _trimmed(column):
                values = pc.utf8_trim_whitespace(values)
            values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.large_string()), values)
    if values.null_count:
        there = values.is_valid().to_numpy(zero_copy_only=False)
        return Cells(rows, values, kinds).some(there)
    return Cells(rows, values, kinds)


def _trimmed(column: Column) -> bool:
    return column.datatype is not None and column.datatype.base not in _RAW


def lexical(values: pa.Array, datatype: Datatype | None) -> tuple[pa.Array, Datatype, np.ndarray | None]:
    """The lexical forms of values, their datatype, and where a value has no such form (or None)."""
    kind = values.type
    given = datatype or _default(kind)
    if is_text(kind):
        return _text_form(values, given)
    integral = given.base in _INTEGERS
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        texts = values.cast(pa.large_string())
    elif pa.types.is_floating(kind):
        return _floats(values, given, integral)
    elif pa.types.is_decimal(kind):
        texts = values.cast(pa.large_string())
        if pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
            texts = _each_distinct(values, lambda value: format(value, "f"))
        if integral:
            texts = pc.replace_substring_regex(texts, r"\.0+$", "")
    elif pa.types.is_timestamp(kind):
        texts = _timestamps(values, given)
    elif pa.types.is_date(kind):
        texts = values.cast(pa.date32()).cast(pa.large_string())
        if given.base in ("dateTime", "datetime", "dateTimeStamp"):
            texts = pc.binary_join_element_wise(texts, _large("T00:00:00"), _large(""))
    elif pa.types.is_time(kind):
        texts = _without_zeros(values.cast(pa.time64("us"), safe=False).cast(pa.large_string()))
    elif pa.types.is_duration(kind):
        micros = values.cast(pa.duration("us"), safe=False).cast(pa.int64())
        texts = _each_distinct(micros, format_duration)
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        texts = _each_distinct(values, lambda value: value.hex().upper())
    else:
        raise InputError(f"values of the type {kind} stand for no RDF term")
    return _checked(texts, given) if datatype is not None else (texts, given, None)


def _default(kind: pa.DataType) -> Datatype:
    """The datatype of an Arrow type where the map names none."""
    names = (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_float64, "double"),
        (pa.types.is_floating, "float"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_timestamp, "dateTime"),
        (pa.types.is_date, "date"),
        (pa.types.is_time, "time"),
        (pa.types.is_duration, "dayTimeDuration"),
        (is_text, "string"),
    )
    name = next((name for test, name in names if test(kind)), "hexBinary")
    return Datatype(DATATYPES[name], name)


def default_of_kind(kind: int) -> Datatype:
    """The datatype of a JSON value where the map names none."""
    return _BY_KIND[kind]


def _text_form(texts: pa.Array, datatype: Datatype) -> tuple[pa.Array, Datatype, np.ndarray | None]:
    """Texts of a CSV or JSON file, rewritten where the datatype has a format."""
    if datatype.base in _MOMENTS and datatype.format is not None:
        return _moments(texts, datatype)
    if datatype.base == "boolean" and datatype.format is not None:
        yes, bar, no = datatype.format.partition("|")
        if not bar:
            raise InputError(f"the format {datatype.format!r} of a boolean must be like yes|no")
        positive = pc.equal(texts, yes)
        wrong = pc.invert(pc.or_(positive, pc.equal(texts, no))).to_numpy(zero_copy_only=False)
        return pc.if_else(positive, _large("true"), _large("false")), datatype, wrong
    if datatype.group_char:
        texts = pc.replace_substring(texts, datatype.group_char, "")
    if datatype.decimal_char != ".":
        texts = pc.replace_substring(texts, datatype.decimal_char, ".")
    return _checked(texts, datatype)


def _checked(texts: pa.Array, datatype: Datatype) -> tuple[pa.Array, Datatype, np.ndarray | None]:
    form = _FORMS.get(datatype.base)
    if form is None:
        return texts, datatype, None
    fits = pc.match_substring_regex(texts, f"^({form})$")
    if "duration" in datatype.base.lower():
        fits = pc.and_(fits, pc.match_substring_regex(texts, r"\d[A-Z]$"))
    if pc.all(fits).as_py() is not False:
        return texts, datatype, None
    return texts, datatype, ~fits.to_numpy(zero_copy_only=False)


def _floats(values: pa.Array, datatype: Datatype, integral: bool):
    if integral:  # as pandas has integers with gaps
        fits = pc.and_(pc.equal(pc.trunc(values), values), pc.less(pc.abs(values), 2.0**63))
        whole = pc.if_else(fits, values, pa.scalar(0, values.type)).cast(pa.int64())
        wrong = None if pc.all(fits).as_py() is not False else ~fits.to_numpy(zero_copy_only=False)
        texts = values.cast(pa.large_string()) if wrong is not None else None
        shown = whole.cast(pa.large_string())
        return (shown if texts is None else pc.if_else(fits, shown, texts)), datatype, wrong
    texts = values.cast(pa.large_string())
    if datatype.base == "decimal":
        if pc.any(pc.match_substring(texts, "e")).as_py():
            texts = _each_distinct(texts, lambda text: format(Decimal(text), "f") if "e" in text else text)
        return _checked(texts, datatype)
    odd = pc.match_substring_regex(texts, "^-?(nan|inf)$")
    if pc.any(odd).as_py():
        for said, meant in (("nan", "NaN"), ("-nan", "NaN"), ("inf", "INF"), ("-inf", "-INF")):
            texts = pc.if_else(pc.equal(texts, said), _large(meant), texts)
    return _checked(texts, datatype)


def _moments(texts: pa.Array, datatype: Datatype) -> tuple[pa.Array, Datatype, np.ndarray | None]:
    """Dates and times in a pattern of the map's as XSD writes them; with a zone, in UTC."""
    micros, zones = read_pattern(texts, datatype.format)
    wrong = micros == NEVER
    zoned = (zones != WITHOUT_ZONE) & ~wrong
    micros = np.where(zoned, micros - zones * MINUTE, np.where(wrong, 0, micros))
    shown = _iso(pa.array(micros).cast(pa.timestamp("us")))
    if datatype.base == "date":
        shown = pc.utf8_slice_codeunits(shown, 0, 10)
    elif datatype.base == "time":
        shown = pc.utf8_slice_codeunits(shown, 11)
    if zoned.any() and datatype.base != "date":
        marked = pc.binary_join_element_wise(shown, _large("Z"), _large(""))
        shown = pc.if_else(pa.array(zoned), marked, shown)
    return pc.if_else(pa.array(wrong), texts, shown), datatype, wrong if wrong.any() else None


def _timestamps(values: pa.Array, datatype: Datatype) -> pa.Array:
    zoned = values.type.tz is not None
    counts = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    per = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0}[values.type.unit]
    micros = pa.array(counts * per if per else counts // 1000).cast(pa.timestamp("us"))
    shown = _iso(micros)
    if datatype.base == "date":
        return pc.utf8_slice_codeunits(shown, 0, 10)
    return pc.binary_join_element_wise(shown, _large("Z"), _large("")) if zoned else shown


def _iso(micros: pa.Array) -> pa.Array:
    """Timestamps without a zone as 2026-01-31T12:00:00, with a fraction where there is one."""
    texts = pc.utf8_replace_slice(micros.cast(pa.large_string()), 10, 11, "T")
    return _without_zeros(texts)


def _without_zeros(texts: pa.Array) -> pa.Array:
    """12:00:00.500000 as 12:00:00.5, and 12:00:00.000000 as 12:00:00."""
    return pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")


def _each_distinct(values: pa.Array, render: Callable) -> pa.Array:
    """Values rendered one by one, each distinct one once."""
    encoded = values.dictionary_encode()
    shown = [None if value is None else render(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(shown, pa.large_string()).take(encoded.indices)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))


def literals(texts: pa.Array, datatype: Datatype, lang: str | None) -> pa.Array:
    """Lexical forms as literals in N-Triples notation."""
    if datatype.base not in _FORMS:
        offsets, data = buffers_of(texts)
        data = data[offsets[0] : offsets[-1]]
        for sign, escaped in _ESCAPES:
            if bool((data == ord(sign)).any()):
                texts = pc.replace_substring(texts, sign, escaped)
    end = '"'
    if lang is not None and datatype.base == "string":
        end = f'"@{lang}'
    elif datatype.iri != STRING.iri:
        end = f'"^^<{datatype.iri}>'
    return pc.binary_join_element_wise(_large('"'), texts, _large(end), _large(""))
