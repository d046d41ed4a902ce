"""Maps as they are written: a subset of CSVW metadata, and one key of ours for the time.

See "Metadata Vocabulary for Tabular Data" (W3C) for the words; `docs/tables.md` says what of
it we take. A key or a column that is not known is refused, with the nearest that is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from penstock.decode.mapping.templates import Template, parse_template
from penstock.errors import InputError, Span, UsageError

CONTEXT = "http://www.w3.org/ns/csvw"
TIME = "penstock:time"
XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIXES = {
    "rdf": _RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "dc": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "csvw": "http://www.w3.org/ns/csvw#",
}
"""Of those that CSVW knows without a declaration, the ones that data uses."""

_XSD_NAMES = """anyAtomicType anyURI base64Binary boolean date dateTime dateTimeStamp decimal integer long int
short byte nonNegativeInteger positiveInteger unsignedLong unsignedInt unsignedShort unsignedByte
nonPositiveInteger negativeInteger double duration dayTimeDuration yearMonthDuration float gDay gMonth
gMonthDay gYear gYearMonth hexBinary QName string normalizedString token language Name NMTOKEN time""".split()
DATATYPES = {name: XSD + name for name in _XSD_NAMES} | {
    "number": XSD + "double",
    "binary": XSD + "base64Binary",
    "datetime": XSD + "dateTime",
    "any": XSD + "anyAtomicType",
    "xml": _RDF + "XMLLiteral",
    "html": _RDF + "HTML",
    "json": _RDF + "JSON",
}
AMBIGUOUS = ("first", "last", "reject")
EPOCHS = {"epoch-s": 1_000_000, "epoch-ms": 1_000, "epoch-us": 1, "epoch-ns": 0}
_INHERITED = {"aboutUrl", "propertyUrl", "datatype", "lang", "null", "default", "separator", "required"}
_COLUMN = _INHERITED | {"name", "titles", "valueUrl", "virtual", "suppressOutput"}
_DIALECT = {"delimiter", "quoteChar", "doubleQuote", "header", "skipRows", "commentPrefix", "encoding"}


@dataclass(frozen=True)
class Datatype:
    """A datatype's IRI, its name in CSVW (which tells how cells are read), and how cells are written."""

    iri: str
    base: str
    format: str | None = None
    decimal_char: str = "."
    group_char: str | None = None


@dataclass(frozen=True)
class Column:
    """What one column becomes: a triple for each cell, unless it is suppressed."""

    name: str
    titles: tuple[str, ...]
    about: Template | None  # None: each row has a blank node of its own
    property: str | None
    value: Template | None
    datatype: Datatype | None
    lang: str | None
    null: tuple[str, ...]
    default: str | None
    separator: str | None
    required: bool
    virtual: bool

    def headers(self) -> tuple[str, ...]:
        """What the column may be called in the table."""
        return self.titles or (self.name,)


@dataclass(frozen=True)
class Times:
    """The columns with the time of a row, and how it is written there."""

    start: str
    end: str | None = None
    formats: tuple[str | None, ...] = (None,)
    """How it may be written. None: ISO 8601; a key of EPOCHS; or a pattern such as dd.MM.yyyy HH:mm"""
    zone: str | None = None  # of times without one
    ambiguous: str = "first"  # which of two instants a local time is, where the clock is put back


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str | None = '"'
    double_quote: bool = True  # "" in a cell is a quote; otherwise \" is
    header: bool = True
    skip_rows: int = 0
    comment: str | None = None
    encoding: str = "utf-8"

    @property
    def lines_are_rows(self) -> bool:
        """Whether no cell can have a line break, so that a file may be cut between any two lines."""
        return self.quote is None and self.encoding.lower() in ("utf-8", "utf8", "ascii")


@dataclass(frozen=True)
class TableMap:
    """What becomes of the rows of a table."""

    columns: tuple[Column, ...]
    times: Times | None  # None: of static knowledge, which has no time
    null: tuple[str, ...] = ("",)
    dialect: Dialect = Dialect()
    origin: str | None = None

    @property
    def repeats(self) -> bool:
        """Whether two rows may state the same triple: their subjects say nothing of the row or its time."""
        return any(
            column.property is not None
            and column.about is not None
            and (self.times is None or self.times.start not in column.about.variables)
            for column in self.columns
        )


def read_document(source: Any) -> tuple[dict, str | None]:
    """The JSON of a map: a dictionary as it is, or the content of a file."""
    if isinstance(source, Mapping):
        return dict(source), None
    if not isinstance(source, (str, os.PathLike)):
        raise UsageError(f"a map is a dictionary or a file, and {type(source).__name__} is neither")
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise UsageError(f"cannot read the map {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the map is not UTF-8 text", origin=str(path)) from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as problem:
        span = Span(problem.lineno, problem.colno)
        raise InputError(problem.msg, span=span, text=text, origin=str(path)) from None
    return document, str(path)


def read_map(source: Mapping | str | os.PathLike, *, static: bool = False) -> TableMap:
    """A map from a dictionary or a file; what is wrong with it is an `InputError`.

    One for `static` knowledge has no time, any other says where it stands.
    """
    document, origin = read_document(source)
    try:
        return _table_map(document, origin, static)
    except InputError as problem:
        problem.origin = problem.origin or origin or "map"
        raise


def _table_map(document: Any, origin: str | None, static: bool) -> TableMap:
    _keys(document, {"@context", "tableSchema", "dialect", "url", "null", TIME}, "a map")
    if static and TIME in document:
        raise InputError(
            f'the map has a "{TIME}", and static knowledge has no time',
            hint="leave it out, and describe its column among the others if it matters"
            " (`penstock map --static` suggests such a map); or give the table as a stream",
        )
    prefixes, base, language = _context(document.get("@context", CONTEXT))
    if "tableSchema" not in document:
        raise InputError(
            'the map has no "tableSchema"',
            hint='it holds "aboutUrl" and "columns": see docs/tables.md, or `penstock map FILE`',
        )
    schema = document["tableSchema"]
    _keys(schema, _INHERITED | {"columns"}, "tableSchema")
    columns = schema.get("columns")
    if not isinstance(columns, list) or not columns:
        raise InputError('"columns" of tableSchema must be a list with a description for each column')
    inherited = {"null": document.get("null", ""), "lang": language}
    inherited |= {key: schema[key] for key in schema if key != "columns"}
    made = tuple(_column(each, i, inherited, prefixes, base) for i, each in enumerate(columns, 1))
    names = [column.name for column in made]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns of the map are called {name!r}")
    if not any(column.property for column in made):
        raise InputError(
            "no column of the map makes a triple",
            hint='give one a "propertyUrl": {"name": "temp", "propertyUrl": "http://example.org/temp"}',
        )
    return TableMap(
        made,
        None if static else _times(document.get(TIME)),
        _texts(inherited["null"], "null"),
        _dialect(document.get("dialect", {})),
        origin,
    )


def did_you_mean(wrong: str, known: Collection[str]) -> str | None:
    """A hint with the nearest of the known words, or all of them if they are few."""
    near = get_close_matches(wrong, known, 1, 0.6) or [k for k in known if k.lower() == wrong.lower()]
    if near:
        return f"did you mean {near[0]!r}?"
    return "there are: " + ", ".join(sorted(known)) if len(known) <= 40 else None


def _keys(value: Any, known: Collection[str], what: str) -> None:
    """Refuses what is no object, and keys that are not known; `dc:title` and the like may stand."""
    if not isinstance(value, dict):
        raise InputError(f"{what} must be an object in braces, not {json.dumps(value)[:60]}")
    for key in value:
        foreign = ":" in key and not key.startswith("penstock:")
        if key not in known and not foreign and key not in ("@id", "@type", "notes"):
            raise InputError(f"{what} has no key {key!r}", hint=did_you_mean(key, known))


def _context(context: Any) -> tuple[dict[str, str], str | None, str | None]:
    """Prefixes, base and language of the @context."""
    prefixes, base, language = dict(PREFIXES), None, None
    for part in context if isinstance(context, list) else [context]:
        if part == CONTEXT:
            continue
        if not isinstance(part, dict) or not all(isinstance(v, str) for v in part.values()):
            raise InputError(f'"@context" must be {CONTEXT!r}, or a list of it and an object of prefixes')
        for key, value in part.items():
            if key == "@base":
                base = value
            elif key == "@language":
                language = value
            else:
                prefixes[key] = value
    return prefixes, base, language


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text, not {json.dumps(value)[:60]}")
    return value


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{what} must be true or false, not {json.dumps(value)[:60]}")
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(each, what) for each in value)
    return (_text(value, what),)


def _column(
    value: Any, number: int, inherited: dict, prefixes: Mapping[str, str], base: str | None
) -> Column:
    _keys(value, _COLUMN, f"column {number}")
    titles = value.get("titles", ())
    if isinstance(titles, dict):  # by language
        titles = [text for each in titles.values() for text in _texts(each, "titles")]
    titles = _texts(list(titles) if isinstance(titles, tuple) else titles, "titles")
    name = _text(value.get("name", titles[0] if titles else ""), "name")
    if not name:
        raise InputError(
            f'column {number} has no "name"',
            hint='write {"name": …} as the column is called in the table; a virtual one needs a name too',
        )
    what = f"column {name!r}"
    all_of = inherited | value
    virtual = _flag(value.get("virtual", False), f"virtual of {what}")
    suppressed = _flag(value.get("suppressOutput", False), f"suppressOutput of {what}")

    def template(key: str) -> Template | None:
        if all_of.get(key) is None:
            return None
        try:
            return parse_template(_text(all_of[key], key), prefixes, base)
        except InputError as problem:
            problem.message = f"{key} of {what}: {problem.message}"
            raise

    property_, about, target = None, template("aboutUrl"), template("valueUrl")
    if not suppressed:
        if all_of.get("propertyUrl") is None:
            raise InputError(
                f"{what} has no propertyUrl",
                hint='give it one, or leave the column out, or write "suppressOutput": true',
            )
        all_of["propertyUrl"] = _text(all_of["propertyUrl"], "propertyUrl").replace("{_name}", name)
        property_ = template("propertyUrl").constant
        if property_ is None:
            raise InputError(f"propertyUrl of {what} must be the same for all rows")
    for each in (about, target):
        for variable in each.variables if each else ():
            if variable in ("_row", "_sourceRow", "_column", "_sourceColumn"):
                raise InputError(
                    f"{{{variable}}} of {what}: rows have no numbers here, for a stream has no first row",
                    hint="without an aboutUrl every row has a subject of its own; or take columns which"
                    " together tell one row from the others",
                )
    if virtual and target is None and "default" not in value:
        raise InputError(f'{what} is virtual, so it needs a "valueUrl" or a "default"')
    datatype, lang = _datatype(all_of.get("datatype"), what), all_of.get("lang")
    if target is not None and ("datatype" in value or "lang" in value):
        raise InputError(f"{what} has a valueUrl, which makes IRIs, and a datatype or lang besides")
    return Column(
        name,
        titles,
        about,
        property_,
        target,
        datatype,
        None if lang is None else _text(lang, f"lang of {what}").lower(),
        _texts(all_of["null"], f"null of {what}"),
        None if all_of.get("default") is None else _text(all_of["default"], f"default of {what}"),
        None if all_of.get("separator") is None else _text(all_of["separator"], f"separator of {what}"),
        _flag(all_of.get("required", False), f"required of {what}"),
        virtual,
    )


def _datatype(value: Any, what: str) -> Datatype | None:
    if value is None:
        return None
    given = {"base": value} if isinstance(value, str) else value
    _keys(given, {"base", "format", "@id"}, f"datatype of {what}")
    base = _text(given.get("base", "string"), f"datatype of {what}")
    base = base.removeprefix("xsd:").removeprefix(XSD)
    if base not in DATATYPES:
        if ":" in base and "base" not in (value if isinstance(value, dict) else {}):
            return Datatype(base, "string")  # a datatype of somebody's own
        raise InputError(f"{what}: there is no datatype {base!r}", hint=did_you_mean(base, DATATYPES))
    iri = _text(given.get("@id", DATATYPES[base]), f"@id of the datatype of {what}")
    form = given.get("format")
    if isinstance(form, dict):
        _keys(form, {"decimalChar", "groupChar", "pattern"}, f"format of {what}")
        decimal = _text(form.get("decimalChar", "."), "decimalChar")
        group = form.get("groupChar")
        return Datatype(iri, base, None, decimal, None if group is None else _text(group, "groupChar"))
    return Datatype(iri, base, None if form is None else _text(form, f"format of {what}"))


def _times(value: Any) -> Times:
    example = f'"{TIME}": {{"instant": "when"}}, or {{"start": "from", "end": "until"}}'
    if value is None:
        raise InputError(
            f'the map does not say where the time stands: it has no "{TIME}"',
            hint=f"{example}; without it, a map is for static knowledge (--graph, add_graph)",
        )
    if isinstance(value, str):
        value = {"instant": value}
    _keys(value, {"instant", "start", "end", "format", "timezone", "ambiguous"}, TIME)
    if ("instant" in value) == ("start" in value) or ("instant" in value and "end" in value):
        raise InputError(f'{TIME} has either an "instant", or a "start" and maybe an "end"', hint=example)
    form, zone, ambiguous = value.get("format"), value.get("timezone"), value.get("ambiguous", "first")
    if ambiguous not in AMBIGUOUS:
        raise InputError(
            f'"ambiguous" of {TIME} cannot be {json.dumps(ambiguous)[:60]}',
            hint="it is first, last or reject",
        )
    formats = tuple(dict.fromkeys(map(_time_format, form if isinstance(form, list) else [form])))
    if not formats:
        raise InputError(f"{TIME} has an empty list of formats", hint='as in ["iso", "dd.MM.yyyy HH:mm"]')
    if len(counted := [each for each in formats if each in EPOCHS]) > 1:
        raise InputError(f"{TIME}: any number would be {' as well as '.join(counted)}", hint="leave one")
    if zone is not None:
        try:
            ZoneInfo(_text(zone, f"timezone of {TIME}"))
        except Exception:
            raise InputError(
                f"{TIME}: there is no time zone {zone!r}", hint='write it as "Europe/Vienna" or "UTC"'
            ) from None
    start = value.get("instant", value.get("start"))
    end = value.get("end")
    return Times(_text(start, TIME), None if end is None else _text(end, TIME), formats, zone, ambiguous)


def _time_format(form: Any) -> str | None:
    """A format of times that is known; None for ISO 8601."""
    if form is None or _text(form, f"format of {TIME}").lower() in ("iso", "iso8601"):
        return None
    if form.startswith("epoch") and form not in EPOCHS:
        raise InputError(f"{TIME}: there is no format {form!r}", hint=did_you_mean(form, EPOCHS))
    if form not in EPOCHS:
        from penstock.decode.mapping.clock import strptime_pattern

        strptime_pattern(form)
    return form


def _dialect(value: Any) -> Dialect:
    _keys(value, _DIALECT, "dialect")
    delimiter = _text(value.get("delimiter", ","), "delimiter")
    quote = value.get("quoteChar", '"')
    comment = value.get("commentPrefix")
    for name, sign in (("delimiter", delimiter), ("quoteChar", quote), ("commentPrefix", comment)):
        if sign is not None and (len(_text(sign, name)) != 1 or not sign.isascii()):
            raise InputError(f"{name} must be one ASCII character, not {sign!r}")
    skip = value.get("skipRows", 0)
    if not isinstance(skip, int) or isinstance(skip, bool) or skip < 0:
        raise InputError(f"skipRows must be a number of lines, not {skip!r}")
    encoding = _text(value.get("encoding", "utf-8"), "encoding")
    try:
        "".encode(encoding)
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}") from None
    return Dialect(
        delimiter,
        quote,
        _flag(value.get("doubleQuote", True), "doubleQuote"),
        _flag(value.get("header", True), "header"),
        skip,
        comment,
        encoding,
    )
