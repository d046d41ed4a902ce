"""What a stream is read from: its files, their format, and how they may be cut."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from penstock.decode.formats import Compression, Format, format_named, format_of
from penstock.errors import UsageError

STANDARD_INPUT = "-"
# Formats in which every line stands for itself: cut anywhere, and followed while they grow.
OF_LINES = {Format.NQUADS, Format.JSONLD}
_FIRST_LINE = 1 << 20


@dataclass(frozen=True)
class StreamSpec:
    """One stream: its IRI (None for the unnamed one) and the files that it is read from."""

    iri: str | None
    paths: tuple[str, ...]
    format: str | None = None  # None: each file's name tells; standard input is N-Quads
    start_predicate: str | None = None  # other predicates than PROV's for the time of an element
    end_predicate: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(map(str, self.paths)))
        if self.format is not None:
            format_named(self.format)
        if not self.paths:
            raise UsageError("a stream needs at least one file, directory or -")

    def format_for(self, path: str) -> Format:
        """The format of one of its files."""
        return format_of(path, self.format)[0]

    def cut_by_lines(self, path: str) -> bool:
        """Whether a file may be cut between any two lines, and may grow while it is read."""
        form, compression = format_of(path, self.format)
        if compression is not Compression.NONE or form not in OF_LINES:
            return False
        return form is not Format.JSONLD or _is_json_lines(path)

    @property
    def from_standard_input(self) -> bool:
        return STANDARD_INPUT in self.paths

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StreamSpec:
        return cls(**value)


def _is_json_lines(path: str) -> bool:
    """Whether the first line is a whole document, and not the first line of one."""
    with open(path, "rb") as file:
        line = file.readline(_FIRST_LINE)
    if not line.endswith(b"\n") and len(line) < _FIRST_LINE:
        return True  # a first line that is still being written
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
