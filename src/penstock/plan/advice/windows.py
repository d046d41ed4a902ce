"""What probably was not meant about the windows of a query: further warnings of `penstock check`.

window-gaps         a window that slides by more than its width: what falls between is in none
unbounded-window    a window that nothing ever leaves
unread-window       a window that no pattern looks at; it reports all the same
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.nodes import ParsedQuery
from penstock.algebra.windows import Kind, WindowSpec
from penstock.errors import Finding
from penstock.plan.analysis.walk import nodes
from penstock.timeline import format_duration


def window_findings(parsed: ParsedQuery) -> Iterator[Finding]:
    """The findings about the windows of a query, each where it says what it holds."""
    continuous = parsed.query.continuous
    if continuous is None:
        return
    read = {node.graph for node in nodes(parsed.query.pattern) if node.graph is not None}
    places = parsed.window_places or (None,) * len(continuous.windows)
    for window, place in zip(continuous.windows, places, strict=True):
        spec = window.spec
        if spec.kind is Kind.LANDMARK:
            yield Finding(
                "unbounded-window",
                "nothing ever leaves this window, so what is remembered grows without end",
                "give it a width, as far as the query looks back",
                place,
            )
        elif spec.slide > max(spec.width, 1):
            yield Finding(
                "window-gaps",
                f"the window slides by {_length(spec, spec.slide)} and is {_length(spec, spec.width)} wide: "
                "what falls between two windows is in none",
                "a slide as long as the window has no gaps",
                place,
            )
        if window.name is not None and window.name not in read:
            yield Finding(
                "unread-window",
                f"no pattern looks at the window {window.name}; when it reports, the query is evaluated "
                "all the same",
                f"read it with WINDOW {window.name} {{ … }}, or leave it out",
                place,
            )


def _length(spec: WindowSpec, length: int) -> str:
    return f"{length} triples" if spec.kind is Kind.TRIPLES else format_duration(length)
