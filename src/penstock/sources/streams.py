"""What a stream is read from: its files, their format, and how they may be cut."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.decode.formats import Compression, Format, format_named, format_of
from penstock.decode.limits import InputLimits
from penstock.decode.relative import check_base
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.decode.times import TimePredicates

STANDARD_INPUT = "-"
# Formats in which every line stands for itself: cut anywhere, and followed while they grow.
OF_LINES = {Format.NQUADS, Format.JSONLD}
TABLES = {Format.CSV, Format.PARQUET, Format.JSONLD}  # with a map, lines of JSON are rows


def spool_directory(directory: Path, stream: int) -> Path:
    """Where standard input is kept, if that is what a stream is read from."""
    return directory / f"stdin-{stream}"


@dataclass(frozen=True)
class StreamSpec:
    """One stream: its IRI (None for the unnamed one) and the files that it is read from."""

    iri: str | None
    paths: tuple[str, ...]
    format: str | None = None  # None: each file's name tells; standard input is N-Quads
    start_predicate: str | None = None  # other predicates than PROV's for the time of an element
    end_predicate: str | None = None
    base: str | None = None  # what relative IRIs are resolved against
    max_line: int = InputLimits.line
    max_document: int = InputLimits.document
    map: str | None = None  # what the columns of tables mean, as the JSON text of a CSVW document

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(map(str, self.paths)))
        if self.format is not None:
            format_named(self.format)
        if not self.paths:
            raise UsageError("a stream needs at least one file, directory or -")
        if self.base is not None:
            check_base(self.base)
        _ = self.limits  # which refuses what is not possible
        if self.map is not None and self.from_standard_input and self.format is None:
            raise UsageError(
                "a map is for tables, and standard input is N-Quads unless its format is named",
                hint="name it: --stream-format csv, parquet or jsonl (format= in Python)",
            )

    @property
    def repeats(self) -> bool | None:
        """Whether two of its elements may state the same triple; None: nobody knows."""
        if self.map is None:
            return None
        from penstock.decode.mapping.document import read_map  # brings in compiled code

        return read_map(json.loads(self.map)).repeats

    @property
    def limits(self) -> InputLimits:
        """How much of it is read in one piece."""
        return InputLimits(self.max_line, self.max_document)

    def times(self) -> TimePredicates:
        """Where the times of its elements stand."""
        from penstock.decode.times import TimePredicates  # brings in compiled code
        from penstock.terms import PROV, NamedNode

        if self.end_predicate is None and self.start_predicate is None:
            return TimePredicates()
        if self.end_predicate is None:
            return TimePredicates(at=NamedNode(self.start_predicate))
        if self.start_predicate is None:
            raise UsageError("an end predicate needs a start predicate beside it")
        started, ended = NamedNode(self.start_predicate), NamedNode(self.end_predicate)
        return TimePredicates(PROV.generatedAtTime, started, ended)

    def format_for(self, path: str) -> Format:
        """The format of one of its files."""
        form = format_of(path, self.format)[0]
        if self.map is not None and form not in TABLES:
            raise UsageError(
                f"{path} is {form.value}, and a map is for tables",
                hint="a map fits CSV, Parquet, JSON lines and DataFrames; RDF needs none",
            )
        return form

    def cut_by_lines(self, name: str, path: str | None = None) -> bool:
        """Whether a file may be cut between any two lines; `path` is where it is, if renamed."""
        form, compression = format_of(name, self.format)
        if compression is Compression.NONE and form is Format.CSV:
            return self.dialect.get("quoteChar", "") is None and "encoding" not in self.dialect
        if compression is not Compression.NONE or form not in OF_LINES:
            return False
        return (
            form is not Format.JSONLD
            or self.map is not None
            or _is_json_lines(path or name, self.limits.line)
        )

    @property
    def dialect(self) -> dict[str, Any]:
        """How its CSV files are written, as its map says."""
        return json.loads(self.map).get("dialect", {}) if self.map is not None else {}

    @property
    def quote(self) -> bytes | None:
        """What stands around the cells of its CSV files."""
        quote = self.dialect.get("quoteChar", '"')
        return None if quote is None else quote.encode()

    @property
    def from_standard_input(self) -> bool:
        return STANDARD_INPUT in self.paths

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StreamSpec:
        return cls(**value)


def _is_json_lines(path: str, longest: int) -> bool:
    """Whether the first line is a whole document, and not the first line of one."""
    with open(path, "rb") as file:
        line = file.readline(longest + 1)
    if not line.endswith(b"\n"):
        return True  # a first line that is still being written, or one that is left out
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
