"""What a stream is read from: its files, their format, and how they may be cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from penstock.errors import UsageError

STANDARD_INPUT = "-"

FORMAT_OF_SUFFIX = {
    ".nq": "nquads",
    ".nquads": "nquads",
    ".nt": "nquads",
    ".trig": "trig",
    ".jsonld": "jsonld",
    ".jsonl": "jsonld",
    ".ndjson": "jsonld",
    ".ndjsonld": "jsonld",
    ".parquet": "parquet",
    ".csv": "csv",
}
COMPRESSED = {".gz", ".zst", ".zstd"}
# Formats in which every line stands for itself: cut anywhere, and followed while they grow.
OF_LINES = {"nquads", "jsonld"}


def format_of(path: str) -> str | None:
    """The format that a file's name tells, or None."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None


def is_compressed(path: str) -> bool:
    return PurePath(path).suffix.lower() in COMPRESSED


@dataclass(frozen=True)
class StreamSpec:
    """One stream: its IRI (None for the unnamed one) and the files that it is read from."""

    iri: str | None
    paths: tuple[str, ...]
    format: str | None = None  # None: each file's name tells
    start_predicate: str | None = None  # other predicates than PROV's for the time of an element
    end_predicate: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(self.paths))
        known = set(FORMAT_OF_SUFFIX.values())
        if self.format is not None and self.format not in known:
            raise UsageError(
                f"{self.format!r} is not a format of streams",
                hint=f"one of {', '.join(sorted(known))}",
            )
        if not self.paths:
            raise UsageError("a stream needs at least one file, directory or -")

    def format_for(self, path: str) -> str:
        """The format of one of its files."""
        found = self.format or format_of(path)
        if found is None:
            raise UsageError(
                f"the name of {path} does not tell its format",
                hint="name it .nq, .trig, .jsonl, .parquet or .csv, or state the format",
            )
        return found

    def cut_by_lines(self, path: str) -> bool:
        """Whether a file may be cut between any two lines, and may grow while it is read."""
        return self.format_for(path) in OF_LINES and not is_compressed(path)

    @property
    def from_standard_input(self) -> bool:
        return STANDARD_INPUT in self.paths

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StreamSpec:
        return cls(**value)
