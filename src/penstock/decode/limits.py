"""How much is read in one piece: what is larger is rejected and counted, and never held whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.columns.places import LONGEST
from penstock.errors import UsageError

MEBIBYTE = 1 << 20
LONGEST_LINE = LONGEST // 4  # three cells of a table are one line, whose terms have places
DEEPEST = 250
"""Levels of nesting of a JSON document; the parser's own stack ends at some thousands."""
EXPANSION = 16
"""How many times longer a document may become when its prefixes and contexts are resolved."""
LEAST_EXPANSION = 64 * MEBIBYTE  # which any document may come to

_SIZE = re.compile(r"(\d+)\s*([kKmMgG]?)(?:i?[bB])?")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class InputLimits:
    """The largest pieces of input, in bytes after decompression."""

    line: int = 8 * MEBIBYTE  # of N-Quads or JSON lines; also a cell of a table, and a single term
    document: int = 256 * MEBIBYTE  # what only makes sense whole: TriG, a JSON document, a block of lines

    def __post_init__(self) -> None:
        if not 0 < self.line <= LONGEST_LINE:
            raise UsageError(
                f"lines of up to {self.line:,} bytes are not possible",
                hint=f"the limit of a line lies between 1 and {in_bytes(LONGEST_LINE)}",
            )
        if self.document < self.line:
            raise UsageError(
                f"a document of {in_bytes(self.document)} cannot hold a line of {in_bytes(self.line)}",
                hint="the limit of a document must be at least that of a line",
            )

    def line_reason(self, what: str = "the line") -> str:
        return f"{what} has more than {in_bytes(self.line)}; --max-line (max_line=) allows more"

    def repeated_reason(self, long: int) -> str:
        return (
            f"texts over {in_bytes(long)} come to {in_bytes(self.document)} more than the file stores of"
            " them; --max-document (max_document=) allows more"
        )

    def document_reason(self) -> str:
        found = in_bytes(self.document)
        return f"the document has more than {found}; --max-document (max_document=) allows more"


LIMITS = InputLimits()


def in_bytes(size: int) -> str:
    """A number of bytes as a person says it."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} bytes"


def parse_size(text: str) -> int:
    """A number of bytes: `4096`, `64k`, `8M`, `1G` (powers of 1,024)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a size", hint="write it as 8M, 512k, 1G or a number of bytes")
    return int(match[1]) * _UNITS[match[2].lower()]
