"""Resolving IRI references against a base (RFC 3986, section 5.2)."""

from __future__ import annotations

import re

from penstock.functions.errors import ExpressionError
from penstock.terms import NamedNode

_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)


def resolve(reference: str, base: str | None) -> NamedNode:
    """The IRI that `reference` means under `base`; an error if it is none."""
    try:
        return NamedNode(reference if base is None else resolved(reference, base))
    except ValueError:
        raise ExpressionError(f"{reference!r} is not an IRI") from None


def resolved(reference: str, base: str) -> str:
    scheme, authority, path, query, fragment = _PARTS.fullmatch(reference).groups()
    if scheme is not None:
        return reference
    base_scheme, base_authority, base_path, base_query, _ = _PARTS.fullmatch(base).groups()
    if authority is not None:
        path = _without_dots(path)
    elif path == "":
        path = base_path
        query = base_query if query is None else query
        authority = base_authority
    else:
        if not path.startswith("/"):
            if base_authority is not None and not base_path:
                path = "/" + path
            else:
                path = base_path[: base_path.rfind("/") + 1] + path
        path = _without_dots(path)
        authority = base_authority
    text = f"{base_scheme}:" if base_scheme is not None else ""
    text += f"//{authority}" if authority is not None else ""
    text += path
    text += f"?{query}" if query is not None else ""
    return text + (f"#{fragment}" if fragment is not None else "")


def _without_dots(path: str) -> str:
    """The path after the steps `.` and `..` have been taken."""
    out: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "..":
            if len(out) > 1 or (out and out[0] != ""):
                out.pop()
            if last:
                out.append("")
        elif segment == ".":
            if last:
                out.append("")
        else:
            out.append(segment)
    return "/".join(out)
