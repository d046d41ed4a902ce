"""URI templates (RFC 6570) over columns: `http://example.org/station/{id}`.

`{x}` percent-encodes all but unreserved characters, `{+x}` lets the characters of an IRI pass
(for cells that hold IRIs already), `{#x}` does so after a `#`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns.interning import frozen
from penstock.errors import InputError
from penstock.jit import njit

_PART = re.compile(r"\{([+#]?)([^{}]*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = b":/?#[]@!$&'()*+,;=%"
_HEX = frozen(np.frombuffer(b"0123456789ABCDEF", np.uint8))


def _passing(characters: bytes, beyond_ascii: bool) -> np.ndarray:
    table = np.zeros(256, np.bool_)
    table[list(characters)] = True
    table[128:] = beyond_ascii
    return frozen(table)


_ALONE = _passing(_UNRESERVED, False)
_AS_IRI = _passing(_UNRESERVED + _RESERVED, True)


@dataclass(frozen=True)
class Variable:
    """A column in braces; `reserved` if the characters of an IRI pass."""

    name: str
    reserved: bool


@dataclass(frozen=True)
class Template:
    """Texts and variables in turn."""

    parts: tuple[str | Variable, ...]

    @property
    def variables(self) -> list[str]:
        return [part.name for part in self.parts if isinstance(part, Variable)]

    @property
    def constant(self) -> str | None:
        """The IRI of a template without variables."""
        return None if self.variables else "".join(map(str, self.parts))

    def texts(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """The IRIs in angle brackets; null where a column is. All columns are as long."""
        pieces = []
        for part in self.parts:
            if isinstance(part, Variable):
                pieces.append(encoded(columns[part.name], _AS_IRI if part.reserved else _ALONE))
            else:
                pieces.append(_large(part))
        return pc.binary_join_element_wise(_large("<"), *pieces, _large(">"), _large(""))


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def parse_template(text: str, prefixes: Mapping[str, str], base: str | None) -> Template:
    """Reads a template; a known prefix at its head is expanded, a relative one resolved."""
    parts: list[str | Variable] = []
    at = 0
    for found in _PART.finditer(text):
        if found.start() > at:
            parts.append(text[at : found.start()])
        if not found[2].strip():
            raise InputError(f"{text!r} has braces without a column in them")
        if found[1] == "#":
            parts.append("#")
        parts.append(Variable(found[2], bool(found[1])))
        at = found.end()
    if text[at:]:
        parts.append(text[at:])
    if any(isinstance(part, str) and set(part) & set("{}") for part in parts):
        raise InputError(f"{text!r} has a brace without its partner")
    if not parts:
        raise InputError("an IRI cannot be empty")
    if isinstance(parts[0], str):
        head = parts[0]
        prefix, colon, rest = head.partition(":")
        if colon and prefix in prefixes:
            parts[0] = prefixes[prefix] + rest
        elif not _SCHEME.match(head):
            if base is None:
                raise InputError(
                    f"{text!r} is not an absolute IRI",
                    hint='write it out, or give "@context": ["http://www.w3.org/ns/csvw",'
                    ' {"@base": "http://example.org/"}]',
                )
            parts[0] = urljoin(base, head)
    return Template(tuple(parts))


def encoded(texts: pa.Array, passing: np.ndarray = _ALONE) -> pa.Array:
    """Texts percent-encoded, but for the bytes that pass."""
    offsets, data = buffers_of(texts)
    window = frozen(data[offsets[0] : offsets[-1]])
    if bool(passing[window].all()):
        return texts
    new_offsets, new_data = _encode(frozen(offsets - offsets[0]), window, passing)
    valid = pc.is_valid(texts)
    made = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(new_offsets), pa.py_buffer(new_data))
    return made if texts.null_count == 0 else pc.if_else(valid, made, pa.scalar(None, pa.large_string()))


def buffers_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and bytes of a large_string or large_binary array."""
    _, offsets, data = texts.buffers()
    if offsets is None or not len(offsets):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return offsets, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)


@njit(cache=True)
def _encode(offsets, data, passing):
    size = len(data)
    for byte in data:
        if not passing[byte]:
            size += 2
    out = np.empty(size, np.uint8)
    ends = np.empty(len(offsets), np.int64)
    ends[0] = 0
    to = 0
    for i in range(len(offsets) - 1):
        for at in range(offsets[i], offsets[i + 1]):
            byte = data[at]
            if passing[byte]:
                out[to] = byte
                to += 1
            else:
                out[to] = 37
                out[to + 1] = _HEX[byte >> 4]
                out[to + 2] = _HEX[byte & 15]
                to += 3
        ends[i + 1] = to
    return ends, out
