"""Columns of terms as columns of values: numbers, Booleans, timestamps, and plain texts.

The rule for a column, over all its values (unbound is null):

- IRIs and blank nodes become text, IRIs without brackets; so do strings, if they are of one language
  at most (the language is not kept)
- integers become int64, or decimal128(38, 0) if one is larger; with decimals among them, a
  decimal128(38, scale) that holds all digits; with a double or float among them, float64
- Booleans; dateTimes with a zone as timestamps in UTC, ones without as timestamps without a zone;
  dates and times without a zone; durations of days and seconds
- everything else stays a text in N-Triples notation: other datatypes, values that do not fit,
  ill-typed literals, and a mix of these kinds. `Native.note` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError, PenstockWarning
from penstock.sinks.answers import text_column, unescape
from penstock.terms import XSD
from penstock.timeline import DAY, EARLIEST, HOUR, LATEST, MINUTE, SECOND, duration_fields, parse_instant

_INTEGERS = """integer long int short byte nonNegativeInteger positiveInteger unsignedLong unsignedInt
unsignedShort unsignedByte nonPositiveInteger negativeInteger""".split()
DATATYPES = {
    **dict.fromkeys(_INTEGERS, "integer"),
    "decimal": "decimal",
    "double": "double",
    "float": "double",
    "boolean": "boolean",
    "dateTime": "dateTime",
    "dateTimeStamp": "dateTime",
    "date": "date",
    "time": "time",
    "dayTimeDuration": "duration",
    "duration": "duration",
    "string": "string",
}
_FORMS = {
    "integer": r"^[+-]?\d+$",
    "decimal": r"^[+-]?(\d+(\.\d*)?|\.\d+)$",
    "double": r"^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN)$",
    "boolean": "^(true|false|1|0)$",
    "dateTime": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6}0*)?(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)$",
    "local dateTime": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6}0*)?$",
    "date": r"^\d{4}-\d\d-\d\d$",
    "time": r"^\d\d:\d\d:\d\d(\.\d{1,6}0*)?$",
    "duration": r"^-?P(\d{1,6}D)?(T(\d{1,9}H)?(\d{1,9}M)?(\d{1,12}(\.\d{1,6})?S)?)?$",
}
_TYPES = {
    "resource": pa.string(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "dateTime": pa.timestamp("us", "UTC"),
    "local dateTime": pa.timestamp("us"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "duration": pa.duration("us"),
}
_MOMENTS = {  # what makes an instant of it
    "dateTime": ("", ""),
    "local dateTime": ("", "Z"),
    "date": ("", "T00:00:00Z"),
    "time": ("1970-01-01T", "Z"),
}
_NUMBERS = ("integer", "decimal", "double")
_WIDEST = 38
_VALUES = b"penstock"  # the key in a field's metadata that says whether it holds values or terms


@dataclass
class Kinds:
    """What the values of a column are: how many of each kind, and how wide the numbers are."""

    counts: dict[str, int] = field(default_factory=dict)
    languages: set[str] = field(default_factory=set)
    whole_digits: int = 0
    fraction_digits: int = 0
    beyond_int64: bool = False

    def add(self, column: pa.ChunkedArray | pa.Array) -> Kinds:
        """Takes in the terms of a column, in N-Triples notation."""
        for kind, lexical, language in _parts(_distinct(column)):
            if language is not None:
                self.languages.add(language)
            fits = len(lexical)
            if kind in _FORMS:
                fits = self._fitting(kind, lexical)
                self._count(f"other {kind}", len(lexical) - fits)
            self._count(kind, fits)
        return self

    def _count(self, kind: str, count: int) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + count

    def _fitting(self, kind: str, lexical: pa.Array) -> int:
        """How many lexical forms a native value holds; notes how wide numbers are."""
        lexical = lexical.filter(pa.array(fitting(kind, lexical)))
        if kind in ("integer", "decimal") and len(lexical):
            whole, fraction = _digits(lexical)
            self.whole_digits = max(self.whole_digits, int(whole.max()))
            self.fraction_digits = max(self.fraction_digits, int(fraction.max()))
            self.beyond_int64 |= not _in_int64(lexical, whole).all()
        return len(lexical)

    def type(self) -> pa.DataType | None:
        """The type that holds all values; None if they stay text."""
        kinds = {kind for kind, count in self.counts.items() if count}
        if kinds and kinds <= set(_NUMBERS):
            if "double" in kinds:
                return pa.float64()
            if "decimal" not in kinds and not self.beyond_int64:
                return pa.int64()
            if self.whole_digits + self.fraction_digits > _WIDEST:
                return None
            return pa.decimal128(_WIDEST, self.fraction_digits)
        if kinds == {"string"} and len(self.languages) > 1:
            return None
        return _TYPES[kinds.pop()] if len(kinds) == 1 and kinds <= set(_TYPES) else None

    def note(self, name: str) -> str | None:
        """Why a column stays text; None if it need not be said (it has no values, or has a type)."""
        if not any(self.counts.values()) or self.type() is not None:
            return None
        words = {"resource": "IRIs", "string": "strings", "other": "values of other datatypes"}
        parts = [f"{count:,} {words.get(kind, kind)}" for kind, count in sorted(self.counts.items()) if count]
        if set(self.counts) == {"string"}:
            said = sorted(language or "none" for language in self.languages)
            parts = [f"strings in several languages: {', '.join(said)}"]
        return f"the column {name} stays text, for its values fit no one type: {', '.join(parts)}"


def _distinct(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The distinct terms of a column as large_string."""
    if pa.types.is_dictionary(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        column = pa.chunked_array(
            [chunk.dictionary.cast(pa.large_string()) for chunk in chunks], pa.large_string()
        )
    return pc.unique(column).cast(pa.large_string()).drop_null()


def _parts(texts: pa.Array) -> Iterable[tuple[str, pa.Array, str | None]]:
    """The terms of an array by kind: (kind, lexical forms as they are written, language)."""
    for kind, chosen, end, language in _sorted(texts):
        some = texts.filter(pa.array(chosen))
        if kind in DATATYPES.values():
            some = pc.utf8_slice_codeunits(some, 1, -len(end))
        if kind == "dateTime":
            zoned = pc.match_substring_regex(some, r"(Z|[+-]\d\d:\d\d)$")
            for name, which in (("dateTime", zoned), ("local dateTime", pc.invert(zoned))):
                if pc.any(which).as_py():
                    yield name, some.filter(which), None
        else:
            yield kind, some, language


def _sorted(texts: pa.Array) -> Iterable[tuple[str, np.ndarray, str, str | None]]:
    """Which terms are of which kind: (kind, mask, how they end, language)."""
    quoted = _mask(pc.starts_with(texts, '"'))
    if not quoted.all():
        yield "resource", ~quoted, "", None
    plain = quoted & _mask(pc.ends_with(texts, '"'))
    if plain.any():
        yield "string", plain, '"', ""
    left = quoted & ~plain
    for name, kind in DATATYPES.items():
        if not left.any():
            return
        end = f'"^^<{XSD[name].value}>'
        chosen = left & _mask(pc.ends_with(texts, end))
        if chosen.any():
            yield kind, chosen, end, None
            left &= ~chosen
    typed = left & _mask(pc.ends_with(texts, ">"))
    if typed.any():
        yield "other", typed, "", None
    left &= ~typed
    if left.any():
        tags = pc.replace_substring_regex(texts.filter(pa.array(left)), r'(?s)^.*"@', "")
        places = np.flatnonzero(left)
        encoded = tags.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for code, tag in enumerate(encoded.dictionary.to_pylist()):
            chosen = np.zeros(len(left), np.bool_)
            chosen[places[codes == code]] = True
            yield "string", chosen, f'"@{tag}', tag


def _mask(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False)


def fitting(kind: str, lexical: pa.Array) -> np.ndarray:
    """Which lexical forms a native value of their kind holds."""
    fits = _mask(pc.match_substring_regex(lexical, _FORMS[kind]))
    if kind == "duration":
        fits &= _mask(pc.match_substring_regex(lexical, "[DHMS]$"))
    if kind in _MOMENTS and fits.any():  # there may be no such day
        fits[fits] = _mask(_moments(kind, lexical.filter(pa.array(fits))).is_valid())
    return fits


def _moments(kind: str, lexical: pa.Array) -> pa.Array:
    """The µs of dates and times; null where there is no such moment."""
    before, after = _MOMENTS[kind]
    full = pc.binary_join_element_wise(
        *(pa.scalar(before, pa.large_string()), lexical, pa.scalar(after, pa.large_string())),
        pa.scalar("", pa.large_string()),
    )
    try:
        micros = full.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        if not len(micros) or EARLIEST <= pc.min(micros).as_py() <= pc.max(micros).as_py() <= LATEST:
            return micros
    except pa.ArrowInvalid:
        pass  # one of them is odd: look at each
    return pa.array([_moment(text) for text in full.to_pylist()], pa.int64())


def _moment(text: str) -> int | None:
    try:
        return parse_instant(text)
    except InputError:
        return None


def native_column(column: pa.ChunkedArray, type_: pa.DataType | None) -> tuple[pa.Array, pa.Array | None]:
    """Terms as values of a type; and the terms that it does not hold, as text (None: it holds all)."""
    if type_ is None:
        return column.cast(pa.string()), None
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # an empty column has no chunk to combine
        return pa.array([], type_), None
    terms = encoded.dictionary.cast(pa.large_string())
    at = np.full(len(terms), -1, np.int64)
    values: list[pa.Array] = []
    size = 0
    for kind, chosen, end, _ in _sorted(terms):
        for places, some in _values(kind, terms, chosen, end, type_):
            at[places] = size + np.arange(len(some))
            values.append(some)
            size += len(some)
    found = pa.concat_arrays([some.cast(type_) for some in values]) if values else pa.array([], type_)
    unbound = _mask(encoded.indices.is_null())
    places = np.append(at, -1)[_mask(encoded.indices.fill_null(-1))]
    native = found.take(pa.array(places, mask=places < 0))
    lost = (places < 0) & ~unbound
    if not lost.any():
        return native, None
    texts = encoded.dictionary.take(encoded.indices)
    return native, pc.if_else(pa.array(lost), texts, pa.scalar(None, texts.type))


def _values(
    kind: str, terms: pa.Array, chosen: np.ndarray, end: str, type_: pa.DataType
) -> Iterable[tuple[np.ndarray, pa.Array]]:
    """The terms of one kind that a type holds: their places and values."""
    places = np.flatnonzero(chosen)
    some = terms.filter(pa.array(chosen))
    if pa.types.is_string(type_):
        if kind == "resource":
            iris = pc.starts_with(some, "<")
            bare = pc.utf8_slice_codeunits(some, 1, -1)
            yield places, _unescaped(pc.if_else(iris, bare, some))
        elif kind == "string":
            yield places, _unescaped(pc.utf8_slice_codeunits(some, 1, -len(end)))
        return
    if kind not in DATATYPES.values():
        return
    lexical = pc.utf8_slice_codeunits(some, 1, -len(end))
    wanted = _kind_of(type_)
    if kind == "dateTime":
        zoned = _mask(pc.match_substring_regex(lexical, r"(Z|[+-]\d\d:\d\d)$"))
        right = zoned if wanted == "dateTime" else ~zoned
        places, lexical = places[right], lexical.filter(pa.array(right))
        kind = "dateTime" if wanted == "dateTime" else "local dateTime"
    if kind != wanted and not (kind in _NUMBERS and wanted in _NUMBERS):
        return
    if kind in _NUMBERS and _NUMBERS.index(kind) > _NUMBERS.index(wanted):
        return
    fits = fitting(kind, lexical)
    if wanted in ("integer", "decimal"):
        fits &= _room(lexical, type_)
    if fits.any():
        yield places[fits], _converted(lexical.filter(pa.array(fits)), wanted, type_)


def _kind_of(type_: pa.DataType) -> str:
    if pa.types.is_integer(type_):
        return "integer"
    if pa.types.is_decimal(type_):
        return "decimal"
    return next(kind for kind, each in _TYPES.items() if each == type_)


def _digits(lexical: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """How many digits numbers have before and after the point, without leading zeros."""
    digits = pc.replace_substring_regex(lexical, r"^[+-]?0*", "")
    whole = pc.utf8_length(pc.replace_substring_regex(digits, r"\..*$", ""))
    fraction = pc.utf8_length(pc.replace_substring_regex(digits, r"^[^.]*\.?", ""))
    return _mask(whole), _mask(fraction)


def _in_int64(lexical: pa.Array, whole: np.ndarray) -> np.ndarray:
    """Which numbers' whole parts an int64 holds."""
    inside = whole < 19
    for at in np.flatnonzero(whole == 19).tolist():
        inside[at] = -(2**63) <= int(lexical[at].as_py().split(".")[0]) < 2**63
    return inside


def _room(lexical: pa.Array, type_: pa.DataType) -> np.ndarray:
    """Which numbers have no more digits than a type."""
    whole, fraction = _digits(lexical)
    if pa.types.is_integer(type_):
        return _in_int64(lexical, whole)
    return (whole <= type_.precision - type_.scale) & (fraction <= type_.scale)


def _converted(lexical: pa.Array, wanted: str, type_: pa.DataType) -> pa.Array:
    """Lexical forms that fit as values."""
    if wanted in _NUMBERS:
        plain = pc.replace_substring_regex(lexical, r"^\+", "")
        if wanted == "double":
            for said, meant in (("-INF", "-inf"), ("INF", "inf"), ("NaN", "nan")):
                plain = pc.if_else(pc.equal(plain, said), pa.scalar(meant, pa.large_string()), plain)
        if wanted == "decimal":
            plain = pc.replace_substring_regex(plain, r"\.$", "")
        return plain.cast(pa.string()).cast(type_)
    if wanted == "boolean":
        return pc.is_in(lexical, value_set=pa.array(["true", "1"], pa.large_string()))
    if wanted == "duration":
        return pa.array([_micros(text) for text in lexical.to_pylist()], pa.int64()).cast(type_)
    micros = _moments(wanted, lexical)
    if wanted == "date":
        return micros.cast(pa.timestamp("us")).cast(pa.date32())
    return micros.cast(type_)


def _micros(text: str) -> int:
    fields = duration_fields(text)
    assert fields is not None
    sign, _, _, days, hours, minutes, seconds = fields
    total = int(days or 0) * DAY + int(hours or 0) * HOUR + int(minutes or 0) * MINUTE
    total += int(Decimal(seconds or 0) * SECOND)
    return -total if sign else total


def _unescaped(texts: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring(texts, "\\")).as_py():
        return texts.cast(pa.string())
    return text_column(pa.chunked_array([texts]), unescape).combine_chunks().cast(pa.string())


class NativeTypes:
    """The types of an output's columns of terms: decided once, and the same for all its tables."""

    def __init__(self, terms: Iterable[str]) -> None:
        self.kinds = {name: Kinds() for name in terms}
        self.types: dict[str, pa.DataType | None] = {}

    def add(self, table: pa.Table) -> NativeTypes:
        """Takes in a table before the types are decided."""
        for name, kinds in self.kinds.items():
            if name in table.column_names:
                kinds.add(table.column(name))
        return self

    def decide(self, stacklevel: int = 3) -> NativeTypes:
        """Decides by all that was taken in; warns of columns that stay text."""
        for name, kinds in self.kinds.items():
            self.types[name] = kinds.type()
            if note := kinds.note(name):
                warnings.warn(note, PenstockWarning, stacklevel=stacklevel)
        return self

    @classmethod
    def of(cls, schema: pa.Schema, terms: Iterable[str]) -> NativeTypes:
        """The types that a table was written with, as its fields tell."""
        made = cls(terms)
        for name in made.kinds:
            field_ = schema.field(name)
            made.types[name] = field_.type if (field_.metadata or {}).get(_VALUES) == b"native" else None
        return made

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """A schema of terms with the types of values; fields say which they hold."""
        fields = []
        for each in schema:
            if each.name in self.types:
                type_ = self.types[each.name]
                said = {_VALUES: b"terms" if type_ is None else b"native"}
                each = pa.field(each.name, type_ or pa.string(), metadata=said)
            fields.append(each)
        return pa.schema(fields)

    def converted(self, table: pa.Table) -> pa.Table:
        """A table of terms as values.

        Terms that do not fit the type of their column are in one more column, `<name>_text`.
        """
        schema = self.schema(table.schema)
        columns, beside = [], {}
        for each in schema:
            column = table.column(each.name)
            if each.name in self.types:
                column, lost = native_column(column, self.types[each.name])
                if lost is not None:
                    beside[each.name] = lost
            columns.append(column)
        made = pa.Table.from_arrays(columns, schema=schema)
        for name, lost in beside.items():
            text = name + "_text"
            while text in made.column_names:
                text += "_"
            made = made.append_column(text, lost)
            warnings.warn(
                f"{len(lost) - lost.null_count:,} values of the column {name} do not fit the type"
                f" {self.types[name]} of its first values; they are in the column {text}",
                PenstockWarning,
                stacklevel=3,
            )
        return made


def native_table(table: pa.Table, terms: Iterable[str]) -> pa.Table:
    """A table whose columns of terms are values, where they are of one kind; otherwise a warning."""
    return NativeTypes(terms).add(table).decide(stacklevel=5).converted(table)
