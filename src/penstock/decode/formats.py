"""Which format and compression a stream has, by its file name or by a given name."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath

from penstock.errors import UsageError


class Format(Enum):
    """The formats of streams."""

    NQUADS = "nquads"
    TRIG = "trig"
    JSONLD = "jsonld"  # one document per line
    PARQUET = "parquet"
    CSV = "csv"


class Compression(Enum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


SUFFIXES = {
    ".nq": Format.NQUADS,
    ".nquads": Format.NQUADS,
    ".nt": Format.NQUADS,
    ".trig": Format.TRIG,
    ".jsonl": Format.JSONLD,
    ".jsonld": Format.JSONLD,
    ".ndjsonld": Format.JSONLD,
    ".ndjson": Format.JSONLD,
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
}
TABLES = (".csv", ".parquet", ".jsonl", ".ndjson")
"""The endings of tables among static knowledge, where .jsonld is RDF also with a map beside it."""
LINE, ROW, FILE = "line", "row", "file"
"""What is lost where input cannot be read: a line of text, a row of a table without lines, a file's rest."""
COMPRESSIONS = {".gz": Compression.GZIP, ".zst": Compression.ZSTD}


def split_suffixes(name: str) -> tuple[str, Compression]:
    """The suffix that tells the format, and the compression: ('.nq', GZIP) for `a.nq.gz`."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1], Compression.NONE) if suffixes else Compression.NONE
    if compression is not Compression.NONE:
        suffixes.pop()
    return (suffixes[-1] if suffixes else ""), compression


def format_named(name: str) -> Format:
    """The format that an option names."""
    wanted = name.lower().lstrip(".")
    for format_ in Format:
        if wanted == format_.value:
            return format_
    if f".{wanted}" in SUFFIXES:
        return SUFFIXES[f".{wanted}"]
    raise UsageError(
        f"there is no stream format {name!r}",
        hint="use one of " + ", ".join(format_.value for format_ in Format),
    )


def is_table(name: str) -> bool:
    """Whether a file of static knowledge is a table."""
    return split_suffixes(name)[0] in TABLES


def is_stream_file(name: str) -> bool:
    """Whether a file in a directory looks like a part of a stream."""
    return split_suffixes(name)[0] in SUFFIXES and not PurePath(name).name.startswith((".", "_"))


def format_of(name: str, forced: Format | str | None = None) -> tuple[Format, Compression]:
    """The format and compression of a file, by its name unless the format is forced."""
    suffix, compression = split_suffixes(name)
    if forced is not None:
        return (format_named(forced) if isinstance(forced, str) else forced), compression
    if suffix not in SUFFIXES:
        raise UsageError(
            f"the format of {name} is not known from its name",
            hint="name the format, or use one of the endings "
            + " ".join(SUFFIXES)
            + " (also with .gz or .zst)",
        )
    return SUFFIXES[suffix], compression
