"""Relative IRIs: resolved against a base that the user names, or found and refused."""

from __future__ import annotations

from penstock.errors import UsageError, shortened
from penstock.terms import Literal, NamedNode

_SCHEME = "penstock-relative"
UNRESOLVED = f"{_SCHEME}://document/"
"""The base of documents that have none: what is resolved against it was relative."""
MARK = f"<{_SCHEME}:".encode()


def check_base(base: str) -> str:
    """The base, if it is an absolute IRI."""
    try:
        return NamedNode(base).value
    except ValueError as problem:
        raise UsageError(
            f"the base {shortened(base)!r} is not an absolute IRI: {problem}",
            hint="write it as http://example.org/data/",
        ) from None


def relative_reason(quad) -> str | None:
    """Why a quad whose IRIs were resolved against `UNRESOLVED` cannot be used; None if it can."""
    for term in quad:
        iri = getattr(term.datatype if isinstance(term, Literal) else term, "value", "")
        if isinstance(term, (NamedNode, Literal)) and (reason := unresolved_reason(iri)):
            return reason
    return None


def unresolved_reason(iri: str) -> str | None:
    """Why an IRI that was resolved against `UNRESOLVED` is none; None if it is one."""
    if not iri.startswith(f"{_SCHEME}:"):
        return None
    said = iri.removeprefix(UNRESOLVED).removeprefix(f"{_SCHEME}:")
    return f"<{shortened(said)}> is a relative IRI, and there is no base; name one with --base (base=)"
